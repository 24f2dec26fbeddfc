"""Moves sessions that have rested into archives: read back from the disk before anything is deleted."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, TypeAlias

from sqlalchemy import Connection, Engine, and_, select

from planstrip import archives
from planstrip.db import for_writing, hold, open_log
from planstrip.errors import PlanstripError, UnusableSettings
from planstrip.forgetting import delete_events
from planstrip.tables import events, sessions
from planstrip.terminal import counted

DAY_MS: Final = 24 * 3600 * 1000

Outcome: TypeAlias = Literal["archived", "due", "grew", "failed"]


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of one session. `due`: it would be archived; `grew`: it went on meanwhile, and stays whole.

    `last_ms`: its last event's time. `said`: why it failed.
    """

    session: str
    outcome: Outcome
    last_ms: int
    events: int = 0
    path: Path | None = None
    said: str = ""


def archive(database_url: str, folder: Path, *, keep_days: int, now_ms: int, is_trial: bool = False) -> Iterator[Moved]:
    """Every session whose last event, and that of its parents and children, is older than `keep_days`.

    Raises UnusableSettings for a folder that cannot be made, StoreUnusable for the database.
    """
    engine = open_log(database_url)
    try:
        _make(folder, is_trial)
        with engine.connect() as connection:
            families = _resting(connection, now_ms - keep_days * DAY_MS)
        for family in families:
            for session, last_ms in family:
                yield Moved(session, "due", last_ms) if is_trial else _move(engine, session, last_ms, folder)
    finally:
        engine.dispose()


def _make(folder: Path, is_trial: bool) -> None:
    if os.path.lexists(folder) and not folder.is_dir():
        raise UnusableSettings(f"{folder} is no folder; name another with --to")
    try:
        if not is_trial:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnusableSettings(f"{folder}: {error.strerror}; name another with --to") from error


def _resting(connection: Connection, before_ms: int) -> list[list[tuple[str, int]]]:
    """Families of which nobody was heard since, each session with its last event's time; the oldest first.

    A child is shown on its parent's page, and a parent links its children: none goes while another of them works.
    """
    rows = connection.execute(_LAST).all()
    last = {row.id: max(row.updated_at, row.time) for row in rows}
    roots = _Roots(list(last))
    for row in rows:
        if row.parent in last:
            roots.join(row.id, row.parent)
    families: dict[str, list[tuple[str, int]]] = {}
    for session, time in sorted(last.items(), key=lambda item: item[1]):
        families.setdefault(roots.of(session), []).append((session, time))
    return [family for family in families.values() if family[-1][1] < before_ms]


class _Roots:
    """Who belongs together, however their parents are told: also in a circle."""

    def __init__(self, names: Sequence[str]) -> None:
        self._above = {name: name for name in names}

    def of(self, name: str) -> str:
        while (above := self._above[name]) != name:
            self._above[name] = name = self._above[above]
        return name

    def join(self, one: str, other: str) -> None:
        self._above[self.of(one)] = self.of(other)


def _move(engine: Engine, session: str, last_ms: int, folder: Path) -> Moved:
    try:
        with engine.connect() as connection:
            header = archives.header_of(connection, session)
            if header is None:  # somebody else has moved it
                return Moved(session, "grew", last_ms)
            path = archives.write(connection, header, folder)
        if archives.verify(path) != header:
            return Moved(session, "failed", last_ms, said=f"{path} does not hold what was written")
        if not _forget(engine, header):
            return Moved(session, "grew", last_ms)
    except OSError as error:
        return Moved(session, "failed", last_ms, said=f"{error.filename or folder}: {error.strerror or error}")
    except PlanstripError as error:
        return Moved(session, "failed", last_ms, said=error.detail)
    return Moved(session, "archived", last_ms, header.events, path)


def _forget(engine: Engine, header: archives.Header) -> bool:
    """Whether it was still what the archive holds: then it is deleted, in the same transaction that looked.

    Links to it stay: they open it again once it is imported.
    """
    with for_writing(engine).begin() as connection:
        hold(connection, [header.session])
        if archives.header_of(connection, header.session) != header:
            return False
        delete_events(connection, header.session)
    return True


def told(one: Moved) -> str:
    """In one line, without a word of the plan."""
    date = f"{datetime.fromtimestamp(one.last_ms / 1000, UTC):%Y-%m-%d}"
    match one.outcome:
        case "archived":
            return f"{one.session}: {counted(one.events, 'event')}, the last of {date}, moved to {one.path}"
        case "due":
            return f"{one.session}: its last event is of {date}"
        case "grew":
            return f"{one.session}: it went on meanwhile, and stays"
        case "failed":
            return f"{one.session}: not archived, and left as it stands: {one.said}"


_LAST: Final = select(sessions.c.id, sessions.c.parent, sessions.c.updated_at, events.c.time).join(
    events, and_(events.c.session == sessions.c.id, events.c.position == sessions.c.position)
)
