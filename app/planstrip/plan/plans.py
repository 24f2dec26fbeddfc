"""The plans of a session one after the other, each with its number and what became of it (spec.md §4, §9)."""

from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from planstrip.events import Entry, TodoWrite, ViewerRestore, ViewerRetire
from planstrip.plan.fold import Plan
from planstrip.plan.likeness import pair
from planstrip.plan.todos import Counts

Outcome: TypeAlias = Literal["finished", "abandoned", "interrupted", "retired"]

MAX_PAST: Final = 50


@dataclass(frozen=True, slots=True)
class PastPlan:
    """A plan that stands no more: from `first` to `last`, positions at which it stood; times in ms, UTC."""

    number: int
    first: int
    last: int
    began: int
    ended: int
    outcome: Outcome
    counts: Counts


@dataclass(frozen=True, slots=True)
class Plans:
    """`number`, `first` and `began` are those of the plan that stands, or stood last; `past` the newest, in order.

    `is_retired`: a person's retirement stands, and can be undone.
    """

    number: int = 0
    first: int = 0
    began: int = 0
    past: tuple[PastPlan, ...] = ()
    is_retired: bool = False


def step(old: Plans, before: Plan | None, after: Plan | None, entry: Entry, *, is_cut: bool) -> Plans:
    """After an event that took the plan `before` to `after`. `is_cut`: a turn of the plan before was interrupted."""
    if before is after:
        return replace(old, is_retired=False) if old.is_retired and isinstance(entry.event, TodoWrite) else old
    event = entry.event
    if before is None:
        if isinstance(event, ViewerRestore) and old.is_retired and old.past:
            back = old.past[-1]
            return Plans(back.number, back.first, back.began, old.past[:-1])
        return Plans(old.number + 1, entry.position, entry.time, old.past)
    if after is None:
        ended = _end(old, before, entry, "retired" if isinstance(event, ViewerRetire) else _outcome(before, is_cut))
        return replace(ended, is_retired=isinstance(event, ViewerRetire))
    if isinstance(event, TodoWrite) and _is_another(before, after):
        ended = _end(old, before, entry, _outcome(before, is_cut))
        return Plans(old.number + 1, entry.position, entry.time, ended.past)
    return old


def _end(old: Plans, plan: Plan, entry: Entry, outcome: Outcome) -> Plans:
    ended = PastPlan(old.number, old.first, entry.position - 1, old.began, entry.time, outcome, plan.counts)
    return replace(old, past=(*old.past, ended)[-MAX_PAST:])


def _outcome(plan: Plan, is_cut: bool) -> Outcome:
    if plan.counts.is_complete:
        return "finished"
    return "interrupted" if is_cut else "abandoned"


def _is_another(before: Plan, after: Plan) -> bool:
    """Whether nothing of the earlier list is in the later one, by whatever name."""
    contents = {todo.content for todo in before.todos}
    if any(todo.content in contents for todo in after.todos):
        return False
    return not pair(before.todos, after.todos)
