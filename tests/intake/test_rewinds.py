"""A rewind in an agent's file becomes a position at the door."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from planstrip import projection
from planstrip.events import SessionRewind, TurnStart
from planstrip.intake.check import check_data
from planstrip.intake.record import take_in

if TYPE_CHECKING:
    from tests.intake.conftest import Log

HEADER = {"sessionId": "s", "projectHash": "h", "startTime": "2026-11-30T16:46:36.792Z", "kind": "main"}


def user(id_: str) -> dict[str, object]:
    return {"id": id_, "type": "user", "content": [{"text": id_}]}


def plan(id_: str, content: str) -> dict[str, object]:
    args = {"todos": [{"description": content, "status": "pending"}]}
    call = {"id": f"c{id_}", "name": "write_todos", "args": args, "status": "success"}
    return {"id": id_, "type": "gemini", "content": "", "toolCalls": [call]}


def write(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in (HEADER, *records)))
    return path


def test_a_rewind_brings_the_plan_back_whatever_other_doors_wrote(log: "Log", tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    first = [user("u"), plan("m", "a")]
    second = [user("v"), plan("n", "b"), {"id": "o", "type": "gemini", "content": "Done."}]
    log.take(write(path, *first))
    take_in(log.writer, "s", [check_data("viewer/dismiss", {"content": "x"})])
    assert log.take(write(path, *first, *second, {"$rewindTo": "v"})).files[0].problems == ()
    events = [entry.event for entry in log.entries("s")]
    (rewind,) = [event for event in events if isinstance(event, SessionRewind)]
    starts = [entry.position for entry in log.entries("s") if isinstance(entry.event, TurnStart)]
    assert rewind.to_position == starts[1] - 1
    assert [todo.content for todo in rewind.todos] == ["a"]
    rows = log.rows()
    assert log.take(path).added == 0
    assert log.rows() == rows
    with log.writer.engine.connect() as connection:
        view = projection.view(connection, "s")
    assert [row.is_rewound for row in view.window.rows] == [False, True]


def test_a_turn_whose_end_was_none_is_open_again(log: "Log", tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    said = {"id": "m", "type": "gemini", "content": "I plan."}
    log.take(write(path, user("u"), said))
    with log.writer.engine.connect() as connection:
        assert projection.current(connection, "s").outline.turn == "completed"
    log.take(write(path, user("u"), said, plan("m", "a")))
    with log.writer.engine.connect() as connection:
        view = projection.view(connection, "s")
    assert view.standing.outline.turn == "open"
    assert [turn.is_open for turn in view.window.turns] == [True]
