"""An MCP call into the log: who it is, where a turn begins, and the tool's own events, in one append (spec.md §4)."""

import asyncio
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, Protocol

from sqlalchemy import Connection, Engine, bindparam, func, select

from planstrip import projection
from planstrip.errors import Conflict, PlanstripError
from planstrip.eventlog import Draft
from planstrip.events import encode
from planstrip.intake.check import check_data
from planstrip.intake.mcp_caller import Caller
from planstrip.intake.mcp_calls import KEYS, new_call_id
from planstrip.intake.mcp_owners import Owners
from planstrip.intake.mcp_working import placed, told
from planstrip.intake.record import record
from planstrip.intake.tool import Way, todo_write
from planstrip.logs import concerning
from planstrip.marks import IN_SESSION
from planstrip.masks import NO_MASKS, Masks
from planstrip.plan.todos import Counts
from planstrip.tables import events, sessions
from planstrip.writer import Writer

ATTEMPTS: Final = 4


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model reads."""

    text: str
    is_error: bool = False


class Plans(Protocol):
    """Where calls go. `arrive`: a client connected; `read`: the plan as JSON, None without such a session."""

    async def policy(self) -> bool: ...
    async def arrive(self, caller: Caller) -> None: ...
    async def write(self, caller: Caller, arguments: Mapping[str, Any]) -> Reply: ...
    async def read(self, session: str) -> str | None: ...


@dataclass(frozen=True, slots=True)
class LoggedPlans:
    """The log of this process."""

    engine: Engine
    writer: Writer
    allow_parallel_in_progress: bool
    owners: Owners = field(default_factory=Owners)
    masks: Masks = NO_MASKS

    async def policy(self) -> bool:
        return self.allow_parallel_in_progress

    async def arrive(self, caller: Caller) -> None:
        """A session that was there before begins a turn, unless it just did."""
        known = await asyncio.to_thread(self._look, caller)
        if known.position > known.turn_position and not known.has_other_turns:
            key = None if caller.connection is None else f"{KEYS}connect/{caller.connection}"
            await self._begin(caller.session, _turn_start(known, key))

    async def write(self, caller: Caller, arguments: Mapping[str, Any]) -> Reply:
        """Never raises for what the model can mend: it reads the reason."""
        try:
            raw = encode(arguments)
        except (ValueError, RecursionError) as error:
            return Reply(f"invalid arguments: they cannot be stored: {error!s:.100}", is_error=True)
        try:
            return Reply(await self._write(caller, arguments, raw))
        except PlanstripError as error:
            return Reply(error.detail, is_error=True)

    async def read(self, session: str) -> str | None:
        return await asyncio.to_thread(self._read, session)

    async def _write(self, caller: Caller, arguments: Mapping[str, Any], raw: str) -> str:
        """Looked up and appended as one: meanwhile another door may tell the same call."""
        policy = self.allow_parallel_in_progress
        for attempt in range(ATTEMPTS):
            placed_caller, known = await asyncio.to_thread(self._place, caller, raw)
            concerning(placed_caller.session)
            try:
                answer = await todo_write(
                    self.writer,
                    placed_caller.session,
                    arguments,
                    raw,
                    allow_parallel_in_progress=policy,
                    way=_way(placed_caller, known, is_last=attempt == ATTEMPTS - 1),
                )
                return answer.text
            except Conflict:
                continue
        raise AssertionError("nothing else has the last way's key")

    async def _begin(self, session: str, turn: Draft) -> None:
        try:
            await record(self.writer, session, [turn])
        except Conflict:
            return  # the same connection has begun it

    def _look(self, caller: Caller) -> "Known":
        with self.engine.connect() as connection:
            return look(connection, caller)

    def _place(self, caller: Caller, arguments: str) -> "tuple[Caller, Known]":
        """The caller as the log knows them: the subagent that really calls, or the session that no client named."""
        with self.engine.connect() as connection:
            child = None
            if caller.call_id is not None and caller.agent == "claude-code":
                child = self.owners.of(connection, caller.session, caller.call_id)
            if child is not None:
                caller = replace(caller, session=child, parent=caller.session, turn=None)
            else:
                caller = placed(connection, caller, arguments, self.writer.clock())
            return caller, look(connection, caller, arguments)

    def _read(self, session: str) -> str | None:
        with self.engine.connect() as connection:
            if connection.execute(_SESSION, {"session": session}).first() is None:
                return None
            standing = projection.current(connection, session)
        plan = self.masks.of(standing.plan)
        return json.dumps(
            {
                "session": session,
                "position": standing.position,
                "todos": [asdict(todo) for todo in plan.todos] if plan else None,
                "counts": asdict(plan.counts if plan else Counts()),
            },
            ensure_ascii=False,
        )


@dataclass(frozen=True, slots=True)
class Known:
    """What the log holds of a session.

    `has_other_turns`: a hook or a transcript tells its turns; `told`: the id of this call where one of them told it.
    """

    agent: str | None
    position: int
    turns: int
    turn_position: int
    has_turn: bool
    has_other_turns: bool
    told: str | None = None


def look(connection: Connection, caller: Caller, arguments: str = "") -> Known:
    parameters = {"session": caller.session}
    row = connection.execute(_SESSION, parameters).first()
    if row is None:
        return Known(None, 0, 0, 0, has_turn=False, has_other_turns=False)
    turns: int = connection.execute(_TURNS, parameters).scalar_one()
    newest = connection.execute(_NEWEST_TURN, parameters).first()
    has_turn = bool(caller.turn) and (
        connection.execute(_BY_KEY, parameters | {"key": _turn_key(caller)}).first() is not None
    )
    first_key = connection.execute(_FIRST, parameters).scalar()
    is_ours = _is_ours(newest.key) if newest else first_key is None or _is_ours(first_key)
    return Known(
        row.agent,
        row.position,
        turns,
        newest.position if newest else 0,
        has_turn=has_turn,
        has_other_turns=not is_ours,
        told=told(connection, caller, arguments) if arguments else None,
    )


def _is_ours(key: str | None) -> bool:
    return key is not None and key.startswith(KEYS)


def _way(caller: Caller, known: Known, *, is_last: bool) -> Way:
    """Call ids repeat, and two calls may open a session at once: the last is a call of its own, wherever the log is."""
    call_id = caller.client_call_id or known.told or caller.call_id or new_call_id()
    if is_last:
        return Way(call_id, f"{KEYS}again/{secrets.token_hex(8)}")
    key = f"{KEYS}{caller.turn or ''}/{caller.call_id or call_id}"
    return Way(call_id, key, _before(caller, known), known.told is not None, known.position)


def _before(caller: Caller, known: Known) -> list[Draft]:
    drafts = []
    if known.agent is None:
        start = {"agent": caller.agent, "cwd": caller.cwd, "parent": caller.parent}
        given = {name: value for name, value in start.items() if value is not None}
        drafts.append(check_data("session/start", given, key=f"{KEYS}start", path="session"))
    if caller.turn is not None and not known.has_turn and not known.has_other_turns:
        drafts.append(_turn_start(known, _turn_key(caller)))
    return drafts


def _turn_start(known: Known, key: str | None) -> Draft:
    return check_data("turn/start", {"turn": known.turns + 1}, key=key or f"{KEYS}turn-{known.turns + 1}")


def _turn_key(caller: Caller) -> str:
    return f"{KEYS}turn/{caller.turn}"


_SESSION: Final = select(sessions.c.agent, sessions.c.position).where(sessions.c.id == bindparam("session"))
_OF_TURNS: Final = (*IN_SESSION, events.c.type == "turn/start")
_TURNS: Final = select(func.count()).where(*_OF_TURNS)
_NEWEST_TURN: Final = (
    select(events.c.position, events.c.key).where(*_OF_TURNS).order_by(events.c.position.desc()).limit(1)
)
_FIRST: Final = select(events.c.key).where(events.c.session == bindparam("session"), events.c.position == 1)
_BY_KEY: Final = select(events.c.position).where(
    events.c.session == bindparam("session"), events.c.key == bindparam("key")
)
