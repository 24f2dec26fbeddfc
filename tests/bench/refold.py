"""refold: every projection of a session, folded from its whole log without a checkpoint, against `json.loads` alone."""

import gc
import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import Connection, bindparam, delete, select

from planstrip.db import open_engine
from planstrip.eventlog import READ_CHUNK, read
from planstrip.events import Entry, decode
from planstrip.plan.view import View, advance
from planstrip.tables import checkpoints, events
from tests.bench.lines import Line, Pair, Scale
from tests.bench.logs import seed

TARGET = 4.0
SESSION = "refold"

_CHUNK = (
    select(events.c.position, events.c.type, events.c.time, events.c.data)
    .where(events.c.session == SESSION, events.c.position > bindparam("after"))
    .order_by(events.c.position)
    .limit(READ_CHUNK)
)

Stored: TypeAlias = tuple[int, str, int, str]  # position, type, time, data


def measure(scale: Scale) -> Iterator[Line]:
    size = scale.pick(100_000, 1_000)
    with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder:
        database = Path(folder) / "log.sqlite3"
        seed(database, {SESSION: size})
        engine = open_engine(f"sqlite:///{database}")
        with engine.connect() as connection:
            connection.execute(delete(checkpoints))
            rows = list(_rows(connection))
            _check(rows, size)
            memory = _pairs(scale.rounds, lambda: advance(View(), _decoded(rows)), lambda: _load(rows))
            disk = _pairs(
                scale.rounds,
                lambda: advance(View(), read(connection, SESSION)),
                lambda: _load(_rows(connection)),
            )
        engine.dispose()
    yield Line("refold", memory, "ms", TARGET, digits=0, note=f"{size:,} rows, both from memory")
    yield Line("refold, read", disk, "ms", TARGET, digits=0, note="the same, both read from the database")


def _rows(connection: Connection) -> Iterator[Stored]:
    """A chunk at a time, as the program reads."""
    after, is_last = 0, False
    while not is_last:
        rows = connection.execute(_CHUNK, {"after": after}).all()
        for position, type_, time_, data in rows:
            yield position, type_, time_, data
            after = position
        is_last = len(rows) < READ_CHUNK


def _decoded(rows: Iterable[Stored]) -> Iterator[Entry]:
    for position, type_, time_, data in rows:
        yield Entry(position, time_, decode(type_, data))


def _load(rows: Iterable[Stored]) -> None:
    for _, _, _, data in rows:
        json.loads(data)


def _check(rows: list[Stored], size: int) -> None:
    view = advance(View(), _decoded(rows))
    if len(rows) != size or view.standing.position != size or len(view.window.rows) != 100:
        raise RuntimeError(f"the log of {len(rows)} rows does not fold to a page: {view.standing}")


def _pairs(rounds: int, ours: Callable[[], object], bare: Callable[[], object]) -> list[Pair]:
    _took_ms(ours), _took_ms(bare)
    return [Pair(_took_ms(ours), _took_ms(bare)) for _ in range(rounds)]


def _took_ms(work: Callable[[], object]) -> float:
    gc.collect()
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1_000
