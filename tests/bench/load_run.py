"""One run of `load`: a server, its viewers and its agents, each in processes of their own, and what came of it."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sqlalchemy import select

from planstrip.db import open_engine
from planstrip.tables import events
from tests.bench import servers
from tests.bench.client import Client, Stream
from tests.bench.load_viewers import path
from tests.bench.logs import todos

SAMPLE_S = 1.0
SETTLE_S = 15.0  # the longest wait until the server has let go of what viewers held
WARM_AT_ONCE = 40
WARM_PAGES = 3


@dataclass(frozen=True, slots=True)
class Plan:
    """`per_s`: writes of an agent a second, 0 for as many as are answered. `slow` and `stalled` are of the viewers."""

    agents: int = 200
    per_s: float = 1.0
    viewers: int = 2_000
    sessions: int = 500
    seconds: float = 600.0
    slow: int = 20
    stalled: int = 20
    workers: int = 1


@dataclass(frozen=True, slots=True)
class Write:
    """`sent` and `answered` are of the clock that all processes of the machine share, in seconds."""

    session: int
    position: int
    step: int
    sent: float
    answered: float


@dataclass(frozen=True, slots=True)
class Receipts:
    """What a viewer that reads as fast as it can was shown: positions and when; at last so many to-dos completed."""

    session: int
    positions: Sequence[int]
    times: Sequence[float]
    completed: int
    fault: str


@dataclass(frozen=True, slots=True)
class Late:
    """A slow reader, once it has caught up. `is_cut`: the server has closed its stream."""

    session: int
    position: int
    completed: int
    is_cut: bool


@dataclass(frozen=True, slots=True)
class Sample:
    rss_mib: float
    files: int


@dataclass(frozen=True, slots=True)
class Stored:
    """A plan of the log: the statuses of its to-dos."""

    session: int
    position: int
    statuses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """`cpu_s`: processor time of the server while the agents wrote, which took `took_s`."""

    plan: Plan
    writes: Sequence[Write]
    write_faults: Sequence[str]
    viewers: Sequence[Receipts]
    slow: Sequence[Late]
    stored: Sequence[Stored]
    samples: Sequence[Sample]
    files_before: int
    files_after: int
    cpu_s: float
    took_s: float
    loads: tuple[float, float]

    @property
    def heads(self) -> dict[int, Write]:
        """The last acknowledged write of each session."""
        heads: dict[int, Write] = {}
        for write in self.writes:
            if write.session not in heads or write.position > heads[write.session].position:
                heads[write.session] = write
        return heads


def run(plan: Plan, url: str) -> Result:
    """Raises RuntimeError where the server or a driver does not start."""
    servers.allow_many_files()
    options = ("--workers", str(plan.workers)) if plan.workers > 1 else ()
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="planstrip-bench-") as folder, ExitStack() as stack:
        server = stack.enter_context(servers.planstrip(url, *options))
        _begin_sessions(server, plan)
        files_before = server.open_files()
        out = Path(folder) / "viewers.json"
        with _viewers(server.port, plan, out) as viewers:
            began, cpu_s = time.perf_counter(), server.cpu_s()
            samples, writes, write_faults = _write(server, plan, Path(folder) / "writes.json")
            took_s, cpu_s = time.perf_counter() - began, server.cpu_s() - cpu_s
            if writes:  # without the time in which the agents' process started
                took_s = max(one.answered for one in writes) - min(one.sent for one in writes)
            _tell(viewers, json.dumps({write.session: write.position for write in sorted(writes, key=_position)}))
            _hear(viewers, "done")
        seen = json.loads(out.read_text())
        return Result(
            plan,
            writes,
            write_faults,
            [Receipts(**one) for one in seen["viewers"]],
            [Late(**one) for one in seen["slow"]],
            _stored(url),
            samples,
            files_before,
            _settled(server, files_before),
            cpu_s,
            took_s,
            (load_before, os.getloadavg()[0]),
        )


def _position(write: Write) -> int:
    return write.position


def _begin_sessions(server: servers.Server, plan: Plan) -> None:
    """Each has a plan when its viewers come; the server has opened what it keeps open between two requests."""
    with Client(server.port) as client:
        for session in range(plan.sessions):
            client.post_json(f"/api/sessions/load-{session}/todo_write", {"todos": todos(0)})
    at_once = min(WARM_AT_ONCE, plan.viewers)
    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(partial(_warm, server.port, plan.sessions), range(at_once)))
    time.sleep(1)


def _warm(port: int, sessions: int, first: int) -> None:
    """Fill its pools of threads and connections, which it keeps."""
    with Client(port) as client:
        for step in range(WARM_PAGES):
            session = (first + step) % sessions
            client.request("GET", f"/sessions/load-{session}")
            stream = Stream(port, path(session))
            stream.frame()
            stream.close()


@contextmanager
def _viewers(port: int, plan: Plan, out: Path) -> "Iterator[subprocess.Popen[str]]":
    numbers = (port, plan.sessions, plan.viewers, plan.slow, plan.stalled)
    command = [sys.executable, "-m", "tests.bench.load_viewers", *map(str, numbers), str(out)]
    with subprocess.Popen(
        command, cwd=servers.ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            _hear(process, "ready")
            yield process
            _tell(process, "go")
            process.wait(60)
        finally:
            process.kill()


def _write(server: servers.Server, plan: Plan, out: Path) -> tuple[list[Sample], list[Write], list[str]]:
    """Until the agents have ended: what they saw acknowledged, and what they did not."""
    numbers = (server.port, plan.sessions, plan.agents, plan.per_s, plan.seconds)
    command = [sys.executable, "-m", "tests.bench.load_writers", *map(str, numbers), str(out)]
    samples = []
    with subprocess.Popen(command, cwd=servers.ROOT) as process:
        try:
            while process.poll() is None:
                samples.append(Sample(server.rss_mib(), server.open_files()))
                time.sleep(SAMPLE_S)
        finally:
            process.kill()
    if process.returncode:
        raise RuntimeError(f"the agents ended with {process.returncode}")
    told = json.loads(out.read_text())
    return samples, [Write(*row) for row in told["rows"]], told["faults"]


def _tell(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def _hear(process: "subprocess.Popen[str]", expected: str) -> None:
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    if said != expected:
        raise RuntimeError(f"the viewers said {said!r} in place of {expected!r}")


def _stored(url: str) -> list[Stored]:
    """Read from the database itself, past all that the server keeps."""
    engine = open_engine(url)
    try:
        with engine.connect() as connection:
            rows = connection.execute(
                select(events.c.session, events.c.position, events.c.data).where(events.c.type == "todo/write")
            ).all()
    finally:
        engine.dispose()
    return [
        Stored(
            int(row.session.removeprefix("load-")),
            row.position,
            tuple(todo["status"] for todo in json.loads(row.data)["todos"]),
        )
        for row in rows
    ]


def _settled(server: servers.Server, files: int) -> int:
    """How many files the server has open when it is down to `files`, or at the latest after `SETTLE_S`."""
    end = time.perf_counter() + SETTLE_S
    while (count := server.open_files()) > files and time.perf_counter() < end:
        time.sleep(0.1)
    return count
