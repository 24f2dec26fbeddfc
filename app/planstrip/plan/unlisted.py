"""To-dos that the agent dropped while they were open, listed until they return or a person dismisses them (§9)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from planstrip.events import (
    Entry,
    Omitted,
    SessionRewind,
    Status,
    Todo,
    TodoWrite,
    ViewerDismiss,
    ViewerRestore,
)
from planstrip.plan.fold import Plan
from planstrip.plan.ledger import Kind, compare
from planstrip.plan.likeness import normalise, same

MAX_UNLISTED: Final = 100
CAME: Final[frozenset[Kind]] = frozenset({"added", "renamed"})  # also another to-do may bear the name now


@dataclass(frozen=True, slots=True)
class Unlisted:
    """An open to-do and the write that left it out: its `position` and `time` (ms, UTC)."""

    content: str
    status: Status
    position: int
    time: int


def step(unlisted: tuple[Unlisted, ...], old: Plan | None, new: Plan | None, entry: Entry) -> tuple[Unlisted, ...]:
    """What is unlisted after the event that took the plan `old` to `new`; the same object where nothing changed."""
    match entry.event:
        case TodoWrite(todos=todos, omitted=omitted):
            return _written(unlisted, old.todos if old else (), todos, omitted, entry)
        case SessionRewind(todos=todos, omitted=omitted) | ViewerRestore(todos=todos, omitted=omitted):
            return _without_returned(unlisted, [todo.content for todo in todos], omitted)
        case ViewerDismiss(content=content):
            kept = tuple(item for item in unlisted if item.content != content)
            return unlisted if len(kept) == len(unlisted) else kept
        case _:
            return unlisted


def _written(
    unlisted: tuple[Unlisted, ...],
    before: Sequence[Todo],
    after: Sequence[Todo],
    omitted: Sequence[Omitted],
    entry: Entry,
) -> tuple[Unlisted, ...]:
    listed = {todo.content for todo in after}
    is_missing = any(todo.status != "completed" and todo.content not in listed for todo in before)
    if not is_missing and (not unlisted or listed <= {todo.content for todo in before}):  # nearly every write
        return _without_returned(unlisted, (), omitted)
    changes = compare(before, after, omitted)
    kept = _without_returned(unlisted, [change.content for change in changes if change.kind in CAME], omitted)
    dropped = [
        Unlisted(change.content, change.status, entry.position, entry.time)
        for change in changes
        if change.kind == "dropped"
    ]
    return (*kept, *dropped)[-MAX_UNLISTED:] if dropped else kept


def _without_returned(
    unlisted: tuple[Unlisted, ...], came: Sequence[str], omitted: Sequence[Omitted]
) -> tuple[Unlisted, ...]:
    """Without those whose names are in `came` again, and those that the agent now says it called off."""
    if not unlisted or not (came or omitted):
        return unlisted
    returned = same([item.content for item in unlisted], came)
    called_off = {normalise(item.content) for item in omitted}
    kept = tuple(
        item
        for place, item in enumerate(unlisted)
        if place not in returned and normalise(item.content) not in called_off
    )
    return unlisted if len(kept) == len(unlisted) else kept
