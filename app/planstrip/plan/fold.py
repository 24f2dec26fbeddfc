"""The fold: which plan stands after a run of events (spec.md §4). Pure; the policy takes no part in it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from planstrip.events import (
    Entry,
    Omitted,
    SessionEnd,
    SessionRewind,
    SessionStart,
    SessionTitle,
    Todo,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnResume,
    TurnStart,
    TurnWait,
    Unknown,
    ViewerDismiss,
    ViewerRestore,
    ViewerRetire,
)
from planstrip.plan.todos import Counts, count


@dataclass(frozen=True, slots=True)
class Plan:
    """The list that stands, never empty, with the event that set it: its `position` and its `time` (ms, UTC)."""

    todos: tuple[Todo, ...]
    omitted: tuple[Omitted, ...]
    position: int
    time: int
    counts: Counts


def fold(entries: Iterable[Entry], start: Plan | None = None) -> Plan | None:
    """The standing plan. `fold(a + b) == fold(b, start=fold(a))` at every cut."""
    plan = start
    for entry in entries:
        plan = step(plan, entry)
    return plan


def step(plan: Plan | None, entry: Entry) -> Plan | None:
    match entry.event:
        case ToolCall() | ToolResult():  # nine events in ten: asked first
            return plan
        case TodoWrite() | SessionRewind() | ViewerRestore() as event:
            # An empty list clears at once, also one that mapping emptied.
            todos = event.todos
            return Plan(todos, event.omitted, entry.position, entry.time, count(todos)) if todos else None
        case TurnStart():
            return None if plan is not None and plan.counts.is_complete else plan
        case ViewerRetire():
            return None
        case TurnEnd() | TurnWait() | TurnResume():
            return plan
        case SessionStart() | SessionTitle() | SessionEnd() | ViewerDismiss() | Unknown():
            return plan
        case never:
            assert_never(never)
