"""Transcripts taken in: what expected.json says, once and for all, whatever is wrong with a file (spec.md §2)."""

import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planstrip.errors import StoreUnusable
from planstrip.events import SessionStart, TodoWrite, ToolCall, ToolResult, TurnEnd, TurnStart
from planstrip.intake.check import check_data
from planstrip.intake.imports import import_paths
from planstrip.intake.record import take_in
from planstrip.plan.todos import invariant_problems
from tests.bench.transcripts import PLANS, make

if TYPE_CHECKING:
    from tests.intake.conftest import Log, Store

SAMPLES = Path(__file__).parents[2] / "fixtures" / "deepseek-harness"
SHARED = Path(os.environ.get("PLANSTRIP_SAMPLES", Path(__file__).parents[3] / "shared" / "samples"))
COPIED: dict[str, Any] = json.loads((SAMPLES / "expected.json").read_text())
KILLED = SAMPLES / "real-killed-mid-turn.jsonl"
RESUMED = SAMPLES / "real-killed-then-resumed.jsonl"
REJECTED = SAMPLES / "real-rejected-writes.jsonl"
PARALLEL = SAMPLES / "real-parallel-multi-turn.jsonl"
PACKED = SAMPLES / "real-parallel-multi-turn.jsonl.zstd"

ONE_STORE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def cases() -> list[Any]:
    """Every file of this checkout's samples, and of the shared ones where they are at hand."""
    found = [pytest.param(SAMPLES / name, expected, id=name) for name, expected in COPIED.items()]
    if (SHARED / "expected.json").exists():
        for name, expected in json.loads((SHARED / "expected.json").read_text()).items():
            if name.startswith("deepseek-harness/"):
                found.append(pytest.param(SHARED / name, expected, id=f"shared:{name}"))
    return found


@pytest.mark.parametrize(("path", "expected"), cases())
def test_each_sample_gives_what_is_expected_of_it(log: "Log", path: Path, expected: dict[str, Any]) -> None:
    report = log.take(path)
    assert (report.failed, report.files[0].problems) == (0, ())
    assert log.summary(expected["session"]) == expected


def test_the_walk_leaves_out_no_file() -> None:
    files = {str(path.relative_to(SAMPLES)) for path in SAMPLES.rglob("*.jsonl*")}
    assert files == set(COPIED)


@pytest.mark.parametrize("name", COPIED)
def test_twice_is_once(log: "Log", name: str) -> None:
    first = log.take(SAMPLES / name)
    rows = log.rows()
    second = log.take(SAMPLES / name)
    assert first.added == len(rows) == second.known
    assert second.added == 0
    assert log.rows() == rows


def test_a_directory_is_walked_and_what_is_no_session_is_left_alone(log: "Log", tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "session.jsonl.zstd").write_bytes(PACKED.read_bytes())
    (folder / "copy.jsonl").write_bytes(PARALLEL.read_bytes())
    (folder / "rows.jsonl").write_text('{"a": 1}\n')
    (folder / "notes.txt").write_text("nothing")
    report = log.take(folder)
    assert [file.path.name for file in report.files] == ["copy.jsonl", "session.jsonl.zstd"]
    assert report.failed == 0


def test_a_directory_without_any_transcript_fails(log: "Log", tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert log.take(tmp_path / "empty").failed == 1


def test_growth_in_pieces_is_the_same_as_the_whole(store: "Store", tmp_path: Path) -> None:
    """R120."""
    whole, pieces = store.fresh(), store.fresh()
    whole.take(REJECTED)
    data, growing = REJECTED.read_bytes(), tmp_path / "session.jsonl"
    for end in (*range(200, len(data), 1_000), len(data)):
        growing.write_bytes(data[:end])
        pieces.take(growing)
    assert pieces.rows() == whole.rows()


@ONE_STORE
@given(
    cut=st.integers(0, 14_700), name=st.sampled_from(["real-killed-then-resumed.jsonl", "real-unpacked-chunks.jsonl"])
)
def test_a_file_cut_at_any_byte_gives_a_prefix(store: "Store", tmp_path: Path, cut: int, name: str) -> None:
    whole, part = store.fresh(), store.fresh()
    path = tmp_path / "session.jsonl"
    path.write_bytes((SAMPLES / name).read_bytes()[:cut])
    whole.take(SAMPLES / name)
    part.take(path)
    assert whole.rows()[: len(part.rows())] == part.rows()


def test_a_file_truncated_on_resume_goes_on_in_the_same_session(log: "Log", store: "Store") -> None:
    log.take(KILLED)
    before = log.rows()
    log.take(RESUMED)
    assert log.rows()[: len(before)] == before
    fresh = store.fresh()
    fresh.take(RESUMED)
    session = COPIED[RESUMED.name]["session"]
    expected = COPIED[RESUMED.name]
    assert log.summary(session) == expected == fresh.summary(session)
    rows = log.rows()
    assert log.take(KILLED, RESUMED).added == 0
    assert log.rows() == rows


def header(**changes: object) -> str:
    base = {"type": "session", "version": 0, "id": "s", "createdAt": 5, "cwd": "/a", "parentSession": "p"}
    return json.dumps(base | changes) + "\n"


@pytest.mark.parametrize("changes", [{"createdAt": 6}, {"cwd": "/b"}, {"parentSession": "q"}, {"cwd": None}])
def test_a_contradicting_header_fails_alone_and_is_never_merged(
    log: "Log", tmp_path: Path, changes: dict[str, object]
) -> None:
    """In one run: the stranger comes between two good files."""
    body = '{"type":"turn/start","seq":0,"data":{"turn":1}}\n{"type":"step/end","seq":1,"data":{}}\n'
    (tmp_path / "a.jsonl").write_text(header() + body)
    (tmp_path / "b.jsonl").write_text(header(**changes) + body.replace('"seq":0', '"seq":10'))
    report = log.take(tmp_path / "a.jsonl", tmp_path / "b.jsonl", KILLED)
    assert [file.failure is not None for file in report.files] == [False, True, False]
    assert "'s'" in (report.files[1].failure or "")
    assert [type(entry.event) for entry in log.entries("s")] == [SessionStart, TurnStart]
    assert log.take(tmp_path / "b.jsonl").failed == 1


def test_a_session_of_another_agent_is_left_alone(log: "Log") -> None:
    session = COPIED[KILLED.name]["session"]
    take_in(log.writer, session, [check_data("session/start", {"agent": "codex"})])
    report = log.take(KILLED)
    assert "'codex'" in (report.files[0].failure or "")
    assert len(log.rows()) == 1


def test_a_session_that_another_door_began_is_gone_on_with(log: "Log") -> None:
    session = COPIED[KILLED.name]["session"]
    take_in(log.writer, session, [check_data("session/start", {"agent": "deepseek-harness", "cwd": "/elsewhere"})])
    assert log.take(KILLED).failed == 0
    assert log.plans(session) == COPIED[KILLED.name]["plans"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.jsonl", b""),
        ("words.jsonl", b"no json at all\n"),
        ("other.jsonl", b'{"type":"summary"}\n'),
        ("number.jsonl", b"5\n"),
        ("nul.jsonl", b"\0" * 5_000 + b"\n"),
        ("torn.jsonl", b'{"type":"session","version":0,"id":"x"'),
        ("slash.jsonl", b'{"type":"session","version":0,"id":"a/b"}\n'),
        ("words.jsonl.zstd", b"no zstd at all"),
        ("deep.jsonl", b"[" * 100_000 + b"\n"),
    ],
)
def test_a_file_that_is_no_transcript_fails_alone(log: "Log", tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    report = log.take(tmp_path / name, KILLED)
    assert [file.failure is not None for file in report.files] == [True, False]
    assert len(report.files[0].failure or "") < 600


def test_a_path_that_cannot_be_read_fails_alone(log: "Log", tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "file").write_text("")
    report = log.take(tmp_path / "missing.jsonl", tmp_path / "pipe.jsonl", tmp_path / "file" / "session.jsonl", KILLED)
    assert [file.failure is not None for file in report.files] == [True, True, True, False]


def test_lines_that_do_not_parse_are_told_once_and_the_rest_counts(log: "Log", tmp_path: Path) -> None:
    lines = REJECTED.read_bytes().splitlines(keepends=True)
    path = tmp_path / "session.jsonl"
    path.write_bytes(b"".join([*lines[:5], b"\xff\xfe secret\n", *lines[5:9], b"{" + b"x" * 500 + b"\n", *lines[9:]]))
    report = log.take(path)
    assert log.summary(COPIED[REJECTED.name]["session"]) == COPIED[REJECTED.name]
    (problem,) = report.files[0].problems
    assert "line 6 does not parse" in problem
    assert "2 lines passed over" in problem


def call(number: int, todos: object) -> list[str]:
    """A plan call that the agent accepted."""
    data = {"turn": 1, "step": 1, "callId": f"c{number}", "name": "todo_write"}
    result = {"type": "tool-result", "toolCallId": f"c{number}", "content": [{"type": "text", "text": "Updated"}]}
    return [
        json.dumps({"type": "tool/call", "data": data | {"arguments": json.dumps({"todos": todos})}}),
        json.dumps({"type": "todo/write", "data": {"todos": todos}}),
        json.dumps({"type": "tool/result", "data": {"message": {"content": [result]}}}),
    ]


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text(header() + "".join(f"{line}\n" for line in lines))
    return path


@pytest.mark.parametrize(
    "todos",
    [
        [{"content": f"todo {number}", "status": "pending"} for number in range(1_001)],
        [{"content": "x" * 20_001, "status": "pending"}],
        [{"content": f"{number}" + "x" * 19_000, "status": "pending"} for number in range(20)],
    ],
    ids=["many", "long", "heavy"],
)
def test_a_list_over_the_limits_is_a_call_that_was_not_accepted(log: "Log", tmp_path: Path, todos: object) -> None:
    ok = [{"content": "kept", "status": "pending"}]
    report = log.take(written(tmp_path, '{"type":"turn/start","data":{}}', *call(1, ok), *call(2, todos)))
    assert (report.failed, report.files[0].problems) == (0, ())
    events = [entry.event for entry in log.entries("s")]
    assert log.plans("s") == [ok]
    assert [event.call_id for event in events if isinstance(event, ToolCall)] == ["c1", "c2"]
    results = [event for event in events if isinstance(event, ToolResult)]
    assert [result.is_error for result in results] == [False, True]
    assert results[1].text.startswith("not kept: invalid todo")


def test_lone_surrogates_and_nul_survive_as_far_as_they_can(log: "Log", tmp_path: Path) -> None:
    log.take(written(tmp_path, *call(1, [{"content": "a\ud800b\u0000c", "status": "pending"}])))
    assert log.plans("s") == [[{"content": "a\ufffdb\0c", "status": "pending"}]]


def test_a_fork_stands_alone_with_what_was_copied_into_it(log: "Log") -> None:
    log.take(SAMPLES / "real-fork-parent.jsonl", SAMPLES / "real-fork-child.jsonl")
    for name in ("real-fork-parent.jsonl", "real-fork-child.jsonl"):
        assert log.summary(COPIED[name]["session"]) == COPIED[name]


def test_a_subagent_is_a_session_of_its_own_below_its_parent(log: "Log") -> None:
    """R067."""
    log.take(SAMPLES / "fixture-subagent-max-tokens")
    child, parent = (COPIED[f"fixture-subagent-max-tokens/{name}.jsonl"] for name in ("session.1", "session"))
    assert child["parent"] == parent["session"]
    assert log.summary(child["session"]) == child
    assert log.summary(parent["session"]) == parent


def test_a_prompt_labels_its_turn(log: "Log") -> None:
    log.take(RESUMED)
    starts = [e.event for e in log.entries(COPIED[RESUMED.name]["session"]) if isinstance(e.event, TurnStart)]
    assert [(start.turn, start.prompt) for start in starts] == [(1, "Start"), (2, "Continue")]


def test_times_are_the_records_own(log: "Log") -> None:
    log.take(RESUMED)
    entries = log.entries(COPIED[RESUMED.name]["session"])
    assert entries[0].time == 1796057591623
    assert [e.time for e in entries if isinstance(e.event, TurnEnd)] == [1796057591676, 1796057597058]


def test_a_store_that_fails_stops_the_import_with_a_clear_error(log: "Log") -> None:
    execute(log, "DROP TABLE events")
    with pytest.raises(StoreUnusable, match="events"):
        import_paths(log.writer, [KILLED, RESUMED])


@pytest.mark.sqlite
def test_nothing_is_stored_behind_a_batch_that_was_not(
    store: "Store", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planstrip.intake.imports.TAKEN_EVENTS", 100)
    path = tmp_path / "session.jsonl"
    make(path, PLANS, 600_000)
    log, whole = store.fresh(), store.fresh()
    execute(
        log, "CREATE TRIGGER full BEFORE INSERT ON events WHEN NEW.position = 150 BEGIN SELECT RAISE(ABORT, 'f'); END"
    )
    with pytest.raises(StoreUnusable):
        log.take(path)
    assert len(log.rows()) == 101  # the start, and the first batch
    execute(log, "DROP TRIGGER full")
    log.take(path)
    whole.take(path)
    assert len(whole.rows()) > 400
    assert log.rows() == whole.rows()


def execute(log: "Log", statement: str) -> None:
    with log.writer.engine.connect() as connection:
        connection.exec_driver_sql(statement)
        connection.commit()


POISON: list[object] = [None, True, -1, 2**70, 1e400, "", "x" * 300, "\ud800", [], [[]], {}, {"kind": 5}, [{"type": 3}]]


@ONE_STORE
@given(seed=st.integers(0, 2**32), name=st.sampled_from([REJECTED.name, RESUMED.name, "fixture-todo-write.jsonl"]))
def test_poisoned_records_never_crash_and_every_plan_is_valid(
    store: "Store", tmp_path: Path, seed: int, name: str
) -> None:
    chance, log = random.Random(seed), store.fresh()
    head, *lines = (SAMPLES / name).read_text().splitlines()
    records = [poisoned(json.loads(line), chance) for line in lines]
    path = tmp_path / "session.jsonl"
    path.write_text("".join(f"{line}\n" for line in [head, *map(json.dumps, records)]))
    report = log.take(path)
    assert report.failed == 0
    for entry in log.entries(COPIED[name]["session"]):
        if isinstance(entry.event, TodoWrite):
            assert not list(invariant_problems(entry.event.todos))
    rows = log.rows()
    assert log.take(path).added == 0
    assert log.rows() == rows


def poisoned(value: Any, chance: random.Random) -> Any:
    """The value with one part in twenty-five replaced or left out."""
    if chance.random() < 0.04:
        return chance.choice(POISON)
    if isinstance(value, dict):
        return {key: poisoned(item, chance) for key, item in value.items() if chance.random() > 0.02}
    return [poisoned(item, chance) for item in value] if isinstance(value, list) else value
