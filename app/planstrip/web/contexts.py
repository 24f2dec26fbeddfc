"""What each template is given: one frozen class a template, every text already in the reader's language."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from planstrip.events import Status
from planstrip.plan.ledger import Kind
from planstrip.plan.outline import State
from planstrip.plan.rows import RowState

BEFORE_NAME: Final = " \u00b7 "
Silence: TypeAlias = Literal["new", "long"]


@dataclass(frozen=True, slots=True)
class Frame:
    """What every page needs. `lang` is an HTML tag, `direction` `ltr` or `rtl`, `theme` `light`, `dark` or `auto`.

    `root` is the prefix that the app is mounted below, `home_url` the board, None for a reader to whom it is not open.
    """

    lang: str
    direction: str
    theme: str
    root: str
    css_url: str
    js_url: str
    favicon_url: str
    home_url: str | None
    languages: Sequence["Language"] = ()


@dataclass(frozen=True, slots=True)
class Language:
    lang: str
    name: str
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class Segment:
    """One status's share of a meter 100 wide: `x` and `width` are SVG attributes (the CSP forbids style=)."""

    status: Status
    x: str
    width: str


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """`mark` is the sign that is seen, `word` what it means; `was` the earlier text of what was renamed."""

    kind: Kind
    mark: str
    word: str
    text: str
    was: str | None = None


@dataclass(frozen=True, slots=True)
class RevisionContext:
    """`row` is the position of the row that it is told in, None where that is not on the page."""

    position: int
    row: int | None
    turn: str | None
    time: str
    clock: str
    note: str | None
    by: str | None
    changes: Sequence[ChangeLine]


@dataclass(frozen=True, slots=True)
class RowContext:
    """`tool` is the recorded name, `suffix` None or `+N`, `suffix_name` its words for assistive technology.

    The summary is `lead`, and after it `name`, an active to-do's, where that may run in another direction. `changes` is
    what the call's write changed in the plan, `dropped` says how many open to-dos it left out.
    """

    position: int
    tool: str
    is_plan: bool
    state: RowState
    state_label: str
    icon: str
    title: str
    lead: str
    name: str | None
    suffix: str | None
    suffix_name: str | None
    time: str
    clock: str
    input: str
    output: str | None
    is_rewound: bool
    changes: Sequence[ChangeLine] = ()
    dropped: str | None = None

    @property
    def summary(self) -> str:
        return self.lead if self.name is None else self.lead + BEFORE_NAME + self.name


@dataclass(frozen=True, slots=True)
class TurnContext:
    """`label` is None for what came before any turn. `clock` is the time in UTC until the browser puts in its own.

    A row that is a string is HTML that the renderer has ready.
    """

    position: int
    label: str | None
    prompt: str | None
    time: str
    clock: str
    is_interrupted: bool
    is_rewound: bool
    rows: Sequence[RowContext | str]


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    name: str


@dataclass(frozen=True, slots=True)
class Head:
    """The session's name and state in the page's top bar; `tab` is the name for the browser's tab.

    `plain`: the title where no element keeps an override of direction to itself.

    `key` is for DOM ids, `session` the id itself; `parent`: the session that delegated to this one; `url`: its page,
    for a frame whose reader may see that. `need` is the state as a person must know of it: that of an agent that
    waits, which `told` says. `updated` is the last sign, `silence` how long none has come.
    """

    key: str
    session: str
    title: str
    plain: str
    tab: str
    agent: str | None
    cwd: str | None
    state: State
    state_label: str
    need: State
    told: str | None
    silence: Silence | None
    updated: str
    parent: Link | None = None
    url: str | None = None


@dataclass(frozen=True, slots=True)
class SignInPage:
    frame: Frame
    next_url: str
    is_wrong: bool


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """In another page's frame it leads nowhere: no other page of the panel may be framed."""

    frame: Frame
    status: int
    title: str
    detail: str
    is_framed: bool = False


@dataclass(frozen=True, slots=True)
class Partial:
    """One region of a push: where it goes (`target` is a CSS selector) and how htmx puts it there."""

    target: str
    swap: str
    html: str


@dataclass(frozen=True, slots=True)
class Badge:
    """Widths in px. From right to left the title stands at the right, and text begins at its own right end."""

    title: str
    text: str
    title_width: int
    text_width: int
    is_right_to_left: bool

    @property
    def title_x(self) -> int:
        return self.text_width if self.is_right_to_left else 0

    @property
    def text_x(self) -> int:
        return 0 if self.is_right_to_left else self.title_width


@dataclass(frozen=True, slots=True)
class Operation:
    method: str
    path: str
    summary: str
    body: str | None
    answer: str


@dataclass(frozen=True, slots=True)
class Schema:
    """`fields`: name and type, in words."""

    name: str
    fields: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class DocsPage:
    frame: Frame
    operations: Sequence[Operation]
    schemas: Sequence[Schema]
    openapi_url: str
    tool: str
