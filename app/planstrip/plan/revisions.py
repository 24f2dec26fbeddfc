"""A plan's revisions: each event that set the list, with the list before it (spec.md §9). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from planstrip.events import Entry, Omitted, SessionRewind, Todo, TodoWrite, ViewerRestore, ViewerRetire
from planstrip.plan.fold import Plan
from planstrip.plan.ledger import Difference, compare

Cause: TypeAlias = Literal["write", "rewind", "retire", "restore"]

MAX_REVISIONS: Final = 50


@dataclass(frozen=True, slots=True)
class Revision:
    """`before` is what stood until the event at `position`, `after` what stands since, each empty for no plan.

    `turn` is the number of the turn it came in; `by` the person, where one did it and said who. `returned` are contents
    of `after` that had been dropped while open (`plan.returned`).
    """

    position: int
    time: int
    cause: Cause
    before: tuple[Todo, ...]
    after: tuple[Todo, ...]
    omitted: tuple[Omitted, ...] = ()
    turn: int | None = None
    by: str | None = None
    returned: tuple[str, ...] = ()

    @property
    def is_shown(self) -> bool:
        """A list that was written again as it was is no news (reports.md R046)."""
        return self.before != self.after or self.cause != "write"

    @property
    def difference(self) -> Difference:
        """Compared when it is asked for: few of a log's revisions are ever seen."""
        return compare(self.before, self.after, self.omitted, is_by_agent=self.cause == "write")


def revise(plan: Plan | None, entry: Entry, turn: int | None = None) -> Revision | None:
    """The revision that an event makes of the plan before it; None for an event that sets no list."""
    before = plan.todos if plan else ()
    match entry.event:
        case TodoWrite(todos=todos, omitted=omitted):
            return Revision(entry.position, entry.time, "write", before, todos, omitted, turn)
        case SessionRewind(todos=todos):
            return Revision(entry.position, entry.time, "rewind", before, todos, (), turn)
        case ViewerRestore(todos=todos, by=by):
            return Revision(entry.position, entry.time, "restore", before, todos, (), turn, by)
        case ViewerRetire(by=by):
            return Revision(entry.position, entry.time, "retire", before, (), (), turn, by)
        case _:
            return None


def last_moved(revisions: Sequence[Revision]) -> dict[str, int]:
    """For each to-do of the newest list the position of the revision that gave it its status, as far as they go back.

    A to-do under another name counts as moved.
    """
    if not revisions:
        return {}
    waiting = {todo.content: todo.status for todo in revisions[-1].after}
    found: dict[str, int] = {}
    for revision in reversed(revisions):
        before = {todo.content: todo.status for todo in revision.before}
        moved = [content for content, status in waiting.items() if before.get(content) != status]
        for content in moved:
            found[content] = revision.position
            del waiting[content]
        if not waiting:
            break
    return found
