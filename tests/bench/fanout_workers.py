"""fanout-pg: from a write until the last of 1,000 streams of two workers on PostgreSQL holds it, against one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from tests.bench import servers, stores
from tests.bench.client import Client
from tests.bench.lines import Line, Pair, Scale
from tests.bench.logs import todos

TARGET = 2.0
SESSION = "fanout"
WRITES_BEFORE = 100  # so that the page has as many rows as it ever has


def measure(scale: Scale) -> Iterator[Line]:
    """The one worker is on SQLite, as in `fanout`."""
    viewers, writes = scale.pick(1_000, 50), scale.pick(7, 1)
    servers.allow_many_files()
    with (
        stores.empty(stores.POSTGRESQL) as url,
        stores.empty(stores.SQLITE) as file,
        servers.planstrip(url, "--workers", "2") as ours,
        servers.planstrip(file) as one,
    ):
        for server in (ours, one):
            with Client(server.port) as client:
                for step in range(scale.pick(WRITES_BEFORE, 1)):
                    client.post_json(f"/api/sessions/{SESSION}/todo_write", {"todos": todos(step)})
        numbers = (ours.port, one.port, viewers, scale.rounds, writes)
        command = [sys.executable, "-m", "tests.bench.fanout_workers_load", SESSION, *map(str, numbers)]
        files = [len(server_files) for server_files in _streams(ours)]
        with subprocess.Popen(command, cwd=servers.ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            process.stdout.readline()  # all streams are open
            shares = [len(now) - was for now, was in zip(_streams(ours), files, strict=True)]
            answer = process.communicate(timeout=600)[0]
    if process.returncode:
        raise RuntimeError(f"the viewers ended with {process.returncode}")
    split = " + ".join(str(share) for share in shares if share > 1)
    note = (
        f"{viewers} streams, {split} a worker; median of {writes} writes a round; load average {os.getloadavg()[0]:.1f}"
    )
    yield Line("fanout-pg", [Pair(*pair) for pair in json.loads(answer)["pairs"]], "ms", TARGET, note=note)


def _streams(server: servers.Server) -> list[list[str]]:
    """The open files of each process of the server."""
    return [os.listdir(f"/proc/{pid}/fd") for pid in server.pids()]
