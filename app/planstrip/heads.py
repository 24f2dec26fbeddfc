"""Where a session's log ends, and when its agent last gave a sign, without reading the log."""

from typing import Final

from sqlalchemy import Connection, bindparam, select

from planstrip.plan.view import VIEWER_TYPES
from planstrip.tables import events


def head(connection: Connection, session: str) -> tuple[int, int] | None:
    """The last position, and the time of the newest event that is no person's act here; None without events."""
    last = connection.execute(_HEAD, {"session": session}).first()
    if last is None:
        return None
    return last.position, sign_at(connection, session, last.position) if last.type in VIEWER_TYPES else last.time


def sign_at(connection: Connection, session: str, position: int) -> int:
    """The time of the newest event up to `position` that is no person's act here, ms; 0 for none."""
    return connection.execute(_SIGN, {"session": session, "position": position}).scalar() or 0


# Made once: putting a statement together takes longer than running it.
_HEAD: Final = (
    select(events.c.position, events.c.time, events.c.type)
    .where(events.c.session == bindparam("session"))
    .order_by(events.c.position.desc())
    .limit(1)
)
_SIGN: Final = (
    select(events.c.time)
    .where(
        events.c.session == bindparam("session"),
        events.c.position <= bindparam("position"),
        events.c.type.not_in(VIEWER_TYPES),
    )
    .order_by(events.c.position.desc())
    .limit(1)
)
