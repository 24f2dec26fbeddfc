"""Reads from the log what the timeline of the newest plan is folded from: its cost does not grow with the log."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, TypeAlias

from sqlalchemy import URL, Connection, Row, Select, bindparam, select

from planstrip.eventlog import decode_list, read_few
from planstrip.events import (
    EndReason,
    Entry,
    SessionEnd,
    SessionRewind,
    TodoWrite,
    TurnEnd,
    TurnResume,
    TurnStart,
    TurnWait,
    Unknown,
    ViewerRestore,
    ViewerRetire,
)
from planstrip.lately import Lately
from planstrip.marks import PLAN_SETTERS, newest, newest_one, number_of
from planstrip.plan.timeline import Builder, Timeline
from planstrip.plan.view import Standing
from planstrip.tables import events

TURNS: Final = ("turn/start", "turn/end", "turn/resume", "session/end")
TURN_EVENTS: Final = (TurnStart, TurnEnd, TurnResume, TurnWait, SessionEnd)
SETTER_EVENTS: Final = (TodoWrite, SessionRewind, ViewerRestore, ViewerRetire)
MAX_SETTERS: Final = 512  # 20 ms, once a session: what comes later is added to what was folded
STEP: Final = 128  # so many are left out at a time, or each write of a long plan had it folded anew
MAX_SETTERS_CHARS: Final = 2 * 1024 * 1024
MAX_TURN_EVENTS: Final = 1_000  # of each type
WAIT_REACH: Final = 8  # a `turn/wait`, which has no mark, stands that close before the event that ends it
CHUNK: Final = 100
FEW: Final = 100
MAX_KEPT_SPANS: Final = 50_000
MAX_FOLDED_SPANS: Final = 400_000  # 50 MB, of 500 sessions that are watched for hours; folding one anew takes 20 ms

Key: TypeAlias = tuple[URL, str, int, int]


@dataclass(frozen=True, slots=True)
class _Folded:
    """What was folded of a session up to `position`, from `first` on, the first of the writes that are not left out.

    `writes` counts all of them, `began` is the start of the plan that stood after the first one that was read.
    """

    builder: Builder
    first: int
    position: int
    writes: int
    left_out: int
    began: int
    turn_events: int
    chars: int

    def timeline(self, until: int) -> Timeline:
        found = self.builder.timeline(until)
        is_cut = self.left_out > 0 and found.start == self.began
        return replace(found, newest_writes=self.writes - self.left_out) if is_cut else found


@dataclass(frozen=True, slots=True)
class Since:
    """What came since a timeline depended last, at `position`, on an event: each of those that it may depend on, with
    its size in chars."""

    position: int
    events: Sequence[tuple[Entry, int]]


def read_since(connection: Connection, session: str, standing: Standing) -> Since | None:
    """What came since `standing`; None where it is much."""
    few = read_few(connection, session, standing.position, FEW)
    return None if few is None else Since(standing.timeline_changed, few)


def read_timeline(connection: Connection, session: str, standing: Standing, since: Since | None = None) -> Timeline:
    """The timeline of what stands, as of the last event on which it depends. `since`: what its reader has at hand."""
    plans = standing.plans
    plan = connection.engine.url, session, plans.number, plans.began
    key = *plan, standing.timeline_changed, standing.timeline_until
    kept = _LATELY.get(key)
    if kept is None:
        kept = _read(connection, session, standing, plan, since)
        _LATELY.put(key, kept, _size(kept))
    return kept


def _read(connection: Connection, session: str, standing: Standing, key: Key, since: Since | None) -> Timeline:
    position, kept = standing.timeline_changed, _FOLDED.take(key)
    is_past = kept is not None and kept.position > position
    known = None
    if kept is not None and not is_past:
        known = _with(kept, since, position) or _forward(connection, session, kept, position)
    folded = known or _afresh(connection, session, position)
    found = folded.timeline(standing.timeline_until) if folded else Timeline()
    keep = kept if is_past else folded
    if keep is not None:
        _FOLDED.put(key, keep, _size(found))
    return found


def _size(timeline: Timeline) -> int:
    return 1 + sum(len(lane.spans) for lane in timeline.lanes)


def _with(old: _Folded, since: Since | None, until: int) -> _Folded | None:
    """As `_forward` without asking the log; None where it must be: of turns it tells more than their events do."""
    if since is None or since.position != old.position:
        return None
    events = [(entry, size) for entry, size in since.events if old.position < entry.position <= until]
    if any(isinstance(entry.event, TURN_EVENTS) for entry, _ in events):
        return None
    setters = [(entry, size) for entry, size in events if isinstance(entry.event, SETTER_EVENTS)]
    writes, chars = old.writes + len(setters), old.chars + sum(size for _, size in setters)
    if len(setters) >= STEP or _left_out(writes) > old.left_out or chars > MAX_SETTERS_CHARS:
        return None
    _take(old.builder, [entry for entry, _ in setters])
    return replace(old, position=until, writes=writes, chars=chars)


def _forward(connection: Connection, session: str, old: _Folded, until: int) -> _Folded | None:
    """With what came since; None where a fold of the log would begin elsewhere, or finds a wait before that."""
    places = newest(connection, session, PLAN_SETTERS, until, after=old.position, limit=STEP)
    since = newest(connection, session, TURNS, until, after=old.position, limit=MAX_TURN_EVENTS)
    writes, turn_events = old.writes + len(places), old.turn_events + len(since)
    if len(places) >= STEP or _left_out(writes) > old.left_out or turn_events >= MAX_TURN_EVENTS:
        return None
    setters, chars = _setters(connection, session, places, old.chars)
    turns = _entries(connection, session, since)
    waits = _waits(connection, session, turns)
    if chars > MAX_SETTERS_CHARS or any(wait.position <= old.position for wait in waits):
        return None
    _take(old.builder, [*setters, *turns, *_last_signs(connection, session, turns, old.first), *waits])
    return replace(old, position=until, writes=writes, turn_events=turn_events, chars=chars)


def _afresh(connection: Connection, session: str, until: int) -> _Folded | None:
    """From the log; None before the first write."""
    places, left_out = _places(connection, session, until)
    setters, chars = _setters(connection, session, places)
    if not setters:
        return None
    first, builder = setters[0].position, Builder()
    start = newest_one(connection, session, ("turn/start",), first) or 1  # the turn that it stands in
    since = newest(connection, session, TURNS, until, after=start - 1, limit=MAX_TURN_EVENTS)
    turns = _entries(connection, session, since)
    if len(since) >= MAX_TURN_EVENTS:  # what lies before the oldest of them is not known, and no work
        turns.insert(0, Entry(0, 0, TurnEnd(0, EndReason("completed"))))
    turns += _last_signs(connection, session, turns, first)
    entries = [*setters, *turns, *_waits(connection, session, turns)]
    _take(builder, [entry for entry in entries if entry.position <= first])
    began = builder.start
    _take(builder, [entry for entry in entries if entry.position > first])
    writes, left_out = left_out + len(places), left_out + len(places) - len(setters)
    return _Folded(builder, first, until, writes, left_out, began, len(since), chars)


def _take(builder: Builder, entries: Iterable[Entry]) -> None:
    for entry in sorted(entries, key=lambda entry: entry.position):
        builder.take(entry)


def _places(connection: Connection, session: str, until: int) -> tuple[list[int], int]:
    """The newest events that set the list, in order, and how many are left out before them."""
    found = newest(connection, session, PLAN_SETTERS, until, limit=MAX_SETTERS + 1)
    if len(found) <= MAX_SETTERS:
        return found, 0
    total = number_of(connection, session, PLAN_SETTERS, until)
    return found[_left_out(total) - total :], _left_out(total)


def _left_out(writes: int) -> int:
    """So that at most `MAX_SETTERS` are left."""
    return -(-max(0, writes - MAX_SETTERS) // STEP) * STEP


def _setters(connection: Connection, session: str, places: Sequence[int], chars: int = 0) -> tuple[list[Entry], int]:
    """Those of them that fit, in order, and their size in chars with that of others; the newest one in any case."""
    found = list[Entry]()
    for end in range(len(places), 0, -CHUNK):
        for row in _rows(connection, session, _EVENTS, places[max(0, end - CHUNK) : end])[::-1]:
            if found and chars + len(row.data) > MAX_SETTERS_CHARS:
                return found[::-1], chars
            chars += len(row.data)
            found.append(Entry(row.position, row.time, decode_list(row.type, row.data)))
    return found[::-1], chars


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
_FOLDED: Final[Lately[Key, _Folded]] = Lately(MAX_FOLDED_SPANS)
