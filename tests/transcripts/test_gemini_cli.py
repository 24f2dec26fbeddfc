"""Gemini chats: what expected.json says, whatever is done to the file; repetitions, rewinds, ends that were none."""

import json
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from planstrip.errors import Invalid, TooLarge, UnreadableTranscript
from planstrip.events import Entry, SessionStart, TodoWrite, ToolCall
from planstrip.intake.check import check_data
from planstrip.intake.imports import take_new
from planstrip.plan.todos import invariant_problems
from planstrip.transcripts.adapter import Adapted
from planstrip.transcripts.follow import Transcript
from planstrip.transcripts.gemini_cli import FORMAT
from planstrip.transcripts.records import Record, parse
from tests.intake.conftest import Store
from tests.intake.test_imports import poisoned

AGENT: Final = "gemini-cli"
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
    return sum(call.name == "write_todos" for call in calls) - accepted


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


PLACE: Final = Path("/chats/parent/session.jsonl")
HEADER: Final[dict[str, object]] = {
    "sessionId": "s",
    "projectHash": "h",
    "startTime": "1970-01-01T00:00:00.007Z",
    "kind": "main",
}


def user(id_: str, *texts: str, **more: object) -> dict[str, object]:
    return {"id": id_, "type": "user", "content": [{"text": text} for text in texts], **more}


def model(id_: str, text: str = "", *calls: dict[str, object]) -> dict[str, object]:
    return {"id": id_, "type": "gemini", "content": text} | ({"toolCalls": list(calls)} if calls else {})


def plan(id_: str, *contents: str, status: str = "success") -> dict[str, object]:
    todos = [{"description": content, "status": "pending"} for content in contents]
    response = {"functionResponse": {"response": {"output": "Successfully updated"}}}
    return {"id": id_, "name": "write_todos", "args": {"todos": todos}, "status": status, "result": [response]}


def snapshot(*messages: dict[str, object]) -> dict[str, object]:
    return {"$set": {"messages": list(messages)}}


def test_the_header_says_whose_file_it_is_and_a_subagents_folder_its_parent() -> None:
    header = FORMAT.adapter(HEADER | {"kind": "subagent", "directories": ["/w"]}, PLACE).header
    assert header is not None
    assert (header.session, header.parent, header.cwd, header.created_at) == ("s", "parent", "/w", 7)
    assert FORMAT.claims(HEADER)
    assert not FORMAT.claims({"sessionId": "s", "type": "user"})


def test_a_second_file_of_the_session_does_not_contradict(store: Store, tmp_path: Path) -> None:
    """A resume in another minute leaves one, with the context alone."""
    first, second = tmp_path / "session-1.jsonl", tmp_path / "session-2.jsonl"
    sample = SAMPLES / "write_todos-session.jsonl"
    first.write_bytes(sample.read_bytes())
    head, context, *_ = sample.read_text().splitlines(keepends=True)
    second.write_text(head.replace("16:46:36", "17:00:00") + context)
    for order in ((first, second), (second, first)):
        log = store.fresh()
        assert log.take(*order).failed == 0
        expected = EXPECTED[sample.name]
        assert log.plans(expected["session"]) == expected["plans"]
        starts = [entry for entry in log.entries(expected["session"]) if isinstance(entry.event, SessionStart)]
        assert len(starts) == 2
        assert log.take(*order).added == 0


def test_a_message_that_comes_again_adds_what_is_new_in_it() -> None:
    asked, answer = user("u", "Go"), model("m", "", plan("c", "a"))
    assert types(asked, model("m"), answer, answer, snapshot(asked, answer)) == [
        "turn/start",
        "tool/call",
        "todo/write",
        "tool/result",
    ]
    running = model("m", "", plan("c", "a", status="executing"))
    assert types(asked, running, running, answer)[1:] == ["tool/call", "todo/write", "tool/result"]


def test_messages_of_earlier_turns_that_come_again_say_nothing() -> None:
    first = [user("u", "Go"), model("m", "", plan("c", "a")), model("n", "Done.")]
    assert types(*first, user("v", "More"), snapshot(*first))[-1] == "turn/start"


def test_messages_that_only_a_snapshot_has_are_taken_from_it() -> None:
    assert types(snapshot(user("u", "Go"), model("m", "", plan("c", "a")))) == [
        "turn/start",
        "tool/call",
        "todo/write",
        "tool/result",
    ]


def test_what_no_person_asked_starts_no_turn() -> None:
    response = {"id": "r", "type": "user", "content": [{"functionResponse": {"id": "c"}}, {"text": "x"}]}
    context, summary = user("a", "<session_context>\n…"), user("b", "<state_snapshot>…")
    assert types(context, summary, response, user("c"), user("d", " "), {"id": "i", "type": "info"}) == []


def test_a_prompt_is_what_the_person_saw() -> None:
    (start,) = adapted(user("u", "Read @a.txt", "--- a.txt ---", displayContent=[{"text": "Read a"}]))
    assert start.data == {"turn": 1, "prompt": "Read a"}


def test_an_answer_ends_a_turn_until_its_calls_are_added() -> None:
    events = adapted(user("u", "Go"), model("m", "Plan."), model("m", "Plan.", plan("c", "a")), model("n", "Done."))
    assert [event.type for event in events] == [
        "turn/start",
        "turn/end",
        "turn/resume",
        "tool/call",
        "todo/write",
        "tool/result",
        "turn/end",
    ]
    thought = {"id": "m", "type": "gemini", "content": [{"text": "Hm", "thought": True}]}
    calling = {"id": "n", "type": "gemini", "content": [{"text": "I read"}, {"functionCall": {"name": "x"}}]}
    assert types(user("u", "Go"), thought, calling) == ["turn/start"]


@pytest.mark.parametrize("status", ["error", "cancelled"])
def test_a_call_that_failed_is_no_plan(status: str) -> None:
    _, result = adapted(model("m", "", plan("c", "a", status=status)))
    assert (result.type, result.data["is_error"]) == ("tool/result", True)


def test_a_rewind_names_the_first_event_that_it_takes_back() -> None:
    """Its position is found at the door."""
    first = [user("u", "Go"), model("m", "", plan("c", "a")), model("n", "Done.")]
    second = [user("v", "More"), model("o", "", plan("d", "b"))]
    (*_, rewind) = adapted(*first, *second, {"$rewindTo": "v"})
    assert (rewind.type, rewind.data, rewind.before) == ("session/rewind", {}, "gemini-cli:v/turn/start")
    (*_, rewind) = adapted(*first, *second, {"$rewindTo": "n"})
    assert rewind.before == "gemini-cli:n/turn/end"
    assert "session/rewind" not in types(*first, {"$rewindTo": "unknown"})
    assert types(*first, *second, {"$rewindTo": "v"}, {"$rewindTo": "v"}).count("session/rewind") == 1


def test_messages_that_were_taken_back_are_new_when_they_come_again() -> None:
    assert types(user("u", "Go"), {"$rewindTo": "u"}, user("u", "Go")) == ["turn/start", "session/rewind", "turn/start"]


def test_a_summary_names_the_session() -> None:
    assert [event.data for event in adapted({"$set": {"summary": "Fix the parser"}})] == [{"title": "Fix the parser"}]
