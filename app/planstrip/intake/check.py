"""What may enter the log: one event checked and encoded, or every fault named (spec.md §2)."""

import hashlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from planstrip.errors import Invalid, Said, TooLarge
from planstrip.errors import msgid as _
from planstrip.eventlog import DERIVED, Draft
from planstrip.events import MAX_TIME_MS, TYPES, Event, SessionStart, TodoWrite, Unknown, encode, size_bytes
from planstrip.intake.check_quick import quick_draft
from planstrip.plan.todos import MAX_TODOS, Problem, invariant_problems, limit_problems, trim

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MAX_EVENT_BYTES: Final = 256 * 1024
MAX_BATCH_EVENTS: Final = 1_000
MAX_BATCH_BYTES: Final = 4 * 1024 * 1024
MAX_ID_CHARS: Final = 200
MAX_KEY_CHARS: Final = 1_000
MAX_STORED_KEY_BYTES: Final = 1_000
KEY_HEAD_CHARS: Final = 60  # which door it came in by is told by how it begins
MAX_PROBLEMS: Final = 100  # named in one refusal: what is refused must not make an answer larger than itself
MAX_PATH_CHARS: Final = 200
ENVELOPE: Final = ("type", "data", "time", "key")


def check_session_id(session: str, path: str = "id") -> str:
    """An id is the agent's own: 1-200 characters, no `/`, no control characters, no lone surrogates."""
    fault = None
    if not 1 <= len(session) <= MAX_ID_CHARS:
        fault = Said(_("has %(count)d characters"), count=len(session))
    elif "/" in session:
        fault = Said(_("has a `/`"))
    elif session in (".", ".."):
        fault = Said(_("is a folder in every address"))
    elif not session.isprintable() and any(
        not char.isprintable() and char != " " and _is_control(char) for char in session
    ):
        fault = Said(_("has a control character or a lone surrogate"))
    if fault:
        message = Said(
            _("session id %(shown)s %(fault)s; expected 1 to %(most)d characters, no `/`, no control characters"),
            shown=ascii(session[:60]),
            fault=fault,
            most=MAX_ID_CHARS,
        )
        raise Invalid(message, [Problem(path, message)])
    return session


def check_event(value: object, path: str) -> Draft:
    """The draft of one `{type, data, time?, key?}`. Raises Invalid with every fault, or TooLarge."""
    if not isinstance(value, dict):
        raise _invalid(path, f"must be an object, got {shown(value)}")
    problems = [
        Problem(f"{path}.{key[:80]}", f"{path}.{key[:80]} is not a known key; expected {', '.join(ENVELOPE)}")
        for key in value
        if key not in ENVELOPE
    ]
    type_, data, time, key = (value.get(name) for name in ENVELOPE)
    if not isinstance(type_, str) or not 1 <= len(type_) <= 100:
        problems.append(
            Problem(f"{path}.type", f"{path}.type must be a string of 1 to 100 characters, got {shown(type_)}")
        )
    if not isinstance(data, dict):
        problems.append(Problem(f"{path}.data", f"{path}.data must be an object, got {shown(data)}"))
    problems.extend(_time_problems(time, f"{path}.time"))
    if key is not None and not (isinstance(key, str) and 1 <= len(key) <= MAX_KEY_CHARS):
        message = f"{path}.key must be a string of 1 to {MAX_KEY_CHARS} characters, got {shown(key)}"
        problems.append(Problem(f"{path}.key", message))
    if problems:
        raise Invalid.of(problems[:MAX_PROBLEMS])
    assert isinstance(type_, str) and isinstance(data, dict)  # noqa: PT018 - narrowed above, for mypy
    return check_data(type_, data, time=time, key=key, path=path)


def check_data(
    type_: str, data: Mapping[str, Any], *, time: int | None = None, key: str | None = None, path: str = "event"
) -> Draft:
    """The draft of an event whose envelope is good."""
    return quick_draft(type_, data, time, key) or thorough_draft(type_, data, time, key, path)


def thorough_draft(type_: str, data: Mapping[str, Any], time: int | None, key: str | None, path: str) -> Draft:
    """The same of any event, with every fault named."""
    given = {"time": time, "key": key}
    try:
        envelope = encode({"type": type_} | {name: value for name, value in given.items() if value is not None})
        text = encode(data)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"{path}.data", f"cannot be stored: {error!s:.100}") from None
    size = size_bytes(envelope) + size_bytes(text) + len(',"data":')
    if size > MAX_EVENT_BYTES:
        raise TooLarge(f"{path} ({type_}) has {size} bytes; at most {MAX_EVENT_BYTES} are taken")
    if type_ in DERIVED and ("todos" in data or "omitted" in data):
        raise _invalid(f"{path}.data.todos", f"is added at the door to a {type_}, and may not be sent")
    over = list(_length_problems(type_, data, f"{path}.data"))
    if over:
        raise Invalid.of(over)
    return Draft(type_, _event(type_, text, f"{path}.data"), text, time, key and _stored_key(key))


def _stored_key(key: str) -> str:
    """An index of PostgreSQL takes 2,700 bytes, the session's id among them: a longer key is known by its digest."""
    encoded = key.encode()
    if len(encoded) <= MAX_STORED_KEY_BYTES:
        return key
    return f"{key[:KEY_HEAD_CHARS]}…{hashlib.sha256(encoded).hexdigest()}"


def shown(value: object) -> str:
    """A value as an error shows it: its JSON type and its first characters."""
    match value:
        case None:
            return "nothing"
        case bool():
            return f"boolean {str(value).lower()}"
        case int() | float():
            return f"number {value!s:.40}"
        case str():
            return f"string {ascii(value) if len(value) <= 60 else ascii(value[:60])[:-1] + '…'}"
        case list():
            return f"list of {len(value)}"
        case _:
            return "object"


def _event(type_: str, text: str, path: str) -> Event:
    from pydantic import ValidationError  # loaded with FastAPI, or at an importer's first event

    if type_ not in TYPES:
        return Unknown(type_)
    try:
        event: Event = _adapter(type_).validate_json(text, strict=True)
    except ValidationError as error:
        faults = error.errors(include_url=False)[:MAX_PROBLEMS]
        raise Invalid.of([_problem(fault, path) for fault in faults]) from None
    problems = list(_content_problems(event))
    if problems:
        raise Invalid.of([Problem(f"{path}.{problem.path}", problem.message) for problem in problems[:MAX_PROBLEMS]])
    return event


def _length_problems(type_: str, data: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Lists that are too long, before every entry of them is looked at."""
    for name in ("todos", "omitted") if type_ == "todo/write" else ():
        listed = data.get(name)
        if isinstance(listed, list) and len(listed) > MAX_TODOS:
            yield Problem(f"{path}.{name}", f"{path}.{name} has {len(listed)} entries; at most {MAX_TODOS} are taken")


def _content_problems(event: Event) -> Iterator[Problem]:
    match event:
        case TodoWrite(todos=todos, omitted=omitted):
            yield from limit_problems([todo.content for todo in todos])
            yield from limit_problems([item.content for item in omitted])
            yield from invariant_problems(todos)
        case SessionStart(agent=agent, parent=parent):
            if not trim(agent):
                yield Problem("agent", f"agent must be a non-empty string, got {shown(agent)}")
            if parent is not None:
                check_session_id(parent, "parent")


def _problem(fault: Any, path: str) -> Problem:
    where = path
    for part in fault["loc"]:
        where += f"[{part}]" if isinstance(part, int) else f".{part}"
    where = where[:MAX_PATH_CHARS]
    got = "" if fault["type"] == "missing" else f", got {shown(fault['input'])}"
    return Problem(where, f"{where}: {fault['msg']}{got}")


def _time_problems(time: object, path: str) -> Iterator[Problem]:
    if time is None:
        return
    if not isinstance(time, int) or isinstance(time, bool) or not 0 <= time <= MAX_TIME_MS:
        message = f"{path} must be an integer, ms since the epoch, 0 to {MAX_TIME_MS}, got {shown(time)}"
        yield Problem(path, message)


def _invalid(path: str, message: str) -> Invalid:
    return Invalid(f"{path} {message}", [Problem(path, f"{path} {message}")])


def _is_control(char: str) -> bool:
    return char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" or char in "\u2028\u2029"


@cache
def _adapter(type_: str) -> "TypeAdapter[Any]":
    from pydantic import TypeAdapter

    return TypeAdapter(TYPES[type_])
