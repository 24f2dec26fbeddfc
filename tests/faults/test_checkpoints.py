"""A checkpoint that cannot be used: it is dropped with one warning, and the log is folded again (spec.md §4)."""

import dataclasses
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from planstrip import projection
from planstrip.plan.fold import Plan
from planstrip.plan.view import Standing
from tests.databases import SQLITE, STORE
from tests.running import Panel, running, todos
from tests.stores import Store, event, opened, write

Row = dict[str, Any]


def valued(change: Callable[[Row], None]) -> Callable[[Row], None]:
    """Changes what the checkpoint says."""

    def changed(row: Row) -> None:
        value = json.loads(row["value"])
        change(value)
        row["value"] = json.dumps(value)

    return changed


UPDATE: Final = (
    "UPDATE checkpoints SET version = :version, position = :position, value = :value WHERE session = :session"
)
DAMAGES: Final[dict[str, Callable[[Row], None]]] = {
    "an older version": lambda row: row.update(version=projection.VERSION - 1),
    "a future version": lambda row: row.update(version=projection.VERSION + 1),
    "nothing": lambda row: row.update(value=""),
    "half of it": lambda row: row.update(value=row["value"][: len(row["value"]) // 2]),
    "a list": lambda row: row.update(value="[]"),
    "NUL": lambda row: row.update(value="\0"),
    "a plan of another shape": valued(lambda value: value.update(plan=7)),
    "a status that is none": valued(lambda value: value["plan"]["todos"][0].update(status="lost")),
    "beyond the log": lambda row: (row.update(position=99), valued(lambda value: value.update(position=99))(row))[0],
    "a position that is not its own": lambda row: row.update(position=1),
}


def test_a_checkpoint_that_can_not_be_used_changes_nothing(database: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The plan, the page, the board and the next append are what they are with a sound one. Each is a session's."""
    projection._warn.cache_clear()
    damages = {f"s{n}": damage for n, (name, damage) in enumerate(DAMAGES.items()) if STORE == SQLITE or name != "NUL"}
    with opened(database) as store:
        for session, damage in damages.items():
            store.append(session, event("session/start", agent="codex", title="A title"), write("x=c y=i z=p"))
            call = event("tool/call", call_id="a", name="bash", arguments="{}")
            store.append(session, event("turn/start", turn=1), call)
            keep_another_plan(store, session)
            damage_it(store, session, damage)
    with caplog.at_level(logging.WARNING), running(database) as panel:
        for session in damages:
            assert shown(panel, session) == todos("x=c y=i z=p")
            end = {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}}
            assert panel.append(session, end).json() == {"first_position": 5, "last_position": 5}
            assert shown(panel, session) == todos("x=c y=i z=p")
    told = {record.message for record in caplog.records if "dropped" in record.message}
    assert len(told) == len(damages)


def keep_another_plan(store: Store, session: str) -> None:
    """A checkpoint of the head whose plan is not the log's: whoever trusts it shows that plan."""
    with store.engine.begin() as connection:
        standing = projection.current(connection, session)
        assert standing.plan is not None
        plan = dataclasses.replace(standing.plan, todos=standing.plan.todos[:1])
        assert isinstance(plan, Plan)
        projection.save(connection, session, dataclasses.replace(standing, plan=plan))
        trusted: Standing = projection.current(connection, session)
        assert trusted.plan == plan


def damage_it(store: Store, session: str, damage: Callable[[Row], None]) -> None:
    ((version, position, value),) = store.execute(
        "SELECT version, position, value FROM checkpoints WHERE session = :session", session=session
    )
    row: Row = {"version": version, "position": position, "value": value}
    damage(row)
    store.execute(UPDATE, session=session, **row)


def shown(panel: Panel, session: str) -> object:
    """The plan, once the page and the board have been seen to say the same."""
    found = panel.plan(session)["todos"]
    page = panel.client.get(f"/sessions/{session}").text
    assert all(f">{todo['content']}<" in page for todo in found)
    (listed,) = [one for one in panel.client.get("/api/sessions").json()["sessions"] if one["id"] == session]
    assert listed["counts"] == {"completed": 1, "in_progress": 1, "pending": 1}
    return found
