"""Whose call of our tool it was: a Claude Code subagent's comes under the id of its parent's session (agents.md §3).

Only the call's id tells it apart, by a hook that ran before it or by the subagent's own transcript. Where neither is
known in time the list stands in the parent's plan until one of them is: it is given back then.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from sqlalchemy import Connection, bindparam, select

from planstrip import projection
from planstrip.eventlog import Append, Draft, read
from planstrip.events import Entry, TodoWrite, ToolCall, decode
from planstrip.intake.check import check_data
from planstrip.intake.mcp_calls import KEYS, may_be_ours
from planstrip.marks import IN_SESSION
from planstrip.plan.fold import Plan
from planstrip.tables import events, sessions
from planstrip.writer import Writer

MAX_CALLS: Final = 1_000
CHILDREN: Final = 20  # the newest, in which a call is looked for
LATELY: Final = 20  # calls of each
FOUND: Final = f"{KEYS}of-subagent/"
GIVEN_BACK: Final = f"{KEYS}given-back/"


@dataclass(slots=True)
class Owners:
    """Calls that a hook has announced: by their id, the session that is called for and the subagent that calls."""

    _calls: "OrderedDict[str, tuple[str, str]]" = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, call_id: str, parent: str, child: str) -> None:
        with self._lock:
            self._calls[call_id] = parent, child
            if len(self._calls) > MAX_CALLS:
                self._calls.popitem(last=False)

    def of(self, connection: Connection, session: str, call_id: str) -> str | None:
        """The subagent of `session` that makes a call; None where it is not known to be one's."""
        with self._lock:
            parent, child = self._calls.get(call_id, (None, None))
        return child if parent == session else _in_log(connection, session, call_id)


def give_back(writer: Writer, child: str, drafts: Sequence[Draft]) -> None:
    """Where the drafts show that lists of the parent's were the subagent's: they are its own, and the parent's stands.

    The parent's is the one that it had written itself, unless it has written since.
    """
    ids = [draft.event.call_id for draft in drafts if isinstance(draft.event, ToolCall) and may_be_ours(draft)]
    if not ids:
        return
    with writer.engine.connect() as connection:
        parent = connection.execute(select(sessions.c.parent).where(sessions.c.id == child)).scalar()
        if parent is None:
            return
        found = [entry for id_ in ids if (entry := _written(connection, parent, id_)) is not None]
        before = _before(connection, parent, child, found) if found else None
    for entry in found:
        _append(writer, child, entry.event, f"{FOUND}{_id_of(entry)}", entry.time)
    if before is not None:
        _append(writer, parent, *before)


def _before(
    connection: Connection, parent: str, child: str, found: Sequence[Entry]
) -> tuple[TodoWrite, str, int | None] | None:
    """The list that the parent had before the subagent's, to be written again; None where that does not stand."""
    stored = connection.execute(_FOUND_KEYS, {"session": child}).scalars()
    theirs = {_id_of(entry) for entry in found} | {key.removeprefix(FOUND) for key in stored}
    newest = next(iter(_writes(connection, parent, 1)), None)
    if newest is None or _id_of(newest) not in theirs:
        return None
    plan = projection.plan_at(connection, parent, newest.position - 1)
    while plan is not None and _call_of(connection, parent, plan) in theirs:
        plan = projection.plan_at(connection, parent, plan.position - 1)
    write = TodoWrite(plan.todos, None, plan.omitted) if plan else TodoWrite(())
    return write, f"{GIVEN_BACK}{_id_of(newest)}", None


def _append(writer: Writer, session: str, event: object, key: str, time: int | None) -> None:
    assert isinstance(event, TodoWrite)
    given = {"call_id": event.call_id, "omitted": [asdict(item) for item in event.omitted]}
    data = {"todos": [asdict(todo) for todo in event.todos]} | {name: value for name, value in given.items() if value}
    writer.append_blocking(Append(session, [check_data("todo/write", data, time=time, key=key)], takes_in=True))


def _in_log(connection: Connection, session: str, call_id: str) -> str | None:
    """The subagent whose transcript has the call already."""
    for child in connection.execute(_CHILDREN, {"parent": session}).scalars().all():
        calls = connection.execute(_NEWEST, {"session": child, "type": "tool/call", "limit": LATELY})
        read_calls = [decode("tool/call", data) for _, _, data in calls]
        if any(isinstance(call, ToolCall) and call.call_id == call_id for call in read_calls):
            return str(child)
    return None


def _written(connection: Connection, session: str, call_id: str) -> Entry | None:
    """The list that our door took with a call."""
    writes = _writes(connection, session, LATELY * CHILDREN)
    return next((entry for entry in writes if _id_of(entry) == call_id), None)


def _writes(connection: Connection, session: str, limit: int) -> list[Entry]:
    rows = connection.execute(_NEWEST, {"session": session, "type": "todo/write", "limit": limit})
    return [Entry(position, time, decode("todo/write", data)) for position, time, data in rows]


def _call_of(connection: Connection, session: str, plan: Plan) -> str | None:
    entry = next(read(connection, session, plan.position - 1, plan.position), None)
    return None if entry is None else _id_of(entry)


def _id_of(entry: Entry) -> str | None:
    return entry.event.call_id if isinstance(entry.event, TodoWrite) else None


_CHILDREN: Final = (
    select(sessions.c.id)
    .where(sessions.c.parent == bindparam("parent"))
    .order_by(sessions.c.updated_at.desc())
    .limit(CHILDREN)
)
_NEWEST: Final = (
    select(events.c.position, events.c.time, events.c.data)
    .where(*IN_SESSION, events.c.type == bindparam("type"))
    .order_by(events.c.position.desc())
    .limit(bindparam("limit"))
)
_FOUND_KEYS: Final = select(events.c.key).where(
    events.c.session == bindparam("session"), events.c.key >= FOUND, events.c.key < FOUND[:-1] + "0"
)
