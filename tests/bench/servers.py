"""Starts the program as its users do, and the bare counterparts: same loop, same parser, no access log on either."""

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent
START_TIMEOUT_S = 30.0
POLL_S = 0.001
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class NotStarted(RuntimeError):
    """The process has ended, or does not answer in time."""


@dataclass(frozen=True, slots=True)
class Server:
    """`started_s`: from the start of the process until `/healthz` answered 200."""

    process: "subprocess.Popen[bytes]"
    port: int
    started_s: float

    def rss_mib(self) -> float:
        """Of all its processes together; what they share counts for each."""
        return sum(_rss_kib(pid) for pid in self.pids()) / 1024

    def open_files(self) -> int:
        return sum(len(list(Path(f"/proc/{pid}/fd").iterdir())) for pid in self.pids())

    def cpu_s(self) -> float:
        return sum(_cpu_ticks(pid) for pid in self.pids()) / TICKS_PER_S

    def pids(self) -> list[int]:
        """Its own process first, then those that it began: workers and what Python keeps beside them."""
        own = self.process.pid
        return [own, *map(int, Path(f"/proc/{own}/task/{own}/children").read_text().split())]


def _rss_kib(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS:")).split()[1])


def _cpu_ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@contextmanager
def planstrip(database: Path | str, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    """`planstrip serve` on a SQLite file, which it makes if there is none, or on a database's address.

    `environment`: beside this process's.
    """
    url = database if isinstance(database, str) else f"sqlite:///{database}"
    command = [str(BIN / "planstrip"), "serve", "--allow-parallel-in-progress", *options]
    with _running([*command, "--database-url", url], environment) as server:
        yield server


@contextmanager
def bare(name: str) -> Iterator[Server]:
    """The app of `tests/bench/bare/<name>.py` under uvicorn. Websockets are off there too: ours has none."""
    options = ["--loop", "uvloop", "--http", "httptools", "--ws", "none", "--no-access-log", "--no-server-header"]
    command = [str(BIN / "uvicorn"), f"tests.bench.bare.{name}:app", *options, "--log-level", "warning"]
    with _running([*command, "--backlog", "2048"]) as server:
        yield server


def allow_many_files() -> None:
    """A thousand viewers need as many sockets, here and in the servers, which inherit the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 20_000 if hard == resource.RLIM_INFINITY else min(hard, 20_000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


@contextmanager
def _running(command: Sequence[str], environment: Mapping[str, str] | None = None) -> Iterator[Server]:
    port = _free_port()
    began = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*command, "--port", str(port)], cwd=ROOT, stderr=said, env=os.environ | (environment or {})
        )
        try:
            _wait(process, port)
            yield Server(process, port, time.perf_counter() - began)
        except NotStarted:
            said.seek(0)
            raise RuntimeError(f"{' '.join(command)} did not start: {said.read().decode()[-500:]}") from None
        finally:
            _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.perf_counter() + START_TIMEOUT_S
    while not _is_healthy(port):
        if process.poll() is not None or time.perf_counter() > deadline:
            raise NotStarted
        time.sleep(POLL_S)


def _is_healthy(port: int) -> bool:
    """A refused connection is no answer yet; an accepted one waits for its answer."""
    try:
        with socket.create_connection(("127.0.0.1", port), START_TIMEOUT_S) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            return connection.recv(64).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
