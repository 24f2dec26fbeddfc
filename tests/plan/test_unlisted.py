"""To-dos that were dropped while open stay listed until they return or are dismissed (spec.md §9)."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planstrip.events import (
    STATUSES,
    Entry,
    Omitted,
    SessionRewind,
    Todo,
    TodoWrite,
    TurnStart,
    ViewerDismiss,
    ViewerRestore,
    ViewerRetire,
)
from planstrip.plan.ledger import compare
from planstrip.plan.likeness import normalise
from planstrip.plan.timeline import timeline
from planstrip.plan.unlisted import MAX_UNLISTED, Unlisted
from planstrip.plan.view import Standing, stand
from tests.logs import SECOND_MS, entries, log, logs

few = st.lists(
    st.builds(
        Todo, st.sampled_from(["a", "b", "Fix it", "fix it.", "Fix it all", "Fix them all"]), st.sampled_from(STATUSES)
    ),
    max_size=4,
    unique_by=lambda todo: todo.content,
).map(tuple)
busy = st.lists(
    st.one_of(
        st.builds(TodoWrite, few),
        st.builds(TodoWrite, few),
        st.builds(TodoWrite, few, st.none(), st.just((Omitted("FIX IT", "cancelled"),))),
        st.builds(SessionRewind, st.just(0), few),
        st.builds(ViewerRestore, few),
        st.builds(ViewerRetire),
        st.builds(ViewerDismiss, st.sampled_from(["a", "b", "Fix it"])),
        st.builds(TurnStart, st.just(1)),
    ),
    max_size=12,
).map(entries)


def names(standing: Standing) -> str:
    return " ".join(item.content for item in standing.unlisted)


@pytest.mark.parametrize(
    ("notation", "unlisted"),
    [
        ("W[a=p,b=p,c=p] > W[a=c]", "b c"),  # R037
        ("W[a=c,b=p,c=p] > W[b1=i,b2=p]", "b c"),  # R039: what was completed is not missed
        ("W[a=i,b=p] > W[a=i,b=p]", ""),  # R046
        ("W[a=i,b=p] > W[a=c] > W[a=c,b=p]", ""),  # it returned
        ("W[Fix it=i,b=p] > W[b=p] > W[b=p,fix  it!=p]", ""),  # also under another spelling
        ("W[Write a note=i,b=p] > W[b=p] > W[b=p,Write a short note=p]", "Write a note"),  # the ledger: added
        ("W[a=i,b=p] > W[] ", "a b"),  # clearing an unfinished list drops it
        ("W[a=i,b=p] > W[] > T+ > T- > T+", "a b"),
        ("W[a=i,b=p] > W[a=c] > T- > T+ > W[c=i]", "b"),  # also past the plan that was finished without it
        ("W[a=c,b=c] > T+ > W[c=i]", ""),
        ("W[a=i,b=p] > T! > T+ > W[c=i]", "a b"),
        ("W[a=i,b=p] > W[a=i] > W[c=i]", "b a"),
    ],
)
def test_what_stays_listed(notation: str, unlisted: str) -> None:
    assert names(stand(log(notation))) == unlisted


def test_each_is_told_with_the_write_that_left_it_out() -> None:
    assert stand(log("T+ > W[a=i,b=p] > W[a=i]")).unlisted == (Unlisted("b", "pending", 3, 3 * SECOND_MS),)


def test_a_person_dismisses_one_and_the_strip_has_changed() -> None:
    dropped = log("W[a=i,b=p,c=p] > W[a=i]")
    standing = stand([*dropped, Entry(3, 3, ViewerDismiss("b"))])
    assert names(standing) == "c"
    assert (standing.strip_changed, standing.plan_changed) == (3, 2)
    again = stand([Entry(4, 4, ViewerDismiss("b"))], standing)
    assert (names(again), again.strip_changed) == ("c", 3)


def test_what_a_person_does_to_a_plan_drops_nothing() -> None:
    written = log("W[a=i,b=p]")
    for event in (
        ViewerRetire(),
        SessionRewind(0, (Todo("a", "in_progress"),)),
        ViewerRestore((Todo("c", "pending"),)),
    ):
        assert stand([*written, Entry(2, 2, event)]).unlisted == ()


def test_a_rewind_brings_back_what_was_listed_then() -> None:
    dropped = log("W[a=i,b=p] > W[a=i]")
    back = SessionRewind(1, (Todo("a", "in_progress"), Todo("b", "pending")))
    assert names(stand([*dropped, Entry(3, 3, back)])) == ""


def test_what_the_agent_called_off_is_not_listed_then_or_later() -> None:
    written = TodoWrite((Todo("a", "pending"), Todo("b", "pending")))
    called_off = TodoWrite((Todo("a", "pending"),), None, (Omitted("b", "cancelled"),))
    assert stand(entries([written, called_off])).unlisted == ()
    assert stand(entries([written, TodoWrite((Todo("a", "pending"),)), called_off])).unlisted == ()


def test_a_rename_beside_it_does_not_hide_what_was_dropped() -> None:
    notation = "W[Write the first note=p,Write the note=p] > W[Write the note=p] > W[Write the last note=p]"
    assert names(stand(log(notation))) == "Write the first note"


def test_the_newest_hundred_are_kept() -> None:
    many = [TodoWrite(tuple(Todo(f"{group}-{n}", "pending") for n in range(60))) for group in "abc"]
    unlisted = stand(entries([*many, TodoWrite(())])).unlisted
    assert len(unlisted) == MAX_UNLISTED
    assert unlisted[-1].content == "c-59"


@given(busy | logs, st.data())
def test_it_is_the_same_at_every_cut(entries: list[Entry], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(entries)))
    assert stand(entries[cut:], stand(entries[:cut])) == stand(entries)


@given(busy)
def test_nothing_listed_is_unlisted_and_nothing_twice(entries: list[Entry]) -> None:
    standing = stand(entries)
    contents = [item.content for item in standing.unlisted]
    assert len(set(contents)) == len(contents)
    assert not {todo.content for todo in standing.plan.todos} & set(contents) if standing.plan else True


worded = st.lists(  # one word more is another name of it, one sign more the same
    st.builds(Todo, st.sampled_from(["Fix it", "fix it.", "Fix it all", "a"]), st.sampled_from(STATUSES)),
    max_size=3,
    unique_by=lambda todo: todo.content,
).map(tuple)
written = st.lists(
    st.one_of(
        *[st.builds(TodoWrite, worded)] * 3,
        st.builds(TodoWrite, worded, st.none(), st.just((Omitted("FIX IT", "cancelled"),))),
        st.builds(TurnStart, st.just(1)),
    ),
    min_size=3,
    max_size=8,
).map(entries)


@settings(max_examples=400)
@given(written)
def test_ledger_lanes_and_the_dropped_list_agree(given: list[Entry]) -> None:
    """Each write takes off the dropped list what it adds, and adds what it drops; the lanes end as the list says."""
    before = Standing()
    for count, entry in enumerate(given, 1):
        after, expected = stand([entry], before), Counter(map(normalised, before.unlisted))
        if isinstance(entry.event, TodoWrite):
            omitted = entry.event.omitted
            changes = compare(before.plan.todos if before.plan else (), entry.event.todos, omitted)
            expected -= Counter(normalise(change.content) for change in changes if change.kind in ("added", "renamed"))
            for item in omitted:
                del expected[normalise(item.content)]
            expected += Counter(normalise(change.content) for change in changes if change.kind == "dropped")
        assert Counter(map(normalised, after.unlisted)) == expected
        life = timeline(given[:count])
        lanes = Counter(normalise(lane.content) for lane in life.lanes if lane.kind == "dropped")
        assert lanes == Counter(normalised(item) for item in after.unlisted if item.time >= life.start)
        before = after


def normalised(item: Unlisted) -> str:
    return normalise(item.content)


def test_a_dropped_to_do_returns_under_its_own_name_only() -> None:
    given = log(
        "W[Write unit tests=i,Write integration tests=p,Deploy=p] > W[Write unit and integration tests=i,Deploy=p]"
        " > W[Write unit tests for A=i,Write unit tests for B=p,Deploy=p]"
    )
    dropped = {item.content for item in stand(given).unlisted}
    assert "Write unit tests" in dropped
    assert dropped == {lane.content for lane in timeline(given).lanes if lane.kind == "dropped"}
