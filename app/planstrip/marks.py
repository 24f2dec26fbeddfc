"""Finds the marked events of a session (`tables.MARKED`) by their index: the cost does not grow with the log."""

from collections.abc import Sequence
from functools import cache
from typing import Final

from sqlalchemy import Connection, Executable, bindparam, func, select, text, union_all

from planstrip.tables import MARKED, events

PLAN_SETTERS: Final = ("todo/write", "session/rewind", "viewer/restore", "viewer/retire")
NEWEST: Final = 2**62


def newest(
    connection: Connection,
    session: str,
    types: tuple[str, ...],
    until: int = NEWEST,
    *,
    after: int = 0,
    limit: int = 1,
    skip: int = 0,
) -> list[int]:
    """Positions in (after, until], in order, of the newest `limit` events of each type; `skip` of each left out."""
    given = {"session": session, "until": until, "after": after, "limit": limit, "skip": skip}
    return sorted(connection.execute(newest_statement(types), given).scalars())


def newest_one(connection: Connection, session: str, types: tuple[str, ...], until: int = NEWEST) -> int | None:
    """The position of the newest event up to `until` that is of any of the types."""
    return max(newest(connection, session, types, until), default=None)


def number_of(connection: Connection, session: str, types: tuple[str, ...], until: int) -> int:
    """How many events there are of these types up to `until`: off the index alone."""
    return connection.execute(_NUMBER, {"session": session, "types": types, "until": until}).scalar_one()


def between(connection: Connection, session: str, type_: str, after: int, before: int) -> Sequence[int]:
    """The positions of the events of a type between two positions, in order."""
    given = {"session": session, "type": type_, "after": after, "before": before}
    return connection.execute(BETWEEN, given).scalars().all()


@cache
def newest_statement(types: tuple[str, ...]) -> Executable:
    """One statement for all of them: asking costs more than finding."""
    parts = [
        _MARKED.where(
            events.c.type == type_, events.c.position > bindparam("after"), events.c.position <= bindparam("until")
        )
        .order_by(events.c.position.desc())
        .limit(bindparam("limit"))
        .offset(bindparam("skip"))
        for type_ in types
    ]
    return parts[0] if len(parts) == 1 else union_all(*(select(part.subquery().c.position) for part in parts))


# MARKED verbatim and a bound for the position, or SQLite walks the session for the newest of a type.
IN_SESSION: Final = (events.c.session == bindparam("session"), text(MARKED), events.c.position > 0)
_MARKED: Final = select(events.c.position).where(events.c.session == bindparam("session"), text(MARKED))
BETWEEN: Final = _MARKED.where(
    events.c.type == bindparam("type"),
    events.c.position > bindparam("after"),
    events.c.position < bindparam("before"),
).order_by(events.c.position)
_NUMBER: Final = select(func.count()).where(
    *IN_SESSION, events.c.type.in_(bindparam("types", expanding=True)), events.c.position <= bindparam("until")
)
