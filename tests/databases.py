"""Which store a test runs on: SQLite, but PostgreSQL where the file's name or `PLANSTRIP_TEST_STORE` says so."""

import os
from pathlib import Path
from typing import Final

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"
SUFFIX: Final = ".postgresql"  # of a path that stands for a database of the server
STORE: Final = os.environ.get("PLANSTRIP_TEST_STORE", SQLITE)

# What meets the store itself runs on both in every run; all the rest follows with PLANSTRIP_TEST_STORE=postgresql.
ON_BOTH: Final = frozenset(
    {
        "tests/faults/test_kill_server.py",
        "tests/test_eventlog.py",
        "tests/test_families.py",
        "tests/test_follower.py",
        "tests/test_past.py",
        "tests/test_projection.py",
        "tests/test_timelines.py",
        "tests/test_writer.py",
    }
)


def is_on_postgresql(path: Path) -> bool:
    return STORE == POSTGRESQL or path.suffix == SUFFIX


def url_of(path: Path | str) -> str:
    """The address of the database at `path`, which may be an address itself."""
    if isinstance(path, str):
        return path
    if not is_on_postgresql(path):
        return f"sqlite:///{path}"
    from tests import postgres

    return postgres.url_for(path)


def release(path: Path) -> None:
    """A server's database is as large as ten files: thousands of them would fill the disk."""
    if is_on_postgresql(path):
        from tests import postgres

        if postgres.name_for(path) in postgres.server().made:
            postgres.server().drop(postgres.name_for(path))
