"""How far a plan may be behind: what came since it was written, and what a reader is told of it (spec.md §9)."""

from hypothesis import given

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
    ViewerRestore,
    ViewerRetire,
)
from planstrip.plan.freshness import Freshness
from planstrip.plan.view import stand
from tests.logs import entries, log, logs


def told(notation: str) -> Freshness:
    return stand(log(notation)).freshness


def write() -> TodoWrite:
    return TodoWrite((Todo("a", "in_progress"),))


def calls(count: int, name: str = "bash") -> list[ToolCall]:
    return [ToolCall(f"c{number}", name, "{}") for number in range(count)]


def test_turns_and_calls_since_the_write_are_counted_over_turn_boundaries() -> None:
    """R009, R011: the age survives turns, and an accepted write ends it."""
    turn: list[Event] = [TurnStart(2), *calls(20), TurnEnd(2, EndReason("completed"))]
    old = stand(entries([TurnStart(1), write(), *calls(20), *turn]))
    assert (old.freshness.turns, old.freshness.calls, old.freshness.step) == (1, 40, 40)
    assert stand(entries([write(), *calls(20), write()])).freshness == Freshness()


def test_caution_grows() -> None:
    def caution(*events: Event) -> str:
        return stand(entries([write(), *events])).freshness.caution

    assert caution(*calls(19)) == "fresh"
    assert caution(*calls(20)) == "aging"
    assert caution(*calls(80)) == "stale"
    assert caution(TurnStart(2)) == "aging"
    assert caution(TurnStart(2), TurnStart(3), TurnStart(4)) == "stale"


def test_a_strip_does_not_tick_with_every_call() -> None:
    standing = stand(entries([write()]))
    moved = []
    for position, call in enumerate(calls(25), 2):
        before, standing = standing, stand([Entry(position, 0, call)], standing)
        if standing.strip_changed != before.strip_changed:
            moved.append(standing.freshness.calls)
    assert moved == [10, 20]


def test_a_refused_write_is_told_until_the_next_turn_or_an_accepted_one() -> None:
    """R013."""
    refused: list[Event] = [
        write(),
        ToolCall("p", "mcp__plan__todo_write", "{}"),
        ToolResult("p", is_error=True, text="no"),
    ]
    assert stand(entries(refused)).freshness.is_refused
    assert stand(entries(refused)).strip_changed == 3
    assert not stand(entries([*refused, write()])).freshness.is_refused
    assert not stand(entries([*refused, TurnStart(2)])).freshness.is_refused
    assert not stand(entries([write(), ToolCall("b", "bash", "{}"), ToolResult("b", True, "no")])).freshness.is_refused


def test_a_plan_of_an_interrupted_turn_is_marked_until_it_is_written_again() -> None:
    """R041, R047."""
    assert not told("T+ > W[a=i] > T-").is_cut
    assert told("T+ > W[a=i] > T! > T+").is_cut
    assert told("T+ > W[a=i] > T+").is_cut  # another turn began without an end of the first
    assert not told("T+ > W[a=i] > T! > T+ > W[a=c,b=i]").is_cut


def test_the_hours_of_work_since_the_write_count_too() -> None:
    hour = 3_600_000
    assert [Freshness().caution_after(age) for age in (hour - 1, hour, 3 * hour)] == ["fresh", "aging", "stale"]


def test_what_a_person_sets_aside_and_brings_back_is_as_old_as_it_was() -> None:
    turn: list[Event] = [TurnStart(1), write(), TurnEnd(1, EndReason("aborted")), TurnStart(2), *calls(80)]
    aside: list[Event] = [ViewerRetire(), *calls(5), TurnStart(3), *calls(5)]
    back = ViewerRestore(write().todos)
    restored = stand(entries([*turn, *aside, back]))
    assert restored.freshness == Freshness(turns=2, calls=90, is_cut=True)
    assert restored.freshness.caution == "stale"
    assert restored.written_at == 2_000
    assert stand(entries([*turn, ViewerRetire(), TodoWrite(()), write()])).freshness == Freshness()


def test_a_rewind_makes_nothing_fresh() -> None:
    old: list[Event] = [write(), TurnStart(2), *calls(20)]
    same = stand(entries([*old, SessionRewind(1, write().todos)]))
    assert (same.freshness.turns, same.freshness.calls) == (1, 20)
    newer = TodoWrite((Todo("b", "in_progress"),))
    rewound: list[Event] = [*old, newer, SessionRewind(1, write().todos)]
    assert stand(entries(rewound)).written_at == 1_000
    assert stand(entries([*rewound, newer, SessionRewind(len(rewound), write().todos)])).written_at == 1_000
    assert stand(entries([*rewound, ViewerRetire(), ViewerRestore(write().todos)])).written_at == 1_000


def test_a_rewind_onto_a_plan_of_an_interrupted_turn_says_so_again() -> None:
    """R047."""

    def is_cut(notation: str, to_position: int) -> bool:
        events = log(notation)
        rewound = Entry(len(events) + 1, 0, SessionRewind(to_position, write().todos))
        return stand([*events, rewound]).freshness.is_cut

    assert is_cut("T+ > W[a=i] > T! > T+ > W[b=i] > T-", 3)
    assert is_cut("T+ > W[a=i] > W[b=i] > T! > T+ > W[c=i]", 2)  # its own turn was cut, after another write
    assert is_cut("T+ > W[a=i] > T- > T+ > T! > T+ > W[b=i] > T-", 6)  # it stood while another was
    assert not is_cut("T+ > W[a=i] > T- > T+ > W[b=i] > T!", 3)
    assert not is_cut("T+ > W[a=i] > T! > T+ > W[b=i] > T- > T+ > W[c=i] > T-", 6)
    assert not is_cut("T+ > W[a=c] > T- > T+ > T! > T+ > W[b=i] > T-", 3)  # it had left when that turn was cut
    cut = log("T+ > W[a=i] > T! > T+ > W[b=i] > T-")
    again = stand([*cut, Entry(7, 0, SessionRewind(3, write().todos)), *entries([write(), TurnStart(3)], 8)])
    assert not again.freshness.is_cut
    assert stand([Entry(10, 0, SessionRewind(7, write().todos))], again).freshness.is_cut  # onto what a rewind set


def test_a_session_that_ends_within_a_turn_cuts_it() -> None:
    standing = stand(entries([TurnStart(1), write(), SessionEnd()]))
    assert (standing.condition, standing.is_moving, standing.freshness.is_cut) == ("interrupted", False, True)
    assert stand(entries([TurnStart(1), write(), TurnEnd(1, EndReason("completed")), SessionEnd()])).condition == "open"


@given(logs)
def test_one_by_one_is_as_all_at_once(log: list[Entry]) -> None:
    standing = None
    for entry in log:
        standing = stand([entry], standing)
    assert (standing or stand([])) == stand(log)
