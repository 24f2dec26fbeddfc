"""The plans of a session one after the other, each with its number and what became of it (spec.md §4, §9)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from planstrip.events import Entry, Event, TodoWrite, ViewerRestore, ViewerRetire
from planstrip.plan.fold import Plan
from planstrip.plan.likeness import pair
from planstrip.plan.todos import Counts
from planstrip.plan.unlisted import Unlisted

Outcome: TypeAlias = Literal["finished", "abandoned", "interrupted", "retired"]

MAX_PAST: Final = 50
MAX_LEFT: Final = 1_000  # as many as a list may have


@dataclass(frozen=True, slots=True)
class PastPlan:
    """A plan that stands no more: from `first` to `last`, positions at which it stood; times in ms, UTC.

    `ended` is when it was finished, or when it went. `counts` are those of its life: also what was completed and then
    left out is completed; `dropped` of its to-dos were left out while open, and never came back.
    """

    number: int
    first: int
    last: int
    began: int
    ended: int
    outcome: Outcome
    counts: Counts
    dropped: int = 0


@dataclass(frozen=True, slots=True)
class Plans:
    """`number`, `first` and `began` are those of the plan that stands, or stood last; `past` the newest, in order.

    `is_retired`: a person's retirement stands, and can be undone. `left` are the to-dos of this plan that were
    completed and then left out, `done_at` is when all of it was completed (ms, UTC; 0 while it is not).
    """

    number: int = 0
    first: int = 0
    began: int = 0
    past: tuple[PastPlan, ...] = ()
    is_retired: bool = False
    left: tuple[str, ...] = ()
    done_at: int = 0


def step(
    old: Plans,
    before: Plan | None,
    after: Plan | None,
    entry: Entry,
    unlisted: Sequence[Unlisted],
    *,
    is_cut: bool,
) -> Plans:
    """After an event that took the plan `before` to `after`. `is_cut`: a turn of the plan before was interrupted.

    `unlisted` is what is dropped by now.
    """
    if before is after:
        return replace(old, is_retired=False) if old.is_retired and isinstance(entry.event, TodoWrite) else old
    event = entry.event
    if before is None:
        if isinstance(event, ViewerRestore) and old.is_retired and old.past:
            back = old.past[-1]
            return Plans(back.number, back.first, back.began, old.past[:-1], left=old.left, done_at=old.done_at)
        return _begin(old, after, entry)
    if after is None:
        ended = _end(old, before, entry, _outcome(before, event, is_cut), unlisted)
        return replace(ended, is_retired=isinstance(event, ViewerRetire))
    if isinstance(event, TodoWrite) and _is_another(before, after):
        return _begin(_end(old, before, entry, _outcome(before, event, is_cut), unlisted), after, entry)
    left = _left(old.left, before, after, is_by_agent=isinstance(event, TodoWrite))
    done_at = (old.done_at or after.time) if after.counts.is_complete else 0
    if left is old.left and done_at == old.done_at:
        return old
    return replace(old, left=left, done_at=done_at)


def _begin(old: Plans, plan: Plan | None, entry: Entry) -> Plans:
    done_at = plan.time if plan and plan.counts.is_complete else 0
    return Plans(old.number + 1, entry.position, entry.time, old.past, done_at=done_at)


def _end(old: Plans, plan: Plan, entry: Entry, outcome: Outcome, unlisted: Sequence[Unlisted]) -> Plans:
    """What this very event leaves out is told as open, not as dropped: with it the plan ended."""
    time = old.done_at or entry.time if outcome == "finished" else entry.time
    counts = replace(plan.counts, completed=plan.counts.completed + len(old.left)) if old.left else plan.counts
    dropped = sum(old.first <= item.position < entry.position for item in unlisted)
    ended = PastPlan(old.number, old.first, entry.position - 1, old.began, time, outcome, counts, dropped)
    return replace(old, past=(*old.past, ended)[-MAX_PAST:])


def _left(left: tuple[str, ...], before: Plan, after: Plan, *, is_by_agent: bool) -> tuple[str, ...]:
    """Those that were completed and left out, until they are listed again; the very same where nothing changed."""
    listed = {todo.content for todo in after.todos}
    kept = left if listed.isdisjoint(left) else tuple(content for content in left if content not in listed)
    if not is_by_agent or not before.counts.completed:
        return kept
    gone = [
        place for place, todo in enumerate(before.todos) if todo.status == "completed" and todo.content not in listed
    ]
    if not gone:
        return kept
    renamed = pair(before.todos, after.todos)
    return (*kept, *(before.todos[place].content for place in gone if place not in renamed))[-MAX_LEFT:]


def _outcome(plan: Plan, event: Event, is_cut: bool) -> Outcome:
    if isinstance(event, ViewerRetire):
        return "retired"
    if plan.counts.is_complete:
        return "finished"
    return "interrupted" if is_cut else "abandoned"


def _is_another(before: Plan, after: Plan) -> bool:
    """Whether nothing of the earlier list is in the later one, by whatever name."""
    contents = {todo.content for todo in before.todos}
    if any(todo.content in contents for todo in after.todos):
        return False
    return not pair(before.todos, after.todos)
