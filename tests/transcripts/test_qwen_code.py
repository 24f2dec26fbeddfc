"""Qwen Code sessions: what expected.json says, whatever is done to the file; prompts, answers, results."""

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
from planstrip.transcripts.qwen_code import FORMAT
from planstrip.transcripts.records import Record, parse
from tests.intake.conftest import Store
from tests.intake.test_imports import poisoned

AGENT: Final = "qwen-code"
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
    return sum(call.name == "todo_write" for call in calls) - accepted


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


PLACE: Final = Path("s.jsonl")


def row(uuid: str, type_: str, *parts: object, **more: object) -> dict[str, object]:
    base = {"uuid": uuid, "sessionId": "s", "type": type_, "timestamp": "1970-01-01T00:00:00.007Z", "cwd": "/w"}
    return base | {"message": {"parts": list(parts)}} | more


def prompt(uuid: str, text: str = "Go", provenance: str = "real_user") -> dict[str, object]:
    return row(uuid, "user", {"text": text}, provenance=provenance)


def call(uuid: str, call_id: str, name: str = "todo_write") -> dict[str, object]:
    return row(uuid, "assistant", {"text": "Plan."}, {"functionCall": {"id": call_id, "name": name, "args": {}}})


def result(uuid: str, call_id: str, status: str = "success", name: str = "todo_write") -> dict[str, object]:
    response = {"functionResponse": {"id": call_id, "name": name, "response": {"output": "modified"}}}
    shown = {"type": "todo_list", "todos": [{"id": "1", "content": "a", "status": "pending"}]}
    outcome = {"callId": call_id, "status": status, "resultDisplay": shown}
    return row(uuid, "tool_result", response, toolCallResult=outcome)


HEADER: Final = prompt("0")
ANSWER: Final = row("z", "assistant", {"text": "Done."})


def test_the_first_row_says_whose_file_it_is() -> None:
    header = FORMAT.adapter(HEADER, PLACE).header
    assert header is not None
    assert (header.session, header.cwd, header.created_at, header.parent) == ("s", "/w", 7, None)
    assert FORMAT.claims(row("a", "system", provenance="system"))
    assert not FORMAT.claims({"uuid": "a", "sessionId": "s", "type": "user", "message": {"content": "a Claude row"}})


def test_only_a_person_starts_a_turn() -> None:
    assert types(prompt("a"), prompt("a"), prompt("b", provenance="hook")) == ["turn/start"]
    (start,) = adapted(prompt("a", "\n Fix it \nnow"))
    assert (start.data, start.key) == ({"turn": 1, "prompt": "Fix it"}, "qwen-code:a/turn/start")


def test_rows_of_another_session_and_telemetry_say_nothing() -> None:
    telemetry = {"uiEvent": {"function_name": "todo_write", "function_args": {"todos": []}}}
    assert types(prompt("a") | {"sessionId": "t"}, row("b", "system", systemPayload=telemetry)) == []


def test_an_answer_without_a_call_ends_the_turn() -> None:
    thought = row("b", "assistant", {"text": "Hm", "thought": True})
    assert types(prompt("a"), call("c", "1"), thought, row("d", "assistant")) == ["turn/start", "tool/call"]
    assert types(prompt("a"), ANSWER, ANSWER) == ["turn/start", "turn/end"]
    assert types(prompt("a"), ANSWER, call("c", "1"))[1:] == ["turn/end", "turn/resume", "tool/call"]


def test_a_result_says_by_its_status_whether_the_list_was_taken() -> None:
    write, told = adapted(call("a", "1"), result("b", "1"))[1:]
    assert write.data == {"todos": [{"content": "a", "status": "pending"}], "call_id": "1"}
    assert told.data == {"call_id": "1", "is_error": False, "text": "modified"}
    assert types(call("a", "1"), result("b", "1", "error"))[1:] == ["tool/result"]
    assert types(call("a", "1", "mcp__plan__todo_write"), result("b", "1", name="mcp__plan__todo_write"))[1:] == [
        "tool/result"
    ]


def test_several_calls_of_one_row_have_keys_of_their_own() -> None:
    calls = [{"functionCall": {"id": id_, "name": "read_file", "args": {"path": "a"}}} for id_ in ("1", "2")]
    assert [event.key for event in adapted(row("a", "assistant", *calls))] == [
        "qwen-code:a/1/tool/call",
        "qwen-code:a/2/tool/call",
    ]
