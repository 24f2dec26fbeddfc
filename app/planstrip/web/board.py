"""The board's list: every session once, in the order in which they need a person, a page at a time (spec.md §9)."""

import base64
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, Select, and_, bindparam, exists, func, not_, or_, select

from planstrip.errors import Invalid
from planstrip.families import MAX_DEPTH, Above, above, is_past, past, signs_below, waiting_below
from planstrip.masks import Masks
from planstrip.parts import Parts
from planstrip.plan.outline import QUIET_AFTER_MS, State
from planstrip.plan.todos import Problem
from planstrip.projection import rebuild_all
from planstrip.tables import sessions
from planstrip.web.listing import Filters, Listed, bad_cursor, conditions, listed, searched
from planstrip.web.readers import OWNER, Reader

ROWS: Final = 50
URGENT_MS: Final = 60 * 60_000
RECENT_MS: Final = 24 * 60 * 60_000  # who has been as they are for longer needs nobody now
MAX_MUTED: Final = 2_000  # of a generation below those that are muted
MAX_CHILDREN: Final = 200  # of all the sessions of a page together
PASSING: Final[tuple[State, ...]] = ("waiting", "interrupted", "quiet")  # until the parent goes on
ORDER: Final[tuple[State, ...]] = ("waiting", "interrupted", "quiet", "working", "open", "done", "none")


@dataclass(frozen=True, slots=True)
class Query:
    """Which sessions. `after` is the `next` of an earlier page; `is_held`: by a view token, to these and no others.

    `pinned` come first, in this order, on the first page; `muted` are those that the reader is not to be told of.
    """

    filters: Filters = field(default_factory=Filters)
    after: str | None = None
    is_held: bool = False
    pinned: tuple[str, ...] = ()
    muted: tuple[str, ...] = ()

    @property
    def is_narrowed(self) -> bool:
        """Then children stand for themselves: their parents may not match, nor they where the parents do."""
        filters = self.filters
        return bool(filters.q or filters.agent or filters.state or (self.is_held and filters.cwd))


def query_of(given: Mapping[str, str], reader: Reader = OWNER) -> Query:
    """Of an address's query, but for a guest of that which the token is held to."""
    filters = given if reader.view is None else reader.view.board
    found = Filters(*(filters.get(name) or None for name in ("q", "agent", "state", "cwd")))
    return Query(found, given.get("after"), reader.is_guest)


@dataclass(frozen=True, slots=True)
class Family:
    """A session with all that it delegated to, at any depth. `sign`: its working agents' last, 0 for none.

    `unseen_waiting`: how many of them wait for a person where `children` are not told.
    """

    session: Listed
    children: tuple[Listed, ...] = ()
    sign: int = 0
    unseen_waiting: int = 0

    @property
    def waiting(self) -> int:
        return self.unseen_waiting + sum(child.state == "waiting" and not child.is_past for child in self.children)


@dataclass(frozen=True, slots=True)
class Board:
    """One page. `states` and `agents` count all sessions there are, whatever the query asks for; none for a guest.

    `muted` counts those of them that are muted, or work for one that is.
    """

    families: tuple[Family, ...] = ()
    next: str | None = None
    states: tuple[tuple[State, int], ...] = ()
    agents: tuple[str, ...] = ()
    muted: tuple[tuple[State, int], ...] = ()

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
        board = _read(connection, query, now, parts.masks)
    shown = [session for family in board.families for session in (family.session, *family.children)]
    outdated = [session.id for session in shown if session.is_outdated]
    if outdated:
        parts.writer.run_blocking(partial(rebuild_all, session_ids=outdated))
        with parts.engine.connect() as connection:
            board = _read(connection, query, now, parts.masks)
    return parts.masks.of(board)


def _read(connection: Connection, query: Query, now: int, masks: Masks) -> Board:
    needs = above(connection, now)
    wanted = conditions(query.filters, now, needs.working, searched(connection, masks, query.filters.q))
    rows, following = _page(connection, query, now, needs, wanted)
    found = [listed(row, now, needs.working) for row in rows]
    children = {} if query.is_narrowed else _children(connection, found, now, needs)
    signs = signs_below(connection, [session.id for session in found if session.id in needs.working])
    needy = query.is_narrowed and not query.is_held and any(session.id in needs.waiting for session in found)
    waiting = waiting_below(connection) if needy else Counter[str]()
    return Board(
        families=tuple(
            Family(one, tuple(children.get(one.id, ())), signs.get(one.id, 0), waiting[one.id]) for one in found
        ),
        next=following,
        states=() if query.is_held else _states(connection, now, needs),
        agents=() if query.is_held else tuple(connection.execute(_AGENTS).scalars()),
        muted=() if query.is_held else _muted(connection, query.muted, now, needs),
    )


def _page(
    connection: Connection, query: Query, now: int, needs: Above, wanted: list[ColumnElement[bool]]
) -> tuple[list[Any], str | None]:
    """Those that are pinned, then group by group, each off an index: the cost is that of the rows shown."""
    start = None if query.after is None else _cursor(query.after)
    clock = start.now if start else now
    times = {"heard": clock - QUIET_AFTER_MS, "urgent": clock - URGENT_MS, "recent": clock - RECENT_MS}
    above = {"needy": sorted(needs.waiting), "busy": sorted(needs.working), "pinned": query.pinned}
    if query.filters.state in PASSING:
        wanted = [*wanted, not_(past())]
    pinned = [] if start else _pinned(connection, query.pinned, wanted)
    rows: list[tuple[int, Any]] = []
    for number, (since, statement) in enumerate(_NARROWED if query.is_narrowed else _TOPS):
        if start and number < start.group:
            continue
        beyond = _beyond(since, start) if start and number == start.group else []
        asked = statement.where(*wanted, *beyond) if wanted or beyond else statement
        rows += [(number, row) for row in connection.execute(asked, times | above | {"limit": ROWS + 1 - len(rows)})]
        if len(rows) > ROWS:
            break
    following = _next(clock, *rows[ROWS - 1]) if len(rows) > ROWS else None
    return [*pinned, *(row for _, row in rows[:ROWS])], following


def _pinned(connection: Connection, pinned: Sequence[str], wanted: Sequence[ColumnElement[bool]]) -> Sequence[Any]:
    if not pinned:
        return ()
    rows = connection.execute(select(sessions).where(sessions.c.id.in_(pinned), *wanted))
    return sorted(rows, key=lambda row: pinned.index(row.id))


def _muted(connection: Connection, muted: Sequence[str], now: int, needs: Above) -> tuple[tuple[State, int], ...]:
    """Of what `_states` counts those that are muted, and all that work for them."""
    found, counts = set(muted), Counter[State]()
    generation: ColumnElement[bool] = sessions.c.id.in_(muted)
    for _ in range(MAX_DEPTH if muted else 0):
        rows = connection.execute(select(sessions, past().label("is_past")).where(generation).limit(MAX_MUTED)).all()
        for row in rows:
            state = listed(row, now, needs.working).state
            counts[state] += not (row.is_past and state in PASSING)
        ids = [row.id for row in rows]
        if not ids:
            break
        generation = and_(sessions.c.parent.in_(ids), sessions.c.id.not_in(found))
        found.update(ids)
    return tuple((state, counts[state]) for state in ORDER if counts[state])


def _children(connection: Connection, tops: Sequence[Listed], now: int, needs: Above) -> Mapping[str, list[Listed]]:
    """Of each top its descendants, the newest first within a generation."""
    families: dict[str, list[Listed]] = {}
    top_of, parents = {session.id: session.id for session in tops}, {session.id: session for session in tops}
    generation = list(top_of)
    for _ in range(MAX_DEPTH):
        if not generation:
            break
        query = select(sessions).where(sessions.c.parent.in_(generation)).order_by(sessions.c.updated_at.desc())
        found = [row for row in connection.execute(query.limit(MAX_CHILDREN)) if row.id not in top_of]
        for row in found:
            top, parent, child = top_of[row.parent], parents[row.parent], listed(row, now, needs.working)
            gone_on = is_past(child.state, child.updated_at, parent.turn_since, parent.updated_at)
            top_of[row.id], parents[row.id] = top, child
            families.setdefault(top, []).append(replace(child, is_past=gone_on))
        generation = [row.id for row in found]
    return families


def _states(connection: Connection, now: int, needs: Above) -> tuple[tuple[State, int], ...]:
    """Without those that were waiting, silent or cut off when their parents went on."""
    heard = {"heard": now - QUIET_AFTER_MS, "busy": sorted(needs.working)}
    counts = {str(row.condition): int(row.number) for row in connection.execute(_CONDITIONS)}
    counts["working"] = connection.execute(_HEARD, heard).scalar_one()
    counts["quiet"] = counts.pop("running", 0) - counts["working"]
    for row in connection.execute(_PAST, heard):
        counts["quiet" if row.condition == "running" else str(row.condition)] -= row.number
    return tuple((state, counts[state]) for state in ORDER if counts.get(state))


def _next(now: int, group: int, row: Any) -> str:
    since = getattr(row, _TOPS[group][0].name)
    text = json.dumps([now, group, since, row.id], ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _cursor(after: str) -> _Cursor:
    try:
        now, group, since, session = json.loads(base64.urlsafe_b64decode(after + "=" * (-len(after) % 4)))
        str(session).encode()
        found = _Cursor(int(now), int(group), int(since), str(session))
        if not all(-(2**53) < number < 2**53 for number in (found.now, found.group, found.since)):
            raise ValueError(after)
    except (ValueError, TypeError, OverflowError, RecursionError):
        message = bad_cursor(after)
        raise Invalid(message, [Problem("after", message)]) from None
    return found


def _beyond(since: Column[int], start: _Cursor) -> list[ColumnElement[bool]]:
    same = and_(since == start.since, sessions.c.id < start.id)
    return [or_(since < start.since, same)]


def _groups() -> list[tuple[Column[int], Select[Any]]]:
    """Each with what it is sorted by, the newest first.

    That is when a session came to be as it is, so that no row moves for each of its events. A session whose agent waits
    for a person comes with those that wait, and one whose agent works, works. What broke off is urgent
    for an hour, and then stands below what works; the last group holds all that is long past, by the last event.
    """
    condition, since, updated = sessions.c.condition, sessions.c.condition_since, sessions.c.updated_at
    is_running, is_needy = condition == "running", sessions.c.id.in_(bindparam("needy", expanding=True))
    is_recent = or_(since > bindparam("recent"), and_(is_running, updated > bindparam("recent")))
    silent, cut = and_(is_running, not_(_IS_HEARD)), condition == "interrupted"

    def settled(state: State) -> ColumnElement[bool]:
        return and_(condition == state, since > bindparam("recent"))

    groups = [
        or_(settled("waiting"), is_needy),
        and_(cut, since > bindparam("urgent")),
        and_(silent, updated > bindparam("urgent")),
        and_(is_running, _IS_HEARD),
        settled("open"),
        and_(cut, since <= bindparam("urgent"), since > bindparam("recent")),
        and_(silent, updated <= bindparam("urgent"), is_recent),
        settled("done"),
        settled("none"),
    ]
    groups[1:] = [and_(group, not_(is_needy)) for group in groups[1:]]
    sorted_ = [*((since, group) for group in groups), (updated, and_(not_(is_recent), not_(is_needy)))]
    return [(by, select(sessions).where(group).order_by(by.desc(), sessions.c.id.desc())) for by, group in sorted_]


def _is_top() -> ColumnElement[bool]:
    """Its parent is not here. Two that name each other as their parents both are."""
    parents = sessions.alias("parents")
    is_other = and_(parents.c.id != sessions.c.id, func.coalesce(parents.c.parent, "") != sessions.c.id)
    return not_(exists().where(parents.c.id == sessions.c.parent, is_other))


_IS_HEARD: Final = or_(sessions.c.updated_at > bindparam("heard"), sessions.c.id.in_(bindparam("busy", expanding=True)))
_IS_NOT_PINNED: Final = sessions.c.id.not_in(bindparam("pinned", expanding=True))
_NARROWED: Final = [(by, each.where(_IS_NOT_PINNED).limit(bindparam("limit"))) for by, each in _groups()]
_TOPS: Final = [(by, statement.where(_is_top())) for by, statement in _NARROWED]
_HEARD: Final = select(func.count()).select_from(sessions).where(sessions.c.condition == "running", _IS_HEARD)
_PAST: Final = (
    select(sessions.c.condition, func.count().label("number"))
    .where(sessions.c.parent.is_not(None), sessions.c.condition.in_(("waiting", "interrupted", "running")))
    .where(or_(sessions.c.condition != "running", not_(_IS_HEARD)), past())
    .group_by(sessions.c.condition)
)
_CONDITIONS: Final = select(sessions.c.condition, func.count().label("number")).group_by(sessions.c.condition)
_AGENTS: Final = select(sessions.c.agent).where(sessions.c.agent.is_not(None)).distinct().order_by(sessions.c.agent)
