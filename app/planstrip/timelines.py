"""Reads from the log what the timeline of the newest plan is folded from: its cost does not grow with the log."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import URL, Connection, Row, Select, bindparam, select

from planstrip.eventlog import decode_list
from planstrip.events import EndReason, Entry, SessionEnd, TurnEnd, TurnStart, Unknown
from planstrip.lately import Lately
from planstrip.marks import PLAN_SETTERS, newest, newest_one
from planstrip.plan.timeline import Timeline, timeline
from planstrip.plan.view import Standing
from planstrip.tables import events

TURNS: Final = ("turn/start", "turn/end", "turn/resume", "session/end")
MAX_SETTERS: Final = 64  # each is folded and drawn again for every page, and every write that is watched
MAX_SETTERS_CHARS: Final = 2 * 1024 * 1024
MAX_TURN_EVENTS: Final = 1_000  # of each type
WAIT_REACH: Final = 8  # a `turn/wait`, which has no mark, stands that close before the event that ends it
CHUNK: Final = 100
MAX_KEPT_SPANS: Final = 50_000


def read_timeline(connection: Connection, session: str, standing: Standing) -> Timeline:
    """The timeline of what stands, as of the last event on which it depends."""
    plans = standing.plans
    key = connection.engine.url, session, standing.timeline_changed, standing.timeline_until, plans.number, plans.began
    kept = _LATELY.get(key)
    if kept is None:
        kept = _read(connection, session, standing)
        _LATELY.put(key, kept, 1 + sum(len(lane.spans) for lane in kept.lanes))
    return kept


def _read(connection: Connection, session: str, standing: Standing) -> Timeline:
    position = standing.timeline_changed
    setters = _setters(connection, session, position)
    if not setters:
        return Timeline()
    first = setters[0].position
    turns = _turns(connection, session, first, position)
    told = [*setters, *turns, *_waits(connection, session, turns)]
    return timeline(sorted(told, key=lambda entry: entry.position), standing.timeline_until)


def _setters(connection: Connection, session: str, until: int) -> list[Entry]:
    """The newest events that set the list, in order."""
    places = newest(connection, session, PLAN_SETTERS, until, limit=MAX_SETTERS)[: -MAX_SETTERS - 1 : -1]
    found, chars = list[Entry](), 0
    for start in range(0, len(places), CHUNK):
        for row in _rows(connection, session, _EVENTS, places[start : start + CHUNK])[::-1]:
            chars += len(row.data)
            if found and chars > MAX_SETTERS_CHARS:
                return found[::-1]
            found.append(Entry(row.position, row.time, decode_list(row.type, row.data)))
    return found[::-1]


def _turns(connection: Connection, session: str, first: int, until: int) -> list[Entry]:
    """The turns since `first`, led by the one that it stands in."""
    start = newest_one(connection, session, ("turn/start",), first) or 1
    since = newest(connection, session, TURNS, until, after=start - 1, limit=MAX_TURN_EVENTS)
    found = _entries(connection, session, since)
    if len(since) >= MAX_TURN_EVENTS:  # what lies before the oldest of them is not known, and no work
        found.insert(0, Entry(0, 0, TurnEnd(0, EndReason("completed"))))
    return found + _last_signs(connection, session, found, first)


def _last_signs(connection: Connection, session: str, turns: Sequence[Entry], first: int) -> list[Entry]:
    """What came right before the start of a turn while the one before had told no end."""
    unended = [
        now.position - 1
        for was, now in pairwise([Entry(0, 0, TurnStart(0)), *turns])
        if isinstance(now.event, TurnStart)
        and not isinstance(was.event, TurnEnd | SessionEnd)
        and now.position - 1 > first
    ]
    return [Entry(row.position, row.time, Unknown("")) for row in _rows(connection, session, _TIMES, unended)]


def _waits(connection: Connection, session: str, turns: Sequence[Entry]) -> list[Entry]:
    """What a resumed or ended turn had waited for."""
    reach = range(1, WAIT_REACH + 1)
    near = {entry.position - back for entry in turns if not isinstance(entry.event, TurnStart) for back in reach}
    rows = _rows(connection, session, _WAITS, [place for place in near if place > 0])
    return [Entry(row.position, row.time, decode_list(row.type, row.data)) for row in rows]


def _entries(connection: Connection, session: str, positions: Iterable[int]) -> list[Entry]:
    rows = _rows(connection, session, _EVENTS, sorted(positions))
    return [Entry(row.position, row.time, decode_list(row.type, row.data)) for row in rows]


def _rows(connection: Connection, session: str, query: Select[Any], positions: Sequence[int]) -> list[Row[Any]]:
    """The rows at these positions, in order within each `CHUNK` of them."""
    parts = [positions[start : start + CHUNK] for start in range(0, len(positions), CHUNK)]
    return [row for part in parts for row in connection.execute(query, {"session": session, "positions": part})]


_TIMES: Final = (
    select(events.c.position, events.c.time)
    .where(events.c.session == bindparam("session"), events.c.position.in_(bindparam("positions", expanding=True)))
    .order_by(events.c.position)
)
_EVENTS: Final = _TIMES.add_columns(events.c.type, events.c.data)
_WAITS: Final = _EVENTS.where(events.c.type == "turn/wait")

# A log is only added to: what stood at a position is what stood there.
_LATELY: Final[Lately[tuple[URL, str, int, int, int, int], Timeline]] = Lately(MAX_KEPT_SPANS)
