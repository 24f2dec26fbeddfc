"""SQLite's own: its files and whether another path leads to one of them, its connections, its transactions."""

import os
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from sqlalchemy import Connection
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

BESIDE: Final = ("", "-wal", "-shm", "-journal")  # a database's own file, and what SQLite keeps beside it
BUSY_TIMEOUT_MS: Final = 5_000
HOT: Final = ("-wal", "-journal")  # which SQLite plays into whatever file stands under their name


def sqlite_path(database_url: str) -> Path | None:
    """None for a store that has a server, and for an address that is none."""
    try:
        url = make_url(database_url)
    except (ArgumentError, ValueError):
        return None
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return None
    is_uri = url.database.startswith("file:")
    return Path(unquote(urlsplit(url.database).path) if is_uri else url.database)


def is_own(database_url: str, file: Path) -> bool:
    """Whether `file` is the database itself or lies where SQLite keeps what is beside it, by whatever name or link."""
    path = sqlite_path(database_url)
    if path is None:
        return False
    places = {os.path.abspath(path), os.path.realpath(path)}  # SQLite itself follows links
    return any(is_same(file, Path(f"{place}{suffix}")) for place in places for suffix in BESIDE)


def is_same(one: Path, other: Path) -> bool:
    """Also where neither is there yet."""
    try:
        return os.path.samefile(one, other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def is_special(file: Path) -> bool:
    """Whether it is there and neither a file nor a folder: whoever runs as root could put a file in its place."""
    return file.exists() and not (file.is_file() or file.is_dir())


def hot_beside(file: Path) -> Path | None:
    """What a database in use, or one that was cut off, has left beside its file."""
    return next((found for suffix in HOT if os.path.lexists(found := Path(f"{file}{suffix}"))), None)


def configure(connection: Any, _record: object) -> None:
    _configure(connection, BUSY_TIMEOUT_MS)


def configure_impatient(connection: Any, _record: object) -> None:
    _configure(connection, 0)


def _configure(connection: Any, busy_timeout_ms: int) -> None:
    connection.isolation_level = None  # transactions are begun by us, in `begin`, not by the driver at a guess
    connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # what is acknowledged survives a power cut


def begin(connection: Connection) -> None:
    statement = connection.get_execution_options().get("planstrip_begin", "BEGIN")
    if statement:
        connection.exec_driver_sql(statement)
