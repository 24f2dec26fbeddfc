"""A writer of its own, for what takes in files without a server."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy import Engine

from planstrip.db import open_engine, prepare
from planstrip.projection import StandingProjector
from planstrip.writer import Writer

ALLOCATIONS: Final = 50_000  # between two collections of garbage


def now_ms() -> int:
    return time.time_ns() // 1_000_000


@contextmanager
def writing(
    database_url: str, ready: Callable[[Engine], None] = prepare, clock: Callable[[], int] = now_ms
) -> Iterator[Writer]:
    """Until the block ends. `ready` makes the schema; `clock` gives ms, UTC. Raises StoreUnusable."""
    engine = open_engine(database_url)
    try:
        ready(engine)
        writer = Writer(engine, StandingProjector(), clock)
        writer.start()
        try:
            with _collecting_seldom():
                yield writer
        finally:
            writer.stop()
    finally:
        engine.dispose()


@contextmanager
def _collecting_seldom() -> Iterator[None]:
    """What is read from a file has no cycles, and lives until its batch is stored: looking through it finds nothing."""
    thresholds = gc.get_threshold()
    gc.set_threshold(ALLOCATIONS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
