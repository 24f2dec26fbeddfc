"""The ledger: a list's difference from the one before, as changes of one kind each (spec.md §9). Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from planstrip.events import Omitted, Status, Todo
from planstrip.plan.likeness import longest_rise, normalise, pair

Kind: TypeAlias = Literal[
    "added", "started", "completed", "reopened", "paused", "renamed", "reordered", "dropped", "omitted", "removed"
]

GONE: Final[frozenset[Kind]] = frozenset({"dropped", "omitted", "removed"})
RESTATED: Final[frozenset[Kind]] = frozenset({"started", "completed", "reopened", "paused"})


@dataclass(frozen=True, slots=True)
class Change:
    """`content` and `status` are those of the later list, the earlier one's for what is gone.

    `before` and `after` are the places in the two lists, None where it is not. `was` is the earlier content of what
    was renamed. `dropped` went while open; `omitted` was called off by the agent; `removed` is any other.
    """

    kind: Kind
    content: str
    status: Status
    before: int | None = None
    after: int | None = None
    was: str | None = None


Difference: TypeAlias = tuple[Change, ...]


def compare(
    before: Sequence[Todo], after: Sequence[Todo], omitted: Sequence[Omitted] = (), *, is_by_agent: bool = True
) -> Difference:
    """What takes `before` to `after`: in the later list's order, then what is gone. Empty for equal lists.

    What a person takes back (`is_by_agent` is False) was not dropped.
    """
    if before == after:
        return ()
    pairs = pair(before, after)
    places = {later: earlier for earlier, later in pairs.items()}
    stay = longest_rise([pairs[place] for place in sorted(pairs)])
    changes = list[Change]()
    for place, todo in enumerate(after):
        earlier = places.get(place)
        if earlier is None:
            changes.append(Change("added", todo.content, todo.status, None, place))
        else:
            changes += _kept(before[earlier], todo, earlier, place, has_moved=place not in stay)
    called_off = {normalise(item.content) for item in omitted}
    for place, todo in enumerate(before):
        if place not in pairs:
            kind = _going(todo, called_off, is_by_agent=is_by_agent)
            changes.append(Change(kind, todo.content, todo.status, place))
    return tuple(changes)


def apply(before: Sequence[Todo], difference: Difference) -> tuple[Todo, ...]:
    """The later list: `apply(before, compare(before, after)) == after`."""
    gone = {change.before for change in difference if change.kind in GONE}
    kept = {place: todo for place, todo in enumerate(before) if place not in gone}
    placed = dict[int, Todo]()
    for change in difference:
        if change.kind == "renamed" and change.before is not None:
            kept[change.before] = Todo(change.content, kept[change.before].status)
        elif change.kind in RESTATED and change.before is not None:
            kept[change.before] = Todo(kept[change.before].content, change.status)
    for change in difference:
        if change.after is not None and change.kind == "added":
            placed[change.after] = Todo(change.content, change.status)
        elif change.after is not None and change.before is not None and change.kind == "reordered":
            placed[change.after] = kept.pop(change.before)
    staying = iter(kept.values())
    size = len(kept) + len(placed)
    return tuple(placed[place] if place in placed else next(staying) for place in range(size))


def _kept(was: Todo, now: Todo, before: int, after: int, *, has_moved: bool) -> Iterator[Change]:
    if was.content != now.content:
        yield Change("renamed", now.content, now.status, before, after, was.content)
    if was.status != now.status:
        yield Change(_restated(was.status, now.status), now.content, now.status, before, after)
    if has_moved:
        yield Change("reordered", now.content, now.status, before, after)


def _restated(was: Status, now: Status) -> Kind:
    if now == "completed":
        return "completed"
    if was == "completed":
        return "reopened"
    return "started" if now == "in_progress" else "paused"


def _going(todo: Todo, called_off: set[str], *, is_by_agent: bool) -> Kind:
    if not is_by_agent:
        return "removed"
    if normalise(todo.content) in called_off:
        return "omitted"
    return "removed" if todo.status == "completed" else "dropped"
