"""Payloads of opencode's plugin (its bus events) and of dsh's (its session events) as facts."""

from collections.abc import Iterator
from typing import Any, Final

from planstrip.errors import Invalid
from planstrip.intake.check import check_session_id, shown
from planstrip.intake.hooks_facts import (
    Answered,
    Called,
    Ended,
    Fact,
    Prompted,
    Resumed,
    Titled,
    Told,
    Waits,
    Wrote,
)
from planstrip.intake.hooks_read import short
from planstrip.plan.outline import first_line
from planstrip.plan.todos import Problem
from planstrip.transcripts.records import Record, at, joined_text, json_of, list_at, text_at, time_at, whole_at

ABORTED: Final = "MessageAbortedError"
DEFAULT_TITLE: Final = "New session - "


def read_opencode(payload: dict[str, Any], mark: str, time: int | None) -> Told:
    """`{type, properties}` as on its bus; `chat.message` is what the plugin makes of the hook of that name."""
    properties = at(payload, "properties")
    part, info = at(properties, "part"), at(properties, "info")
    session = next(
        (found for place in (properties, part, info) if (found := text_at(place, "sessionID"))), text_at(info, "id")
    )
    if session is None:
        message = f"properties.sessionID must be a string, got {shown(at(properties, 'sessionID'))}"
        raise Invalid(message, [Problem("properties.sessionID", message)])
    check_session_id(session, "properties.sessionID")
    type_ = text_at(payload, "type") or ""
    is_session = type_ in ("session.created", "session.updated")
    return Told(
        "opencode",
        session,
        mark,
        tuple(_opencode(type_, properties, part, info)),
        text_at(info, "parentID") if is_session else None,
        text_at(info, "directory") if is_session else text_at(payload, "cwd"),
        time=time_at(properties, "time") or time,
    )


def _opencode(type_: str, properties: object, part: object, info: object) -> Iterator[Fact]:
    if type_ == "chat.message":
        yield Prompted(joined_text(list_at(properties, "parts")), _key(text_at(properties, "message", "id")))
    elif type_ == "message.updated" and text_at(info, "role") == "user":
        yield Prompted("", _key(text_at(info, "id")))
    elif type_ == "message.part.updated" and text_at(part, "type") == "tool":
        yield from _opencode_tool(part)
    elif type_ == "session.updated":
        title = first_line(text_at(info, "title") or "")
        if title and not title.startswith(DEFAULT_TITLE):
            yield Titled(title)
    elif type_ == "session.error":
        yield Ended("interrupted" if text_at(properties, "error", "name") == ABORTED else "error")
    elif type_ == "session.idle":
        yield Ended("completed")
    elif type_ in ("permission.updated", "permission.asked"):
        yield Waits(first_line(text_at(properties, "title") or text_at(properties, "permission") or "permission"))
    elif type_ == "permission.replied":
        yield Resumed()
    elif type_ == "todo.updated" and (items := list_at(properties, "todos")) is not None:
        yield Wrote(pairs(items))


def _opencode_tool(part: object) -> Iterator[Fact]:
    """A call that broke is logged as the tool `invalid`, with the name of what was meant in its input."""
    call_id, name, status = (text_at(part, *path) for path in (("callID",), ("tool",), ("state", "status")))
    if call_id is None or name is None or status not in ("running", "completed", "error"):
        return
    sent = at(part, "state", "input")
    is_broken = name == "invalid"
    name = (text_at(sent, "tool") or name) if is_broken else name
    message = short(text_at(part, "messageID") or "")
    call = Called(call_id, name, json_of({} if sent is None else sent), f"hook/{message}/{short(call_id)}/tool/call")
    if status == "running":
        yield call
    else:
        is_error = is_broken or status == "error"
        response = text_at(part, "state", "error") or text_at(part, "state", "output") or ""
        yield Answered(call, sent, response, is_error, f"hook/{message}/{short(call_id)}/tool/result")


def _key(message: str | None) -> str | None:
    return None if message is None else f"hook/{short(message)}/turn/start"


def read_dsh(payload: dict[str, Any], mark: str, time: int | None) -> Told:
    """`{session_id, cwd, parent, event}`, the event as its transcript has it: keyed alike, so never twice."""
    session = text_at(payload, "session_id")
    if session is None:
        message = f"session_id must be a string, got {shown(payload.get('session_id'))}"
        raise Invalid(message, [Problem("session_id", message)])
    check_session_id(session, "session_id")
    event = at(payload, "event")
    seq = whole_at(event, "seq")
    key = None if seq is None else f"dsh:{seq}"
    facts = tuple(_dsh(event, text_at(payload, "prompt") or "", key)) if isinstance(event, dict) else ()
    return Told(
        "deepseek-harness",
        session,
        mark,
        facts,
        text_at(payload, "parent"),
        text_at(payload, "cwd"),
        time=time_at(event, "time") or time,
    )


def _dsh(event: Record, prompt: str, key: str | None) -> Iterator[Fact]:
    match text_at(event, "type"):
        case "turn/start":
            yield Prompted(prompt, key)
        case "turn/end":
            yield Ended(text_at(event, "data", "reason", "kind") or "interrupted", key)
        case "tool/call":
            call = _dsh_call(event, key)
            if call is not None:
                yield call
        case "todo/write" if (items := list_at(event, "data", "todos")) is not None:
            yield Wrote(pairs(items), key)
        case "tool/result":
            message = at(event, "data", "message")
            parts = [part for part in list_at(message, "content") or [] if text_at(part, "type") == "tool-result"]
            call_id = text_at(message, "source", "callId")
            if call_id is not None:
                text = "\n".join(joined_text(at(part, "content")) for part in parts)
                is_error = any(at(part, "isError") is True for part in parts)
                name, code = (text_at(event, "data", "error", part) for part in ("name", "code"))
                error = None if name is None or code is None else (name, code)
                yield Answered(Called(call_id, "", ""), None, text, is_error, key, error)
        case "session/title":
            yield Titled(first_line(text_at(event, "data", "title") or ""))


def _dsh_call(event: Record, key: str | None) -> Called | None:
    call_id, name, arguments = (text_at(event, "data", name) for name in ("callId", "name", "arguments"))
    if call_id is None or name is None or arguments is None:
        return None
    return Called(call_id, name, arguments, key)


def pairs(items: list[object], content: str = "content") -> tuple[tuple[str | None, str | None], ...]:
    return tuple((text_at(item, content), text_at(item, "status")) for item in items)
