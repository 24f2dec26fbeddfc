"""opencode's database and exports: what expected.json says, live as at once, whatever is wrong with them."""

import json
import os
import random
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from planstrip.events import SessionTitle, ToolCall, ToolResult, TurnEnd, TurnResume, TurnStart
from planstrip.intake.imports import FileReport, take_new
from planstrip.intake.record import take_in
from planstrip.transcripts.detect import find
from planstrip.transcripts.opencode_database import OpencodeDatabase
from planstrip.transcripts.sources import source_of
from tests.intake.conftest import Log, Store
from tests.intake.test_watching import soon, watching
from tests.transcripts.opencode_store import DUMP, FORK, SAMPLES, SESSION, Agent, loaded
from tests.transcripts.walking import FUZZ, expected_of, goes_in_valid

EXPECTED: Final = expected_of("opencode")
EXPORT: Final = SAMPLES / "messages.json"
DONE: Final = {"finish": "stop", "time": {"created": 1, "completed": 2}}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    folder = tmp_path / "opencode"
    folder.mkdir()
    return loaded(folder / "opencode.db")


@pytest.fixture
def agent(database: Path) -> Iterator[Agent]:
    agent = Agent(database)
    yield agent
    agent.close()


def is_plan(call: ToolCall) -> bool:
    return call.name == "todowrite"


def summary(log: Log, session: str) -> dict[str, object]:
    return log.summary(session, is_plan)


def todos(*pairs: tuple[str, str]) -> dict[str, object]:
    return {"todos": [{"content": content, "status": status, "priority": "low"} for content, status in pairs]}


def test_the_export_gives_what_is_expected_of_it(log: Log) -> None:
    (file,) = log.take(EXPORT).files
    assert (file.failure, file.problems) == (None, ())
    assert summary(log, FORK) == EXPECTED["messages.json"]


def test_the_database_gives_every_session_what_is_expected_of_it(log: Log, database: Path) -> None:
    (file,) = log.take(database).files
    assert (file.failure, file.problems, {file.session, *file.others}) == (None, (), {SESSION, FORK})
    expected = dict(EXPECTED["opencode-dump.sql"])
    others = expected.pop("others")
    assert summary(log, SESSION) == expected
    assert [summary(log, other["session"]) for other in others] == others


def test_twice_is_once(log: Log, database: Path) -> None:
    first = log.take(database)
    rows = log.rows()
    second = log.take(database)
    assert (second.added, second.known, log.rows()) == (0, first.added, rows)


def test_nothing_is_written_beside_an_idle_database(log: Log, database: Path) -> None:
    before = (os.listdir(database.parent), database.read_bytes())
    log.take(database)
    assert (os.listdir(database.parent), database.read_bytes()) == before


def test_opencode_writes_on_while_it_is_read(agent: Agent, database: Path) -> None:
    """A reading that stands still in the middle holds no lock against opencode."""
    events = OpencodeDatabase(database).events()
    next(events)
    agent.connection.execute("PRAGMA busy_timeout = 0")
    agent.session("ses_new")
    agent.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert len(list(events)) > 10


def test_a_list_comes_as_it_is_written_and_equals_a_reading_afterwards(
    store: Store, agent: Agent, database: Path
) -> None:
    log = store.fresh()
    source = source_of(database)
    steps: list[FileReport] = []

    def take() -> list[str]:
        before = len(log.entries("ses_a"))
        steps.append(take_new(log.writer, source))
        assert (steps[-1].failure, steps[-1].problems) == (None, ())
        return [type(entry.event).__name__ for entry in log.entries("ses_a")[before:]]

    take()
    agent.session("ses_a")
    agent.message("ses_a", "msg_1", "user")
    assert take() == ["SessionStart"]  # the prompt's text is a row of its own
    agent.part("ses_a", "msg_1", "prt_1", type="text", text="Fix it\nnow")
    assert take() == ["TurnStart"]
    agent.message("ses_a", "msg_2", "assistant", parentID="msg_1")
    agent.todowrite("ses_a", "msg_2", "prt_2", status="pending", input={})
    assert take() == []
    running = {"status": "running", "input": todos(("a", "in_progress")), "time": {"start": 7, "end": 8}}
    agent.change_part("prt_2", state=running)
    assert take() == ["ToolCall"]
    agent.change_part("prt_2", state=running | {"status": "completed", "output": "ok"})
    assert take() == ["TodoWrite", "ToolResult"]
    agent.title("ses_a", "A better title")
    agent.change_message("msg_2", **DONE)
    assert take() == ["SessionTitle", "TurnEnd"]
    assert take() == []
    assert steps[-1].known == 0
    cold = store.fresh()
    cold.take(database)
    assert [row[2:] for row in cold.rows() if row[0] == "ses_a" and row[2] != "session/title"] == [
        row[2:] for row in log.rows() if row[0] == "ses_a" and row[2] != "session/title"
    ]
    titles = [entry.event for entry in cold.entries("ses_a") if isinstance(entry.event, SessionTitle)]
    assert titles == [SessionTitle("A better title")]


def test_a_row_written_after_its_message_was_over_is_taken_once(log: Log, agent: Agent, database: Path) -> None:
    source = source_of(database)
    agent.session("ses_a")
    agent.message("ses_a", "msg_1", "user")
    agent.part("ses_a", "msg_1", "prt_1", type="text", text="Go")
    agent.message("ses_a", "msg_2", "assistant", parentID="msg_1", **DONE)
    take_new(log.writer, source)
    agent.part("ses_a", "msg_2", "prt_9", type="step-finish")
    agent.part("ses_a", "msg_1", "prt_8", type="text", text="more")
    assert take_new(log.writer, source).added == 0


def test_a_queued_prompt_starts_its_turn_when_it_is_answered(store: Store, agent: Agent, database: Path) -> None:
    log = store.fresh()
    source = source_of(database)
    agent.session("ses_a")
    agent.message("ses_a", "msg_1", "user")
    agent.part("ses_a", "msg_1", "prt_1", type="text", text="One")
    agent.message("ses_a", "msg_2", "assistant", parentID="msg_1")
    agent.message("ses_a", "msg_3", "user")
    agent.part("ses_a", "msg_3", "prt_3", type="text", text="Two")
    take_new(log.writer, source)
    agent.change_message("msg_2", **DONE)
    agent.message("ses_a", "msg_4", "assistant", parentID="msg_3", **DONE)
    take_new(log.writer, source)
    kinds = [type(entry.event) for entry in log.entries("ses_a") if isinstance(entry.event, TurnStart | TurnEnd)]
    assert kinds == [TurnStart, TurnEnd, TurnStart, TurnEnd]
    cold = store.fresh()
    cold.take(database)
    assert [row for row in cold.rows() if row[0] == "ses_a"] == [row for row in log.rows() if row[0] == "ses_a"]


def test_an_answer_that_goes_on_after_its_end_resumes_the_turn(log: Log, agent: Agent, database: Path) -> None:
    agent.session("ses_a", parent=SESSION)
    agent.message("ses_a", "msg_1", "user")
    agent.message("ses_a", "msg_2", "assistant", parentID="msg_1", **DONE)
    agent.message("ses_a", "msg_3", "assistant", parentID="msg_1", **DONE)
    log.take(database)
    kinds = [type(entry.event) for entry in log.entries("ses_a")][1:]
    assert kinds == [TurnStart, TurnEnd, TurnResume, TurnEnd]
    assert log.summary("ses_a")["parent"] == SESSION


def test_a_killed_message_leaves_its_turn_open_and_an_error_ends_it(log: Log, agent: Agent, database: Path) -> None:
    agent.session("ses_a")
    agent.message("ses_a", "msg_1", "user")
    agent.message("ses_a", "msg_2", "assistant", parentID="msg_1")
    agent.message("ses_a", "msg_3", "user")
    agent.message("ses_a", "msg_4", "assistant", parentID="msg_3", error={"name": "APIError"})
    log.take(database)
    ends = [entry.event for entry in log.entries("ses_a") if isinstance(entry.event, TurnEnd)]
    assert [(end.turn, end.reason.kind) for end in ends] == [(2, "error")]


def test_refused_calls_and_calls_that_parse_as_nothing_are_shown_as_such(log: Log, database: Path) -> None:
    log.take(database)
    entries = log.entries(SESSION)
    failed = [entry.event for entry in entries if isinstance(entry.event, ToolResult) and entry.event.is_error]
    assert [event.text[:30] for event in failed] == ["The arguments provided to the ", "The todowrite tool was called "]
    assert {entry.event.name for entry in entries if isinstance(entry.event, ToolCall)} == {"todowrite", "bash"}


def test_a_vacuumed_or_cut_database_is_read_anew(log: Log, database: Path) -> None:
    source = source_of(database)
    take_new(log.writer, source)
    rows = log.rows()
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("DELETE FROM part WHERE rowid % 2 = 1")
        connection.commit()
        connection.execute("VACUUM")
    assert take_new(log.writer, source).failure is None
    assert log.rows() == rows
    database.unlink()
    assert "cannot be read" in (take_new(log.writer, source).failure or "")


def test_a_session_that_contradicts_the_log_takes_no_other_with_it(log: Log, agent: Agent, database: Path) -> None:
    from planstrip.intake.check import check_data

    take_in(log.writer, SESSION, [check_data("session/start", {"agent": "codex"}, path="x")])
    source = source_of(database)
    report = take_new(log.writer, source)
    assert (report.failure, report.session, report.others) == (None, FORK, ())
    assert "left alone" in report.problems[0]
    agent.message(SESSION, "msg_z", "user")
    assert (take_new(log.writer, source).problems, len(log.entries(SESSION))) == ((), 1)


def test_a_database_of_somebody_else_is_refused(log: Log, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE secrets (x)")
    (file,) = log.take(tmp_path / "other.db").files
    assert "not a database planstrip knows: its tables are secrets" in (file.failure or "")


def test_a_database_that_is_being_made_is_waited_for(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        source = source_of(path)
        assert take_new(log.writer, source) == FileReport(path)
    loaded(path)
    assert take_new(log.writer, source).session in (SESSION, FORK)


def test_a_folder_gives_its_database(database: Path) -> None:
    (database.parent / "other.db").write_bytes(b"SQLite format 3\0")
    (database.parent / "opencode.json").write_text("{}")
    assert list(find(database.parent)) == [database]


def test_watching_takes_a_row_in_as_it_is_committed(log: Log, agent: Agent, database: Path) -> None:
    agent.session("ses_a")
    agent.message("ses_a", "msg_1", "user")
    with watching(log, database.parent):
        soon(lambda: len(log.entries("ses_a")) == 1)
        agent.part("ses_a", "msg_1", "prt_1", type="text", text="Go")
        soon(lambda: len(log.entries("ses_a")) == 2)
        agent.message("ses_a", "msg_2", "assistant", parentID="msg_1")
        times = []
        for number in range(10):
            agent.todowrite(
                "ses_a", "msg_2", f"prt_2{number}", status="running", input=todos((f"n{number}", "pending"))
            )
            times.append(soon(lambda number=number: len(log.entries("ses_a")) == 3 + number))  # type: ignore[misc]
    assert sorted(times)[5] < 0.15


@pytest.mark.parametrize("content", [b"", b"[", b"{}", b"[]", b"[1]", b'[{"info":{"id":"x"},"parts":[]}]', b"\xff"])
def test_a_document_that_is_none_is_refused(log: Log, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "messages.json"
    path.write_bytes(content)
    (file,) = log.take(path).files
    assert "not a transcript planstrip knows" in (file.failure or "")
    assert log.rows() == []


def test_an_export_with_its_session_says_what_the_database_says(log: Log, tmp_path: Path) -> None:
    info = {"id": "ses_x", "directory": "/w", "parentID": "ses_p", "title": "T", "time": {"created": 5}}
    path = tmp_path / "export.json"
    path.write_text(json.dumps({"info": info, "messages": json.loads(EXPORT.read_text().replace(FORK, "ses_x"))}))
    (file,) = log.take(path).files
    assert (file.failure, file.session) == (None, "ses_x")
    assert summary(log, "ses_x") == EXPECTED["messages.json"] | {"session": "ses_x", "parent": "ses_p"}


def test_random_cuts_and_changes_of_an_export_crash_nothing(store: Store, tmp_path: Path) -> None:
    content, chance = EXPORT.read_bytes(), random.Random(7)
    path = tmp_path / "messages.json"
    for number in range(FUZZ):
        data = bytearray(content[: chance.randrange(len(content))] if number % 2 else content)
        for _ in range(chance.randrange(4)):
            data[chance.randrange(len(data))] = chance.choice(b'{}[]",:0xnull')
        path.write_bytes(data)
        _valid(list(source_of(path).events()) if _reads(path) else [])


def test_random_changes_of_rows_crash_nothing(database: Path) -> None:
    chance = random.Random(8)
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        rows = connection.execute("SELECT id, data FROM part").fetchall()
        for _ in range(FUZZ):
            name, data = chance.choice(rows)
            changed = bytearray(data.encode())
            for _ in range(chance.randrange(1, 6)):
                changed[chance.randrange(len(changed))] = chance.choice(b'{}[]",:0xnull\xff')
            connection.execute("UPDATE part SET data = ? WHERE id = ?", (changed.decode(errors="replace"), name))
            _valid(list(OpencodeDatabase(database).events()))


def test_random_damage_to_a_database_crashes_nothing(database: Path, tmp_path: Path) -> None:
    content, chance = database.read_bytes(), random.Random(9)
    path = tmp_path / "damaged.db"
    for number in range(FUZZ):
        data = bytearray(content[: chance.randrange(100, len(content))] if number % 2 else content)
        for _ in range(chance.randrange(40)):
            data[chance.randrange(16, len(data))] = chance.randrange(256)
        path.write_bytes(data)
        _valid(_read(path))


def test_rows_of_other_kinds_are_passed_over(log: Log, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        for id_ in ("7", "x'00'", "'s/s'"):
            connection.execute(
                "INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)"
                f" VALUES ({id_}, 'p', 's', 5, x'ff', 'v', 'then', -1)"
            )
            columns = "message (id, session_id, time_created, time_updated, data)"
            connection.execute(f"INSERT INTO {columns} VALUES ({id_} || 'm', {id_}, 1.5, 'x', x'7b7d')")
        connection.commit()
    (file,) = log.take(database).files
    assert (file.failure, {file.session, *file.others}) == (None, {"7", FORK, SESSION})
    assert any("'s/s'" in problem for problem in file.problems)


def _read(path: Path) -> list[Any]:
    """What is given before an error, if there is one."""
    from contextlib import suppress

    from planstrip.errors import UnreadableTranscript

    events: list[Any] = []
    with suppress(UnreadableTranscript):
        for event in source_of(path).events():
            events.append(event)
    return events


def _reads(path: Path) -> bool:
    from planstrip.errors import UnreadableTranscript

    try:
        return bool(list(source_of(path).events()))
    except UnreadableTranscript:
        return False


def _valid(events: Sequence[Any]) -> None:
    for event in events:
        goes_in_valid(event)


def test_the_samples_are_those_of_the_dump() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == {*EXPECTED, "expected.json"}
    assert DUMP.exists()


def test_a_session_that_a_full_panel_does_not_take_takes_no_other_of_its_database_with_it(
    store: Store, agent: Agent, database: Path
) -> None:
    log = store.fresh()
    take_new(log.writer, source_of(database))
    log.writer.room.max_sessions = 2
    for name in ("ses_new", SESSION):
        if name == "ses_new":
            agent.session(name)
        agent.message(name, f"msg_z{name}", "user")
        agent.part(name, f"msg_z{name}", f"prt_z{name}", type="text", text="go on")
    before = len(log.entries(SESSION))
    report = take_new(log.writer, source_of(database))
    assert (report.failure, report.is_later) == (None, True)
    assert any("takes no new session" in problem for problem in report.problems)
    assert len(log.entries(SESSION)) == before + 1
    log.writer.room.max_sessions = 3
    assert not take_new(log.writer, source_of(database)).is_later
    assert log.entries("ses_new")
