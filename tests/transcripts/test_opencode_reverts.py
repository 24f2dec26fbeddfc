"""opencode's reverts, as its published program leaves them in the database: undone, made final, of a part alone."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from planstrip.events import Entry, SessionRewind, TurnStart
from planstrip.intake.imports import take_new
from planstrip.plan.fold import fold
from planstrip.transcripts.opencode_database import OpencodeDatabase
from tests.intake.conftest import Log
from tests.transcripts.opencode_store import Agent, loaded

DONE = {"finish": "stop", "time": {"created": 1, "completed": 2}}


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    """A session whose second turn wrote a second list."""
    agent = Agent(loaded(tmp_path / "opencode.db"))
    agent.session("ses_a")
    for number in (1, 2):
        agent.message("ses_a", f"msg_{number}0", "user")
        agent.part("ses_a", f"msg_{number}0", f"prt_{number}0", type="text", text=f"Prompt {number}")
        agent.message("ses_a", f"msg_{number}1", "assistant", parentID=f"msg_{number}0", **DONE)
        for part in (1, 2):
            _write(agent, f"msg_{number}1", f"prt_{number}{part}", f"list {number}.{part}")
    yield agent
    agent.close()


@pytest.fixture
def source(agent: Agent, tmp_path: Path, log: Log) -> OpencodeDatabase:
    """Read once."""
    source = OpencodeDatabase(tmp_path / "opencode.db")
    take_new(log.writer, source)
    assert _plan(log) == ["list 2.2"]
    return source


def _write(agent: Agent, message: str, part: str, content: str) -> None:
    todos = {"todos": [{"content": content, "status": "pending"}]}
    time = {"start": agent.now, "end": agent.now + 1}
    agent.todowrite("ses_a", message, part, status="completed", output="", input=todos, time=time)


def _plan(log: Log) -> list[str] | None:
    plan = fold(log.entries("ses_a"))
    return None if plan is None else [todo.content for todo in plan.todos]


def _rewinds(log: Log) -> list[Entry]:
    return [entry for entry in log.entries("ses_a") if isinstance(entry.event, SessionRewind)]


def _prompt_again(agent: Agent) -> None:
    agent.message("ses_a", "msg_30", "user")
    agent.part("ses_a", "msg_30", "prt_30", type="text", text="Prompt 3")
    agent.message("ses_a", "msg_31", "assistant", parentID="msg_30", **DONE)


def test_a_revert_that_may_be_undone_changes_nothing(log: Log, agent: Agent, source: OpencodeDatabase) -> None:
    rows = log.rows()
    agent.revert("ses_a", "msg_20")
    take_new(log.writer, source)
    agent.unrevert("ses_a")
    take_new(log.writer, source)
    assert log.rows() == rows


def test_the_next_prompt_makes_it_final(log: Log, agent: Agent, source: OpencodeDatabase) -> None:
    agent.revert("ses_a", "msg_20")
    take_new(log.writer, source)
    agent.clean_up("ses_a")
    _prompt_again(agent)
    report = take_new(log.writer, source)
    assert (report.failure, report.problems) == (None, ())
    assert _plan(log) == ["list 1.2"]
    starts = [entry for entry in log.entries("ses_a") if isinstance(entry.event, TurnStart)]
    (rewind,) = _rewinds(log)
    assert isinstance(rewind.event, SessionRewind)
    assert rewind.event.to_position == starts[1].position - 1
    assert [entry.event.prompt for entry in starts if isinstance(entry.event, TurnStart)][-1] == "Prompt 3"
    assert starts[2].position > rewind.position
    take_new(log.writer, source)
    assert len(_rewinds(log)) == 1


def test_the_first_prompt_may_be_taken_back(log: Log, agent: Agent, source: OpencodeDatabase) -> None:
    agent.revert("ses_a", "msg_10")
    take_new(log.writer, source)
    agent.clean_up("ses_a")
    take_new(log.writer, source)
    assert (_plan(log), len(_rewinds(log))) == (None, 1)


def test_a_part_may_be_taken_back_alone(log: Log, agent: Agent, source: OpencodeDatabase) -> None:
    agent.revert("ses_a", "msg_21", "prt_22")
    take_new(log.writer, source)
    agent.clean_up("ses_a")
    take_new(log.writer, source)
    assert (_plan(log), len(_rewinds(log))) == (["list 2.1"], 1)


def test_a_revert_in_one_session_leaves_the_newer_rows_of_another(
    log: Log, agent: Agent, source: OpencodeDatabase
) -> None:
    agent.session("ses_b")
    agent.message("ses_b", "msg_b", "user")
    agent.revert("ses_a", "msg_20")
    take_new(log.writer, source)
    agent.clean_up("ses_a")
    take_new(log.writer, source)
    assert (_plan(log), len(_rewinds(log))) == (["list 1.2"], 1)


@pytest.mark.parametrize("raw", ["7", "{", "[]", '{"messageID": 5}', '{"messageID": "msg_21", "partID": "prt_99"}'])
def test_a_revert_of_another_shape_is_passed_over(log: Log, agent: Agent, source: OpencodeDatabase, raw: str) -> None:
    rows = log.rows()
    agent.connection.execute("UPDATE session SET revert = ? WHERE id = 'ses_a'", (raw,))
    take_new(log.writer, source)
    agent.unrevert("ses_a")
    assert (take_new(log.writer, source).problems, log.rows()) == ((), rows)


def test_a_database_of_an_older_program_knows_none(log: Log, agent: Agent, tmp_path: Path) -> None:
    agent.connection.execute("ALTER TABLE session DROP COLUMN revert")
    assert take_new(log.writer, OpencodeDatabase(tmp_path / "opencode.db")).failure is None
