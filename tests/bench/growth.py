"""growth: what an append and a page cost, and what an event takes on disk, with a log of 10^6 events against 10^4.

`PLANSTRIP_BENCH_EVENTS` is the size of the large log (default: 1,000,000).
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psycopg

from planstrip.db import open_engine, prepare
from planstrip.eventlog import Append
from planstrip.projection import StandingProjector
from planstrip.sqlite import sqlite_path
from planstrip.writer import Writer
from planstrip.writing import now_ms
from tests.bench import servers, stores
from tests.bench.client import Client
from tests.bench.lines import Line, Pair, Scale
from tests.bench.logs import make, todos

TARGET = 1.5
SMALL = 10_000
BLOCK = 10_000  # events that are made, and appended, at once
APPENDED = 2_000  # events of a commit
SESSION = "grown"


@dataclass(frozen=True, slots=True)
class Side:
    client: Client
    bytes_per_event: float

    def append(self, step: int) -> float:
        """Milliseconds until it is durable and answered."""
        began = time.perf_counter()
        self.client.post_json(f"/api/sessions/{SESSION}/todo_write", {"todos": todos(step)})
        return (time.perf_counter() - began) * 1_000

    def page(self, _step: int) -> float:
        began = time.perf_counter()
        body = self.client.request("GET", f"/sessions/{SESSION}")
        took_s = time.perf_counter() - began
        assert b'data-testid="plan-strip"' in body
        return took_s * 1_000


def measure(scale: Scale) -> Iterator[Line]:
    """All of a log's events are of one session: nothing makes its reading harder."""
    large = int(os.environ.get("PLANSTRIP_BENCH_EVENTS", "1000000"))
    sizes = (scale.pick(large, 2_000), scale.pick(SMALL, 1_000))
    for store in stores.STORES:
        with ExitStack() as stack:
            big, small = (_side(stack, store, size) for size in sizes)
            note = f"{sizes[0]:,} events against {sizes[1]:,}, load average {os.getloadavg()[0]:.1f}"
            steps = scale.pick(50, 2)
            for name, do in (("append", Side.append), ("page", Side.page)):
                do(big, 0), do(small, 0)
                pairs = [_round(do, big, small, steps) for _ in range(scale.rounds)]
                yield Line(f"{name}, {store}", pairs, "ms", TARGET, digits=2, note=f"median of {steps} a round, {note}")
            disk = [Pair(big.bytes_per_event, small.bytes_per_event)]
            yield Line(f"disk, {store}", disk, "B", None, digits=0, note=f"an event, indexes included; {note}")


def _round(do: Callable[[Side, int], float], big: Side, small: Side, steps: int) -> Pair:
    took = [(do(big, step), do(small, step)) for step in range(steps)]
    return Pair(median(ours for ours, _ in took), median(bare for _, bare in took))


def _side(stack: ExitStack, store: str, size: int) -> Side:
    url = stack.enter_context(stores.empty(store))
    _prepare(url)
    before = _disk_bytes(url)
    _fill(url, size)
    server = stack.enter_context(servers.planstrip(url))
    return Side(stack.enter_context(Client(server.port)), (_disk_bytes(url) - before) / size)


def _prepare(url: str) -> None:
    engine = open_engine(url)
    prepare(engine)
    engine.dispose()


def _fill(url: str, size: int) -> None:
    """Through the writer itself, so that the tables are what the program makes of so many events."""
    engine = open_engine(url)
    writer = Writer(engine, StandingProjector(), now_ms)
    writer.start()
    try:
        block = make(min(size, BLOCK))
        for _ in range(size // len(block)):
            pending = [
                writer.begin_append(Append(SESSION, block[start : start + APPENDED]))
                for start in range(0, len(block), APPENDED)
            ]
            for append in pending:
                append.result()
    finally:
        writer.stop()
        engine.dispose()


def _disk_bytes(url: str) -> int:
    path = sqlite_path(url)
    if path is not None:
        return sum(Path(f"{path}{end}").stat().st_size for end in ("", "-wal") if Path(f"{path}{end}").exists())
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        assert row is not None
        return int(row[0])
