"""The list of sessions, newest first, a page at a time: for the board and for the API."""

import base64
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, get_args

from sqlalchemy import ColumnElement, Connection, and_, not_, or_, select

from planstrip.errors import Invalid, Said
from planstrip.errors import msgid as _
from planstrip.events import MAX_TIME_MS
from planstrip.families import above
from planstrip.masks import Masks
from planstrip.parts import Parts
from planstrip.plan.outline import LONG_SILENCE_MS, QUIET_AFTER_MS, Condition, State, state_of
from planstrip.plan.todos import Counts, Problem
from planstrip.projection import VERSION, rebuild_all
from planstrip.tables import search_texts, sessions

MAX_SEARCHED: Final = 2_000  # sessions of which it is looked whether what they say is shown
STATES: Final[tuple[State, ...]] = get_args(State)


@dataclass(frozen=True, slots=True)
class Listed:
    """`updated_at` is the time of the last event but a viewer's acts; `active` the first to-do in progress.

    `is_long_silent`: it is long since it or an agent of its own gave a sign. `is_past`: its parent has gone on without
    it, which only the board looks into.
    """

    id: str
    agent: str | None
    title: str | None
    cwd: str | None
    parent: str | None
    position: int
    updated_at: int
    counts: Counts
    active: str | None
    state: State
    is_outdated: bool
    turn_since: int = 0
    is_long_silent: bool = False
    is_past: bool = False


@dataclass(frozen=True, slots=True)
class Filters:
    q: str | None = None
    agent: str | None = None
    state: str | None = None
    cwd: str | None = None


def list_sessions(
    parts: Parts, filters: Filters, limit: int, after: str | None = None
) -> tuple[Sequence[Listed], str | None]:
    """The page after the cursor `after`, and the next cursor (None at the end). Raises Invalid for a bad argument.

    Rows that another version of the fold wrote are folded again first.
    """
    page = _page(parts, filters, limit, after)
    outdated = [session.id for session in page[0] if session.is_outdated]
    if outdated:
        parts.writer.run_blocking(partial(rebuild_all, session_ids=outdated))
        page = _page(parts, filters, limit, after)
    return page


def _page(parts: Parts, filters: Filters, limit: int, after: str | None) -> tuple[Sequence[Listed], str | None]:
    now = parts.clock()
    with parts.engine.connect() as connection:
        busy = above(connection, now).working
        found = searched(connection, parts.masks, filters.q)
        query = (
            select(sessions)
            .where(*conditions(filters, now, busy, found), *_beyond(after))
            .order_by(sessions.c.updated_at.desc(), sessions.c.id.desc())
            .limit(limit + 1)
        )
        rows = connection.execute(query).all()
    following = _cursor(rows[limit - 1]) if len(rows) > limit else None
    return parts.masks.of([listed(row, now, busy) for row in rows[:limit]]), following


def listed(row: Any, now: int, busy: Collection[str]) -> Listed:
    """`busy`: the ids of those that an agent works for, which is a sign of them."""
    condition: Condition = row.condition
    heard_at = now if row.id in busy else row.updated_at
    counts = Counts(row.completed, row.in_progress, row.pending)
    return Listed(
        id=row.id,
        agent=row.agent,
        title=row.title,
        cwd=row.cwd,
        parent=row.parent,
        position=row.position,
        updated_at=row.updated_at,
        counts=counts,
        active=row.active,
        state=state_of(condition, heard_at, now),
        is_outdated=row.fold_version != VERSION,
        turn_since=row.turn_since,
        is_long_silent=now - heard_at >= LONG_SILENCE_MS,
    )


def searched(connection: Connection, masks: Masks, q: str | None) -> Collection[str] | None:
    """The sessions whose text has `q` where it is shown, of the newest that have it at all; None where all is shown."""
    if not q or not masks:
        return None
    query = (
        select(search_texts.c.session, search_texts.c.text)
        .join(sessions, sessions.c.id == search_texts.c.session)
        .where(_says(q))
        .order_by(sessions.c.updated_at.desc())
        .limit(MAX_SEARCHED)
    )
    said = connection.execute(query)
    return [session for session, text in said if q.casefold() in masks.searched(text)]


def conditions(
    filters: Filters, now: int, busy: Collection[str] = (), found: Collection[str] | None = None
) -> list[ColumnElement[bool]]:
    """`found`: what `searched` has found."""
    wanted: list[ColumnElement[bool]] = []
    if filters.q:
        saying = select(search_texts.c.session).where(_says(filters.q))
        wanted.append(sessions.c.id.in_(saying if found is None else found))
    if filters.agent:
        wanted.append(sessions.c.agent == filters.agent)
    if filters.cwd:
        wanted.append(sessions.c.cwd == filters.cwd)
    if filters.state:
        wanted.append(_in_state(filters.state, now, busy))
    return wanted


def _says(q: str) -> ColumnElement[bool]:
    return search_texts.c.text.contains(q.casefold(), autoescape=True)


def _in_state(state: str, now: int, busy: Collection[str]) -> ColumnElement[bool]:
    """`plan.outline.state_of`, as SQL."""
    is_heard = or_(sessions.c.updated_at > now - QUIET_AFTER_MS, sessions.c.id.in_(busy))
    match state:
        case "working":
            return and_(sessions.c.condition == "running", is_heard)
        case "quiet":
            return and_(sessions.c.condition == "running", not_(is_heard))
        case _ if state in STATES:
            return sessions.c.condition == state
        case _:
            said = _("state is %(state)s; expected one of %(states)s")
            message = Said(said, state=repr(state[:40]), states=", ".join(STATES))
            raise Invalid(message, [Problem("state", message)])


def bad_cursor(after: str) -> Said:
    return Said(_("after is %(after)s; expected the `next` of an earlier page"), after=repr(after[:60]))


def _cursor(row: Any) -> str:
    text = json.dumps([row.updated_at, row.id], ensure_ascii=False)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _beyond(after: str | None) -> list[ColumnElement[bool]]:
    if after is None:
        return []
    try:
        updated_at, session = json.loads(base64.urlsafe_b64decode(after + "=" * (-len(after) % 4)))
        str(session).encode()  # half a surrogate pair is no text that the store takes
        if not 0 <= int(updated_at) <= MAX_TIME_MS:
            raise ValueError(updated_at)
    except (ValueError, TypeError, OverflowError, RecursionError):
        message = bad_cursor(after)
        raise Invalid(message, [Problem("after", message)]) from None
    same_time = and_(sessions.c.updated_at == int(updated_at), sessions.c.id < str(session))
    return [or_(sessions.c.updated_at < int(updated_at), same_time)]
