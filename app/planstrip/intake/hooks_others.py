"""What a transcript, a wire or our own MCP tool has told of a session before a hook comes with it (spec.md §2)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from sqlalchemy import Connection, bindparam, select, text

from planstrip.eventlog import read
from planstrip.events import Entry, Todo, TodoWrite, ToolCall, ToolResult, TurnStart
from planstrip.intake import tool
from planstrip.intake.across import (
    COLUMNS,
    NEAR_CALL_MS,
    NEAR_TURN_MS,
    Stored,
    door_of,
    is_same,
    read_rows,
    says,
)
from planstrip.intake.hooks_facts import Called
from planstrip.marks import IN_SESSION
from planstrip.tables import MARKED, events

NEWEST: Final = 100
MANY: Final = 2_000


@dataclass
class Others:
    """`at`: when the hook ran, None where nobody says. `is_open`: a turn is."""

    connection: Connection
    session: str
    at: int | None
    is_open: bool

    def has_turn(self, label: str) -> bool:
        """Whether another door has begun this very turn: at the same time, or it is the open one."""
        for start in self.turns:
            if door_of(start.key) in ("hook", "mcp") or not isinstance(start.event, TurnStart):
                continue
            is_near = self.at is not None and abs(self.at - start.time) <= NEAR_TURN_MS
            is_same_prompt = not label or not start.event.prompt or start.event.prompt == label
            if is_same_prompt and (is_near or (self.is_open and start == self.newest_turn)):
                return True
        return False

    @cached_property
    def turns(self) -> list[Stored]:
        """Every turn's start, in order."""
        found = read_rows(self.connection, _TURNS, {"session": self.session})
        return sorted(found, key=lambda row: row.position)

    @property
    def newest_turn(self) -> Stored | None:
        return self.turns[-1] if self.turns else None

    @property
    def is_past(self) -> bool:
        """Whether the newest turn began after the hook ran: it tells of an older one."""
        newest = self.newest_turn
        return newest is not None and self.at is not None and self.at < newest.time

    @property
    def is_wires(self) -> bool:
        """Whether `planstrip acp` tells this turn, all of it."""
        newest = self.newest_turn
        return self.is_open and newest is not None and door_of(newest.key) == "wire"

    def twin(self, call: Called) -> Stored | None:
        """The call as another door has it."""
        told = ToolCall(call.call_id, call.name, call.arguments)
        others = [row for row in self._near("tool/call") if door_of(row.key) != "hook"]
        return next((row for row in others if is_same(told, self.at, row)), None)

    def stored(self, key: str) -> Stored | None:
        return next(iter(read_rows(self.connection, _BY_KEY, {"session": self.session, "key": key})), None)

    def has_ours(self, call: Called) -> bool:
        """Whether our own tool has told the call itself: by the id, or where the client gave none by the very list."""
        told = ToolCall(call.call_id, tool.NAME, call.arguments)
        ours = [row for row in self._near("tool/call") if door_of(row.key) != "hook"]
        named = [row for row in ours if isinstance(row.event, ToolCall) and row.event.name == tool.NAME]
        return any(row.event.call_id == call.call_id or says(row.event) == says(told) for row in named)  # type: ignore[union-attr]

    def has_result(self, call: Stored) -> bool:
        return any(isinstance(entry.event, ToolResult) for entry in self._answers(call))

    def has_list(self, todos: Sequence[Todo], call: Stored | None = None) -> bool:
        """Whether another door has written the list, with its call or at the same time."""
        if call is not None:
            return any(isinstance(entry.event, TodoWrite) for entry in self._answers(call))
        written = TodoWrite(tuple(todos))
        others = [row for row in self._near("todo/write") if door_of(row.key) != "hook"]
        return any(is_same(written, self.at, row) for row in others)

    def open_plan_call(self) -> str | None:
        """The oldest `todo_write` of this turn without its list and its result, which dsh's lists don't name."""
        newest = self.newest_turn
        waiting: list[str] = []
        for entry in read(self.connection, self.session, newest.position if newest else 0):
            match entry.event:
                case ToolCall(call_id=id_, name=tool.NAME):
                    waiting.append(id_)
                case ToolResult(call_id=id_) | TodoWrite(call_id=id_) if id_ in waiting:
                    waiting.remove(id_)
        return waiting[0] if waiting else None

    def _answers(self, call: Stored) -> Iterator[Entry]:
        """A call's list and result."""
        for entry in read(self.connection, self.session, call.position):
            event = entry.event
            if isinstance(event, ToolResult | TodoWrite) and event.call_id == call.call_id:
                yield entry
                if isinstance(event, ToolResult):
                    return

    def _near(self, type_: str) -> list[Stored]:
        """The newest, and those of the time when the hook ran: it may have waited in a spool."""
        found = self._newest(type_, NEWEST)
        since = None if self.at is None else self.at - NEAR_CALL_MS
        if since is None or len(found) < NEWEST or found[-1].time < since:
            return found
        found = self._newest(type_, MANY)
        if len(found) < MANY or found[-1].time < since:
            return found
        window = {"since": since, "until": since + 2 * NEAR_CALL_MS, "limit": MANY}
        return found + read_rows(self.connection, _THEN, self._named(type_) | window)

    def _newest(self, type_: str, limit: int) -> list[Stored]:
        return read_rows(self.connection, _NEWEST, self._named(type_) | {"limit": limit})

    def _named(self, type_: str) -> dict[str, object]:
        return {"session": self.session, "type": type_}


_BY_KEY: Final = select(*COLUMNS).where(events.c.session == bindparam("session"), events.c.key == bindparam("key"))
_IS_START: Final = events.c.type == "turn/start"
_OF_TYPE: Final = (*IN_SESSION, events.c.type == bindparam("type"))
# Not in order: SQLite would then walk the whole session, where the index finds the few.
_TURNS: Final = select(*COLUMNS).where(events.c.session == bindparam("session"), text(MARKED), _IS_START)
_NEWEST: Final = select(*COLUMNS).where(*_OF_TYPE).order_by(events.c.position.desc()).limit(bindparam("limit"))
_THEN: Final = (
    select(*COLUMNS)
    .where(*_OF_TYPE, events.c.time.between(bindparam("since"), bindparam("until")))
    .order_by(events.c.position)
    .limit(bindparam("limit"))
)
