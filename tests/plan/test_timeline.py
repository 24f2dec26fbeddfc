"""The timeline: lanes and their spans, the clocks of parallel work, and what no turn ran through (spec.md §9)."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planstrip.events import (
    EndReason,
    Entry,
    Event,
    Omitted,
    SessionEnd,
    SessionRewind,
    Todo,
    TodoWrite,
    ToolCall,
    TurnEnd,
    TurnResume,
    TurnStart,
    TurnWait,
    ViewerRestore,
    ViewerRetire,
)
from planstrip.plan.timeline import LONG_SILENCE_MS, Lane, Span, Stretch, Timeline, timeline
from tests.logs import log, logs

MINUTE_MS = 60_000
WORKED = ("waiting", "working", "paused", "finished")


def at(times: list[float], notation: str) -> list[Entry]:
    """The log of a notation, its events at these minutes."""
    found = log(notation)
    assert len(found) == len(times)
    return [replace(entry, time=int(time * MINUTE_MS)) for entry, time in zip(found, times, strict=True)]


def told(*steps: tuple[float, Event]) -> list[Entry]:
    return [Entry(position, int(time * MINUTE_MS), event) for position, (time, event) in enumerate(steps, 1)]


def write(notation: str) -> TodoWrite:
    event = log(f"W[{notation}]")[0].event
    assert isinstance(event, TodoWrite)
    return event


def lane(found: Timeline, content: str) -> Lane:
    [lane] = [lane for lane in found.lanes if lane.content == content]
    return lane


def spans(found: Timeline, content: str) -> list[tuple[str, float, float | None]]:
    return [
        (span.kind, span.start / MINUTE_MS, None if span.end is None else span.end / MINUTE_MS)
        for span in lane(found, content).spans
    ]


def worked(found: Timeline, content: str) -> float:
    return lane(found, content).worked_ms / MINUTE_MS


# Lanes


def test_a_task_waits_is_worked_on_and_is_finished() -> None:
    found = timeline(at([0, 1, 3, 7], "T+ > W[a=p,b=p] > W[a=i,b=p] > W[a=c,b=i]"))
    assert spans(found, "a") == [("waiting", 1, 3), ("working", 3, 7), ("finished", 7, None)]
    assert spans(found, "b") == [("waiting", 1, 7), ("working", 7, None)]
    assert (found.start, found.end) == (1 * MINUTE_MS, 7 * MINUTE_MS)


def test_parallel_tasks_have_a_clock_each_and_the_time_together_is_counted_once() -> None:
    found = timeline(at([0, 0, 2, 6, 8], "T+ > W[a=i,b=p] > W[a=i,b=i] > W[a=c,b=i] > W[a=c,b=c]"))
    assert (worked(found, "a"), worked(found, "b")) == (6, 6)
    assert found.busy_ms == 8 * MINUTE_MS
    assert found.parallelism == 12 / 8


def test_time_in_which_no_turn_ran_is_no_work() -> None:
    steps = "T+ > W[a=i] > T! > T+ > W[a=c]"
    found = timeline(at([0, 0, 2, 600, 603], steps))
    assert spans(found, "a") == [("working", 0, 2), ("paused", 2, 600), ("working", 600, 603), ("finished", 603, None)]
    assert worked(found, "a") == found.busy_ms / MINUTE_MS == 5
    assert found.rests == (Stretch(2 * MINUTE_MS, 600 * MINUTE_MS),)
    assert [turn.is_interrupted for turn in found.turns] == [True, False]


def test_each_task_has_its_own_clock_through_an_interruption() -> None:
    """R152: 39 min, 3 s and 0 s, two at once, and ten hours between two turns that nobody worked."""
    steps = "T+ > W[a=i,b=i,c=p] > W[a=i,b=c,c=i] > W[a=i,b=c,c=c] > T! > T+ > W[a=c,b=c,c=c]"
    found = timeline(at([0, 0, 0.05, 0.05, 20, 620, 639], steps))
    assert [worked(found, name) for name in "abc"] == [39, 0.05, 0]


def test_a_turn_that_tells_no_end_ended_with_the_event_before_the_next_one() -> None:
    call = ToolCall("c", "bash", "ls")
    found = timeline(told((0, TurnStart(1)), (0, write("a=i")), (4, call), (900, TurnStart(2)), (901, write("a=c"))))
    assert worked(found, "a") == 5
    assert found.turns[0] == Stretch(0, 4 * MINUTE_MS, is_interrupted=True)


def test_waiting_for_a_person_is_no_work() -> None:
    steps = (
        (0, TurnStart(1)),
        (0, write("a=i")),
        (1, TurnWait(1, "approval")),
        (480, TurnResume(1)),
        (481, write("a=c")),
    )
    found = timeline(told(*steps))
    assert worked(found, "a") == 2
    assert found.rests == (Stretch(1 * MINUTE_MS, 480 * MINUTE_MS),)


def test_without_turns_work_counts_from_write_to_write_and_up_to_the_last_event() -> None:
    found = timeline(at([0, 5], "W[a=i,b=p] > W[a=c,b=i]"), until=9 * MINUTE_MS)
    assert (worked(found, "a"), worked(found, "b")) == (5, 4)
    assert found.end == 9 * MINUTE_MS


def test_without_turns_a_long_silence_is_a_rest() -> None:
    silent = LONG_SILENCE_MS / MINUTE_MS + 1
    assert timeline(at([0, silent], "W[a=i] > W[a=c]")).rests == (Stretch(0, int(silent * MINUTE_MS)),)


def test_the_last_sign_of_life_ends_what_runs_and_nothing_else() -> None:
    running, ended = "T+ > W[a=i]", "T+ > W[a=i] > T-"
    assert timeline(at([0, 0], running), until=3 * MINUTE_MS).busy_ms == 3 * MINUTE_MS
    assert timeline(at([0, 0, 1], ended), until=3 * MINUTE_MS).end == 1 * MINUTE_MS


def test_what_looked_like_a_turns_end_and_was_none_goes_on() -> None:
    steps = (0, TurnStart(1)), (0, write("a=i")), (2, TurnEnd(1, EndReason("completed"))), (3, TurnResume(1))
    found = timeline(told(*steps), until=5 * MINUTE_MS)
    assert worked(found, "a") == 4
    assert found.turns == (Stretch(0),)


def test_a_dropped_task_ends_where_it_was_left_out_and_comes_back_on_its_lane() -> None:
    found = timeline(at([0, 1, 2, 5], "T+ > W[Fix it=i,b=p] > W[b=i] > W[b=c,fix it.=p]"))
    assert [lane.content for lane in found.lanes] == ["fix it.", "b"]
    assert spans(found, "fix it.") == [("working", 1, 2), ("dropped", 2, 5), ("waiting", 5, None)]


def test_a_renamed_task_keeps_its_lane() -> None:
    found = timeline(at([0, 1, 2], "T+ > W[Run the tests=i] > W[Run the tests again=c]"))
    assert spans(found, "Run the tests again") == [("working", 1, 2), ("finished", 2, None)]


def test_a_finished_task_that_is_taken_up_again_was_reopened() -> None:
    [found] = timeline(at([0, 1, 2, 3], "T+ > W[a=i] > W[a=c] > W[a=i]")).lanes
    assert [span.is_reopened for span in found.spans] == [False, False, True]


def test_a_finished_task_that_leaves_the_list_stays_finished() -> None:
    found = timeline(at([0, 1, 2], "T+ > W[a=c,b=i] > W[b=i]"))
    assert lane(found, "a").kind == "finished"
    assert not lane(found, "a").is_listed


def test_what_a_person_retires_was_withdrawn_until_it_is_restored() -> None:
    restored = ViewerRestore((Todo("a", "in_progress"),))
    found = timeline(told((0, TurnStart(1)), (0, write("a=i")), (1, ViewerRetire()), (3, restored)))
    assert spans(found, "a") == [("working", 0, 1), ("withdrawn", 1, 3), ("working", 3, None)]
    assert found.rests == (Stretch(1 * MINUTE_MS, 3 * MINUTE_MS),)


def test_what_the_agent_called_off_or_a_rewind_took_back_was_not_dropped() -> None:
    called_off = TodoWrite((Todo("b", "in_progress"),), None, (Omitted("a", "cancelled"),))
    found = timeline(told((0, TurnStart(1)), (0, write("a=p,b=p")), (1, called_off)))
    assert lane(found, "a").kind == "withdrawn"
    rewind = SessionRewind(1, (Todo("b", "pending"),))
    assert lane(timeline(told((0, write("a=i,b=i")), (1, rewind))), "a").kind == "withdrawn"


# A plan's life


def test_a_plan_begins_anew_once_the_one_before_was_finished_or_cleared() -> None:
    for cleared in ("W[a=c] > T- > T+", "W[a=i] > W[] > T+"):
        found = timeline(log(f"T+ > W[a=i] > {cleared} > W[b=i]"))
        assert [lane.content for lane in found.lanes] == ["b"]
        assert found.start == log("T+ > W[] > W[] > W[] > T+ > W[b=i]")[-1].time


def test_a_plan_that_was_finished_stays_drawn_as_it_ended() -> None:
    ended = timeline(at([0, 0, 2, 3], "T+ > W[a=i] > W[a=c] > T-"))
    later = timeline(at([0, 0, 2, 3, 90, 95], "T+ > W[a=i] > W[a=c] > T- > T+ > T-"))
    assert lane(later, "a").spans == lane(ended, "a").spans
    assert (later.end, later.turns, later.rests) == (ended.end, ended.turns, ended.rests)


def test_clearing_an_open_plan_drops_its_tasks() -> None:
    assert spans(timeline(at([0, 2], "W[a=i] > W[]")), "a") == [("working", 0, 2), ("dropped", 2, None)]


# Awkward times


def test_no_event_and_one_event_have_a_timeline() -> None:
    assert timeline([]) == Timeline()
    found = timeline(at([4], "W[a=i]"))
    assert (found.start, found.end, found.busy_ms, found.parallelism) == (4 * MINUTE_MS, 4 * MINUTE_MS, 0, 0)


def test_a_time_that_runs_backwards_counts_as_of_the_event_before() -> None:
    found = timeline(at([5, 5, 1, 6], "T+ > W[a=i] > W[a=i,b=i] > W[a=c,b=c]"))
    assert (worked(found, "a"), worked(found, "b")) == (1, 1)


@pytest.mark.parametrize("minute", [0, 3])
def test_events_of_the_same_time_count_no_work(minute: int) -> None:
    found = timeline(at([minute] * 4, "T+ > W[a=i] > W[a=c] > T-"))
    assert found.busy_ms == 0
    assert lane(found, "a").kind == "finished"


# Whatever comes


def shuffled(entries: list[Entry], times: list[int]) -> list[Entry]:
    return [replace(entry, time=time) for entry, time in zip(entries, times, strict=False)]


anytime = st.builds(shuffled, logs, st.lists(st.integers(0, 50) | st.integers(0, 9**9), min_size=40, max_size=40))


@given(anytime, st.integers(0, 10**9))
def test_spans_follow_one_another_and_the_sums_fit(entries: list[Entry], until: int) -> None:
    found = timeline(entries, until)
    for lane in found.lanes:
        assert lane.spans[0].start >= found.start
        for span, following in zip(lane.spans, lane.spans[1:], strict=False):
            assert span.start <= following.start == span.end
            assert span.kind != following.kind
        assert lane.spans[-1].end is None
        assert lane.spans[-1].start <= found.end
        assert 0 <= lane.worked_ms <= found.busy_ms
    assert found.busy_ms <= found.end - found.start
    work = sum(lane.worked_ms for lane in found.lanes)
    assert found.busy_ms <= work or not work
    assert bool(work) == bool(found.busy_ms)
    for rest in found.rests:
        assert rest.end is not None
        assert rest.start <= rest.end <= found.end


def union_ms(found: Timeline) -> int:
    """The union of all working spans, by sweeping over every one of them."""
    working = sorted((s.start, found.end if s.end is None else s.end) for lane in found.lanes for s in _working(lane))
    total, reached = 0, 0
    for start, end in working:
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _working(lane: Lane) -> list[Span]:
    return [span for span in lane.spans if span.kind == "working"]


@given(anytime, st.integers(0, 10**9))
def test_the_busy_time_is_the_union_of_the_work(entries: list[Entry], until: int) -> None:
    found = timeline(entries, until)
    assert found.busy_ms == union_ms(found)


def plans(entries: list[Entry]) -> int:
    """How many plans have begun: each with the first to-dos after an empty list."""
    events = [entry.event for entry in entries]
    lists = [event.todos for event in events if isinstance(event, TodoWrite | SessionRewind | ViewerRestore)]
    return sum(bool(todos) and not before for before, todos in pairwise([(), *lists]))


@given(anytime, st.data())
def test_what_comes_later_changes_nothing_of_the_past(entries: list[Entry], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(entries)))
    before, after = timeline(entries[:cut]), timeline(entries)
    if plans(entries) != plans(entries[:cut]):
        return  # another plan has begun
    for was, now in zip(before.lanes, after.lanes, strict=False):
        assert was.spans[:-1] == now.spans[: len(was.spans) - 1]
        opened = now.spans[len(was.spans) - 1]
        assert (was.spans[-1].kind, was.spans[-1].start) == (opened.kind, opened.start)
    assert after.rests[: len(before.rests)] == before.rests


def test_nothing_is_worked_on_after_the_end_of_a_session() -> None:
    written = TodoWrite((Todo("a", "in_progress"),))
    events: list[Event] = [TurnStart(1), written, SessionEnd(), TurnStart(2)]
    told = [Entry(position, position * MINUTE_MS, event) for position, event in enumerate(events, 1)]
    spans = timeline(told, 9 * MINUTE_MS).lanes[0].spans
    assert [(span.kind, span.start // MINUTE_MS) for span in spans] == [("working", 2), ("paused", 3), ("working", 4)]


@given(anytime)
def test_only_marked_events_and_those_before_a_turn_matter(entries: list[Entry]) -> None:
    """What a cold read leaves out: it reads them by their index."""
    before_turns = {entry.position - 1 for entry in entries if isinstance(entry.event, TurnStart)}
    kept = [entry for entry in entries if entry.position in before_turns or not isinstance(entry.event, ToolCall)]
    assert timeline(kept) == timeline(entries)
