"""watch: what following 2,000 transcripts costs while none of them grows, and how soon a line is seen by a viewer."""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median

from tests.bench import servers
from tests.bench.client import Stream
from tests.bench.lines import Line, Pair, Scale
from tests.bench.servers import BIN
from tests.bench.transcripts import MIXED, SESSION, repeated, rows_of

ALLOWED_PERCENT = 1.0  # of a core
ALLOWED_MS = 150.0
ROWS = 20  # of each idle transcript
SETTLE_S = 2.0
PAUSE_S = 0.3  # longer than the program's frame interval: what is measured is a frame, not the wait for the next
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def measure(scale: Scale) -> Iterator[Line]:
    files, window_s = scale.pick(2_000, 20), scale.pick(16, 1)
    with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder:
        _make_many(Path(folder, "projects"), files)
        with _watching(Path(folder), files) as process:
            idle = [Pair(_percent(process.pid, window_s), ALLOWED_PERCENT) for _ in range(scale.rounds)]
    note = f"{files:,} transcripts, {window_s} s a round, against what it is allowed"
    yield Line("watch, idle", idle, "% of a core", 1.0, digits=2, note=note)
    lines = scale.pick(25, 2)
    live = [Pair(_latency_ms(lines), ALLOWED_MS) for _ in range(scale.rounds)]
    note = (
        f"from a line on disk to the frame at a viewer of `serve --watch`, median of {lines}, against what is allowed"
    )
    yield Line("watch, live", live, "ms", 1.0, note=note)


def _make_many(folder: Path, files: int) -> None:
    for number in range(files):
        session = f"{number:08d}-0000-4000-8000-000000000000"
        place = folder / f"project-{number % 50}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{session}.jsonl").write_bytes(b"".join(rows_of(MIXED, session)[:ROWS]))


@contextmanager
def _watching(folder: Path, files: int) -> "Iterator[subprocess.Popen[str]]":
    """`planstrip watch`, once it has taken in every file."""
    command = [
        str(BIN / "planstrip"),
        "watch",
        str(folder / "projects"),
        "--database-url",
        f"sqlite:///{folder}/log.db",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            list(islice((line for line in process.stdout if line.endswith("events added\n")), files))
            time.sleep(SETTLE_S)
            yield process
        finally:
            process.terminate()


def _percent(pid: int, window_s: float) -> float:
    began, before = time.perf_counter(), _cpu_s(pid)
    time.sleep(window_s)
    return 100 * (_cpu_s(pid) - before) / (time.perf_counter() - began)


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S  # utime, stime


def _latency_ms(lines: int) -> float:
    """Each line is a call; the page's stream sends its row."""
    with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder:
        path = Path(folder, "projects", "one", f"{SESSION}.jsonl")
        path.parent.mkdir(parents=True)
        rows = rows_of(MIXED)
        path.write_bytes(b"".join(rows))
        calls = repeated([row for row in rows if b'"type":"tool_use","id"' in row][:1])
        home = {"HOME": folder, "CLAUDE_CONFIG_DIR": folder, "XDG_DATA_HOME": folder}
        with servers.planstrip(Path(folder, "log.db"), "--watch", environment=home) as server:
            time.sleep(SETTLE_S)
            stream = Stream(server.port, f"/sessions/{SESSION}/stream?after=0")
            stream.frame()
            times = [_one(stream, path, line) for line in islice(calls, lines)]
            stream.close()
    return median(times)


def _one(stream: Stream, path: Path, line: bytes) -> float:
    time.sleep(PAUSE_S)
    with path.open("ab") as target:
        target.write(line)
    began = time.perf_counter()
    frame = stream.frame()
    took_ms = (time.perf_counter() - began) * 1_000
    assert b"data-tool=" in frame
    return took_ms
