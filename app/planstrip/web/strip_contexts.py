"""What the strip's templates are given: the list, what is told beside it, and what a person can do there."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from planstrip.events import Status
from planstrip.plan.freshness import Caution
from planstrip.plan.outline import TurnState
from planstrip.web.contexts import Segment

Weight: TypeAlias = Literal["plain", "warning"]


@dataclass(frozen=True, slots=True)
class Item:
    """`worked` is how long, in words; `place` leads to where its status last changed; None: not told."""

    status: Status
    status_label: str
    content: str
    worked: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True)
class OmittedItem:
    content: str
    word: str


@dataclass(frozen=True, slots=True)
class UnlistedItem:
    """A to-do that was dropped while open; `key` names it in a form, `time` is when it was dropped."""

    key: str
    content: str
    time: str
    clock: str


@dataclass(frozen=True, slots=True)
class UnlistedSection:
    """`dismiss_url` is None where nobody can dismiss."""

    title: str
    items: Sequence[UnlistedItem]
    dismiss_url: str | None


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence beside the counts: what makes the plan less than certain."""

    text: str
    weight: Weight = "plain"


@dataclass(frozen=True, slots=True)
class TurnNote:
    """The turn's own state, apart from the plan's. `is_unsure`: not known any more after a long silence."""

    state: TurnState | Literal["waiting"]
    text: str
    is_unsure: bool = False


@dataclass(frozen=True, slots=True)
class Acts:
    """Where a person acts on the standing plan, or takes it with them; `past`: the page as of a position.

    What this reader may not do is None.
    """

    dismiss_url: str | None
    retire_url: str | None
    markdown_url: str
    json_url: str
    past_url: str
    past: Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Retired:
    """A retirement that can be undone; `restore_url` is None for who may not."""

    text: str
    time: str
    clock: str
    restore_url: str | None


@dataclass(frozen=True, slots=True)
class Strip:
    """`position` is the event that set the list, `since` when the agent wrote it: ISO 8601, UTC.

    Without `acts` it is read-only. `said` is all of it in a line for assistive technology, `said_unsure` the same once
    nothing has been heard for long. `is_ageing`: it may come to be out of date as time goes by. `is_past`: it is told
    when it was written, not how long ago.
    """

    position: int
    since: str
    header: str
    said: str
    said_unsure: str | None
    items: Sequence[Item]
    omitted: Sequence[OmittedItem]
    meter: Sequence[Segment]
    is_moving: bool
    is_complete: bool
    is_ageing: bool
    caution: Caution
    turn: TurnNote | None
    notes: Sequence[Note]
    unlisted: UnlistedSection | None = None
    acts: Acts | None = None
    is_open: bool = False
    is_past: bool = False
