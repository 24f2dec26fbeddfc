"""Empty databases to measure on: a SQLite file, or one of a PostgreSQL that syncs as it does by default."""

import itertools
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from tests import postgres

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"
STORES: Final = (SQLITE, POSTGRESQL)
WORKERS: Final = {SQLITE: 1, POSTGRESQL: 2}
_SETTINGS: Final = {"listen_addresses": "", "max_connections": "200", "log_min_messages": "fatal"}
_numbers = itertools.count()


@contextmanager
def empty(store: str) -> Iterator[str]:
    """Its address. It is gone after the block."""
    if store == SQLITE:
        with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder:
            yield f"sqlite:///{Path(folder) / 'log.sqlite3'}"
        return
    name = f"bench_{next(_numbers)}"
    server().create(name)
    try:
        yield server().url(name)
    finally:
        server().drop(name)


@cache
def server() -> postgres.Server:
    return postgres.begun(_SETTINGS)
