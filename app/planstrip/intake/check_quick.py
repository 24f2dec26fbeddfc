"""The check of the events that agents write most, in a fifth of the time: none passes that the full check refuses."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic_core import to_json

from planstrip.eventlog import Draft
from planstrip.events import (
    STATUSES,
    EndReason,
    Event,
    SessionStart,
    Todo,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
)
from planstrip.plan.todos import MAX_CONTENT_CHARS, MAX_TODOS, WHITE_SPACE

MAX_QUICK_BYTES: Final = 248 * 1024  # an event may have 256 KiB; the rest is more than a short key's envelope has
MAX_QUICK_KEY_CHARS: Final = 1_000
MAX_TURN: Final = 2**31


def quick_draft(type_: str, data: Mapping[str, Any], time: int | None, key: str | None) -> Draft | None:
    """The draft, if the event has exactly the keys that adapters give it and nothing about it is near a limit."""
    build = _BUILDERS.get(type_)
    event = build(data) if build is not None else None
    if event is None or not (key is None or (key.isascii() and len(key) <= MAX_QUICK_KEY_CHARS)):
        return None
    try:
        encoded = to_json(data)  # byte for byte what `events.encode` makes of strings, integers and booleans
    except ValueError:  # a lone surrogate
        return None
    return Draft(type_, event, encoded.decode(), time, key) if len(encoded) <= MAX_QUICK_BYTES else None


def _session(data: Mapping[str, Any]) -> SessionStart | None:
    """Of a session without a parent; with it a transcript of the commonest kind needs no pydantic loaded."""
    agent, cwd = data.get("agent", ""), data.get("cwd", "")
    is_known = len(data) == 1 + ("cwd" in data) and agent.__class__ is cwd.__class__ is str
    return SessionStart(agent, cwd=data.get("cwd")) if is_known and agent.strip(WHITE_SPACE) else None


def _call(data: Mapping[str, Any]) -> ToolCall | None:
    call_id, name, arguments = data.get("call_id"), data.get("name"), data.get("arguments")
    if len(data) == 3 and call_id.__class__ is name.__class__ is arguments.__class__ is str:
        return ToolCall(call_id, name, arguments)
    return None


def _result(data: Mapping[str, Any]) -> ToolResult | None:
    call_id, is_error, text = data.get("call_id"), data.get("is_error"), data.get("text")
    if len(data) == 3 and call_id.__class__ is text.__class__ is str and is_error.__class__ is bool:
        return ToolResult(call_id, is_error, text)
    return None


def _write(data: Mapping[str, Any]) -> TodoWrite | None:
    todos, call_id = data.get("todos"), data.get("call_id")
    if len(data) != 2 or call_id.__class__ is not str or todos.__class__ is not list or len(todos) > MAX_TODOS:
        return None
    made: dict[str, Todo] = {}
    for item in todos:
        if item.__class__ is not dict or len(item) != 2:
            return None
        content, status = item.get("content"), item.get("status")
        if content.__class__ is not str or status.__class__ is not str or status not in STATUSES:
            return None
        if not content or len(content) > MAX_CONTENT_CHARS or content.strip(WHITE_SPACE) != content:
            return None
        made[content] = Todo(content, status)
    return TodoWrite(tuple(made.values()), call_id) if len(made) == len(todos) else None


def _start(data: Mapping[str, Any]) -> TurnStart | None:
    turn, prompt = data.get("turn"), data.get("prompt")
    if len(data) == 2 and turn.__class__ is int and 0 <= turn < MAX_TURN and prompt.__class__ is str:
        return TurnStart(turn, prompt)
    return None


def _end(data: Mapping[str, Any]) -> TurnEnd | None:
    turn, reason = data.get("turn"), data.get("reason")
    if len(data) != 2 or turn.__class__ is not int or not 0 <= turn < MAX_TURN or reason.__class__ is not dict:
        return None
    kind = reason.get("kind")
    return TurnEnd(turn, EndReason(kind)) if len(reason) == 1 and kind.__class__ is str else None


_BUILDERS: Final[dict[str, Callable[[Mapping[str, Any]], Event | None]]] = {
    "session/start": _session,
    "tool/call": _call,
    "tool/result": _result,
    "todo/write": _write,
    "turn/start": _start,
    "turn/end": _end,
}
