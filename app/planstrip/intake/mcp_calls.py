"""Calls of our own tool over MCP: an agent's transcript has them too, and none is to be shown twice (spec.md §2)."""

import json
import secrets
from collections.abc import Sequence
from typing import Final

from sqlalchemy import Connection, Engine, bindparam, select

from planstrip.eventlog import Draft
from planstrip.events import ToolCall
from planstrip.tables import events

KEYS: Final = "mcp/"  # how the keys of what the MCP door records begin
TOOL: Final = "todo_write"
UNNAMED: Final = "call_mcp_"  # how the ids begin that we give


def new_call_id() -> str:
    """For a call whose client gives none."""
    return f"{UNNAMED}{secrets.token_hex(8)}"


def without_ours(engine: Engine, session: str, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """The drafts without the calls that the MCP door has recorded; a result whose call is missing shows nowhere."""
    if not any(may_be_ours(draft) for draft in drafts):
        return drafts
    with engine.connect() as connection:
        ids, lists = _recorded(connection, session)
    return [draft for draft in drafts if not (may_be_ours(draft) and _is_among(draft, ids, lists))]


def may_be_ours(draft: Draft) -> bool:
    """Each agent puts the server's name before the tool's in its own way."""
    call = draft.event
    return isinstance(call, ToolCall) and call.name.endswith(TOOL) and call.name != TOOL


def _is_among(draft: Draft, ids: set[str], lists: list[object]) -> bool:
    """By the call's id, or where the client gave none by the very list."""
    call = draft.event
    return isinstance(call, ToolCall) and (call.call_id in ids or _parsed(call.arguments) in lists)


def _recorded(connection: Connection, session: str) -> tuple[set[str], list[object]]:
    calls = [json.loads(data) for data in connection.execute(_OURS, {"session": session}).scalars()]
    unnamed = [call for call in calls if str(call["call_id"]).startswith(UNNAMED)]
    return {call["call_id"] for call in calls}, [_parsed(call["arguments"]) for call in unnamed]


def _parsed(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments


_OURS: Final = select(events.c.data).where(
    events.c.session == bindparam("session"),
    events.c.key >= KEYS,
    events.c.key < KEYS[:-1] + "0",  # the character after `/`: a range, so that the index of keys serves
    events.c.type == "tool/call",
)
