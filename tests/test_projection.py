"""Projections: checkpoints, the standing plan at every position, and the window of rows (spec.md §4)."""

import itertools
import json
import logging
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from planstrip import projection
from planstrip.events import (
    Entry,
    Event,
    SessionRewind,
    Status,
    Todo,
    TodoWrite,
    ToolCall,
    ToolResult,
    Unknown,
    ViewerRetire,
)
from planstrip.plan.fold import fold
from planstrip.plan.rows import Window
from planstrip.plan.rows import fold as fold_rows
from planstrip.plan.view import View, advance, stand
from planstrip.projection import CHECKPOINT_EVERY, WINDOW_ROWS
from planstrip.tables import checkpoints, sessions
from tests.logs import events, logs
from tests.running import Panel, running, todos
from tests.stores import Store, draft_of, event, opened, turn, write

quick = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
_numbers = itertools.count()


@pytest.fixture
def store(database: Path) -> Iterator[Store]:
    with opened(database) as store:
        yield store


def new_log(store: Store, entries: list[Entry], size: int = 10_000) -> str:
    session = f"log-{next(_numbers)}"
    drafts = [draft_of(entry.event) for entry in entries]
    for start in range(0, len(drafts), size):
        store.append(session, *drafts[start : start + size])
    return session


# Cold equals live


@quick
@example([Unknown("later/type"), ViewerRetire()], 1)
@example([Unknown("later/type"), ViewerRetire()], 2)
@given(st.lists(events, max_size=30), st.integers(1, 4))
def test_a_fresh_read_equals_what_a_live_viewer_holds_at_every_prefix(
    store: Store, events: list[Event], size: int
) -> None:
    """R012, R150."""
    session, live = f"log-{next(_numbers)}", View()
    for start in range(0, len(events), size):
        store.append(session, *[draft_of(event) for event in events[start : start + size]])
        with store.reading() as connection:
            live = projection.catch_up(connection, session, live)
            cold = projection.view(connection, session)
            listed = store.execute("SELECT position, updated_at, condition FROM sessions WHERE id = :s", s=session)
        assert live.standing == cold.standing
        assert live.window.turns == cold.window.turns
        assert live.timeline == cold.timeline
        assert live.window.revisions == cold.window.revisions
        assert live.window.plan == cold.window.plan == cold.standing.plan
        shown = (cold.standing.position, cold.standing.updated_at, cold.standing.condition)
        assert [tuple(row) for row in listed] == [shown]


@quick
@given(logs)
def test_a_fresh_read_is_the_fold_of_the_log(store: Store, entries: list[Entry]) -> None:
    session = new_log(store, entries)
    stored = store.entries(session)
    with store.reading() as connection:
        standing = projection.current(connection, session)
        assert standing.plan == stand(stored).plan == fold(stored)
        assert standing.position == len(entries)


@quick
@given(logs)
def test_the_plan_at_every_position_is_the_fold_of_that_prefix(store: Store, entries: list[Entry]) -> None:
    session = new_log(store, entries)
    stored = store.entries(session)
    with store.reading() as connection:
        for position in range(len(entries) + 2):
            before = [entry for entry in stored if entry.position <= position]
            assert projection.plan_at(connection, session, position) == fold(before)


@quick
@given(st.lists(events, min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_a_checkpoint_at_any_position_changes_nothing(store: Store, events: list[Event], choose: random.Random) -> None:
    session = f"log-{next(_numbers)}"
    store.append(session, *[draft_of(event) for event in events])
    with store.reading() as connection:
        expected = projection.current(connection, session)
        entries = store.entries(session)
        cut = choose.randint(1, len(events))
        with store.engine.begin() as writing:
            projection.save(writing, session, stand([entry for entry in entries if entry.position <= cut]))
    with store.reading() as connection:
        assert projection.current(connection, session) == expected


def long_log(count: int, seed: int) -> list[Event]:
    """Turns, calls that are answered late or never, rewinds: more rows than a window holds."""
    choose, made = random.Random(seed), list[Event]()
    for number in range(count):
        match choose.randrange(20):
            case 0 | 1:
                made.append(event("turn/start", turn=number).event)
            case 2:
                kind = choose.choice(["completed", "aborted", "closed"])
                end = event("session/end") if kind == "closed" else event("turn/end", turn=1, reason={"kind": kind})
                made.append(end.event)
            case 3:
                status: Status = choose.choice(["completed", "completed", "in_progress"])
                made.append(TodoWrite((Todo(f"t{number // 50}", status),), f"c{number - choose.randrange(3)}"))
            case 4 if number > 4:
                made.append(SessionRewind(choose.randrange(number)))
            case 5 | 6 | 7 | 8 | 9 | 10 | 11:
                made.append(ToolResult(f"c{choose.randrange(max(0, number - 8), number + 1)}", False, "ok"))
            case _:
                made.append(ToolCall(f"c{number}", "bash", "{}"))
    return made


@pytest.mark.parametrize("seed", range(6))
def test_the_window_from_the_log_is_the_live_one(store: Store, seed: int) -> None:
    session = f"long-{seed}"
    view, drafts = View(), [draft_of(event) for event in long_log(900, seed)]
    for start in range(0, len(drafts), 60):
        store.append(session, *drafts[start : start + 60])
        with store.reading() as connection:
            view = projection.catch_up(connection, session, view)
            cold = projection.view(connection, session)
            whole = advance(View(), store.entries(session))
        assert cold.window.turns == view.window.turns == whole.window.turns
        assert cold.window.revisions == view.window.revisions == whole.window.revisions
        assert cold.window.plan == view.window.plan == whole.window.plan
        assert cold.standing == view.standing == whole.standing
        assert len(cold.window.rows) <= WINDOW_ROWS


@pytest.mark.parametrize("seed", range(3))
def test_older_rows_page_by_page_are_all_rows_as_they_became(store: Store, seed: int) -> None:
    session = f"older-{seed}"
    store.append(session, *[draft_of(event) for event in long_log(700, seed)])
    whole = fold_rows(store.entries(session), Window(size=10_000))
    with store.reading() as connection:
        rows = list(projection.view(connection, session).window.rows)
        while rows and rows[0].position > whole.rows[0].position:
            older = projection.window_before(connection, session, rows[0].position).rows
            assert older
            rows = [*older, *rows]
    told = [[(row.position, row.state, row.result, row.is_rewound) for row in found] for found in (rows, whole.rows)]
    assert told[0] == told[1]
    assert [row.revision for row in rows] == [row.revision for row in whole.rows]


def test_older_rows_that_were_rewound_since_say_so(store: Store) -> None:
    store.append("a", turn(), *[event("tool/call", call_id=f"{n}", name="n", arguments="") for n in range(150)])
    store.append("a", *[event("tool/result", call_id=f"{n}", is_error=False, text="") for n in range(150)])
    store.append("a", draft_of(SessionRewind(5)))
    with store.reading() as connection:
        older = projection.window_before(connection, "a", 40)
    assert [row.is_rewound for row in older.rows] == [row.position > 5 for row in older.rows]


# Checkpoints


TWELVE = " ".join(f"step{number}={'c' if number < 5 else 'i' if number < 7 else 'p'}" for number in range(12))


def interrupted_log(store: Store, session: str = "s") -> None:
    """The second bug seed: a plan of 12 in turn 1, turn 2 killed without an end, turn 3 begun."""
    store.append(session, turn(), write(TWELVE), event("turn/end", turn=1, reason={"kind": "completed"}))
    store.append(session, event("turn/start", turn=2), event("tool/call", call_id="c", name="bash", arguments="{}"))
    store.append(session, event("turn/start", turn=3))


def old_checkpoint(store: Store, version: int = 2, session: str = "s") -> None:
    """What the fold that cleared at every turn's start had left."""
    projection._warn.cache_clear()  # the same session may have been told of on the other store
    with store.engine.begin() as connection:
        cleared = stand([entry for entry in store.entries(session) if "todo" not in type(entry.event).__name__.lower()])
        assert cleared.plan is None
        projection.save(connection, session, cleared)
        connection.execute(update(checkpoints).values(version=version))
        connection.execute(update(sessions).values(completed=0, in_progress=0, pending=0, fold_version=version))


def test_the_plan_of_an_interrupted_turn_stands(store: Store) -> None:
    interrupted_log(store)
    assert store.plan("s") == [f"step{number}" for number in range(12)]


def test_a_checkpoint_of_the_old_fold_is_dropped_and_the_plan_comes_back(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    """R147."""
    interrupted_log(store)
    before = store.execute("SELECT * FROM events")
    old_checkpoint(store)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert store.plan("s") == [f"step{number}" for number in range(12)]
        store.append("s", event("tool/result", call_id="c", is_error=False, text=""))
        assert store.plan("s") == [f"step{number}" for number in range(12)]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "version 2" in caplog.text
    assert store.execute("SELECT * FROM events")[:-1] == before


def test_a_panel_on_a_database_of_the_old_fold_shows_the_plan_everywhere(
    database: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """R147."""
    with opened(database) as store:
        interrupted_log(store, "t")
        old_checkpoint(store, session="t")
    with caplog.at_level(logging.WARNING), running(database) as panel:
        assert [todo["content"] for todo in panel.plan("t")["todos"]] == [f"step{number}" for number in range(12)]
        (listed,) = panel.client.get("/api/sessions").json()["sessions"]
        assert listed["counts"] == {"completed": 5, "in_progress": 2, "pending": 5}
        assert "step11" in panel.client.get("/sessions/t").text
        with panel.stream("/api/sessions/t/stream") as stream:
            assert len(json.loads(stream.next().data)["todos"]) == 12
    assert len([record for record in caplog.records if "version 2" in record.message]) == 1


def test_a_long_log_is_read_from_its_checkpoint(store: Store) -> None:
    store.append("s", write("a=i"), *[event("session/title", title="t")] * (CHECKPOINT_EVERY + 1))
    ((position, version),) = store.execute("SELECT position, version FROM checkpoints")
    assert (position, version) == (CHECKPOINT_EVERY + 2, projection.VERSION)
    store.execute("UPDATE events SET data = '{}' WHERE position = 1")  # which is not looked at again
    assert store.plan("s") == ["a"]


def test_rebuilding_folds_the_log_again(store: Store) -> None:
    store.append("s", write("a=i"), *[event("session/title", title="t")] * (CHECKPOINT_EVERY + 1))
    store.execute("UPDATE checkpoints SET position = position - 1")
    store.execute("UPDATE sessions SET in_progress = 9, fold_version = 1")
    with store.engine.begin() as connection:
        assert projection.outdated(connection, 10) == ["s"]
        projection.rebuild_all(connection, ["s", "nobody"])
        assert projection.outdated(connection, 10) == []
    assert store.execute("SELECT id, in_progress FROM sessions") == [("s", 1)]


def test_unknown_types_move_the_head_alone(store: Store) -> None:
    store.append("s", write("a=i"), event("later/type"))
    with store.reading() as connection:
        standing = projection.current(connection, "s")
    assert (standing.position, standing.plan_changed) == (2, 1)


# The clearing rule, over HTTP (§4)

FINISHED, OPEN = {"todos": todos("a=c b=c")}, {"todos": todos("a=c b=i")}


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([("todo/write", FINISHED)], 2),
        ([("todo/write", FINISHED), ("turn/end", {"turn": 1, "reason": {"kind": "completed"}})], 2),
        ([("todo/write", FINISHED), ("turn/start", {"turn": 2})], None),
        ([("turn/start", {"turn": 1}), ("todo/write", OPEN), ("turn/start", {"turn": 2})], 2),
        ([("todo/write", OPEN), *[("turn/start", {"turn": n}) for n in range(30)]], 2),
        ([("todo/write", OPEN), ("todo/write", {"todos": []})], None),
        ([("todo/write", OPEN), ("session/end", {})], 2),
        ([("todo/write", OPEN), ("context/compacted", {})], 2),
        ([("todo/write", OPEN), ("viewer/retire", {})], None),
        ([("todo/write", OPEN), ("viewer/retire", {}), ("todo/write", FINISHED)], 2),
        ([("todo/write", OPEN), ("viewer/dismiss", {"content": "a"})], 2),
    ],
)
def test_a_plan_stands_until_the_contract_clears_it(
    shared_panel: Panel, steps: list[tuple[str, dict[str, object]]], expected: int | None
) -> None:
    """R033, R054, R063."""
    session = f"clear-{next(_numbers)}"
    for type_, data in steps:
        assert shared_panel.append(session, {"type": type_, "data": data}).status_code == 201
    found = shared_panel.plan(session)["todos"]
    assert (None if found is None else len(found)) == expected
