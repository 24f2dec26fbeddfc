"""What a hook's payload can say, whoever sent it."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Prompted:
    """A turn begins. `key`: the event's own, where the agent names it as its transcript does."""

    prompt: str = ""
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Called:
    """A tool is called; `arguments` is what the model sent, as text."""

    call_id: str
    name: str
    arguments: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Answered:
    """`sent` and `response` are the call's input and what the tool gave, as the agent told them."""

    call: Called
    sent: object
    response: object
    is_error: bool = False
    key: str | None = None
    error: tuple[str, str] | None = None  # name and code


@dataclass(frozen=True, slots=True)
class Wrote:
    """An accepted list that no call came with."""

    items: tuple[tuple[str | None, str | None], ...]
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    kind: str
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Waits:
    subject: str


@dataclass(frozen=True, slots=True)
class Resumed:
    pass


@dataclass(frozen=True, slots=True)
class Closed:
    """The session ends; a turn that is open then was interrupted."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Titled:
    title: str


Fact: TypeAlias = Prompted | Called | Answered | Wrote | Ended | Waits | Resumed | Closed | Titled


@dataclass(frozen=True, slots=True)
class Told:
    """One payload as it was read. `turn` is the agent's own id of the turn; `mark` names this payload alone."""

    agent: str
    session: str
    mark: str
    facts: tuple[Fact, ...] = ()
    parent: str | None = None
    cwd: str | None = None
    turn: str | None = None
    time: int | None = None
