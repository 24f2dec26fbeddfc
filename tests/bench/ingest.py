"""ingest: durable `todo_write` over HTTP, 32 connections, against a bare route that validates and stores nothing."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.bench import servers
from tests.bench.client import Client
from tests.bench.lines import Line, Pair, Scale

TARGET = 0.40
CONNECTIONS = 32
EVENTS_PER_WRITE = 3
UNLIMITED = {"PLANSTRIP_WRITES_PER_MINUTE": "100000000"}  # one client that writes as fast as it can


def measure(scale: Scale) -> Iterator[Line]:
    window_s = 0.3 if scale.is_quick else 3.0
    with (
        tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder,
        servers.planstrip(Path(folder) / "log.sqlite3", environment=UNLIMITED) as ours,
        servers.bare("ingest") as bare,
    ):
        pairs = []
        acknowledged = 0
        for _ in range(scale.rounds):
            own, count = load(ours.port, window_s)
            other, _ = load(bare.port, window_s)
            acknowledged += count
            pairs.append(Pair(own, other))
        _check_stored(ours.port, acknowledged)
        sync_ms = _sync_ms(Path(folder) / "sync")
    note = f"{CONNECTIONS} connections, 4 to-dos, this disk's fdatasync {sync_ms:.2f} ms"
    yield Line("ingest", pairs, "/s", TARGET, is_least=True, digits=0, note=note)


def load(port: int, window_s: float, connections: int = CONNECTIONS) -> tuple[float, int]:
    """Acknowledged writes per second in the window, and all of them; the driver is a process of its own."""
    command = [sys.executable, "-m", "tests.bench.ingest_load", str(port), str(connections), str(window_s)]
    done = subprocess.run(command, cwd=servers.ROOT, stdout=subprocess.PIPE, check=True, timeout=60)
    answer = json.loads(done.stdout)
    return float(answer["per_second"]), int(answer["total"])


def _sync_ms(path: Path) -> float:
    """How long the disk takes for 32 KiB that must last: every commit waits for it, the bare app never."""
    took_s = []
    with path.open("wb", buffering=0) as file:
        for _ in range(50):
            file.write(bytes(32 * 1024))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            took_s.append(time.perf_counter() - began)
    return median(took_s) * 1_000


def _check_stored(port: int, acknowledged: int) -> None:
    with Client(port) as client:
        sessions = json.loads(client.request("GET", "/api/sessions?limit=100"))["sessions"]
    stored = sum(session["position"] for session in sessions) // EVENTS_PER_WRITE
    if stored != acknowledged:
        raise RuntimeError(f"{acknowledged} writes were acknowledged, {stored} are in the log")
