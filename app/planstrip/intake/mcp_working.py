"""Whose call it is that an MCP client makes without naming its session: the one that its agent works in (spec.md §2).

Gemini CLI, opencode and Kimi say nothing but their name. Their transcripts and hooks have told, by then, that a turn of
theirs is open in that folder, and often the call itself.
"""

import json
from dataclasses import replace
from typing import Final

from sqlalchemy import Connection, bindparam, select

from planstrip.events import ToolCall, decode
from planstrip.intake.mcp_caller import Caller
from planstrip.intake.mcp_calls import KEYS, TOOL
from planstrip.marks import IN_SESSION
from planstrip.plan.outline import QUIET_AFTER_MS
from planstrip.tables import events, sessions

LATELY: Final = 20  # calls, parallel ones among them, that another door may have told before this one


def placed(connection: Connection, caller: Caller, arguments: str, now: int) -> Caller:
    """The caller in the one session that it can only be; as it was where there is none, or more than one."""
    if not caller.is_anonymous or caller.cwd is None:
        return caller
    given = {"agent": caller.agent, "cwd": caller.cwd, "since": now - QUIET_AFTER_MS}
    found = [replace(caller, session=id_) for id_ in connection.execute(_WORKING, given).scalars()]
    if len(found) > 1:
        found = [each for each in found if told(connection, each, arguments) is not None]
    return found[0] if len(found) == 1 else caller


def told(connection: Connection, caller: Caller, arguments: str) -> str | None:
    """The id of the call as another door has told it: one of the newest, and not answered here yet."""
    answered: dict[str, str] = {}  # key -> call id
    if caller.client_call_id is None:
        rows = connection.execute(_ANSWERS, {"session": caller.session})
        answered = {key: json.loads(data)["call_id"] for key, data in rows}
        own = answered.get(f"{KEYS}{caller.turn or ''}/{caller.call_id}/tool/result")
        if own is not None:  # the same call again
            return None if own == caller.call_id else own
    for key, data in connection.execute(_NEWEST_CALLS, {"session": caller.session}):
        call = decode("tool/call", data)
        if not isinstance(call, ToolCall) or (key or "").startswith(KEYS):
            continue
        if _is_it(call, caller, arguments) and call.call_id not in answered.values():
            return call.call_id
    return None


def _is_it(call: ToolCall, caller: Caller, arguments: str) -> bool:
    """By its id; where the client gives none, by its very list under a name that says whose server it is."""
    if caller.client_call_id is not None:
        return call.call_id == caller.client_call_id
    return call.name.endswith(TOOL) and call.name != TOOL and _parsed(call.arguments) == _parsed(arguments)


def _parsed(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


_WORKING: Final = (
    select(sessions.c.id)
    .where(
        sessions.c.agent == bindparam("agent"),
        sessions.c.cwd == bindparam("cwd"),
        sessions.c.condition.in_(("running", "waiting")),
        sessions.c.updated_at > bindparam("since"),
    )
    .limit(LATELY)
)
_NEWEST_CALLS: Final = (
    select(events.c.key, events.c.data)
    .where(*IN_SESSION, events.c.type == "tool/call")
    .order_by(events.c.position.desc())
    .limit(LATELY)
)
_ANSWERS: Final = select(events.c.key, events.c.data).where(
    events.c.session == bindparam("session"),
    events.c.key >= KEYS,
    events.c.key < KEYS[:-1] + "0",  # the character after `/`: a range, so that the index of keys serves
    events.c.type == "tool/result",
)
