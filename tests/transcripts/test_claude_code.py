"""Claude Code transcripts taken in: what expected.json says, at every cut, and whatever stands in a row."""

import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planstrip.errors import UnreadableTranscript
from planstrip.events import TodoWrite, ToolCall, ToolResult, TurnStart
from planstrip.intake.check import check_data
from planstrip.transcripts import claude_code, detect, records
from planstrip.transcripts.adapter import Adapted
from planstrip.transcripts.follow import Transcript
from tests.intake.conftest import Log, Store
from tests.transcripts.walking import FIXTURES, FUZZ, cases, expected_of, poisoned, read

SAMPLES = FIXTURES / "claude-code"
EXPECTED = expected_of("claude-code")
PLAIN = [name for name in EXPECTED if name.endswith(".jsonl")]
PLAN_TOOLS = ("TodoWrite", "TaskCreate", "TaskUpdate")
KILLED = "tasks-killed-and-resumed.jsonl"
TASKS = "tasks-parallel-delete/transcript.jsonl"
CHANGED = re.compile(r"Task #\S+ created|Updated task #")
OLD = "public-v1.0.108-cjk-sidechain.jsonl"


def is_plan(call: ToolCall) -> bool:
    return call.name in PLAN_TOOLS


def summary(log: Log, session: str) -> dict[str, Any]:
    told = log.summary(session, is_plan)
    if told["parent"] is not None:
        told["rejected"] = refused(log, session)
    plans = log.plans(session)
    if len(plans) > 12:
        told["plans"] = {"count": len(plans), "first": plans[0], "last": plans[-1]}
    return told


def refused(log: Log, session: str) -> int:
    """Of a subagent, whose accepted Task calls set the list of another session."""
    events = [entry.event for entry in log.entries(session)]
    accepted = {write.call_id for write in events if isinstance(write, TodoWrite)}
    accepted |= {answer.call_id for answer in events if isinstance(answer, ToolResult) and CHANGED.match(answer.text)}
    return sum(isinstance(call, ToolCall) and is_plan(call) and call.call_id not in accepted for call in events)


def alone(sample: Path, place: Path) -> Path:
    """Where nothing lies beside it."""
    place.write_bytes(sample.read_bytes())
    return place


def plans(events: Sequence[Adapted]) -> list[object]:
    return [event.data["todos"] for event in events if event.type == "todo/write"]


@pytest.mark.parametrize(("path", "expected"), cases("claude-code"))
def test_each_sample_gives_what_is_expected_of_it(log: Log, path: Path, expected: dict[str, Any]) -> None:
    assert log.take(path).failed == 0
    assert summary(log, expected["session"]) == expected


def test_the_walk_leaves_out_no_file() -> None:
    assert {str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*.jsonl*")} == set(EXPECTED)


def test_a_folder_is_taken_in_at_once_subagents_below_their_parents(log: Log) -> None:
    report = log.take(SAMPLES)
    assert (report.failed, len(report.files)) == (0, len(EXPECTED))
    for expected in EXPECTED.values():
        assert summary(log, expected["session"]) == expected
    rows = log.rows()
    assert log.take(SAMPLES).added == 0
    assert log.rows() == rows


def test_rows_that_parse_no_more_are_told_and_the_rest_counts(log: Log) -> None:
    (problem,) = log.take(SAMPLES / "public-edge-cases.jsonl").files[0].problems
    assert "line 13 does not parse" in problem
    assert "3 lines passed over" in problem


@pytest.mark.parametrize("name", PLAIN)
def test_nothing_that_is_left_out_of_a_row_is_read(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    found = read(SAMPLES / name)
    monkeypatch.setattr(detect, "FORMATS", [replace(claude_code.FORMAT, parse=records.parse)])
    assert found == read(SAMPLES / name) != []


def test_keys_are_the_rows_own_and_none_comes_twice() -> None:
    for name in EXPECTED:
        keys = [event.key for event in read(SAMPLES / name)]
        assert len(set(keys)) == len(keys)
    assert [event.key for event in read(SAMPLES / "public-edge-cases.jsonl")][:3] == [
        "edge_001~start",
        "edge_001",
        "edge_002",
    ]


def test_times_and_the_folder_are_the_first_rows() -> None:
    transcript = Transcript(SAMPLES / KILLED)
    start, turn = list(transcript.events())[:2]
    assert start.data == {"agent": "claude-code", "cwd": "/home/user/project"}
    assert (start.time, turn.time) == (1796056045938, 1796056045938)


@pytest.mark.parametrize("name", [KILLED, TASKS, OLD, "todowrite-parallel-and-errors.jsonl"])
def test_growth_in_pieces_is_the_same_as_the_whole(store: Store, tmp_path: Path, name: str) -> None:
    whole, again, followed = store.fresh(), store.fresh(), list[Adapted]()
    whole.take(SAMPLES / name)
    data, growing = (SAMPLES / name).read_bytes(), tmp_path / "growing.jsonl"
    transcript = Transcript(growing)
    for end in (*range(3_000, len(data), len(data) // 23), len(data)):
        growing.write_bytes(data[:end])
        again.take(growing)
        followed += transcript.events()
    assert again.rows() == whole.rows()
    assert followed == read(SAMPLES / name)


@pytest.mark.parametrize("name", PLAIN)
def test_at_every_row_the_reader_has_told_a_prefix(tmp_path: Path, name: str) -> None:
    growing, told = tmp_path / "growing.jsonl", list[Adapted]()
    whole = read(alone(SAMPLES / name, growing))
    growing.write_bytes(b"")
    transcript = Transcript(growing)
    with growing.open("ab", buffering=0) as file:
        for line in (SAMPLES / name).read_bytes().splitlines(keepends=True):
            file.write(line[:20])
            told += transcript.events()
            file.write(line[20:])
            told += transcript.events()
            assert told == whole[: len(told)]
    assert told == whole


@pytest.mark.parametrize("name", PLAIN)
def test_rows_that_come_again_change_nothing(tmp_path: Path, name: str) -> None:
    lines = [line for line in (SAMPLES / name).read_bytes().splitlines(keepends=True) if b'"summary"' not in line[:20]]
    path = tmp_path / "again.jsonl"
    path.write_bytes(b"".join(lines))
    once = read(path)
    path.write_bytes(b"".join(line * 2 for line in lines))
    assert read(path) == once
    path.write_bytes(b"".join(lines * 2))
    assert read(path) == once


def test_a_file_cut_at_any_byte_gives_a_prefix(tmp_path: Path) -> None:
    chance, path = random.Random(1), tmp_path / "cut.jsonl"
    whole = {name: read(alone(SAMPLES / name, path)) for name in PLAIN}
    for _ in range(FUZZ):
        name = chance.choice(PLAIN)
        data = (SAMPLES / name).read_bytes()
        path.write_bytes(data[: chance.randrange(len(data) + 1)])
        events = read(path)
        assert events == whole[name][: len(events)]
        assert plans(events) == plans(whole[name])[: len(plans(events))]


def test_mutated_rows_never_crash_and_every_plan_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "mutated.jsonl"
    for seed in range(FUZZ):
        chance = random.Random(seed)
        lines = (SAMPLES / chance.choice(PLAIN)).read_bytes().splitlines()
        path.write_bytes(b"".join(line + b"\n" for line in mutated(lines, chance)))
        events = list[Adapted]()
        try:
            events += Transcript(path).events()
        except UnreadableTranscript as error:
            assert "not a transcript" in error.detail  # noqa: PT017 - the one error, and only of the first line
        for event in events:
            check_data(event.type, event.data, time=event.time, key=event.key)
        keys = [event.key for event in events]
        assert len(set(keys)) == len(keys)


BYTES = (b"\xff", b"\0", b'"', b"}", b"\\ud800", b"9" * 5_000, b"[" * 3_000)


def mutated(lines: list[bytes], chance: random.Random) -> list[bytes]:
    """Values poisoned, bytes changed, and lines left out, repeated or moved."""
    rate = chance.choice([0.002, 0.01, 0.04])
    kept = [json.dumps(poisoned(json.loads(line), chance, rate)).encode() for line in lines]
    for _ in range(chance.randrange(4)):
        at = chance.randrange(len(kept))
        place = chance.randrange(len(kept[at]) + 1)
        kept[at] = kept[at][:place] + chance.choice(BYTES) + kept[at][place + chance.randrange(3) :]
        kept.insert(chance.randrange(len(kept)), kept[chance.randrange(len(kept))])
        kept.insert(chance.randrange(len(kept)), kept.pop(chance.randrange(len(kept))))
    return [line for line in kept if chance.random() > rate]


def test_what_is_left_of_mutated_rows_is_stored_once(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "mutated.jsonl"
    for seed in range(20):  # a store each: the two above are the many
        chance, log = random.Random(seed), store.fresh()
        first, *lines = (SAMPLES / chance.choice([TASKS, KILLED, OLD])).read_bytes().splitlines()
        path.write_bytes(b"".join(line + b"\n" for line in [first, *mutated(lines, chance)]))
        assert log.take(path).failed == 0
        rows = log.rows()
        assert log.take(path).added == 0
        assert log.rows() == rows


def test_a_prompt_a_command_and_a_notice_label_their_turns(log: Log) -> None:
    log.take(SAMPLES)
    names = ("todowrite-subagents/main.jsonl", "public-v1.0.98-todowrite.jsonl", OLD)
    labels = [
        entry.event.prompt
        for name in names
        for entry in log.entries(EXPECTED[name]["session"])
        if isinstance(entry.event, TurnStart)
    ]
    assert labels == [
        "Survey both modules in parallel",
        'Agent "Survey A" finished',
        'Agent "Survey B" finished',
        "/init",
        "/orchestrator @CLAUDE.md を最新の状態にアップデートしてください",
    ]
