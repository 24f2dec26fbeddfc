"""ingest-pg: durable `todo_write` through two workers on PostgreSQL, 64 connections, against `pgbench`."""

import itertools
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg

from tests.bench import servers, stores
from tests.bench.ingest import EVENTS_PER_WRITE, load
from tests.bench.lines import Line, Pair, Scale

TARGET = 0.5
CONNECTIONS = 64
WORKERS = 2
SAMPLE = "load-0"
_runs = itertools.count()


def measure(scale: Scale) -> Iterator[Line]:
    window_s = scale.pick(5, 1)
    with (
        stores.empty(stores.POSTGRESQL) as url,
        stores.empty(stores.POSTGRESQL) as bare_url,
        tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder,
        servers.planstrip(url, "--workers", str(WORKERS)) as ours,
    ):
        _, acknowledged = load(ours.port, 0.1, CONNECTIONS)
        script = Path(folder) / "write.sql"
        script.write_text(_script(url))
        pairs = []
        for _ in range(scale.rounds):
            own, count = load(ours.port, window_s, CONNECTIONS)
            acknowledged += count
            pairs.append(Pair(own, _pgbench(bare_url, script, window_s)))
        _check(url, acknowledged)
    note = f"{CONNECTIONS} connections, {WORKERS} workers; load average {os.getloadavg()[0]:.1f}"
    yield Line("ingest-pg", pairs, "/s", TARGET, is_least=True, digits=0, note=note)


def _script(url: str) -> str:
    """What the first write of our own log has left, as pgbench inserts it: the same rows, a session a client."""
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT position, type, time, data FROM events WHERE session = %s ORDER BY position LIMIT %s",
            [SAMPLE, EVENTS_PER_WRITE],
        ).fetchall()
    values = ", ".join(
        f"('bare-' || :run || '-' || :client_id, :at + {position}, {_quoted(type_)}, {time}, NULL, {_quoted(data)})"
        for position, type_, time, data in rows
    )
    insert = f"INSERT INTO events (session, position, type, time, key, data) VALUES {values};"
    return f"{insert}\n\\set at :at + {len(rows)}\n"


def _quoted(text: str) -> str:
    """pgbench takes a colon for the beginning of a variable, within a string too."""
    for plain, escaped in (("\\", "\\\\"), ("'", "\\'"), (":", "\\x3a")):
        text = text.replace(plain, escaped)
    return f"E'{text}'"


def _pgbench(url: str, script: Path, window_s: float) -> float:
    """Transactions per second."""
    program = stores.server().programs / "pgbench"
    numbers = ["-c", str(CONNECTIONS), "-j", "2", "-T", str(round(window_s)), "-D", "at=0", "-D", f"run={next(_runs)}"]
    command = [str(program), "-n", "-M", "prepared", "-f", str(script), *numbers, url]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    found = re.search(r"tps = ([\d.]+)", done.stdout)
    if done.returncode or found is None or "number of failed transactions: 0 " not in done.stdout:
        raise RuntimeError(f"pgbench: {done.stdout[-500:]} {done.stderr[-500:]}")
    return float(found[1])


def _check(url: str, acknowledged: int) -> None:
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT count(*) FROM events WHERE type = 'todo/write'").fetchone()
    if rows is None or rows[0] != acknowledged:
        raise RuntimeError(f"{acknowledged} writes were acknowledged, {rows} are in the log")
