"""Projections of the log: from a checkpoint and the log's tail, kept up as the log grows (spec.md §4)."""

import dataclasses
import json
import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, and_, bindparam, delete, select, union

from planstrip import metrics
from planstrip.db import hold
from planstrip.eventlog import read, read_at
from planstrip.events import Entry, ToolCall
from planstrip.heads import head
from planstrip.marks import PLAN_SETTERS, between, newest, newest_one
from planstrip.plan import rows as rows_fold
from planstrip.plan.fold import Plan, fold
from planstrip.plan.returned import mark
from planstrip.plan.rows import Window
from planstrip.plan.view import Standing, View, advance, stand
from planstrip.revising import newest_revisions
from planstrip.session_rows import search_row, session_row
from planstrip.tables import checkpoints, events, search_texts, sessions
from planstrip.timelines import Since, read_since, read_timeline
from planstrip.upsert import upsert

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NAME: Final = "standing"
VERSION: Final = 8  # 2 was the fold that cleared the plan at every turn's start (spec.md §4)
CHECKPOINT_EVERY: Final = 256
CACHED_SESSIONS: Final = 4_096
MAX_LOOKAHEAD: Final = 2_000  # events after a page of older rows that may tell what became of them
WINDOW_ROWS: Final = 100

log = logging.getLogger(__name__)


class StandingProjector:
    """Folds what a writer appends, in the same transaction: the sessions' table always shows the log's head.

    Its cache is valid while no other connection has written: the writer resets or refreshes it otherwise.
    """

    def __init__(self) -> None:
        self._standing: OrderedDict[str, Standing] = OrderedDict()
        self._saved: dict[str, int] = {}
        self._firsts: dict[str, int] = {}

    def reset(self) -> None:
        for kept in (self._standing, self._saved, self._firsts):
            kept.clear()

    def refresh(self, connection: Connection, sessions: Sequence[str]) -> None:
        """Take in what others have appended to these sessions, which nobody else can write now.

        A session that was forgotten and has begun anew is another one: its first event tells.
        """
        cached = [session for session in sessions if session in self._standing]
        heads = {row.id: row for row in connection.execute(_HEADS, {"ids": cached})} if cached else {}
        for session in cached:
            row, standing = heads.get(session), self._standing[session]
            if row is None or row.position < standing.position or row.first != self._firsts.get(session):
                self._drop(session)
                if row is not None:
                    self._firsts[session] = row.first
            elif row.position > standing.position:
                self._standing[session] = _from(connection, session, standing)

    def head(self, connection: Connection, session: str) -> int:
        return self._load(connection, session).position

    def advance(self, connection: Connection, changes: Mapping[str, Sequence[Entry]]) -> None:
        rows, texts = [], []
        for session, entries in changes.items():
            before = self._load(connection, session)
            standing = self._standing[session] = stand(entries, before)
            rows.append(session_row(session, standing, VERSION))
            if standing.plan is not before.plan or standing.outline is not before.outline or not before.position:
                texts.append(search_row(session, standing))
            if standing.position - self._saved[session] >= CHECKPOINT_EVERY:
                save(connection, session, standing)
                self._saved[session] = standing.position
        upsert(connection, sessions, rows)
        upsert(connection, search_texts, texts)
        while len(self._standing) > CACHED_SESSIONS:
            self._drop(next(iter(self._standing)))

    def _drop(self, session: str) -> None:
        for kept in (self._standing, self._saved, self._firsts):
            kept.pop(session, None)

    def _load(self, connection: Connection, session: str) -> Standing:
        found = self._standing.get(session)
        if found is None:
            checkpoint = _checkpoint(connection, session)
            found = self._standing[session] = _from(connection, session, checkpoint)
            self._saved[session] = min(checkpoint.position, found.position)
        self._standing.move_to_end(session)
        return found


def current(connection: Connection, session: str) -> Standing:
    """What stands now: the checkpoint and the tail of the log."""
    return _from(connection, session, _checkpoint(connection, session))


def view(connection: Connection, session: str) -> View:
    """The session as its page shows it: what stands, and the newest rows. The cost does not grow with the log."""
    standing = current(connection, session)
    window = mark(window_at(connection, session, standing.position), standing.returned)
    return View(standing, window, timeline=read_timeline(connection, session, standing))


def catch_up(connection: Connection, session: str, view: View, since: Since | None = None) -> View:
    """The view with what came since, which may be at hand; the very same object when nothing did."""
    since = since or read_since(connection, session, view.standing)
    known = read(connection, session, view.standing.position) if since is None else (entry for entry, _ in since.events)
    fresh = advance(view, known)
    standing = _at_head(connection, session, fresh.standing)
    if standing.position == view.standing.position:
        return view
    is_drawn = standing.timeline_changed == view.standing.timeline_changed
    timeline = view.timeline if is_drawn else read_timeline(connection, session, standing, since)
    return dataclasses.replace(fresh, standing=standing, timeline=timeline)


def plan_at(connection: Connection, session: str, position: int) -> Plan | None:
    """The plan that stood after the event at `position`: its last setter, and the turn that may have cleared it."""
    setter = newest_one(connection, session, PLAN_SETTERS, position)
    if setter is None:
        return None
    entries = list(read(connection, session, setter - 1, setter))
    turn = newest_one(connection, session, ("turn/start",), position)
    if turn is not None and turn > setter:  # any turn's start after it clears it, or none does
        entries += read(connection, session, turn - 1, turn)
    return fold(entries)


def retirement(connection: Connection, session: str) -> int | None:
    """The position of the retirement that still stands, if the plan's last setter is one."""
    retired = newest_one(connection, session, ("viewer/retire",))
    return retired if retired == newest_one(connection, session, PLAN_SETTERS) else None


def window_at(connection: Connection, session: str, until: int) -> Window:
    """The newest rows and revisions up to a position, as they were then."""
    revisions = newest_revisions(connection, session, until)
    return dataclasses.replace(_rows_at(connection, session, until), revisions=revisions)


def _rows_at(connection: Connection, session: str, until: int) -> Window:
    """The newest rows up to `until`; the revisions are only those of its rows."""
    start = _window_start(connection, session, until)
    turn = rows_fold.fold(_context(connection, session, start))
    led = dataclasses.replace(turn, plan=plan_at(connection, session, start - 1), revisions=())
    window = rows_fold.fold(read(connection, session, start - 1, until), led)
    firsts = (*(row.position for row in window.rows[:1]), *(turn.position for turn in window.turns[:1]))
    dropped = newest_one(connection, session, ("tool/call",), firsts[0] - 1) if firsts else None
    return dataclasses.replace(window, dropped=max(window.dropped, dropped or 0))


def _window_start(connection: Connection, session: str, until: int) -> int:
    """The first event that the newest rows up to `until` are made of, but for the turn that it stands in."""
    return max(newest(connection, session, ("tool/call", "turn/start"), until, skip=WINDOW_ROWS - 1), default=1)


def _context(connection: Connection, session: str, start: int) -> list[Entry]:
    """What the turn of the event at `start` had become by then: its start, its end, the rewinds since."""
    turn = newest_one(connection, session, ("turn/start",), start)
    if turn is None or turn == start:
        return []
    ends = between(connection, session, "turn/end", turn, start)
    resumes = between(connection, session, "turn/resume", turn, start)
    closed = between(connection, session, "session/end", turn, start)
    # The first end counts, or the last where the turn was resumed.
    told = [*ends[:1], *ends[-1:], *resumes[-1:], *closed[:1], *closed[-1:]]
    rewinds = between(connection, session, "session/rewind", turn, start)
    return read_at(connection, session, sorted({turn, *told, *rewinds}))


def window_before(connection: Connection, session: str, before: int, until: int | None = None) -> Window:
    """The newest rows before a position, each with what became of it since, or by the position `until`."""
    last = 2**62 if until is None else until
    window, seen = _rows_at(connection, session, before - 1), before - 1
    for entry in islice(read(connection, session, seen, last), MAX_LOOKAHEAD):
        if not any(row.state == "running" for row in window.rows):
            break
        if not isinstance(entry.event, ToolCall):  # a later call is a later row
            window = rows_fold.fold([entry], window)
        seen = entry.position
    rewinds = read_at(connection, session, between(connection, session, "session/rewind", seen, last + 1))
    window = rows_fold.fold(rewinds, window)
    return dataclasses.replace(window, turns=tuple(turn for turn in window.turns if turn.position < before))


def turn_at(connection: Connection, session: str, position: int) -> int:
    """The position of the `turn/start` that the event at `position` stands in; 0 before any turn."""
    return newest_one(connection, session, ("turn/start",), position) or 0


def save(connection: Connection, session: str, standing: Standing) -> None:
    value = json.dumps(dataclasses.asdict(standing), ensure_ascii=False, separators=(",", ":"))
    row = {"session": session, "name": NAME, "version": VERSION, "position": standing.position, "value": value}
    upsert(connection, checkpoints, [row])


def rebuild(connection: Connection, session: str) -> Standing:
    """Drop the session's checkpoint and fold its whole log again. Needs a transaction that writes, and holds it."""
    metrics.refolded()
    _checkpoint(connection, session)  # says what is wrong with it
    connection.execute(delete(checkpoints).where(checkpoints.c.session == session))
    standing = current(connection, session)
    if standing.position:
        save(connection, session, standing)
        upsert(connection, sessions, [session_row(session, standing, VERSION)])
        upsert(connection, search_texts, [search_row(session, standing)])
    return standing


def rebuild_all(connection: Connection, session_ids: Sequence[str]) -> None:
    hold(connection, session_ids)
    for session in session_ids:
        rebuild(connection, session)


def outdated(connection: Connection, limit: int) -> list[str]:
    """Sessions whose row or checkpoint was written by another version of the fold."""
    rows = select(sessions.c.id).where(sessions.c.fold_version != VERSION)
    kept = select(checkpoints.c.session).where(checkpoints.c.version != VERSION)
    return list(connection.execute(union(rows, kept).limit(limit)).scalars())


def _from(connection: Connection, session: str, checkpoint: Standing) -> Standing:
    standing = _at_head(connection, session, stand(read(connection, session, checkpoint.position), checkpoint))
    if standing.position >= checkpoint.position:
        return standing
    _warn(f"session {session!r}: checkpoint of {checkpoint.position}, beyond the log, dropped, folding again")
    return _from(connection, session, Standing())


def _at_head(connection: Connection, session: str, standing: Standing) -> Standing:
    """Events of unknown type are not read: they move the head, are a sign of the agent, and nothing else."""
    end = head(connection, session)
    if end is None or end == (standing.position, standing.updated_at):
        return standing
    position, updated_at = end
    return dataclasses.replace(standing, position=position, updated_at=updated_at)


def _checkpoint(connection: Connection, session: str) -> Standing:
    row = connection.execute(_CHECKPOINT, {"session": session, "name": NAME}).first()
    if row is None:
        metrics.checkpoint_read("absent")
        return Standing()
    if row.version != VERSION:
        metrics.checkpoint_read("outdated")
        _warn(f"session {session!r}: checkpoint of version {row.version} dropped, folding again")
        return Standing()
    try:
        standing = _adapter().validate_json(row.value)
    except ValueError:
        metrics.checkpoint_read("corrupt")
        _warn(f"session {session!r}: checkpoint does not read, dropped, folding again")
        return Standing()
    is_its = standing.position == row.position
    metrics.checkpoint_read("hit" if is_its else "corrupt")
    if not is_its:
        _warn(f"session {session!r}: checkpoint of another position dropped, folding again")
        return Standing()
    return standing


@lru_cache(maxsize=CACHED_SESSIONS)
def _warn(message: str) -> None:
    """Once, however often a reader meets the same."""
    log.warning(message)


@cache
def _adapter() -> "TypeAdapter[Standing]":
    from pydantic import TypeAdapter  # needed at the first checkpoint only

    return TypeAdapter(Standing)


# Made once: putting a statement together takes longer than running it.
_HEADS: Final = (
    select(sessions.c.id, sessions.c.position, events.c.id.label("first"))
    .join(events, and_(events.c.session == sessions.c.id, events.c.position == 1))
    .where(sessions.c.id.in_(bindparam("ids", expanding=True)))
)
_CHECKPOINT: Final = select(checkpoints.c.version, checkpoints.c.position, checkpoints.c.value).where(
    checkpoints.c.session == bindparam("session"), checkpoints.c.name == bindparam("name")
)
