"""A session as it stood at an earlier position, and the stops on the way there (spec.md §9, time travel)."""

import dataclasses
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from planstrip.eventlog import read, read_types
from planstrip.events import TYPES
from planstrip.heads import sign_at
from planstrip.marks import NEWEST, PLAN_SETTERS, newest, newest_one
from planstrip.plan.returned import mark
from planstrip.plan.view import Standing, View, stand
from planstrip.projection import window_at
from planstrip.timelines import read_timeline

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
    window = mark(window_at(connection, session, position), standing.returned)
    return View(standing, window, timeline=read_timeline(connection, session, standing))


def standing_at(connection: Connection, session: str, position: int) -> Standing:
    """Tool calls tell since the agent wrote the plan only: those before it are not read."""
    written = newest_one(connection, session, ("todo/write",), position) or 0
    standing = stand(read_types(connection, session, _NOT_ROWS, written))
    standing = stand(read(connection, session, written, position), standing)
    return dataclasses.replace(standing, position=position, updated_at=sign_at(connection, session, position))


def stops(connection: Connection, session: str, position: int) -> Stops:
    writes = _writes(connection, session)
    before, number = bisect_left(writes, position), bisect_right(writes, position)
    return Stops(
        number,
        len(writes),
        before=writes[before - 1] if before else None,
        after=writes[number] if number < len(writes) else None,
    )


def stop_at(connection: Connection, session: str, number: int) -> int | None:
    """The position of the write of this number, from 1, and for 0 the one before them all; None beyond the last."""
    writes = _writes(connection, session)
    if number > len(writes) or not writes:
        return None
    return writes[number - 1] if number else writes[0] - 1


def _writes(connection: Connection, session: str) -> list[int]:
    return newest(connection, session, PLAN_SETTERS, limit=NEWEST)
