"""fanout: from a write until the last of 1,000 streams holds it, against a bare app that sends the same bytes."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.bench import servers
from tests.bench.lines import Line, Pair, Scale
from tests.bench.logs import seed

TARGET = 1.5
SESSION = "fanout"


def measure(scale: Scale) -> Iterator[Line]:
    viewers, writes = scale.pick(1_000, 50), scale.pick(7, 1)
    servers.allow_many_files()
    with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder:
        database = Path(folder) / "log.sqlite3"
        seed(database, {SESSION: 300})
        with servers.planstrip(database) as ours, servers.bare("stream") as bare:
            numbers = (ours.port, bare.port, viewers, scale.rounds, writes)
            command = [sys.executable, "-m", "tests.bench.fanout_load", SESSION, *map(str, numbers)]
            done = subprocess.run(command, cwd=servers.ROOT, stdout=subprocess.PIPE, check=True, timeout=300)
    answer = json.loads(done.stdout)
    note = f"{viewers} streams, frame of {answer['frame_bytes']} bytes, median of {writes} writes a round"
    yield Line("fanout", [Pair(*pair) for pair in answer["pairs"]], "ms", TARGET, note=note)
