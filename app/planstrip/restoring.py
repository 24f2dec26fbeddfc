"""`planstrip restore`: a backup into a database that nobody uses, of either store, all or nothing."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, delete

from planstrip import copying
from planstrip.archives import sync
from planstrip.backups import back_up, check, connected, part_of
from planstrip.copying import Copied, Progress, compared, sums_of
from planstrip.db import address_of, for_writing, hold_all, open_engine, open_file, prepare, revision, stay
from planstrip.errors import StoreUnusable, UnusableSettings
from planstrip.sqlite import BESIDE, is_own, is_special, sqlite_path
from planstrip.tables import SCHEMA_HEAD, events

IN_USE: Final = "stop every server, `watch`, `mcp` and `acp` that uses it, then try again"


@dataclass(frozen=True, slots=True)
class Restored:
    """`kept`: where what was replaced lies now."""

    copied: Copied
    kept: Path | None = None


def restore(file: Path, database_url: str, *, is_forced: bool = False, on_progress: Progress | None = None) -> Restored:
    """All or nothing, also where it is cut off. With `is_forced` what is replaced is kept beside it.

    Raises UnusableSettings for a file that is no backup or the database's own, a database that holds events, or one
    that is in use.
    """
    if is_own(database_url, file):
        raise UnusableSettings(f"{file} is the database itself, or a file of its own; name a backup")
    sums = check(file)
    path = sqlite_path(database_url)
    if path is None:
        return _restore_served(file, database_url, is_forced, on_progress)
    kept = _restore_file(file, path, is_forced)
    engine = open_engine(database_url)
    try:
        prepare(engine)
        with engine.connect() as connection:
            return Restored(compared(sums, sums_of(connection)), kept)
    finally:
        engine.dispose()


def _restore_file(file: Path, path: Path, is_forced: bool) -> Path | None:
    """In place, in one transaction of SQLite's: nobody keeps a file that is no longer there."""
    if is_special(path):
        raise UnusableSettings(f"{path} is a device, a pipe or a socket; name a file with --database-url")
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = None
    if path.exists() and not _reads(path):
        if not is_forced:
            raise UnusableSettings(f"{path} does not read as a database; --force puts it aside, and restores")
        kept = _put_aside(path)
    with _alone(path) as target:
        if _holds_events(target, path):
            if not is_forced:
                raise UnusableSettings(f"{path} holds events already; --force replaces them, and keeps them beside it")
            kept = _beside(path)
            with part_of(kept) as part:
                with closing(connected(part)) as keeping:
                    target.backup(keeping)
                os.replace(part, kept)
                sync(kept.parent)
        with closing(connected(file)) as source:
            source.backup(target)
    return kept


def _restore_served(file: Path, database_url: str, is_forced: bool, on_progress: Progress | None) -> Restored:
    kept = None
    with ExitStack() as stack:
        source, target = stack.enter_context(_current(file)), open_engine(database_url)
        stack.callback(target.dispose)
        prepare(target)
        reading = stack.enter_context(source.connect())
        writing = stack.enter_context(for_writing(target).connect())
        with writing.begin() as transaction:
            stay(writing)
            if others := hold_all(writing):
                raise UnusableSettings(f"{address_of(target)} is in use, by {others} connections: {IN_USE}")
            if copying.is_in_use(writing):
                if not is_forced:
                    raise UnusableSettings(
                        f"{address_of(target)} holds events already;"
                        f" --force replaces them, and keeps them beside {file}"
                    )
                kept = _beside(file.with_name(f"{file.name}.{target.url.database}"))
                back_up(database_url, kept)
                for table in (events, *copying.KEPT, *copying.LINKS):
                    writing.execute(delete(table))
            copying.copy_rows(reading, writing, on_progress)
            copied = compared(sums_of(reading), sums_of(writing))
            if copied.unequal:
                transaction.rollback()
    return Restored(copied, kept)


@contextmanager
def _current(file: Path) -> Iterator[Engine]:
    """The backup at this program's schema: a copy of it is brought there, never the file itself."""
    with ExitStack() as stack:
        engine = open_file(file)
        stack.callback(engine.dispose)
        if revision(engine) != SCHEMA_HEAD:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="planstrip-"))
            with closing(connected(file)) as source, closing(connected(Path(folder, "plans.sqlite3"))) as copy:
                source.backup(copy)
            engine = open_engine(f"sqlite:///{folder}/plans.sqlite3")
            stack.callback(engine.dispose)
            prepare(engine)
        yield engine


@contextmanager
def _alone(path: Path) -> Iterator[sqlite3.Connection]:
    """The only connection there is, and stays so. Raises UnusableSettings where another program has one."""
    with closing(connected(path)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # kept from the first lock on
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("BEGIN EXCLUSIVE")  # fails while anybody else has the log open, also one that rests
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            what = f"is in use: {IN_USE}" if "locked" in str(error) else f"cannot be written: {error}"
            raise UnusableSettings(f"{path} {what}") from error
        yield connection


def _holds_events(connection: sqlite3.Connection, path: Path) -> bool:
    """Raises StoreUnusable for somebody else's database, which no --force replaces."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if tables and not {"alembic_version", "events"} <= tables:
        raise StoreUnusable(f"database {path} is not planstrip's: it has the tables {sorted(tables)[:5]}")
    return bool(tables) and connection.execute("SELECT 1 FROM events LIMIT 1").fetchone() is not None


def _reads(path: Path) -> bool:
    with closing(connected(path)) as connection:
        try:
            _holds_events(connection, path)
        except sqlite3.DatabaseError as error:
            return isinstance(error, sqlite3.OperationalError)  # it is locked, or may not be opened: that is told later
        except StoreUnusable:
            return True
    return True


def _put_aside(path: Path) -> Path:
    kept = _beside(path)
    for suffix in BESIDE:
        if os.path.exists(f"{path}{suffix}"):
            os.replace(f"{path}{suffix}", f"{kept}{suffix}")
    return kept


def _beside(path: Path) -> Path:
    return path.with_name(f"{path.name}.replaced-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
