"""Tool rows by turn, and their window (spec.md §5)."""

from hypothesis import given
from hypothesis import strategies as st

from planstrip.events import (
    EndReason,
    Entry,
    Event,
    SessionEnd,
    SessionRewind,
    Todo,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
    ViewerRetire,
)
from planstrip.plan.revisions import MAX_REVISIONS
from planstrip.plan.rows import Window, fold
from tests.logs import entries, logs


def states(events: list[Event]) -> list[str]:
    return [row.state for row in fold(entries(events)).rows]


def call(call_id: str = "a") -> ToolCall:
    return ToolCall(call_id, "bash", "{}")


def ok(call_id: str = "a") -> ToolResult:
    return ToolResult(call_id, is_error=False, text="")


@given(logs, st.data(), st.sampled_from([1, 3, 100]))
def test_a_window_in_two_parts_is_the_window_of_the_whole_at_every_cut(
    entries: list[Entry], data: st.DataObject, size: int
) -> None:
    cut = data.draw(st.integers(0, len(entries)))
    assert fold(entries[cut:], fold(entries[:cut], Window(size=size))) == fold(entries, Window(size=size))


@given(logs, st.sampled_from([1, 3]))
def test_a_window_holds_the_newest_rows_as_the_whole_log_tells_them(entries: list[Entry], size: int) -> None:
    whole, window = fold(entries, Window(size=1_000)), fold(entries, Window(size=size))
    assert len(window.rows) <= size
    assert [row.position for row in window.rows] == [row.position for row in whole.rows][-len(window.rows) or 1_000 :]
    assert all(row.position <= window.dropped or row in window.rows or row in window.late for row in whole.rows)


def test_a_rewind_marks_rows_that_slid_out_running_too() -> None:
    window = fold(entries([call("a"), call("b"), SessionRewind(0)]), Window(size=1))
    assert [(row.position, row.is_rewound) for row in (*window.late, *window.rows)] == [(1, True), (2, True)]


def written(*steps: Event) -> list[tuple[int, str]]:
    rows = fold(entries([TodoWrite((Todo("a", "pending"),)), *steps])).rows
    return [(row.position, " ".join(todo.content for todo in row.revision.after)) for row in rows if row.revision]


def test_a_row_holds_what_its_accepted_write_made_of_the_plan() -> None:
    write = TodoWrite((Todo("b", "pending"),), "x")
    assert written(call("x"), write, ok("x")) == [(2, "b")]
    assert written(call("x"), ok("x"), write) == [(2, "b")]
    assert written(call("x"), ok("x"), call("x"), write) == [(4, "b")]  # call ids repeat: the newest is meant
    assert written(call("x"), call("y"), ToolResult("x", is_error=True, text="no"), write) == [(2, "b")]
    assert written(call("y"), write) == []


def test_two_writes_of_one_call_are_one_revision_of_its_row_and_two_of_the_plan() -> None:
    steps: list[Event] = [call("x"), TodoWrite((Todo("a", "pending"),), "x"), TodoWrite((Todo("b", "pending"),), "x")]
    window = fold(entries(steps))
    (row,) = window.rows
    assert row.revision
    assert (row.changed, row.revision.before, row.revision.after) == (3, (), (Todo("b", "pending"),))
    assert [revision.position for revision in window.revisions] == [2, 3]


def test_the_newest_fifty_revisions_are_kept_and_an_equal_list_is_not_shown() -> None:
    writes = [TodoWrite((Todo("a", "pending"),)) for _ in range(60)]
    revisions = fold(entries([*writes, ViewerRetire("ann"), TurnStart(4), SessionRewind(0, ())])).revisions
    assert len(revisions) == MAX_REVISIONS
    assert [(revision.cause, revision.turn, revision.by) for revision in revisions if revision.is_shown] == [
        ("retire", None, "ann"),
        ("rewind", 4, None),
    ]


def test_a_row_runs_until_its_result() -> None:
    assert states([TurnStart(1), call()]) == ["running"]
    assert states([TurnStart(1), call(), ok()]) == ["ok"]
    assert states([TurnStart(1), call(), ToolResult("a", is_error=True, text="no")]) == ["error"]


def test_a_row_without_a_result_is_stopped_by_its_turns_end_and_by_the_next_turn() -> None:
    assert states([TurnStart(1), call(), TurnEnd(1, EndReason("aborted"))]) == ["stopped"]
    assert states([TurnStart(1), call(), TurnStart(2)]) == ["stopped"]


def test_the_end_of_a_session_stops_its_rows_and_interrupts_its_turn() -> None:
    ended: list[Event] = [TurnStart(1), call(), SessionEnd()]
    assert states(ended) == ["stopped"]
    assert [(turn.is_open, turn.is_interrupted) for turn in fold(entries(ended)).turns] == [(False, True)]


def test_a_session_without_turns_has_running_rows_too() -> None:
    assert states([call()]) == ["running"]


def test_a_result_that_comes_after_the_turn_is_still_told() -> None:
    assert states([TurnStart(1), call(), TurnStart(2), ok()]) == ["ok"]


def test_a_call_id_that_repeats_belongs_to_the_newest_call() -> None:
    assert states([TurnStart(1), call(), ok(), call(), ToolResult("a", is_error=True, text="")]) == ["ok", "error"]


def test_a_turn_is_interrupted_when_another_starts_or_its_end_says_so() -> None:
    turns = fold(entries([TurnStart(1), TurnStart(2), TurnEnd(2, EndReason("aborted")), TurnStart(3)])).turns
    assert [turn.is_interrupted for turn in turns] == [True, True, False]


def test_the_first_end_of_a_turn_counts() -> None:
    ends = [TurnEnd(1, EndReason("completed")), TurnEnd(1, EndReason("aborted"))]
    assert not fold(entries([TurnStart(1), *ends])).turns[0].is_interrupted


def test_what_follows_the_point_of_a_rewind_is_marked() -> None:
    window = fold(entries([TurnStart(1), call("a"), ok("a"), call("b"), ok("b"), SessionRewind(3)]))
    assert [row.is_rewound for row in window.rows] == [False, True]


def test_a_running_row_that_slides_out_is_kept_until_it_settles() -> None:
    long, short = call("long"), [event for n in range(5) for event in (call(f"s{n}"), ok(f"s{n}"))]
    before = fold(entries([TurnStart(1), long, *short]), Window(size=3))
    assert [row.call.call_id for row in before.late] == ["long"]
    after = fold([Entry(99, 0, ok("long"))], before)
    assert [(row.state, row.changed) for row in after.late] == [("ok", 99)]
