"""start: from the start of the process until `/healthz` answers, and memory when idle, against a bare FastAPI app."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from tests.bench import servers
from tests.bench.lines import Line, Pair, Scale
from tests.bench.servers import Server

START_TARGET = 2.4
MEMORY_TARGET = 1.8
IDLE_S = 0.5


def measure(scale: Scale) -> Iterator[Line]:
    started, memory = [], []
    with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder:
        database = Path(folder) / "log.sqlite3"
        _once(servers.planstrip(database))  # makes the schema, and warms the files of both
        _once(servers.bare("start"))
        for _ in range(scale.pick(2 * scale.rounds + 1, 1)):  # short and noisy: twice the rounds
            ours, bare = _once(servers.planstrip(database)), _once(servers.bare("start"))
            started.append(Pair(ours[0] * 1_000, bare[0] * 1_000))
            memory.append(Pair(ours[1], bare[1]))
    yield Line("start", started, "ms", START_TARGET, digits=0, note="an up-to-date database")
    yield Line("idle memory", memory, "MiB", MEMORY_TARGET, note=f"resident, {IDLE_S} s after the start")


def _once(starting: AbstractContextManager[Server]) -> tuple[float, float]:
    """Seconds until it answered, MiB when idle."""
    with starting as server:
        time.sleep(IDLE_S)
        return server.started_s, server.rss_mib()
