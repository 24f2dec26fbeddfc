"""Append and read: positions, keys, and events that are taken in (spec.md §2)."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planstrip.errors import Conflict
from planstrip.eventlog import READ_CHUNK, Draft, read, read_stored
from planstrip.events import Event, Unknown
from tests.logs import events
from tests.stores import Store, draft_of, event, opened, write


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with opened(database) as store:
        yield store


def test_positions_count_from_one_in_each_session(store: Store) -> None:
    assert store.append("a", write("x=i"), write("y=i")).positions == (1, 2)
    assert store.append("b", write("x=i")).positions == (1,)
    assert store.append("a", write("z=i")).positions == (3,)


def test_positions_go_on_after_a_restart(database: Path) -> None:
    """R145."""
    for first in (1, 4, 7):
        with opened(database) as store:
            assert store.append("a", *[write("x=i")] * 3).positions == (first, first + 1, first + 2)


def test_an_append_answers_what_was_added(store: Store) -> None:
    store.append("a", write("x=i", key="1"))
    appended = store.append("a", write("x=i", key="1"), write("y=i", key="2"))
    assert (appended.positions, appended.head, appended.added) == ((1, 2), 2, 1)


def test_a_failed_append_leaves_no_position_unused(store: Store) -> None:
    store.append("a", write("x=i", key="1"))
    with pytest.raises(Conflict):
        store.append("a", write("y=i"), write("y=i", key="1"))
    assert store.append("a", write("z=i")).positions == (2,)


def test_what_is_taken_in_drops_repeats_and_never_conflicts(store: Store) -> None:
    def take(*drafts: Draft) -> tuple[int, ...]:
        return store.append("a", *drafts, takes_in=True).positions

    assert take(write("x=i", key="1"), write("y=i", key="2")) == (1, 2)
    assert take(write("x=i", key="1")) == (1,)
    assert take(write("z=i", key="1")) == (3,)  # other content: a new event
    assert take(write("z=i", key="1")) == (3,)  # and again it is known
    assert take(write("x=i", key="1"), write("z=i", key="1"), write("z=i", key="1")) == (1, 3, 3)
    assert take(write("w=i", key="3"), write("v=i", key="3"), write("w=i", key="3")) == (4, 5, 4)


def test_what_is_made_of_a_state_is_told_once_whatever_its_content_is_by_then(store: Store) -> None:
    def take(*drafts: Draft) -> tuple[int, ...]:
        return store.append("a", *[replace(draft, is_state=True) for draft in drafts], takes_in=True).positions

    assert take(write("x=i", key="1"), write("x=c", key="2")) == (1, 2)
    assert take(write("y=i", key="1"), write("y=i", key="3"), write("z=i", key="3")) == (1, 3, 3)
    assert take(write("y=i", key="3")) == (3,)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=6), max_size=6), st.integers())
def test_each_content_of_a_key_is_kept_once_however_it_comes(
    store: Store, batches: list[list[tuple[str, int]]], number: int
) -> None:
    kept: dict[tuple[str, int], int] = {}
    for batch in batches:
        drafts = [event("x", key, n=content) for key, content in batch]
        expected = [kept.setdefault(sent, len(kept) + 1) for sent in batch]
        assert store.append(f"k{number}", *drafts, takes_in=True).positions == tuple(expected)
    store.execute("DELETE FROM events")
    store.execute("DELETE FROM sessions")
    store.execute("DELETE FROM checkpoints")


def test_many_keys_are_looked_up_in_parts(store: Store) -> None:
    drafts = [event("x", f"k{number}", n=number) for number in range(1_200)]
    store.append("a", *drafts)
    appended = store.append("a", *drafts[::-1])
    assert appended.positions == tuple(range(1_200, 0, -1))
    assert appended.added == 0


def test_reading_goes_on_beyond_a_chunk(store: Store) -> None:
    store.append("a", *[event("session/title", title="t")] * (2 * READ_CHUNK + 1))
    with store.reading() as connection:
        assert [entry.position for entry in read(connection, "a")] == list(range(1, 2 * READ_CHUNK + 2))
        assert [entry.position for entry in read(connection, "a", 10, 13)] == [11, 12, 13]
        assert [entry.position for entry in read(connection, "a", 4_000)] == [4_001]
        assert [stored.position for stored in read_stored(connection, "a", 5, 2)] == [6, 7]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(events, min_size=1, max_size=4), max_size=6), st.integers())
def test_what_is_read_is_what_was_appended_in_order(store: Store, batches: list[list[Event]], number: int) -> None:
    session = f"s{number}"
    before = len(store.entries(session))
    drafts = [[draft_of(event) for event in batch] for batch in batches]
    positions = [position for batch in drafts for position in store.append(session, *batch).positions]
    known = [draft.event for batch in drafts for draft in batch if not isinstance(draft.event, Unknown)]
    assert [entry.event for entry in store.entries(session)][before:] == known
    with store.reading() as connection:
        stored = read_stored(connection, session, positions[0] - 1 if positions else 0, 1_000)
    assert [(event.position, event.type, event.data) for event in stored][: len(positions)] == [
        (position, draft.type, draft.data)
        for position, draft in zip(positions, [draft for batch in drafts for draft in batch], strict=True)
    ]
    assert positions == list(range(positions[0], positions[0] + len(positions))) if positions else True


def test_a_poisoned_row_does_not_hide_its_neighbours(store: Store) -> None:
    """R036."""
    store.append("a", write("x=i"), write("y=i"), write("z=i"))
    store.execute("UPDATE events SET data = '{' WHERE position = 2")
    assert [entry.position for entry in store.entries("a")] == [1, 2, 3]
    assert store.plan("a") == ["z"]
