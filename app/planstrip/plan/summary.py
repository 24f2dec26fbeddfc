"""`plan_summary`: what the row of a plan call says, from the call's unvalidated arguments (spec.md §5)."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from planstrip.plan.todos import trim


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """Separate fields, never joined: a joined `+N` would be clipped with the name it follows."""

    done: int
    total: int
    active_content: str | None
    active_extra: int


def plan_summary(todos: Sequence[object]) -> PlanSummary:
    """It does not skip to a later usable active entry: the model's order is the only one the row can honour."""
    entries = [todo if isinstance(todo, dict) else {} for todo in todos]
    active = [entry for entry in entries if entry.get("status") == "in_progress"]
    first = active[0].get("content") if active else None
    usable = trim(first) if isinstance(first, str) else ""
    return PlanSummary(
        done=sum(entry.get("status") == "completed" for entry in entries),
        total=len(entries),
        active_content=usable or None,
        active_extra=len(active) - 1 if usable else 0,
    )


def todos_of(arguments: str) -> list[object] | None:
    """The `todos` of a call's raw arguments, or None when they do not parse or hold no list of objects."""
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    todos = parsed.get("todos") if isinstance(parsed, dict) else None
    if not isinstance(todos, list) or not all(isinstance(todo, dict) for todo in todos):
        return None
    return todos
