"""A session as it stood: the fold of the log up to there, and the writes as stops on the way (spec.md §9)."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from planstrip import past, projection
from planstrip.events import Entry, Event, Unknown, ViewerRetire
from planstrip.plan.freshness import Freshness
from planstrip.plan.view import Standing, stand
from tests.logs import events, logs
from tests.stores import Store, draft_of, opened, turn, write

quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
_numbers = itertools.count()


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with opened(database) as store:
        yield store


def comparable(standing: Standing) -> Standing:
    """Calls from before the plan are not read, and what came of one of them is not told."""
    freshness = Freshness(standing.freshness.turns, standing.freshness.calls, is_cut=standing.freshness.is_cut)
    return replace(standing, freshness=freshness, position=0, updated_at=0, strip_changed=0)


@quick
@given(logs)
def test_what_stood_at_every_position_is_the_fold_of_that_prefix(store: Store, entries: list[Entry]) -> None:
    session = f"log-{next(_numbers)}"
    store.append(session, *[draft_of(entry.event) for entry in entries])
    stored = store.entries(session)
    with store.reading() as connection:
        for position in range(1, len(entries) + 1):
            expected = stand(entry for entry in stored if entry.position <= position)
            found = past.standing_at(connection, session, position)
            assert comparable(found) == comparable(expected)
        assert past.view_at(connection, session, len(entries)).window == projection.view(connection, session).window


@quick
@example([Unknown("later/type"), ViewerRetire()])
@given(st.lists(events, min_size=1, max_size=30))
def test_the_agents_last_sign_is_the_same_then_and_now(store: Store, events: list[Event]) -> None:
    session = f"log-{next(_numbers)}"
    for event in events:
        store.append(session, draft_of(event))
        with store.reading() as connection:
            now = projection.current(connection, session)
            assert past.standing_at(connection, session, now.position).updated_at == now.updated_at


def test_writes_are_stops(store: Store) -> None:
    store.append("s", turn(), write("a=i"), turn(), turn(), write("a=c"), write("b=i"))
    with store.reading() as connection:
        assert past.stops(connection, "s", 4) == past.Stops(1, 3, 2, 5)
        assert past.stops(connection, "s", 1) == past.Stops(0, 3, None, 2)
        assert past.stops(connection, "s", 6) == past.Stops(3, 3, 5, None)
        assert past.stops(connection, "none", 6) == past.Stops(0, 0, None, None)
        assert [past.stop_at(connection, "s", number) for number in range(5)] == [1, 2, 5, 6, None]


def test_rows_and_turns_are_those_of_then(store: Store) -> None:
    store.append("s", turn(), write("a=i"), turn())
    with store.reading() as connection:
        view = past.view_at(connection, "s", 2)
    assert [found.is_open for found in view.window.turns] == [True]
