"""The newest revisions of a session's plan, read from the marked events alone: the cost does not grow with the log."""

from typing import Final

from sqlalchemy import Connection, bindparam, func, select, text

from planstrip.eventlog import read_at
from planstrip.marks import PLAN_SETTERS, newest
from planstrip.plan import rows as rows_fold
from planstrip.plan.revisions import MAX_REVISIONS, Revision
from planstrip.tables import MARKED, events


def newest_revisions(connection: Connection, session: str, until: int) -> tuple[Revision, ...]:
    """As a fold of the whole log up to `until` would leave them: the newest last."""
    found = newest(connection, session, PLAN_SETTERS, until, limit=MAX_REVISIONS + 1)
    setters = found[-MAX_REVISIONS - 1 :]  # the one beyond is what the oldest is compared with
    turns = connection.execute(_TURNS, {"session": session, "positions": setters}).scalars()
    positions = sorted({*setters, *(turn for turn in turns if turn is not None)})
    return rows_fold.fold(read_at(connection, session, positions)).revisions


_SETTER: Final = events.alias("setter")
# The newest turn's start before each: it may have cleared the plan, and it names the turn.
_TURNS: Final = select(
    select(func.max(events.c.position))
    .where(
        events.c.session == _SETTER.c.session,
        text(MARKED),  # verbatim, or SQLite does not use the index
        events.c.type == "turn/start",
        events.c.position < _SETTER.c.position,
    )
    .scalar_subquery()
).where(_SETTER.c.session == bindparam("session"), _SETTER.c.position.in_(bindparam("positions", expanding=True)))
