"""Across doors nothing is shown twice: what a transcript has and another door has told is left out (spec.md §2).

Hooks name nothing as a transcript does, so the two are matched by what they tell: a turn by its prompt, a call by its
id, a list by its call. A turn that `planstrip acp` has recorded is its own whole: on the wire calls have other ids.
The limit: two processes that take in the same call at the same moment don't see each other.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlalchemy import Connection, Engine, Select, bindparam, select, text

from planstrip.eventlog import Draft
from planstrip.events import (
    Event,
    TodoWrite,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnResume,
    TurnStart,
    TurnWait,
    decode,
)
from planstrip.intake.check import check_data
from planstrip.tables import MARKED, events
from planstrip.transcripts import acp
from planstrip.transcripts.acp import LIVE

HOOKS: Final = "hook/"  # how a door's keys begin
MCP: Final = "mcp/"
WIRES: Final = (LIVE, f"{acp.AGENT}:")  # as it talks, and from a file
UNNAMED: Final = "hook_"  # how the ids begin that the hooks' door gives
NEAR_TURN_MS: Final = 2 * 60_000
NEAR_CALL_MS: Final = 10 * 60_000
LATE_END_MS: Final = 5_000  # a transcript's end may be dated after the hook's

IN_TURN: Final = (TurnEnd, TurnResume, TurnWait, ToolCall, ToolResult, TodoWrite)

_LONG: Final = re.compile(r"[0-9A-Za-z]{12}")


@dataclass(frozen=True, slots=True)
class Stored:
    key: str
    position: int
    time: int
    event: Event

    @property
    def call_id(self) -> str | None:
        return self.event.call_id if isinstance(self.event, ToolCall | ToolResult | TodoWrite) else None


def without_told(engine: Engine, session: str, drafts: Sequence[Draft]) -> Sequence[Draft]:
    """The drafts of a transcript without what hooks or a wire have told of the same session."""
    if all(door_of(draft.key) != "transcript" for draft in drafts):
        return drafts
    with engine.connect() as connection:
        told = elsewhere(connection, session)
        if not told:
            return drafts
        types = ["turn/start", "turn/end", "todo/write"]
        types += ["tool/call"] if any(_id_of(row.event) == UNNAMED for row in told) else []
        marked = [r for type_ in types for r in read_rows(connection, _MARKED, {"session": session, "type": type_})]
    marked.sort(key=lambda row: row.position)
    taking = _Taking(told, [row for row in marked if door_of(row.key) == "transcript"], _newest_turn(marked))
    return [left for draft in drafts if (left := taking.left_of(draft)) is not None]


def door_of(key: str | None) -> str:
    """Which door an event came in by: `hook`, `mcp`, `wire`, `transcript`, or `other`: a client's own, a viewer's."""
    if key is None:
        return "other"
    if key.startswith(HOOKS):
        return "hook"
    if key.startswith(MCP):
        return "mcp"
    return "wire" if key.startswith(WIRES) else "transcript"


def same_turn(one: TurnStart, at: int | None, other: TurnStart, other_at: int) -> bool:
    """Whether two doors tell one turn: the same prompt, as far as both know it, at the same time or place."""
    is_near = at is not None and abs(at - other_at) <= NEAR_TURN_MS
    if one.prompt and other.prompt:
        return one.prompt == other.prompt and (is_near or one.turn == other.turn)
    return is_near or one.turn == other.turn


def is_same(event: ToolCall | ToolResult | TodoWrite, at: int | None, row: Stored) -> bool:
    """By the call's id, or where one door knows none by what was called. Short ids repeat: those must agree in more."""
    is_near = at is None or abs(at - row.time) <= NEAR_CALL_MS
    ids = {_id_of(event), _id_of(row.event)}
    if len(ids) == 1 and UNNAMED not in ids:
        is_one = is_near or is_lasting(*ids) or says(event) == says(row.event)
        return is_one and (not isinstance(event, TodoWrite) or says(event) == says(row.event))
    return UNNAMED in ids and is_near and not isinstance(event, ToolResult) and says(event) == says(row.event)


def is_lasting(call_id: str) -> bool:
    """Whether an id looks like one that never comes again: `toolu_6dae9132a1d8…`, and not `call_1`."""
    return _LONG.fullmatch(call_id[-12:]) is not None


@dataclass(slots=True)
class _Taking:
    """`own`: what the transcript has told before, of turns, calls and lists. Each told event answers for one draft."""

    told: Sequence[Stored]
    own: list[Stored]
    newest_turn: Stored | None
    _by_id: dict[tuple[type, str], list[Stored]] = field(default_factory=dict)
    _used: set[int] = field(default_factory=set)
    _keys: dict[str, Stored] = field(default_factory=dict)
    _left_out: set[str] = field(default_factory=set)  # ids of calls without one in the hook
    _has_wires: bool = False
    _is_wires: bool | None = None  # whether the turn that is read is the wire's; None before the batch's first turn

    def __post_init__(self) -> None:
        self._keys = {row.key: row for row in self.own}
        self._has_wires = any(door_of(row.key) == "wire" for row in self.told)
        for row in self.told:
            if isinstance(row.event, ToolCall | ToolResult | TodoWrite):
                self._by_id.setdefault((type(row.event), _id_of(row.event)), []).append(row)

    def left_of(self, draft: Draft) -> Draft | None:
        if door_of(draft.key) != "transcript":
            return draft
        known = self._keys.get(draft.key or "")
        if known is not None:
            return self._again(draft, known)
        if isinstance(draft.event, TurnStart):
            twin = self._twin(row for row in self.told if _is_turn(draft.event, draft.time, row))
            self._is_wires = twin is not None and door_of(twin.key) == "wire"
            return self._kept(draft) if twin is None else self._cleared(draft, twin)
        return None if self._is_told(draft, draft.event) else self._kept(draft)

    def _kept(self, draft: Draft) -> Draft:
        if isinstance(draft.event, TurnStart | ToolCall | TodoWrite):
            last = max(self.own[-1].position if self.own else 0, self.told[-1].position)
            kept = Stored(draft.key or "", last + 1, draft.time or 0, draft.event)
            self.own.append(kept)
            if isinstance(draft.event, TurnStart):
                self.newest_turn = kept
        return draft

    def _again(self, draft: Draft, known: Stored) -> Draft | None:
        """Of an event that a hook has told under its record's own key (dsh's), or that was taken in before."""
        if isinstance(draft.event, TurnStart):  # its turn may have another number: the hook did not see the first ones
            return self._cleared(draft, known)
        if isinstance(draft.event, TurnEnd):
            return None
        if isinstance(draft.event, TodoWrite) and not draft.is_state and self._is_outrun(known, draft.time):
            return replace(draft, key=f"{draft.key}~again")
        return draft

    def _cleared(self, draft: Draft, told: Stored) -> Draft | None:
        """Of a turn that is told nothing, unless a finished list has come after it that it would have cleared."""
        writes = [row for row in (*self.told, *self.own) if isinstance(row.event, TodoWrite)]
        newest = max(writes, key=lambda row: row.position, default=None)
        if newest is None or newest.position < told.position or draft.time is None or newest.time >= draft.time:
            return None
        todos = newest.event.todos if isinstance(newest.event, TodoWrite) else ()
        if not todos or not all(todo.status == "completed" for todo in todos):
            return None
        return self._kept(check_data("todo/write", {"todos": []}, time=draft.time, key=f"{draft.key}~cleared"))

    def _is_told(self, draft: Draft, event: Event) -> bool:
        if isinstance(event, IN_TURN) and self._of_wire(draft.time):
            return True
        match event:
            case TurnEnd() | TurnResume() | TurnWait():
                return self._is_settled(event.turn, draft.time)
            case ToolCall():
                return self._has_call(event, draft.time)
            case ToolResult():
                return self._has_result(event, draft.time)
            case TodoWrite():
                return self._has_list(event, draft.time)
            case _:
                return False

    def _of_wire(self, time: int | None) -> bool:
        if self._is_wires is not None or not self._has_wires:
            return self._is_wires is True
        starts = [row for row in (*self.told, *self.own) if isinstance(row.event, TurnStart)]
        before = [row for row in starts if time is None or row.time <= time + LATE_END_MS]
        newest = max(before, key=lambda row: row.time, default=None)
        return newest is not None and door_of(newest.key) == "wire"

    def _is_settled(self, turn: int, time: int | None) -> bool:
        """Whether a turn's end, or that it goes on, is told, or comes too late to be told of the turn that stands."""
        newest = self.newest_turn
        if newest is None or not isinstance(newest.event, TurnStart):
            return False
        is_own = door_of(newest.key) == "transcript"
        if is_own and newest.event.turn != turn:
            return True
        if not is_own and (time is None or newest.time > time + LATE_END_MS):
            return True
        ends = [row for row in self.told if isinstance(row.event, TurnEnd) and row.position > newest.position]
        return any(time is None or time <= row.time + LATE_END_MS for row in ends)

    def _has_call(self, call: ToolCall, time: int | None) -> bool:
        twin = self._twin(row for row in self._candidates(call) if is_same(call, time, row))
        if twin is not None and _id_of(twin.event) != call.call_id:
            self._left_out.add(call.call_id)
        return twin is not None

    def _has_result(self, result: ToolResult, time: int | None) -> bool:
        """A result whose call was left out has no row to stand in."""
        if result.call_id in self._left_out:
            return True
        if self._twin(row for row in self._candidates(result) if is_same(result, time, row)) is not None:
            return True
        if (ToolCall, UNNAMED) not in self._by_id:
            return False
        rows = (row for row in (*self.told, *self.own) if isinstance(row.event, ToolCall))
        return all(row.call_id != result.call_id for row in rows)

    def _has_list(self, write: TodoWrite, time: int | None) -> bool:
        """A list that is told is told again where an older one has come after it: the newest must stand at the end."""
        twin = self._twin(row for row in self._candidates(write) if is_same(write, time, row))
        if twin is None:
            return False
        return not self._is_outrun(twin, time)

    def _is_outrun(self, told: Stored, time: int | None) -> bool:
        """Whether something older has come after it."""
        later = [
            row for row in self.own if row.position > told.position and isinstance(row.event, TurnStart | TodoWrite)
        ]
        return any(time is not None and row.time < time for row in later)

    def _candidates(self, event: ToolCall | ToolResult | TodoWrite) -> list[Stored]:
        type_ = type(event)
        return [*self._by_id.get((type_, _id_of(event)), ()), *self._by_id.get((type_, UNNAMED), ())]

    def _twin(self, rows: Iterable[Stored]) -> Stored | None:
        found = next((row for row in rows if row.position not in self._used), None)
        if found is not None:
            self._used.add(found.position)
        return found


def _is_turn(start: TurnStart, time: int | None, row: Stored) -> bool:
    return isinstance(row.event, TurnStart) and same_turn(start, time, row.event, row.time)


def _id_of(event: Event) -> str:
    """The call's id; `UNNAMED` for one that our door gave, and for none."""
    id_ = event.call_id if isinstance(event, ToolCall | ToolResult | TodoWrite) else None
    return UNNAMED if id_ is None or id_.startswith(UNNAMED) else id_


def says(event: Event) -> object:
    if isinstance(event, TodoWrite):
        return event.todos
    if not isinstance(event, ToolCall):
        return event
    try:
        return event.name, json.loads(event.arguments)
    except (ValueError, RecursionError):
        return event.name, event.arguments


def _newest_turn(rows: Sequence[Stored]) -> Stored | None:
    return next((row for row in reversed(rows) if isinstance(row.event, TurnStart)), None)


def elsewhere(connection: Connection, session: str) -> list[Stored]:
    """What hooks and wires have told, in order."""
    told: list[Stored] = []
    for start in (HOOKS, *WIRES):
        until = start[:-1] + chr(ord(start[-1]) + 1)
        told += read_rows(connection, _TOLD, {"session": session, "since": start, "until": until})
    return sorted(told, key=lambda row: row.position)


def read_rows(connection: Connection, query: Select[Any], parameters: Mapping[str, object]) -> list[Stored]:
    """The rows of a query for `COLUMNS`."""
    rows = connection.execute(query, parameters)
    return [Stored(key or "", position, time, decode(type_, data)) for key, position, time, type_, data in rows]


COLUMNS: Final = (events.c.key, events.c.position, events.c.time, events.c.type, events.c.data)
_TYPES: Final = ("session/start", "turn/start", "turn/end", "tool/call", "tool/result", "todo/write")
_IN: Final = events.c.session == bindparam("session")
# Not in order: SQLite would then walk the whole session, where the index of keys finds the few.
_TOLD: Final = select(*COLUMNS).where(
    _IN, events.c.key >= bindparam("since"), events.c.key < bindparam("until"), events.c.type.in_(_TYPES)
)
_MARKED: Final = select(*COLUMNS).where(_IN, text(MARKED), events.c.type == bindparam("type"))
