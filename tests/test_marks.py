"""Every query of a page finds its events by an index: none walks a session, however long (spec.md §8)."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from planstrip import families, marks, past, projection
from planstrip.intake import hooks_log, hooks_others, mcp_log, mcp_owners, mcp_working
from planstrip.masks import NO_MASKS
from planstrip.plan.view import View
from planstrip.web import board
from tests.stores import Store, opened, turn, write

Asked = list[tuple[str, Any]]

FEW = re.compile(r"USING (COVERING )?INDEX ix_events_marked|\(session=\? AND position[=>]|\(parent=|\(id=|\(condition")
pytestmark = pytest.mark.sqlite

# The head of a log, and the row that it names.
HEAD = "WHERE events.session = ? ORDER BY events.position DESC LIMIT"


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with opened(database) as store:
        store.append("s", turn(), write("a=i"), turn(), write("a=c b=i"))
        yield store


def steps(store: Store, ask: Callable[[Connection], object]) -> Iterator[tuple[str, str]]:
    """Each query of events or sessions with each step of SQLite's plan for it that finds rows in a table."""
    asked: Asked = []

    def remember(_connection: object, _cursor: object, statement: str, given: Any, *_more: object) -> None:
        asked.append((" ".join(statement.split()), given))

    event.listen(store.engine, "before_cursor_execute", remember)
    with store.reading() as connection:
        ask(connection)
        event.remove(store.engine, "before_cursor_execute", remember)
        assert any(statement.startswith("SELECT") for statement, _ in asked)
        for statement, given in asked:
            if statement.startswith("SELECT"):
                for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", given):
                    if re.match(r"(SEARCH|SCAN) (events|setter|sessions|parents)", row.detail):
                        yield statement, row.detail


def page(connection: Connection) -> None:
    families.with_family(connection, "s", projection.view(connection, "s"), 0)


ASKS: dict[str, Callable[[Connection], object]] = {
    "a page": page,
    "a page that catches up": lambda connection: projection.catch_up(connection, "s", View()),
    "older rows": lambda connection: projection.window_before(connection, "s", 3),
    "the turn of a row": lambda connection: projection.turn_at(connection, "s", 3),
    "a retirement": lambda connection: projection.retirement(connection, "s"),
    "stops": lambda connection: past.stops(connection, "s", 3),
    "a stop": lambda connection: past.stop_at(connection, "s", 1),
    "a plan of then": lambda connection: projection.plan_at(connection, "s", 3),
    "parents": lambda connection: families.parents_of(connection, ["s"]),
}


@pytest.mark.parametrize("name", ASKS)
def test_a_page_finds_its_events_by_an_index(store: Store, name: str) -> None:
    walked = [found for found in steps(store, ASKS[name]) if not FEW.search(found[1]) and HEAD not in found[0]]
    assert walked == []


def test_the_board_finds_each_group_by_an_index(store: Store) -> None:
    query = board.query_of({})
    for _, step in steps(store, lambda connection: board._read(connection, query, 0, NO_MASKS)):
        assert "USING INDEX ix_sessions" in step or "COVERING INDEX ix_sessions" in step or "(id=?)" in step, step


@pytest.mark.parametrize(
    "query",
    [
        mcp_log._NEWEST_TURN,
        mcp_log._TURNS,
        mcp_owners._NEWEST,
        mcp_working._NEWEST_CALLS,
        hooks_others._NEWEST,
        hooks_others._THEN,
        hooks_log._NEWEST_WRITE,
    ],
)
def test_what_intake_looks_for_is_found_by_the_index(store: Store, query: Any) -> None:
    given = {"session": "s", "type": "todo/write", "limit": 3, "since": 0, "until": 9}
    named = {name: given[name] for name in query.compile().params if name in given}
    for _, step in steps(store, lambda connection: connection.execute(query, named).all()):
        assert "ix_events_marked (session=? AND type=?" in step


def test_the_newest_of_each_type_come_in_order(store: Store) -> None:
    with store.reading() as connection:
        assert marks.newest(connection, "s", ("todo/write", "turn/start")) == [3, 4]
        assert marks.newest(connection, "s", ("todo/write", "turn/start"), limit=9) == [1, 2, 3, 4]
        assert marks.newest(connection, "s", ("todo/write", "turn/start"), limit=9, after=1, until=3) == [2, 3]
        assert marks.newest(connection, "s", ("todo/write", "turn/start"), skip=1) == [1, 2]
        assert marks.newest(connection, "none", ("todo/write",)) == []
        assert marks.newest_one(connection, "s", ("todo/write", "turn/end"), 3) == 2
        assert marks.newest_one(connection, "s", ("turn/end",)) is None
        assert marks.between(connection, "s", "turn/start", 1, 9) == [3]
