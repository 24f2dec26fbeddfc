"""`planstrip backup`: a whole database as one SQLite file, which gets its name once it has been read back."""

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from planstrip import copying
from planstrip.archives import sync
from planstrip.copying import Copied, Progress, Sum, compared, sums_of
from planstrip.db import (
    address_of,
    for_writing,
    known_revisions,
    open_engine,
    open_file,
    prepare,
    revision,
    said_by,
    stay,
)
from planstrip.errors import StoreUnusable, UnusableSettings
from planstrip.eventlog import read
from planstrip.plan.view import stand
from planstrip.sqlite import BESIDE, hot_beside, is_own, is_special, sqlite_path
from planstrip.tables import SCHEMA_HEAD, events


def back_up(database_url: str, file: Path, *, is_forced: bool = False, on_progress: Progress | None = None) -> Copied:
    """As the database stands at this moment, whoever writes on meanwhile. `unequal`: then there is no file.

    Raises UnusableSettings for a file that is there already or is a database's own, StoreUnusable for the database.
    """
    if is_own(database_url, file):
        raise UnusableSettings(f"{file} is the database itself, or a file of its own; name another for the backup")
    _refuse_present(file, is_forced)
    with part_of(file) as part:
        path = sqlite_path(database_url)
        copied = _copied_served(database_url, part, on_progress) if path is None else _copied_file(path, part)
        if not copied.unequal:
            _refuse_present(file, is_forced)
            os.replace(part, file)
            sync(file.parent)
    return copied


def check(file: Path) -> dict[str, Sum]:
    """What a backup holds, by session: every page and every event read, every session folded.

    Raises UnusableSettings for a file that is none, is damaged, or is of a newer program.
    """
    if not file.is_file():
        raise UnusableSettings(f"{file}: there is no such file")
    engine = open_file(file)
    try:
        stands = _revision(engine, file)
        if stands is None or (stands != SCHEMA_HEAD and stands not in known_revisions()):
            what = "holds no log" if stands is None else f"its schema {stands!r} is newer than this program's"
            raise UnusableSettings(f"{file}: {what}")
        with engine.connect() as connection:
            faults = connection.exec_driver_sql("PRAGMA integrity_check(3)").scalars().all()
            if faults != ["ok"]:
                raise UnusableSettings(f"{file} is damaged: {'; '.join(faults)}")
            return _folded(connection, file)
    except SQLAlchemyError as error:
        raise UnusableSettings(f"{file}: {said_by(error)}") from error
    finally:
        engine.dispose()


def _revision(engine: Engine, file: Path) -> str | None:
    try:
        return revision(engine)
    except StoreUnusable:
        raise UnusableSettings(
            f"{file} is a database, and not planstrip's: name what `planstrip backup` wrote"
        ) from None


def _folded(connection: Connection, file: Path) -> dict[str, Sum]:
    heads = select(events.c.session, func.min(events.c.position), func.max(events.c.position)).group_by(
        events.c.session
    )
    places = {session: (first, last) for session, first, last in connection.execute(heads)}
    sums = sums_of(connection)
    for session, summed in sums.items():
        stand(read(connection, session))
        if places[session] != (1, summed.count):
            raise UnusableSettings(f"{file}: session {session!r} has a gap: {summed.count} events at {places[session]}")
    return sums


def _copied_file(path: Path, part: Path) -> Copied:
    """SQLite's own way: page by page out of one read transaction, which keeps no writer waiting."""
    if not path.is_file():
        raise StoreUnusable(f"database {path}: there is no such file; name another with --database-url")
    engine = open_file(path)
    try:
        if revision(engine) is None:
            raise StoreUnusable(f"database {path} holds no log; name another with --database-url")
        with engine.connect() as reading:
            sums = sums_of(reading)
            with closing(connected(part)) as target:
                driver: Any = reading.connection.driver_connection
                driver.backup(target)
                target.execute("PRAGMA journal_mode = DELETE")  # one file, with nothing beside it
            return compared(sums, check(part))
    except SQLAlchemyError as error:
        raise StoreUnusable(f"database {path}: {said_by(error)}") from error
    finally:
        engine.dispose()


def _copied_served(database_url: str, part: Path, on_progress: Progress | None) -> Copied:
    engine, target = open_engine(database_url), open_engine(f"sqlite:///{part}")
    try:
        stands = revision(engine)
        if stands != SCHEMA_HEAD:
            raise StoreUnusable(
                f"database {address_of(engine)} stands at {stands!r}, this program at {SCHEMA_HEAD!r}:"
                " `planstrip migrate` it first; pg_dump backs it up as it is"
            )
        prepare(target)
        with engine.connect() as reading:
            stay(reading)
            with for_writing(target).begin() as writing:
                copying.copy_rows(reading, writing, on_progress)
            target.dispose()
            with closing(connected(part)) as file:
                file.execute("PRAGMA journal_mode = DELETE")
            return compared(sums_of(reading), check(part))
    except DatabaseError as error:
        raise StoreUnusable(f"database {address_of(engine)}: {said_by(error)}") from error
    finally:
        engine.dispose()
        target.dispose()


@contextmanager
def part_of(file: Path) -> Iterator[Path]:
    """A file beside it that is gone again at the end, unless it was renamed: it has what a link's signature needs."""
    try:
        number, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
    except OSError as error:
        raise UnusableSettings(f"{file}: {error.strerror}") from error
    os.close(number)
    try:
        yield Path(name)
    finally:
        for suffix in BESIDE:
            Path(name + suffix).unlink(missing_ok=True)


def _refuse_present(file: Path, is_forced: bool) -> None:
    if file.is_dir():
        raise UnusableSettings(f"{file} is a folder; name a file in it")
    if is_special(file):
        raise UnusableSettings(f"{file} is a device, a pipe or a socket; name a file")
    if (hot := hot_beside(file)) is not None:
        raise UnusableSettings(f"{file} is a database that is in use, or was: {hot} lies beside it; name another file")
    if os.path.lexists(file) and not is_forced:
        raise UnusableSettings(f"{file} is there already; --force replaces it")


def connected(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None, timeout=0)
