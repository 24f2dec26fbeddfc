"""Reads who began a session and whom it began: its children's standing comes from the sessions' table."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import Connection, and_, bindparam, case, select

from planstrip.plan.children import MAX_CHILDREN, Child, Family, succeed
from planstrip.plan.outline import Condition, state_of
from planstrip.plan.rows import Row
from planstrip.plan.todos import Counts
from planstrip.plan.view import View
from planstrip.tables import events, sessions


def with_family(connection: Connection, session: str, view: View, now: int) -> View:
    """The view with its family as it stands; the very same view when nothing of it has changed. `now`: ms, UTC."""
    parent = view.standing.outline.parent
    title = connection.execute(_TITLE, {"session": parent}).scalar() if parent else None
    rows = connection.execute(_CHILDREN, {"session": session}).all()
    children = sorted((_child(row, now) for row in rows), key=lambda child: (child.started_at, child.id))
    return _succeeded(view, Family(tuple(children), parent, title))


def relinked(view: View) -> View:
    """The view with its children linked to the rows that it has by now."""
    return _succeeded(view, view.family) if view.family.children else view


def parents_of(connection: Connection, session_ids: Sequence[str]) -> dict[str, str | None]:
    """By session: its parent, None for one that names none."""
    rows = connection.execute(_PARENTS, {"ids": session_ids}).all()
    return dict.fromkeys(session_ids) | {row.id: row.parent for row in rows}


def _succeeded(view: View, family: Family) -> View:
    rows: Iterable[Row] = (*view.window.late, *view.window.rows)
    new = succeed(view.family, family, rows)
    return view if new is view.family else replace(view, family=new)


def _child(row: Any, now: int) -> Child:
    condition: Condition = row.condition
    return Child(
        id=row.id,
        title=row.title,
        state=state_of(condition, row.updated_at, now),
        counts=Counts(row.completed, row.in_progress, row.pending),
        active=row.active,
        started_at=row.time,
        call=_call(row.start),
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
