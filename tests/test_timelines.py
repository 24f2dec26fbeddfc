"""The timeline as it is read from the log: the fold of all of it, at a cost that does not grow (spec.md §9)."""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import given as arbitrary
from hypothesis import strategies as st
from sqlalchemy import event as event_of

from planstrip import past, projection, timelines
from planstrip.events import Event, TodoWrite, ToolCall, TurnWait, Unknown, decode
from planstrip.lately import Lately
from planstrip.plan.timeline import Timeline, timeline
from planstrip.plan.view import View
from tests.logs import events
from tests.stores import Store, draft_of, event, opened, turn, write

quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
_numbers = itertools.count()


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with opened(database) as store:
        yield store


@quick
@arbitrary(st.lists(events.filter(lambda event: not isinstance(event, TurnWait)), max_size=30))
def test_what_is_read_is_the_fold_of_the_whole_log(store: Store, given: list[Event]) -> None:
    session = f"log-{next(_numbers)}"
    for one in given:
        store.append(session, draft_of(one))  # a second apart
    with store.reading() as connection:
        view = projection.view(connection, session)
    whole = [entry for entry in store.entries(session) if entry.position <= view.standing.timeline_changed]
    # a type that is not known may be what came right before a turn: its time counts, and no reader has it
    assume(not any(isinstance(one, Unknown) for one in given))
    assert view.timeline == timeline(whole, view.standing.timeline_until)


def test_a_wait_is_found_by_what_ended_it(store: Store) -> None:
    store.append("a", turn())
    store.append("a", write("a=i"))
    store.append("a", event("turn/wait", turn=1, **{"for": "approval"}))
    store.append("a", event("tool/result", call_id="c", is_error=False, text=""))
    store.append("a", event("turn/resume", turn=1))
    store.append("a", write("a=c"))
    with store.reading() as connection:
        found = projection.view(connection, "a").timeline
    assert found.busy_ms == 2_000
    assert len(found.rests) == 1


def test_only_the_newest_writes_of_a_long_plan_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "MAX_SETTERS", 3)
    monkeypatch.setattr(timelines, "STEP", 1)
    store.append("a", turn())
    for number in range(5):
        store.append("a", write(f"t{number}=i"))
    with store.reading() as connection:
        found = projection.view(connection, "a").timeline
    assert [lane.content for lane in found.lanes] == ["t2", "t3", "t4"]
    assert [found.newest_writes, *map(found.is_cut, found.lanes)] == [3, True, False, False]


def test_a_plan_that_began_within_the_writes_that_are_read_is_whole(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timelines, "MAX_SETTERS", 3)
    monkeypatch.setattr(timelines, "STEP", 1)
    for spec in ("a=i", "a=c", "", "b=i"):
        store.append("a", write(spec))
    with store.reading() as connection:
        found = projection.view(connection, "a").timeline
    assert ([lane.content for lane in found.lanes], found.newest_writes) == (["b"], 0)


def test_110_writes_two_minutes_apart_are_all_counted(store: Store) -> None:
    """`clock` counts up by a second a commit."""
    store.append("a", turn())
    for number in range(110):
        store.append("a", write(f"Alpha=i t{number}=p"))
    with store.reading() as connection:
        found = projection.view(connection, "a").timeline
    assert (found.lanes[0].worked_ms, found.busy_ms, found.newest_writes) == (109_000, 109_000, 0)


@quick
@arbitrary(st.lists(events, max_size=30), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_what_is_carried_on_is_what_a_fresh_read_finds(
    store: Store, monkeypatch: pytest.MonkeyPatch, given: list[Event], writes: int, step: int, is_watched: bool
) -> None:
    """Also where who watches hands on the events that it has read."""
    session, fresh = f"log-{next(_numbers)}", list[Timeline]()
    monkeypatch.setattr(timelines, "MAX_SETTERS", writes + step)
    monkeypatch.setattr(timelines, "STEP", step)
    carried, view = list[Timeline](), View()
    for one in given:
        store.append(session, draft_of(one))
        with store.reading() as connection:
            is_on = is_watched and view.standing.position
            view = projection.catch_up(connection, session, view) if is_on else projection.view(connection, session)
            carried.append(view.timeline)
    monkeypatch.setattr(timelines, "_FOLDED", Lately(0))
    monkeypatch.setattr(timelines, "_LATELY", Lately(0))
    for position in range(len(given)):
        with store.reading() as connection:
            fresh.append(past.view_at(connection, session, position + 1).timeline)
    monkeypatch.undo()
    assert carried == fresh


def test_who_watches_asks_the_log_for_nothing_that_it_has_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A write costs two statements: what is new, and where the log's head is."""
    store.append("a", turn(), write("a=i b=p"))
    with store.reading() as connection:
        view = projection.view(connection, "a")
    asked = list[str]()
    event_of.listen(store.engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
    for spec in ("a=i b=i", "a=c b=i c=p", "b=i", "b=i d=i"):
        store.append("a", write(spec))
        with store.reading() as connection:
            asked.clear()
            view = projection.catch_up(connection, "a", view)
        assert len([statement for statement in asked if statement.startswith("SELECT")]) == 2, (spec, asked)
    monkeypatch.setattr(timelines, "_FOLDED", Lately(0))
    monkeypatch.setattr(timelines, "_LATELY", Lately(0))
    with store.reading() as connection:
        assert projection.view(connection, "a").timeline == view.timeline


def test_long_lists_are_read_up_to_a_size(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timelines, "MAX_SETTERS_CHARS", 1)
    store.append("a", write("a=i"), write("b=i"))
    with store.reading() as connection:
        assert [lane.content for lane in projection.view(connection, "a").timeline.lanes] == ["b"]


def test_what_lies_before_the_oldest_known_turn_is_no_work(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append("a", turn())
    store.append("a", write("a=i"))
    store.append("a", draft_of(ToolCall("c", "bash", "{}")))
    for _ in range(4):
        store.append("a", turn())
        store.append("a", draft_of(ToolCall("c", "bash", "{}")))
    with store.reading() as connection:
        everything = projection.view(connection, "a").timeline
        monkeypatch.setattr(timelines, "MAX_TURN_EVENTS", 3)
        monkeypatch.setattr(timelines, "_LATELY", Lately(0))
        newest = projection.view(connection, "a").timeline
    assert (everything.busy_ms, newest.busy_ms) == (4_000, 2_000)


def test_of_many_events_few_are_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append("a", turn(), write("a=i"))
    for start in range(0, 5_000, 500):
        store.append("a", *[draft_of(ToolCall(f"c{start + at}", "bash", "{}")) for at in range(500)])
    store.append("a", write("a=c"))
    read = Counter[str]()

    def counting(type_: str, data: str) -> Event:
        read[type_] += 1
        return decode(type_, data)

    monkeypatch.setattr(timelines, "decode_list", counting)
    with store.reading() as connection:
        assert projection.view(connection, "a").timeline.lanes[0].kind == "finished"
    assert read == {"turn/start": 1, "todo/write": 2}


def test_tool_calls_draw_a_running_timeline_again_once_a_minute(store: Store) -> None:
    """`clock` counts up by a second a commit."""
    store.append("a", turn())
    store.append("a", draft_of(TodoWrite(())), write("a=i"))
    drawn = set()
    for number in range(130):
        store.append("a", draft_of(ToolCall(f"c{number}", "bash", "{}")))
        with store.reading() as connection:
            drawn.add(projection.view(connection, "a").timeline.busy_ms)
    assert drawn == {0, 60_000, 120_000}


@quick
@arbitrary(st.lists(events, max_size=20))
def test_the_past_has_the_timeline_that_it_had(store: Store, given: list[Event]) -> None:
    session, was = f"log-{next(_numbers)}", []
    for one in given:
        store.append(session, draft_of(one))
        with store.reading() as connection:
            was.append(projection.view(connection, session).timeline)
    with store.reading() as connection:
        assert [past.view_at(connection, session, position + 1).timeline for position in range(len(given))] == was
