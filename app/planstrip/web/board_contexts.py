"""What the board's templates are given, every text already in the reader's language."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planstrip.plan.outline import State
from planstrip.web.contexts import Frame, Segment
from planstrip.web.kin_contexts import ChildLine


@dataclass(frozen=True, slots=True)
class BoardRow:
    """`key` is for DOM ids: made of the session's id, which may have any character.

    `active` is the first to-do in progress, `suffix` the `+N` for the others (None for none). `folded` says how many
    children are folded under it. `need` is the state as a person must know of it: that of an agent that waits, which
    `told` says.
    """

    key: str
    session: str
    url: str
    title: str
    agent: str | None
    cwd: str | None
    state: State
    state_label: str
    need: State
    told: str | None
    is_long_silent: bool
    header: str
    meter: Sequence[Segment]
    active: str | None
    suffix: str | None
    suffix_name: str | None
    updated: str
    folded: str | None = None
    children: Sequence[ChildLine] = ()


@dataclass(frozen=True, slots=True)
class Filter:
    """A link that narrows the board, or with `is_current` widens it again. `count` None: not counted."""

    label: str
    url: str
    is_current: bool
    count: str | None = None
    state: State | None = None


@dataclass(frozen=True, slots=True)
class BoardList:
    """`tab` is the name for the browser's tab. `is_narrowed`: a query stands, which may match nothing.

    `all_url` is None for a guest, to whom no more is shown.
    """

    rows: Sequence[BoardRow]
    next_url: str | None
    states: Sequence[Filter]
    agents: Sequence[Filter]
    tab: str
    all_url: str | None
    is_narrowed: bool


@dataclass(frozen=True, slots=True)
class BoardPage:
    """`query` is what is searched for, None for a guest, who cannot; `kept`: the rest, which a search keeps."""

    frame: Frame
    shown: BoardList
    query: str | None
    kept: Mapping[str, str]
    stream_url: str
