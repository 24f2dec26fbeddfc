"""A session as it stood at an earlier position, and the stops on the way there (spec.md §9, time travel)."""

import dataclasses
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Connection, TextClause, bindparam, func, select, text

from planstrip.eventlog import read, read_types
from planstrip.events import TYPES
from planstrip.plan.view import Standing, View, stand
from planstrip.projection import newest_setter, window_at
from planstrip.tables import MARKED, events
from planstrip.timelines import read_timeline

STOPS: Final = ("todo/write", "session/rewind", "viewer/retire", "viewer/restore")
_NOT_ROWS: Final = tuple(type_ for type_ in TYPES if not type_.startswith("tool/"))


@dataclass(frozen=True, slots=True)
class Stops:
    """The writes of a session as stops: `number` of them up to a position, `total` in all; positions, None for none."""

    number: int
    total: int
    before: int | None
    after: int | None


def view_at(connection: Connection, session: str, position: int) -> View:
    """What the session's page showed after the event at `position`."""
    standing = standing_at(connection, session, position)
    window = window_at(connection, session, position)
    return View(standing, window, timeline=read_timeline(connection, session, standing))


def standing_at(connection: Connection, session: str, position: int) -> Standing:
    """Tool calls tell since the plan was written only: those before it are not read."""
    setter = newest_setter(connection, session, position) or 0
    standing = stand(read_types(connection, session, _NOT_ROWS, setter))
    standing = stand(read(connection, session, setter, position), standing)
    time = connection.execute(_TIME, {"session": session, "position": position}).scalar()
    return standing if time is None else dataclasses.replace(standing, position=position, updated_at=time)


def stops(connection: Connection, session: str, position: int) -> Stops:
    number, total, before, after = connection.execute(
        _STOPS, {"session": session, "position": position, "types": STOPS}
    ).one()
    return Stops(number or 0, total, before, after)


def stop_at(connection: Connection, session: str, number: int) -> int | None:
    """The position of the write of this number, from 1, and for 0 the one before them all; None beyond the last."""
    skip = max(number - 1, 0)
    found: int | None = connection.execute(_NTH, {"session": session, "types": STOPS, "skip": skip}).scalar()
    return found - 1 if found is not None and number == 0 else found


_SETTERS: Final[list[ColumnElement[bool] | TextClause]] = [
    events.c.session == bindparam("session"),
    text(MARKED),  # verbatim, or SQLite does not use the index
    events.c.type.in_(bindparam("types", expanding=True)),
]
_UP_TO: Final = events.c.position <= bindparam("position")
_BEFORE: Final = events.c.position < bindparam("position")
_BEYOND: Final = events.c.position > bindparam("position")
_STOPS: Final = select(
    func.count().filter(_UP_TO),
    func.count(),
    func.max(events.c.position).filter(_BEFORE),
    func.min(events.c.position).filter(_BEYOND),
).where(*_SETTERS)
_NTH: Final = select(events.c.position).where(*_SETTERS).order_by(events.c.position).limit(1).offset(bindparam("skip"))
_TIME: Final = select(events.c.time).where(
    events.c.session == bindparam("session"), events.c.position == bindparam("position")
)
