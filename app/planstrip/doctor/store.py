"""The store: whether it opens, stands at this program's schema, is whole, where it lies and what room it has.

It is read, never written.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from planstrip.db import address_of, known_revisions, open_engine, revision, said_by
from planstrip.doctor.findings import Finding, note, ok, wrong
from planstrip.doctor.wakeups import file_wake_ups, served_wake_ups
from planstrip.errors import StoreUnusable
from planstrip.sqlite import sqlite_path
from planstrip.tables import SCHEMA_HEAD

MIB: Final = 1024 * 1024
FULL_MIB: Final = 100
LONG_WAL_MIB: Final = 64  # SQLite brings it back to 4 MiB as soon as no reader stands in the way
REMOTE: Final = frozenset({"9p", "afs", "ceph", "cifs", "nfs", "nfs4", "smb3", "smbfs", "virtiofs"})
WAIT_S: Final = 5.0
MOUNTS: Final = Path("/proc/self/mountinfo")
NOT_OPENED: Final = ("SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PERM")
ELSEWHERE: Final = "name another with --database-url"


def store(database_url: str) -> Iterator[Finding]:
    path = sqlite_path(database_url)
    if path is None:
        yield from _served(database_url)
        return
    if os.path.exists(path):
        yield from _file(path)
    else:
        yield note("store", f"there is none yet at {path}", "`planstrip serve` makes it")
    room = _room(path)
    yield room
    if room.level != "wrong" and path.parent.is_dir():
        yield file_wake_ups(path.parent)


def _served(database_url: str) -> Iterator[Finding]:
    """A database that has a server of its own."""
    try:
        engine = open_engine(database_url)
    except StoreUnusable as error:
        yield wrong("store", error.detail, ELSEWHERE)
        return
    try:
        found = revision(engine)
        yield _schema(found, address_of(engine))
        yield _kept(engine)
        if found == SCHEMA_HEAD:
            yield served_wake_ups(engine)
    except (StoreUnusable, SQLAlchemyError) as error:
        said = error.detail if isinstance(error, StoreUnusable) else said_by(error)
        yield wrong("store", f"{address_of(engine)}: {said}", f"is the server running? Else {ELSEWHERE}")
    finally:
        engine.dispose()


def _kept(engine: Engine) -> Finding:
    """Whether what it acknowledges is on its disk, and how large it is; how much room it has only its server knows."""
    with engine.connect() as connection:
        size = connection.exec_driver_sql("SELECT pg_database_size(current_database())").scalar_one() / MIB
        off = [name for name in ("fsync", "full_page_writes") if _shown(connection, name) == "off"]
        version = _shown(connection, "server_version")
    said = f"PostgreSQL {version}, {size:.1f} MiB"
    if off:
        return wrong(
            "room", f"{said}; {' and '.join(off)} off: a power cut may lose the log", f"set {off[0]} = on there"
        )
    return ok("room", f"{said}; look at its own disk there")


def _shown(connection: Connection, name: str) -> str:
    return str(connection.exec_driver_sql(f"SHOW {name}").scalar_one())


def _file(path: Path) -> Iterator[Finding]:
    try:
        address = f"file:{quote(os.path.abspath(path))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True, timeout=WAIT_S)) as connection:
            tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and not {"alembic_version", "events"} <= tables:
                yield wrong("store", f"{path} is not planstrip's: it has the tables {sorted(tables)[:5]}", ELSEWHERE)
                return
            stands = connection.execute("SELECT version_num FROM alembic_version").fetchone() if tables else None
            yield _schema(stands[0] if stands else None, f"{path}")
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        closed = _closed(path, path.parent) if getattr(error, "sqlite_errorname", "").startswith(NOT_OPENED) else []
        mend = (
            f"make {' and '.join(map(str, closed))} writable: SQLite writes as it reads"
            if closed
            else "restore it from a copy"
        )
        yield wrong("store", f"{path}: {error}", f"{mend}, or {ELSEWHERE}")
        return
    if found == "ok":
        yield ok("integrity", f"whole, {path.stat().st_size / MIB:.1f} MiB")
        yield _wal(path)
    else:
        yield wrong("integrity", found, "restore it from a copy, or save what reads with `sqlite3 … .recover`")


def _schema(found: str | None, shown: str) -> Finding:
    if found == SCHEMA_HEAD:
        return ok("store", f"{shown} stands at this program's schema")
    if found is not None and found not in known_revisions():
        return wrong("store", f"{shown}: its schema {found!r} is newer than this program's", "upgrade planstrip")
    said = f"{shown} stands at {found!r}, this program at {SCHEMA_HEAD!r}"
    return note("store", said, "`planstrip migrate` brings it here, and so does `planstrip serve`")


def _room(path: Path) -> Finding:
    """Whether this user may write there, and how much fits."""
    folder = next((parent for parent in Path(os.path.abspath(path)).parents if parent.is_dir()), Path("/"))
    if closed := _closed(path, folder):
        return wrong("room", f"{closed[0]} is not yours to write", f"change its owner or mode, or {ELSEWHERE}")
    free = shutil.disk_usage(folder).free // MIB
    if free < FULL_MIB:
        return wrong("room", f"{free} MiB are free at {folder}", f"make room, or {ELSEWHERE}")
    kind = _kind(folder)
    if kind in REMOTE:
        said = f"{folder} is on {kind}: SQLite's log needs memory that all processes share, which that has not"
        return wrong("room", said, "keep the file on a local disk, or use PostgreSQL")
    return ok("room", f"{free} MiB are free at {folder}" + (f" ({kind})" if kind else ""))


def _closed(*places: Path) -> list[Path]:
    """Those that this user may not write."""
    return [place for place in places if os.path.exists(place) and not os.access(place, os.W_OK)]


def _wal(path: Path) -> Finding:
    wal = Path(f"{path}-wal")
    size = wal.stat().st_size // MIB if wal.exists() else 0
    if size > LONG_WAL_MIB:
        said = f"{size} MiB wait in {wal}: a reader has stood in the way for long"
        return note("wal", said, "end what reads the database for long, such as a forgotten `sqlite3`; it shrinks then")
    return ok("wal", f"{size} MiB wait to be brought into the file")


def _kind(folder: Path) -> str | None:
    """The kind of file system, where the system tells."""
    try:
        mounts = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    parts = [line.partition(" - ") for line in mounts]
    found = [(mounted.split()[4], kind.split()[0]) for mounted, _, kind in parts if kind]
    where = os.path.realpath(folder)
    over = [(len(point), index) for index, (point, _) in enumerate(found) if _is_below(where, point)]
    return found[max(over)[1]][1] if over else None


def _is_below(path: str, point: str) -> bool:
    return path == point or path.startswith(point.rstrip("/") + "/")
