"""The standing plan (spec.md §4; reports.md, "lost plan" and "wrong data")."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.events import (
    EndReason,
    Entry,
    Event,
    Omitted,
    SessionRewind,
    Todo,
    TodoWrite,
    ToolCall,
    TurnEnd,
    TurnStart,
    Unknown,
    ViewerRestore,
)
from planstrip.plan.fold import fold
from planstrip.plan.todos import Counts
from tests.logs import entries, log, logs


def standing(notation: str) -> str | None:
    plan = fold(log(notation))
    return ",".join(f"{todo.content}={todo.status[0]}" for todo in plan.todos) if plan else None


@given(logs, st.data())
def test_a_fold_in_two_parts_is_the_fold_of_the_whole_at_every_cut(entries: list[Entry], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(entries)))
    assert fold(entries) == fold(entries[cut:], start=fold(entries[:cut]))


@given(logs)
def test_what_stands_is_never_empty_and_names_the_event_that_set_it(entries: list[Entry]) -> None:
    plan = fold(entries)
    if plan is not None:
        assert plan.todos
        setter = entries[plan.position - 1].event
        assert isinstance(setter, TodoWrite | SessionRewind | ViewerRestore)
        assert setter.todos == plan.todos
        assert plan.time == entries[plan.position - 1].time


@pytest.mark.parametrize(
    ("notation", "plan"),
    [
        ("W[a=c,b=i,c=p]", "a=c,b=i,c=p"),
        ("T+ > W[a=c,b=i,c=p] > T! > T+", "a=c,b=i,c=p"),  # R041: it stands through the interruption
        ("T+ > W[a=c,b=i] > T+ > T+", "a=c,b=i"),  # killed: no turn end was ever written
        ("W[a=c,b=c] > T-", "a=c,b=c"),  # R052: finished, and the reader reads the answer
        ("W[a=c,b=c] > T- > T+", None),
        ("W[a=c,b=c] > T+ > T- > T+", None),  # R053: the rule tests open work, not the list's length
        ("W[a=i] > W[]", None),
        ("W[a=p,b=p,c=p] > W[a=c]", "a=c"),  # R037: the last write is obeyed
        ("W[a=c,b=i,c=p] > W[a=c,b=i,c=c] > T- > T+", "a=c,b=i,c=c"),  # R008
        ("W[a=i] > T- > T+ > T- > T+ > T-", "a=i"),  # R063: any number of later turns
        ("T+ > T-", None),  # R050: no plan is guessed
        ("W[a=i,b=i,c=i]", "a=i,b=i,c=i"),  # R028: nothing is normalised on replay
        ("T+ > W[a=p,b=p] > T- > W[a=p,b=p,c=p]", "a=p,b=p,c=p"),  # R042: whenever a write comes
        ("T+ > W[a=c,b=c,c=c]", "a=c,b=c,c=c"),  # R058: finished in a turn that still runs
    ],
)
def test_the_plan_that_stands(notation: str, plan: str | None) -> None:
    assert standing(notation) == plan


def test_the_old_fold_lost_what_a_killed_turn_had_planned_and_ours_keeps_its_twelve() -> None:
    """The second seed: written in turn 1, turn 2 started and killed without an end, turn 3 started."""
    twelve = tuple(Todo(f"step {n}", "in_progress" if n == 1 else "pending") for n in range(1, 13))
    killed = entries([TurnStart(1), TodoWrite(twelve), TurnStart(2), ToolCall("x", "bash", "{}"), TurnStart(3)])
    plan = fold(killed)
    assert plan is not None
    assert plan.todos == twelve
    assert plan.counts == Counts(completed=0, in_progress=1, pending=11)


def test_a_type_of_a_newer_writer_changes_nothing() -> None:
    known = log("W[a=i]")
    assert fold([*known, Entry(2, 0, Unknown("plan/next"))]) == fold(known)


@pytest.mark.parametrize("type_", ["context/compacted", "session/cleared"])
def test_what_an_agent_forgets_of_its_conversation_is_no_word_about_its_plan(type_: str) -> None:
    """R033, R034, R045: what such an event stands for is not in our vocabulary, and no plan goes by guess."""
    steps = tuple(Todo(f"step {n}", "completed" if n <= 12 else "pending") for n in range(1, 44))
    turn: list[Event] = [TurnStart(1), TodoWrite(steps), Unknown(type_), TurnEnd(1, EndReason("completed"))]
    plan = fold(entries([*turn, TurnStart(2)]))
    assert plan is not None
    assert plan.counts == Counts(completed=12, in_progress=0, pending=31)


def test_what_the_agent_called_off_keeps_no_finished_plan_standing() -> None:
    """R057: the list alone decides."""
    written = TodoWrite((Todo("a", "completed"),), None, (Omitted("b", "cancelled"),))
    assert fold(entries([written])) is not None
    assert fold(entries([written, TurnStart(2)])) is None
