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
from tests.databases import POSTGRESQL, STORE
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


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_checkpoint_that_can_not_be_used_changes_nothing(
    database: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The plan, the page, the board and the next append are what they are with a sound one."""
    if STORE == POSTGRESQL and damage == "NUL":
        pytest.skip("PostgreSQL keeps no such text")
    projection._warn.cache_clear()
    with opened(database) as store:
        store.append("s", event("session/start", agent="codex", title="A title"), write("x=c y=i z=p"))
        store.append("s", event("turn/start", turn=1), event("tool/call", call_id="a", name="bash", arguments="{}"))
        keep_another_plan(store)
        damage_it(store, DAMAGES[damage])
    with caplog.at_level(logging.WARNING), running(database) as panel:
        assert shown(panel) == todos("x=c y=i z=p")
        assert panel.append("s", {"type": "turn/end", "data": {"turn": 1, "reason": {"kind": "completed"}}}).json() == {
            "first_position": 5,
            "last_position": 5,
        }
        assert shown(panel) == todos("x=c y=i z=p")
    assert len({record.message for record in caplog.records if "dropped" in record.message}) == 1


def keep_another_plan(store: Store) -> None:
    """A checkpoint of the head whose plan is not the log's: whoever trusts it shows that plan."""
    with store.engine.begin() as connection:
        standing = projection.current(connection, "s")
        assert standing.plan is not None
        plan = dataclasses.replace(standing.plan, todos=standing.plan.todos[:1])
        assert isinstance(plan, Plan)
        projection.save(connection, "s", dataclasses.replace(standing, plan=plan))
        trusted: Standing = projection.current(connection, "s")
        assert trusted.plan == plan


def damage_it(store: Store, damage: Callable[[Row], None]) -> None:
    ((version, position, value),) = store.execute("SELECT version, position, value FROM checkpoints")
    row: Row = {"version": version, "position": position, "value": value}
    damage(row)
    store.execute("UPDATE checkpoints SET version = :version, position = :position, value = :value", **row)


def shown(panel: Panel) -> object:
    """The plan, once the page and the board have been seen to say the same."""
    found = panel.plan("s")["todos"]
    page = panel.client.get("/sessions/s").text
    assert all(f">{todo['content']}<" in page for todo in found)
    (listed,) = panel.client.get("/api/sessions").json()["sessions"]
    assert listed["counts"] == {"completed": 1, "in_progress": 1, "pending": 1}
    return found
