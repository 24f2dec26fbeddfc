"""Reads who began a session and whom it began: its children's standing comes from the sessions' table.

A child that works is a sign of its parent; one that waits for a person must be seen above; one that its parent has gone
on without needs nobody.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, and_, bindparam, case, exists, not_, or_, select

from planstrip.plan.children import MAX_CHILDREN, Child, Family, succeed
from planstrip.plan.outline import QUIET_AFTER_MS, Condition, State, state_of
from planstrip.plan.rows import Row
from planstrip.plan.todos import Counts
from planstrip.plan.view import Standing, View
from planstrip.tables import events, sessions

MAX_DEPTH: Final = 5
MAX_SIGNS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Above:
    """The ids of sessions above an agent that waits for a person, and above one that works."""

    waiting: frozenset[str] = frozenset()
    working: frozenset[str] = frozenset()


def with_family(connection: Connection, session: str, view: View, now: int) -> View:
    """The view with its family as it stands; the very same view when nothing of it has changed. `now`: ms, UTC."""
    parent = view.standing.outline.parent
    title = connection.execute(_TITLE, {"session": parent}).scalar() if parent else None
    rows = connection.execute(_CHILDREN, {"session": session}).all()
    signs = signs_below(connection, [row.id for row in rows if row.condition == "running"])
    children = [_child(row, view.standing, max(row.updated_at, signs.get(row.id, 0)), now) for row in rows]
    heard_at = max((max(row.updated_at, signs.get(row.id, 0)) for row in rows if row.condition == "running"), default=0)
    children.sort(key=lambda child: (child.started_at, child.id))
    return _succeeded(view, Family(tuple(children), parent, title, heard_at=heard_at))


def relinked(view: View) -> View:
    """The view with its children linked to the rows that it has by now."""
    return _succeeded(view, view.family) if view.family.children else view


def parents_of(connection: Connection, session_ids: Sequence[str]) -> dict[str, str | None]:
    """By session: its parent, None for one that names none."""
    rows = connection.execute(_PARENTS, {"ids": session_ids}).all()
    return dict.fromkeys(session_ids) | {row.id: row.parent for row in rows}


def above(connection: Connection, now: int) -> Above:
    """Of all sessions: the cost is that of those that work or wait."""
    rows = connection.execute(_NEEDS, {"heard": now - QUIET_AFTER_MS}).all()
    return Above(
        _ancestors(connection, {row.parent for row in rows if row.condition == "waiting"}),
        _ancestors(connection, {row.parent for row in rows if row.condition == "running"}),
    )


def waiting_below(connection: Connection) -> Counter[str]:
    """For each session how many agents below it wait for a person: the cost is that of those that wait."""
    found, seen = Counter[str](), dict[str, set[str]]()
    climbing = {row.id: row.parent for row in connection.execute(_WAITING)}
    for _ in range(MAX_DEPTH):
        if not climbing:
            break
        for agent, ancestor in climbing.items():
            seen.setdefault(agent, {agent}).add(ancestor)
            found[ancestor] += 1
        parents = parents_of(connection, sorted(set(climbing.values())))
        further = {agent: parents[ancestor] for agent, ancestor in climbing.items()}
        climbing = {agent: up for agent, up in further.items() if up is not None and up not in seen[agent]}
    return found


def is_past(state: State, heard_at: int, turn_since: int, parent_updated_at: int) -> bool:
    """Whether its parent has gone on without a child: in another turn, or by any event after the child was cut off."""
    if state not in ("waiting", "interrupted", "quiet"):
        return False
    return turn_since > heard_at or (state == "interrupted" and parent_updated_at > heard_at)


def past() -> ColumnElement[bool]:
    """`is_past` as SQL, for those who are neither done nor at work."""
    parents, child = sessions.alias("over"), sessions.c
    is_cut = and_(child.condition == "interrupted", parents.c.updated_at > child.updated_at)
    has_gone_on = or_(parents.c.turn_since > child.updated_at, is_cut)
    return exists().where(parents.c.id == child.parent, parents.c.id != child.id, has_gone_on)


def _ancestors(connection: Connection, ids: Collection[str]) -> frozenset[str]:
    """The sessions of these ids and all above them."""
    found, generation = set(ids), set(ids)
    for _ in range(MAX_DEPTH):
        if not generation:
            break
        generation = {parent for parent in parents_of(connection, sorted(generation)).values() if parent} - found
        found |= generation
    return frozenset(found)


def signs_below(connection: Connection, ids: Sequence[str]) -> Mapping[str, int]:
    """For each of these sessions the last sign of an agent that runs below it, where there is one."""
    found, top_of, generation = dict[str, int](), {id_: id_ for id_ in ids}, list(ids)
    for _ in range(MAX_DEPTH):
        if not generation:
            break
        rows = [row for row in connection.execute(_RUNNING, {"ids": generation}) if row.id not in top_of]
        for row in rows:
            top = top_of[row.id] = top_of[row.parent]
            found[top] = max(found.get(top, 0), row.updated_at)
        generation = [row.id for row in rows]
    return found


def _succeeded(view: View, family: Family) -> View:
    rows: Iterable[Row] = (*view.window.late, *view.window.rows)
    new = succeed(view.family, family, rows)
    return view if new is view.family else replace(view, family=new)


def _child(row: Any, parent: Standing, heard_at: int, now: int) -> Child:
    condition: Condition = row.condition
    state = state_of(condition, heard_at, now)
    return Child(
        id=row.id,
        title=row.title,
        state=state,
        counts=Counts(row.completed, row.in_progress, row.pending),
        active=row.active,
        started_at=row.time,
        call=_call(row.start),
        is_past=is_past(state, heard_at, parent.turn_since, parent.updated_at),
    )


def _call(start: str | None) -> str | None:
    """`parent_call`: a key of the child's `session/start` that only this page knows."""
    try:
        call = json.loads(start or "{}").get("parent_call")
    except RecursionError:  # a door with less on its stack has let it in
        return None
    return call if isinstance(call, str) else None


_START: Final = case((events.c.type == "session/start", events.c.data), else_=None).label("start")
_CHILDREN: Final = (
    select(sessions, events.c.time, _START)
    .join(events, and_(events.c.session == sessions.c.id, events.c.position == 1))
    .where(sessions.c.parent == bindparam("session"), sessions.c.id != bindparam("session"))
    .order_by(sessions.c.updated_at.desc())
    .limit(MAX_CHILDREN)
)
_TITLE: Final = select(sessions.c.title).where(sessions.c.id == bindparam("session"))
_PARENTS: Final = select(sessions.c.id, sessions.c.parent).where(
    sessions.c.id.in_(bindparam("ids", expanding=True)), sessions.c.parent.is_not(None)
)
_RUNNING: Final = select(sessions.c.id, sessions.c.parent, sessions.c.updated_at).where(
    sessions.c.parent.in_(bindparam("ids", expanding=True)), sessions.c.condition == "running"
)
_WAITING: Final = (
    select(sessions.c.id, sessions.c.parent)
    .where(sessions.c.parent.is_not(None), sessions.c.parent != sessions.c.id)
    .where(sessions.c.condition == "waiting", not_(past()))
    .limit(MAX_SIGNS)
)
_NEEDS: Final = (
    select(sessions.c.parent, sessions.c.condition)
    .where(
        sessions.c.parent.is_not(None),
        or_(
            and_(sessions.c.condition == "waiting", not_(past())),
            and_(sessions.c.condition == "running", sessions.c.updated_at > bindparam("heard")),
        ),
    )
    .distinct()
    .limit(MAX_SIGNS)
)
