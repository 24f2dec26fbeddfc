"""open: server time of a page whose log has 100,000 events, against one of 1,000 events of the same mix."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.bench import servers
from tests.bench.client import Client
from tests.bench.lines import Line, Pair, Scale
from tests.bench.logs import seed, todos

TARGET = 1.3
SMALL = 1_000


def measure(scale: Scale) -> Iterator[Line]:
    large, opens = scale.pick(100_000, 2_000), scale.pick(25, 2)
    with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder:
        database = Path(folder) / "log.sqlite3"
        seed(database, {"large": large, "small": SMALL})
        with servers.planstrip(database) as server, Client(server.port) as client:
            _first(client)
            still = [_round(client, opens, is_growing=False) for _ in range(scale.rounds)]
            growing = [_round(client, opens, is_growing=True) for _ in range(scale.rounds)]
    note = f"{large:,} events against {SMALL:,}, median of {opens} opens a round"
    yield Line("open", still, "ms", TARGET, digits=2, note=note)
    yield Line("open, growing", growing, "ms", TARGET, digits=2, note="the same, a plan written before each open")


def _first(client: Client) -> None:
    """Templates and rows are made once; both pages must be as rich."""
    sizes = [len(client.request("GET", f"/sessions/{session}")) for session in ("large", "small")]
    if not 0.8 < sizes[0] / sizes[1] < 1.25:
        raise RuntimeError(f"the two pages differ too much to compare: {sizes} bytes")


def _round(client: Client, opens: int, *, is_growing: bool) -> Pair:
    large: list[float] = []
    small: list[float] = []
    for step in range(opens):
        for session, times in (("large", large), ("small", small)):
            if is_growing:
                client.post_json(f"/api/sessions/{session}/todo_write", {"todos": todos(step)})
            times.append(_open(client, session))
    return Pair(median(large), median(small))


def _open(client: Client, session: str) -> float:
    """Milliseconds from the request until its answer is whole, on a connection that stands."""
    began = time.perf_counter()
    body = client.request("GET", f"/sessions/{session}")
    took_s = time.perf_counter() - began
    assert b'data-testid="plan-strip"' in body
    return took_s * 1_000
