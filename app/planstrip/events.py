"""The event vocabulary: one frozen class an event (spec.md §2), and `Entry`, an event where it stands in its log."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal, TypeAlias

Status: TypeAlias = Literal["pending", "in_progress", "completed"]

STATUSES: Final[tuple[Status, ...]] = ("pending", "in_progress", "completed")
_STATUSES: Final[Mapping[str, Status]] = {status: status for status in STATUSES}  # one string for all that say it
MAX_TIME_MS: Final = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z, the last that datetime holds

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_DECODER: Final = json.JSONDecoder()
_FORBID_UNKNOWN_KEYS: Final = {"extra": "forbid", "strict": True}


@dataclass(frozen=True, slots=True)
class Todo:
    __pydantic_config__: ClassVar = _FORBID_UNKNOWN_KEYS
    content: str
    status: Status


@dataclass(frozen=True, slots=True)
class Omitted:
    """An item that the agent cancelled, abandoned, deleted or failed; `status` is the agent's own word."""

    __pydantic_config__: ClassVar = _FORBID_UNKNOWN_KEYS
    content: str
    status: str


@dataclass(frozen=True, slots=True)
class Failure:
    name: str
    code: str


@dataclass(frozen=True, slots=True)
class EndReason:
    """`kind` is `completed` or the agent's own word for why the turn ended otherwise."""

    kind: str


@dataclass(frozen=True, slots=True)
class SessionStart:
    agent: str
    title: str | None = None
    cwd: str | None = None
    parent: str | None = None


@dataclass(frozen=True, slots=True)
class SessionTitle:
    title: str


@dataclass(frozen=True, slots=True)
class SessionRewind:
    """`todos` is the plan at `to_position`, put there by the door at append (spec.md §2)."""

    to_position: int
    todos: tuple[Todo, ...] = ()
    omitted: tuple[Omitted, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionEnd:
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class TurnStart:
    turn: int
    prompt: str | None = None


@dataclass(frozen=True, slots=True)
class TurnEnd:
    turn: int
    reason: EndReason


@dataclass(frozen=True, slots=True)
class TurnWait:
    """The agent waits for a person; `subject` is the event's `for`, which Python keeps for itself."""

    __pydantic_config__: ClassVar = {"strict": True, "alias_generator": lambda name: {"subject": "for"}.get(name, name)}
    turn: int
    subject: str


@dataclass(frozen=True, slots=True)
class TurnResume:
    turn: int


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`arguments` is the raw string that the model sent; it may be no JSON at all."""

    call_id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    call_id: str
    is_error: bool
    text: str
    error: Failure | None = None


@dataclass(frozen=True, slots=True)
class TodoWrite:
    todos: tuple[Todo, ...]
    call_id: str | None = None
    omitted: tuple[Omitted, ...] = ()


@dataclass(frozen=True, slots=True)
class ViewerRetire:
    by: str | None = None


@dataclass(frozen=True, slots=True)
class ViewerRestore:
    """`todos` is the plan that was retired, put there by the door at append (spec.md §2)."""

    todos: tuple[Todo, ...] = ()
    by: str | None = None
    omitted: tuple[Omitted, ...] = ()


@dataclass(frozen=True, slots=True)
class ViewerDismiss:
    content: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """A type of a newer writer, or stored data that no longer reads: kept verbatim, shown nowhere."""

    type: str


Event: TypeAlias = (
    SessionStart
    | SessionTitle
    | SessionRewind
    | SessionEnd
    | TurnStart
    | TurnEnd
    | TurnWait
    | TurnResume
    | ToolCall
    | ToolResult
    | TodoWrite
    | ViewerRetire
    | ViewerRestore
    | ViewerDismiss
    | Unknown
)

TYPES: Final[dict[str, type]] = {
    "session/start": SessionStart,
    "session/title": SessionTitle,
    "session/rewind": SessionRewind,
    "session/end": SessionEnd,
    "turn/start": TurnStart,
    "turn/end": TurnEnd,
    "turn/wait": TurnWait,
    "turn/resume": TurnResume,
    "tool/call": ToolCall,
    "tool/result": ToolResult,
    "todo/write": TodoWrite,
    "viewer/retire": ViewerRetire,
    "viewer/restore": ViewerRestore,
    "viewer/dismiss": ViewerDismiss,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """An event where it stands: `position` from 1 without gaps, `time` in ms since the epoch, UTC."""

    position: int
    time: int
    event: Event


def encode(data: object) -> str:
    """Compact JSON as it is stored. Raises ValueError for NaN, Infinity and lone surrogates."""
    text = _ENCODER.encode(data)
    if not text.isascii():
        text.encode()  # a lone surrogate fails here (UnicodeEncodeError is a ValueError), not in the store
    return text


def size_bytes(text: str) -> int:
    """How many bytes it has as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def decode(type_: str, data: str) -> Event:
    """The event of a stored row, `data` its JSON.

    Never raises: what does not read is `Unknown`, since one poison event must not take a page down.
    """
    reader = _READERS.get(type_)
    if reader is None:
        return Unknown(type_)
    try:
        parsed, end = _DECODER.raw_decode(data)  # as json.loads, without its looking for white space around
        parsed = parsed if end == len(data) else json.loads(data)
        if "\\ud" in data or "\\uD" in data:
            encode(parsed)  # half of a pair is no character: nothing that holds it could be sent or stored again
        return reader(parsed)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError):
        return Unknown(type_)


def _text(data: Mapping[str, Any], key: str) -> str:
    value: str = data[key]
    if value.__class__ is not str:
        raise TypeError(key)
    return value


def _maybe(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    if value is not None and value.__class__ is not str:
        raise TypeError(key)
    return value


def _whole(data: Mapping[str, Any], key: str) -> int:
    value: int = data[key]
    if value.__class__ is not int:
        raise TypeError(key)
    return value


def _todos(data: Mapping[str, Any]) -> tuple[Todo, ...]:
    return tuple([Todo(_text(item, "content"), _STATUSES[item["status"]]) for item in data["todos"]])


def _omitted(data: Mapping[str, Any]) -> tuple[Omitted, ...]:
    return tuple([Omitted(_text(item, "content"), _text(item, "status")) for item in data.get("omitted") or ()])


def _read_call(data: Mapping[str, Any]) -> ToolCall:
    call_id, name, arguments = data["call_id"], data["name"], data["arguments"]
    if not call_id.__class__ is name.__class__ is arguments.__class__ is str:
        raise TypeError("tool/call")
    return ToolCall(call_id, name, arguments)


def _read_result(data: Mapping[str, Any]) -> ToolResult:
    call_id, text, error = data["call_id"], data["text"], data.get("error")
    if not call_id.__class__ is text.__class__ is str:
        raise TypeError("tool/result")
    failure = Failure(_text(error, "name"), _text(error, "code")) if error else None
    return ToolResult(call_id, data["is_error"] is True, text, failure)


_READERS: Final[dict[str, Callable[[Mapping[str, Any]], Event]]] = {
    "session/start": lambda d: SessionStart(
        _text(d, "agent"), _maybe(d, "title"), _maybe(d, "cwd"), _maybe(d, "parent")
    ),
    "session/title": lambda d: SessionTitle(_text(d, "title")),
    "session/rewind": lambda d: SessionRewind(_whole(d, "to_position"), _todos(d), _omitted(d)),
    "session/end": lambda d: SessionEnd(_maybe(d, "reason")),
    "turn/start": lambda d: TurnStart(_whole(d, "turn"), _maybe(d, "prompt")),
    "turn/end": lambda d: TurnEnd(_whole(d, "turn"), EndReason(_text(d["reason"], "kind"))),
    "turn/wait": lambda d: TurnWait(_whole(d, "turn"), _text(d, "for")),
    "turn/resume": lambda d: TurnResume(_whole(d, "turn")),
    "tool/call": _read_call,
    "tool/result": _read_result,
    "todo/write": lambda d: TodoWrite(_todos(d), _maybe(d, "call_id"), _omitted(d)),
    "viewer/retire": lambda d: ViewerRetire(_maybe(d, "by")),
    "viewer/restore": lambda d: ViewerRestore(_todos(d), _maybe(d, "by"), _omitted(d)),
    "viewer/dismiss": lambda d: ViewerDismiss(_text(d, "content"), _maybe(d, "by")),
}
