"""Kimi wires: what expected.json says, whatever is done to the file; whose it is, prompts, ends, the store."""

import json
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from planstrip.errors import Invalid, TooLarge, UnreadableTranscript
from planstrip.events import Entry, TodoWrite, ToolCall
from planstrip.intake.check import check_data
from planstrip.intake.imports import take_new
from planstrip.plan.todos import invariant_problems
from planstrip.transcripts.adapter import Adapted
from planstrip.transcripts.follow import Transcript
from planstrip.transcripts.kimi import FORMAT
from planstrip.transcripts.records import Record, parse
from tests.intake.conftest import Store
from tests.intake.test_imports import poisoned

AGENT: Final = "kimi"
SAMPLES: Final = Path(__file__).parents[2] / "fixtures" / AGENT
SHARED: Final = Path(os.environ.get("PLANSTRIP_SAMPLES", Path(__file__).parents[3] / "shared" / "samples"))
EXPECTED: Final[dict[str, Any]] = json.loads((SAMPLES / "expected.json").read_text())
FUZZ: Final = int(os.environ.get("PLANSTRIP_FUZZ", "300"))


@pytest.fixture
def store(tmp_path: Path, empty_log: bytes) -> Iterator[Store]:
    store = Store(tmp_path, empty_log)
    yield store
    store.close()


def cases() -> list[Any]:
    """Every sample of this checkout, and of the shared ones where they are at hand."""
    everything = json.loads((SHARED / "expected.json").read_text()) if (SHARED / "expected.json").exists() else {}
    shared = {SHARED / name: expected for name, expected in everything.items() if name.startswith(f"{AGENT}/")}
    found = {SAMPLES / name: expected for name, expected in EXPECTED.items()} | shared
    return [pytest.param(path, expected, id="/".join(path.parts[-3:])) for path, expected in found.items()]


def rejected(entries: Sequence[Entry]) -> int:
    """Plan calls that were recorded and not accepted."""
    calls = [entry.event for entry in entries if isinstance(entry.event, ToolCall)]
    accepted = sum(isinstance(entry.event, TodoWrite) and entry.event.call_id is not None for entry in entries)
    return sum(call.name == "TodoList" and "todos" in json.loads(call.arguments) for call in calls) - accepted


@pytest.mark.parametrize(("path", "expected"), cases())
def test_each_sample_gives_what_is_expected_of_it(store: Store, path: Path, expected: dict[str, Any]) -> None:
    """Read from the stored log."""
    log = store.fresh()
    (file,) = log.take(path).files
    assert (file.failure, file.problems) == (None, ())
    session = file.session or ""
    found = log.summary(session) | {"rejected": rejected(log.entries(session))}
    assert found == expected | {"session": expected["session"] or session}


def test_the_walk_leaves_out_no_file() -> None:
    assert {str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*.jsonl")} == set(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_twice_is_once(store: Store, name: str) -> None:
    log = store.fresh()
    first = log.take(SAMPLES / name)
    rows = log.rows()
    second = log.take(SAMPLES / name)
    assert (first.added, second.added, second.known) == (len(rows), 0, len(rows))
    assert log.rows() == rows


@pytest.mark.parametrize("name", EXPECTED)
def test_a_file_that_grows_in_pieces_is_the_whole_file(store: Store, tmp_path: Path, name: str) -> None:
    data, path = (SAMPLES / name).read_bytes(), tmp_path / "growing.jsonl"
    path.write_bytes(data)
    whole, pieces, live = store.fresh(), store.fresh(), Transcript(path)
    whole.take(path)
    for end in (*range(3_000, len(data), 3_000), len(data)):
        path.write_bytes(data[:end])
        take_new(pieces.writer, live)
    without_time = [[(*row[:3], *row[4:]) for row in log.rows()] for log in (whole, pieces)]  # where none is told: ours
    assert without_time[0] == without_time[1]


def fuzzed(seed: int) -> Iterator[tuple[random.Random, str, bytes]]:
    samples = {name: (SAMPLES / name).read_bytes() for name in EXPECTED}
    for number in range(FUZZ):
        chance = random.Random(seed + number)
        name = chance.choice(list(samples))
        yield chance, name, samples[name]


def test_a_file_cut_anywhere_gives_a_prefix(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    whole: dict[str, list[Adapted]] = {}
    for chance, name, data in fuzzed(0):
        path.write_bytes(data)
        events = whole.setdefault(name, list(Transcript(path).events()))
        path.write_bytes(data[: chance.randrange(len(data) + 1)])
        found = list(Transcript(path).events())
        assert found == events[: len(found)]


def test_no_mutation_crashes_it_and_every_plan_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "mutated.jsonl"
    for chance, _, data in fuzzed(1_000_000):
        path.write_bytes(mutated(data, chance))
        transcript = Transcript(path)
        try:
            for event in transcript.events():
                with suppress(Invalid, TooLarge):  # the door leaves such an event out
                    checked = check_data(event.type, event.data, time=event.time, key=event.key).event
                    assert not isinstance(checked, TodoWrite) or not list(invariant_problems(checked.todos))
        except UnreadableTranscript:
            assert transcript.header is None


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Parts of records replaced, lines lost, doubled and moved, bytes changed."""
    lines = data.splitlines()
    for _ in range(chance.randrange(1, 12)):
        at = chance.randrange(len(lines))
        match chance.randrange(5):
            case 0:
                lines[at] = json.dumps(poisoned(parse(lines[at]), chance)).encode()
            case 1:
                lines.insert(chance.randrange(len(lines)), lines[at])
            case 2 if len(lines) > 1:
                del lines[at]
            case 3:
                cut = chance.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:cut] + bytes([chance.randrange(256)]) + lines[at][cut + 1 :]
            case _:
                lines[at:] = reversed(lines[at:])
    return b"".join(line + b"\n" for line in lines)


def adapted(*records: Record) -> list[Adapted]:
    adapter = FORMAT.adapter(HEADER, PLACE)
    return [event for record in records for event in adapter.take(record)]


def types(*records: Record) -> list[str]:
    return [event.type for event in adapted(*records)]


PLACE: Final = Path("/k/sessions/wd_p_1/session_1/agents/main/wire.jsonl")
HEADER: Final[dict[str, object]] = {"type": "metadata", "protocol_version": "1.5", "created_at": 7}


def prompt(text: str, turn: int = 0, **more: object) -> dict[str, object]:
    return {"type": "turn.prompt", "input": [{"type": "text", "text": text}], "turnId": turn, "time": 8, **more}


def ended(turn: int = 0, reason: str = "completed") -> dict[str, object]:
    return {"type": "turn.ended", "turnId": turn, "reason": reason, "time": 9}


def loop(type_: str, **event: object) -> dict[str, object]:
    return {"type": "context.append_loop_event", "event": {"type": type_, **event}, "time": 8}


def call(call_id: str, args: object, name: str = "TodoList") -> dict[str, object]:
    return loop("tool.call", toolCallId=call_id, name=name, args=args)


def result(call_id: str, output: str = "ok", **more: object) -> dict[str, object]:
    return loop("tool.result", toolCallId=call_id, result={"output": output, **more})


def stored(*titles: str, key: str = "todo") -> dict[str, object]:
    value = [{"title": title, "status": "done"} for title in titles]
    return {"type": "tools.update_store", "key": key, "value": value, "time": 8}


@pytest.mark.parametrize(
    ("path", "session", "parent"),
    [
        (PLACE, "session_1", None),
        (PLACE.parents[1] / "agent-2" / "wire.jsonl", "session_1:agent-2", "session_1"),
        (Path("/elsewhere/copy/wire.jsonl"), "copy-7", None),
        (Path("/wire.jsonl"), "kimi-7", None),
    ],
)
def test_the_place_of_a_file_says_whose_it_is(path: Path, session: str, parent: str | None) -> None:
    header = FORMAT.adapter(HEADER, path).header
    assert header is not None
    assert (header.session, header.parent, header.created_at) == (session, parent, 7)


def test_a_wire_of_the_older_program_is_not_claimed() -> None:
    assert FORMAT.claims(HEADER)
    assert not FORMAT.claims({"type": "metadata", "protocol_version": "1.3"})


def test_a_turn_is_from_its_prompt_to_its_own_end() -> None:
    start, end = adapted(prompt("Fix it", promptId="p"), ended(3), ended(), ended(reason="cancelled"))
    assert (start.data, start.key) == ({"turn": 1, "prompt": "Fix it"}, "kimi:p/turn/start")
    assert (end.data, end.key) == ({"turn": 1, "reason": {"kind": "completed"}}, "1/-/turn/end")
    assert types(prompt("x", promptId="p"), prompt("x", promptId="p")) == ["turn/start"]


def test_a_list_is_its_oldest_call_that_writes_one() -> None:
    events = adapted(call("read", {}), call("a", {"todos": []}), stored("x"), result("a"), stored("y"))
    writes = [event for event in events if event.type == "todo/write"]
    assert [write.data.get("call_id") for write in writes] == ["a", None]
    assert writes[0].data["todos"] == [{"content": "x", "status": "completed"}]
    assert types(stored("x", key="other"), {"type": "tools.update_store", "key": "todo", "value": None}) == []


def test_a_rejected_call_writes_nothing() -> None:
    events = adapted(call("a", {"todos": [1]}), result("a", "Invalid args", isError=True), stored("later"))
    assert [(event.type, event.data.get("is_error")) for event in events[:2]] == [
        ("tool/call", None),
        ("tool/result", True),
    ]
    assert "call_id" not in events[2].data


def test_what_the_context_repeats_is_no_call() -> None:
    message = {"role": "assistant", "toolCalls": [{"id": "a", "name": "TodoList", "arguments": "{}"}]}
    assert types({"type": "agent.message.appended", "message": {"message": message}, "time": 9}) == []
