"""The board's list: every session once, in the order in which they need a person, a page at a time (spec.md §9)."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, exists, func, not_, or_, select

from planstrip.errors import Invalid
from planstrip.parts import Parts
from planstrip.plan.outline import QUIET_AFTER_MS, State
from planstrip.plan.todos import Problem
from planstrip.projection import rebuild_all
from planstrip.tables import sessions
from planstrip.web.listing import Filters, Listed, conditions, listed

ROWS: Final = 50
RECENT_MS: Final = 24 * 60 * 60_000  # who has been as they are for longer needs nobody now
MAX_CHILDREN: Final = 200  # of all the sessions of a page together
MAX_DEPTH: Final = 5
ORDER: Final[tuple[State, ...]] = ("waiting", "interrupted", "quiet", "working", "open", "done", "none")

_parents = sessions.alias("parents")


@dataclass(frozen=True, slots=True)
class Query:
    """Which sessions. `after` is the `next` of an earlier page."""

    filters: Filters = field(default_factory=Filters)
    after: str | None = None

    @property
    def is_narrowed(self) -> bool:
        """Then children stand for themselves: their parents may not match."""
        return bool(self.filters.q or self.filters.agent or self.filters.state)


def query_of(given: Mapping[str, str]) -> Query:
    """Of an address's query."""
    return Query(Filters(*(given.get(name) or None for name in ("q", "agent", "state", "cwd"))), given.get("after"))


@dataclass(frozen=True, slots=True)
class Family:
    """A session with all that it delegated to, at any depth."""

    session: Listed
    children: tuple[Listed, ...] = ()


@dataclass(frozen=True, slots=True)
class Board:
    """One page. `states` and `agents` count all sessions there are, whatever the query asks for."""

    families: tuple[Family, ...] = ()
    next: str | None = None
    states: tuple[tuple[State, int], ...] = ()
    agents: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        return tuple(family.session.id for family in self.families)


@dataclass(frozen=True, slots=True)
class _Cursor:
    """`now` is the first page's: what moves with the clock must not move between two pages."""

    now: int
    group: int
    since: int
    id: str


def read_board(parts: Parts, query: Query) -> Board:
    """Raises Invalid for a bad argument. Rows that another version of the fold wrote are folded again first."""
    now = parts.clock()
    with parts.engine.connect() as connection:
        board = _read(connection, query, now)
    shown = [session for family in board.families for session in (family.session, *family.children)]
    outdated = [session.id for session in shown if session.is_outdated]
    if outdated:
        parts.writer.run_blocking(partial(rebuild_all, session_ids=outdated))
        with parts.engine.connect() as connection:
            board = _read(connection, query, now)
    return board


def _read(connection: Connection, query: Query, now: int) -> Board:
    rows, following = _page(connection, query, now)
    found = [listed(row, now) for row in rows]
    children = {} if query.is_narrowed else _children(connection, [session.id for session in found], now)
    return Board(
        families=tuple(Family(session, tuple(children.get(session.id, ()))) for session in found),
        next=following,
        states=_states(connection, now),
        agents=tuple(connection.execute(_AGENTS).scalars()),
    )


def _page(connection: Connection, query: Query, now: int) -> tuple[list[Any], str | None]:
    """Group by group, each off an index: the cost is that of the rows shown, however many there are."""
    start = None if query.after is None else _cursor(query.after)
    wanted = conditions(query.filters, now)
    if not query.is_narrowed:
        wanted.append(_is_top())
    rows: list[tuple[int, Any]] = []
    for number, (group, since) in enumerate(_groups(start.now if start else now)):
        if start and number < start.group:
            continue
        beyond = _beyond(since, start) if start and number == start.group else []
        statement = select(sessions).where(group, *wanted, *beyond).order_by(since.desc(), sessions.c.id.desc())
        found = connection.execute(statement.limit(ROWS + 1 - len(rows))).all()
        rows += [(number, row) for row in found]
        if len(rows) > ROWS:
            break
    following = _next(start.now if start else now, *rows[ROWS - 1]) if len(rows) > ROWS else None
    return [row for _, row in rows[:ROWS]], following


def _groups(now: int) -> Sequence[tuple[ColumnElement[bool], ColumnElement[int]]]:
    """Each with what it is sorted by, the newest first.

    That is when a session came to be as it is, so that no row moves for each of its events; the last group holds all
    that is long past, by the last event.
    """
    is_running, since = sessions.c.condition == "running", sessions.c.condition_since
    is_heard = sessions.c.updated_at > now - QUIET_AFTER_MS
    is_recent = or_(since > now - RECENT_MS, and_(is_running, sessions.c.updated_at > now - RECENT_MS))

    def settled(state: State) -> tuple[ColumnElement[bool], ColumnElement[int]]:
        return and_(sessions.c.condition == state, since > now - RECENT_MS), since

    running: dict[State, ColumnElement[bool]] = {"working": is_heard, "quiet": and_(not_(is_heard), is_recent)}
    groups = [(and_(is_running, running[state]), since) if state in running else settled(state) for state in ORDER]
    return [*groups, (not_(is_recent), sessions.c.updated_at)]


def _is_top() -> ColumnElement[bool]:
    """Its parent is not here. Two that name each other as their parents both are."""
    is_other = and_(_parents.c.id != sessions.c.id, func.coalesce(_parents.c.parent, "") != sessions.c.id)
    return not_(exists().where(_parents.c.id == sessions.c.parent, is_other))


def _children(connection: Connection, tops: Sequence[str], now: int) -> Mapping[str, list[Listed]]:
    """Of each top its descendants, the newest first within a generation."""
    families: dict[str, list[Listed]] = {}
    top_of = {session: session for session in tops}
    generation = list(tops)
    for _ in range(MAX_DEPTH):
        if not generation:
            break
        query = select(sessions).where(sessions.c.parent.in_(generation)).order_by(sessions.c.updated_at.desc())
        found = [row for row in connection.execute(query.limit(MAX_CHILDREN)) if row.id not in top_of]
        for row in found:
            top = top_of[row.id] = top_of[row.parent]
            families.setdefault(top, []).append(listed(row, now))
        generation = [row.id for row in found]
    return families


def _states(connection: Connection, now: int) -> tuple[tuple[State, int], ...]:
    counts = {str(row.condition): int(row.number) for row in connection.execute(_CONDITIONS)}
    heard = and_(sessions.c.condition == "running", sessions.c.updated_at > now - QUIET_AFTER_MS)
    counts["working"] = connection.execute(select(func.count()).where(heard)).scalar_one()
    counts["quiet"] = counts.pop("running", 0) - counts["working"]
    return tuple((state, counts[state]) for state in ORDER if counts.get(state))


def _next(now: int, group: int, row: Any) -> str:
    since = _groups(now)[group][1]
    text = json.dumps([now, group, getattr(row, since.key or ""), row.id], ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _cursor(after: str) -> _Cursor:
    try:
        now, group, since, session = json.loads(base64.urlsafe_b64decode(after + "=" * (-len(after) % 4)))
        str(session).encode()
        found = _Cursor(int(now), int(group), int(since), str(session))
        if not all(-(2**53) < number < 2**53 for number in (found.now, found.group, found.since)):
            raise ValueError(after)
    except (ValueError, TypeError, OverflowError, RecursionError):
        message = f"after is {after[:60]!r}; expected the `next` of an earlier page"
        raise Invalid(message, [Problem("after", message)]) from None
    return found


def _beyond(since: ColumnElement[int], start: _Cursor) -> list[ColumnElement[bool]]:
    same = and_(since == start.since, sessions.c.id < start.id)
    return [or_(since < start.since, same)]


_CONDITIONS: Final = select(sessions.c.condition, func.count().label("number")).group_by(sessions.c.condition)
_AGENTS: Final = select(sessions.c.agent).where(sessions.c.agent.is_not(None)).distinct().order_by(sessions.c.agent)
