"""`serve --workers N`: several server processes on one PostgreSQL, any of which serves any viewer (spec.md §8)."""

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from planstrip.workers import SPREADS
from tests.databases import SUFFIX, release, url_of
from tests.figures import figures_in, grown
from tests.running import TIMEOUT_S, Program, Stream, run, serving, todos

VIEWERS = 12
CONNECTIONS = 80


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("workers") / f"log{SUFFIX}"
    url_of(path)
    yield path
    release(path)


@pytest.fixture(scope="module")
def program(database: Path) -> Iterator[Program]:
    with serving(database, "--workers", "2") as program:
        wait_until_it_answers(program)
        yield program


def wait_until_it_answers(program: Program) -> None:
    end = time.monotonic() + 2 * TIMEOUT_S
    while time.monotonic() < end:
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{program.url}/healthz", trust_env=False).status_code == 200:
                return
        time.sleep(0.05)
    raise AssertionError("".join(program.said))


def workers_of(program: Program) -> list[int]:
    """Their process ids."""
    children = Path(f"/proc/{program.process.pid}/task/{program.process.pid}/children").read_text().split()
    return [int(pid) for pid in children if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def _files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _write(program: Program, session: str, text: str) -> int:
    """Over a connection of its own, which any worker may take."""
    answer = httpx.post(
        f"{program.url}/api/sessions/{session}/todo_write", json={"todos": todos(text)}, trust_env=False
    )
    assert answer.status_code == 200, answer.text
    position: int = answer.json()["position"]
    return position


def test_a_sqlite_file_is_refused(tmp_path: Path) -> None:
    flags = ("--allow-parallel-in-progress", "--database-url", f"sqlite:///{tmp_path / 'plans.sqlite3'}")
    code, _, err = run("serve", "--port", "0", "--workers", "2", *flags)
    assert code == 2
    assert "PostgreSQL" in err
    assert err.count("\n") == 1


def test_whatever_worker_takes_a_write_every_viewer_sees_it(program: Program) -> None:
    assert len(workers_of(program)) == 2
    _write(program, "seen", "first=i")
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(Stream(program.url, "/api/sessions/seen/stream", {})) for _ in range(VIEWERS)]
        for number in range(5):
            _write(program, "seen", f"t{number}=i")
            for stream in streams:  # the test's own timeout ends a wait for what never comes
                while json.loads(stream.next().data)["todos"] != todos(f"t{number}=i"):
                    pass


def test_writes_through_all_workers_leave_no_gap(program: Program) -> None:
    with ThreadPoolExecutor(8) as pool:
        positions = list(pool.map(lambda number: _write(program, "gapless", f"t{number}=i"), range(60)))
    assert sorted(positions) == list(range(2, 3 * 60, 3))


def test_an_mcp_connection_is_served_by_every_worker(program: Program) -> None:
    """The handshake's protocol keeps a connection in one process: the others know it by its id."""

    def rpc(method: str, params: Mapping[str, object], **headers: str) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        accepted = {"accept": "application/json, text/event-stream"} | headers
        answer = httpx.post(f"{program.url}/mcp", json=body, headers=accepted, trust_env=False, timeout=TIMEOUT_S)
        assert answer.status_code == 200, answer.text
        return answer

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "opencode", "version": "1"}}
    connection = rpc("initialize", hello).headers["mcp-session-id"]
    headers = {"mcp-session-id": connection, "mcp-protocol-version": "2025-06-18"}
    for number in range(12):
        sent = {"name": "todo_write", "arguments": {"todos": todos(f"mcp{number}=i")}}
        assert not rpc("tools/call", sent, **headers).json()["result"].get("isError")
    listed = httpx.get(f"{program.url}/api/sessions?q=mcp11", trust_env=False).json()["sessions"]
    (events,) = [
        httpx.get(f"{program.url}/api/sessions/{one['id']}/events", trust_env=False).json()["events"] for one in listed
    ]
    assert len([event for event in events if event["type"] == "todo/write"]) == 12


def test_any_worker_tells_the_figures_of_all(program: Program) -> None:
    before = _figures(program)
    with contextlib.ExitStack() as stack:
        for _ in range(VIEWERS):
            stack.enter_context(Stream(program.url, "/api/sessions/counted/stream", {})).next()
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda number: _write(program, f"counted{number}", "x=i"), range(40)))
        seen = [_figures(program) for _ in range(8)]  # each over a connection of its own, which any worker may take
    for now in seen:
        assert grown(before, now, "streams") == VIEWERS
        assert grown(before, now, 'appends_total{outcome="added"}') == 40
        assert grown(before, now, "commit_appends_sum") == 40


def test_the_streams_of_a_worker_that_was_killed_are_counted_no_longer(program: Program) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(VIEWERS):
            stack.enter_context(Stream(program.url, "/api/sessions/counted/stream", {})).next()
        for pid in workers_of(program):
            os.kill(pid, signal.SIGKILL)
        end = time.monotonic() + 2 * TIMEOUT_S
        while len(workers_of(program)) < 2:
            assert time.monotonic() < end
            time.sleep(0.05)
        wait_until_it_answers(program)
    assert _figures(program)["planstrip_streams"] == 0


def _figures(program: Program) -> dict[str, float]:
    return figures_in(httpx.get(f"{program.url}/metrics", trust_env=False).text)


def test_workers_do_not_outlive_the_process_that_has_them(database: Path) -> None:
    with serving(database, "--workers", "2") as program:
        wait_until_it_answers(program)
        pids = workers_of(program)
        program.stop(signal.SIGKILL)
        end = time.monotonic() + TIMEOUT_S
        while any(Path(f"/proc/{pid}").exists() for pid in pids):
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.skipif(not SPREADS, reason="the system does not spread connections over sockets")
def test_connections_are_spread_over_the_workers(program: Program) -> None:
    """All at once: from one common queue the first to wake would take them."""
    workers = workers_of(program)
    before = [_files(pid) for pid in workers]
    port = int(program.url.rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        for _ in range(CONNECTIONS):
            stack.enter_context(socket.create_connection(("127.0.0.1", port), TIMEOUT_S))
        end = time.monotonic() + TIMEOUT_S
        while True:
            shares = [_files(pid) - was for pid, was in zip(workers, before, strict=True)]
            if sum(shares) >= CONNECTIONS or time.monotonic() > end:
                break
            time.sleep(0.05)
    assert sum(shares) >= CONNECTIONS
    assert min(shares) > CONNECTIONS / 10
