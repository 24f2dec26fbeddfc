"""To-dos that were dropped while open and are listed again: known from the whole log, told beside their write (§9)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from planstrip.plan.fold import Plan
from planstrip.plan.likeness import same
from planstrip.plan.revisions import Revision
from planstrip.plan.rows import Row, Turn, Window
from planstrip.plan.unlisted import Unlisted

MAX_RETURNED: Final = 100


@dataclass(frozen=True, slots=True)
class Returned:
    """`content` as it is listed again since the event at `position`."""

    position: int
    content: str


ByPosition: TypeAlias = Mapping[int, tuple[str, ...]]


def step(
    old: tuple[Returned, ...], before: Sequence[Unlisted], after: Sequence[Unlisted], plan: Plan | None
) -> tuple[Returned, ...]:
    """After the event that took what is unlisted from `before` to `after`, and set `plan` if anything returned."""
    if after is before or plan is None:
        return old
    kept, listed = set(after), [todo.content for todo in plan.todos]
    gone = [item.content for item in before if item not in kept]
    found = tuple(Returned(plan.position, listed[place]) for place in sorted(same(gone, listed).values()))
    return (*old, *found)[-MAX_RETURNED:] if found else old


def mark(window: Window, returned: Sequence[Returned], after: int = 0) -> Window:
    """The window whose revisions beyond the position `after` say what returned with them."""
    by_position = defaultdict[int, tuple[str, ...]](tuple)
    for item in returned:
        if item.position > after:
            by_position[item.position] += (item.content,)
    if not by_position:
        return window
    return replace(
        window,
        turns=tuple(_turn(turn, by_position) for turn in window.turns),
        late=tuple(_row(row, by_position) for row in window.late),
        revisions=tuple(_revision(revision, by_position) for revision in window.revisions),
    )


def _turn(turn: Turn, by_position: ByPosition) -> Turn:
    rows = tuple(_row(row, by_position) for row in turn.rows)
    is_same = all(new is old for new, old in zip(rows, turn.rows, strict=True))
    return turn if is_same else replace(turn, rows=rows)


def _row(row: Row, by_position: ByPosition) -> Row:
    revision = row.revision and _revision(row.revision, by_position)
    return row if revision is row.revision else replace(row, revision=revision)


def _revision(revision: Revision, by_position: ByPosition) -> Revision:
    returned = by_position.get(revision.position)
    return replace(revision, returned=returned) if returned else revision
