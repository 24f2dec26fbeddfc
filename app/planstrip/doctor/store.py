"""The store: whether it opens, stands at this program's schema, is whole, and has room. It is read, never written."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import quote

from sqlalchemy.exc import SQLAlchemyError

from planstrip.db import known_revisions, open_engine, revision
from planstrip.doctor.findings import Finding, note, ok, wrong
from planstrip.errors import StoreUnusable
from planstrip.settings import sqlite_path
from planstrip.tables import SCHEMA_HEAD

MIB: Final = 1024 * 1024
FULL_MIB: Final = 100
WAIT_S: Final = 5.0
ELSEWHERE: Final = "name another with --database-url"


def store(database_url: str) -> Iterator[Finding]:
    path = sqlite_path(database_url)
    if path is None:
        yield _served(database_url)
        return
    if os.path.exists(path):
        yield from _file(path)
    else:
        yield note("store", f"there is none yet at {path}", "`planstrip serve` makes it")
    yield _room(path)


def _served(database_url: str) -> Finding:
    """A database that has a server of its own."""
    try:
        engine = open_engine(database_url)
    except StoreUnusable as error:
        return wrong("store", error.detail, ELSEWHERE)
    try:
        return _schema(revision(engine), engine.url.render_as_string(hide_password=True))
    except (StoreUnusable, SQLAlchemyError) as error:
        return wrong("store", str(error), ELSEWHERE)
    finally:
        engine.dispose()


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
        yield wrong("store", f"{path}: {error}", f"restore it from a copy, or {ELSEWHERE}")
        return
    if found == "ok":
        yield ok("integrity", f"whole, {path.stat().st_size / MIB:.1f} MiB")
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
    closed = [place for place in (path, folder) if os.path.exists(place) and not os.access(place, os.W_OK)]
    if closed:
        return wrong("room", f"{closed[0]} is not yours to write", f"change its owner or mode, or {ELSEWHERE}")
    free = shutil.disk_usage(folder).free // MIB
    if free < FULL_MIB:
        return wrong("room", f"{free} MiB are free at {folder}", f"make room, or {ELSEWHERE}")
    return ok("room", f"{free} MiB are free at {folder}")
