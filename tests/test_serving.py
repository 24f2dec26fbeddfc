"""The end of a server: nobody is let in, streams are told, what was accepted is answered, in bounded time (§8)."""

import contextlib
import os
import signal
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.databases import POSTGRESQL, SUFFIX, release, url_of
from tests.figures import wait_until
from tests.running import TIMEOUT_S, Program, Stream, running, serving, todos
from tests.test_workers import wait_until_it_answers, workers_of

ROUNDS = int(os.environ.get("PLANSTRIP_SHUTDOWN_ROUNDS", "1"))  # more of them for a long run
WRITERS = 12


@dataclass(slots=True)
class Load:
    """Writers with a key for each event, a few on a connection, until the server does not answer."""

    url: str
    acknowledged: dict[str, int] = field(default_factory=dict)
    unanswered: list[str] = field(default_factory=list)

    def run(self, writer: int) -> None:
        number = 0
        with contextlib.suppress(httpx.TransportError):
            while True:
                with httpx.Client(base_url=self.url, trust_env=False, timeout=TIMEOUT_S) as client:
                    for _ in range(5):
                        number += 1
                        self._write(client, f"{writer}.{number}")

    def _write(self, client: httpx.Client, key: str) -> None:
        self.unanswered.append(key)
        answer = client.post(f"/api/sessions/s{key[-1]}/events", json={"events": [event(key)]})
        assert answer.status_code == 201, answer.text
        self.acknowledged[key] = answer.json()["first_position"]
        self.unanswered.remove(key)


def event(key: str) -> dict[str, object]:
    return {"type": "session/title", "data": {"title": key}, "key": key}


def events_of(client: httpx.Client, session: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    after: int | None = 0
    while after is not None:
        page = client.get(f"/api/sessions/{session}/events?limit=1000&after={after}").json()
        found += [(one["position"], one["data"]["title"]) for one in page.get("events", ())]
        after = page.get("next")
    return found


@pytest.fixture(params=[("sqlite",), (POSTGRESQL, "--workers", "2")], ids=["one process", "two workers"])
def kind(request: pytest.FixtureRequest, database: Path, tmp_path: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    store, *flags = request.param
    path = tmp_path / f"ends{SUFFIX}" if store == POSTGRESQL else database
    url_of(path)
    yield path, tuple(flags)
    release(path)


@pytest.mark.parametrize("_round", range(ROUNDS))
def test_no_acknowledged_write_is_lost_and_none_doubled(kind: tuple[Path, tuple[str, ...]], _round: int) -> None:
    database, flags = kind
    with serving(database, *flags) as program, ThreadPoolExecutor(WRITERS) as pool:
        wait_until_it_answers(program)
        load = Load(program.url)
        writing = [pool.submit(load.run, writer) for writer in range(WRITERS)]
        wait_until(lambda: len(load.acknowledged) > 80)
        assert program.stop() == 0
        for one in writing:
            one.result()
        assert "Traceback" not in "".join(program.said)
    with running(database) as panel:
        stored = {f"s{digit}": events_of(panel.client, f"s{digit}") for digit in range(10)}
        told = {title: position for events in stored.values() for position, title in events}
        assert load.acknowledged.items() <= told.items()
        assert set(told) - set(load.acknowledged) <= set(load.unanswered)
        for key in load.unanswered:
            panel.append(f"s{key[-1]}", event(key))
        for session in stored:
            events = events_of(panel.client, session)
            assert [position for position, _ in events] == list(range(1, len(events) + 1))
            assert len({title for _, title in events}) == len(events)


@contextlib.contextmanager
def held(database: Path) -> Iterator[sqlite3.Connection]:
    """While nobody else can write."""
    with contextlib.closing(sqlite3.connect(database, isolation_level=None, check_same_thread=False)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


def written(program: Program, answers: list[httpx.Response | httpx.TransportError]) -> None:
    try:
        path = f"{program.url}/api/sessions/a/todo_write"
        answers.append(httpx.post(path, json={"todos": todos("x=i")}, trust_env=False, timeout=TIMEOUT_S))
    except httpx.TransportError as error:
        answers.append(error)


def is_refused(url: str) -> bool:
    host, port = url.removeprefix("http://").split(":")
    try:
        socket.create_connection((host, int(port)), TIMEOUT_S).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.sqlite
def test_while_a_write_is_finished_streams_end_cleanly_and_nobody_is_let_in(database: Path) -> None:
    """The write waits for longer than a stream's reader would be given."""
    answers: list[httpx.Response | httpx.TransportError] = []
    with serving(database) as program, Stream(program.url, "/api/sessions/a/stream", {}) as stream:
        stream.next()
        with held(database) as lock:
            writing = threading.Thread(target=written, args=(program, answers))
            writing.start()
            time.sleep(0.5)
            program.process.send_signal(signal.SIGTERM)
            ended = b""
            while received := stream.socket.recv(65536):
                ended += received
            assert ended.endswith(b"0\r\n\r\n")  # a clean end: the page says so at once, and comes back
            wait_until(lambda: is_refused(program.url))
            time.sleep(1.5)
            assert program.process.poll() is None
            assert answers == []
            lock.execute("ROLLBACK")
        writing.join()
        assert program.process.wait(TIMEOUT_S) == 0
    (answer,) = answers
    assert isinstance(answer, httpx.Response)
    assert answer.status_code == 200
    assert answer.headers["connection"] == "close"


@pytest.mark.sqlite
def test_a_store_that_hangs_does_not_hold_the_shutdown(database: Path) -> None:
    """The lock is never given back, and each write would wait for it; none is acknowledged, whatever it is answered."""
    with (
        serving(database, "--drain-s", "1") as program,
        held(database),
        contextlib.ExitStack() as stack,
    ):
        writing = [stack.enter_context(sent(program.url, b'{"todos": []}')) for _ in range(8)]
        for _ in range(3):  # whatever came before these has been read by then
            httpx.get(f"{program.url}/api/sessions", trust_env=False).raise_for_status()
        program.process.send_signal(signal.SIGTERM)
        assert program.process.wait(TIMEOUT_S) == 1
        answers = [one.recv(65536) for one in writing]
    assert "cut short" in "".join(program.said)
    assert all(answer == b"" or answer.startswith(b"HTTP/1.1 50") for answer in answers)


@contextlib.contextmanager
def sent(url: str, body: bytes, held_back: int = 0) -> Iterator[socket.socket]:
    """A write, but for the last bytes of it."""
    host, port = url.removeprefix("http://").split(":")
    head = f"POST /api/sessions/a/todo_write HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    with socket.create_connection((host, int(port)), TIMEOUT_S) as connection:
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[: len(body) - held_back])
        yield connection


def test_with_workers_nobody_is_let_in_while_they_end_and_all_of_them_do(tmp_path: Path) -> None:
    database = tmp_path / f"ends{SUFFIX}"
    url_of(database)
    with serving(database, "--workers", "2", "--drain-s", "15") as program:
        wait_until_it_answers(program)
        workers = workers_of(program)
        with Stream(program.url, "/api/sessions/a/stream", {}) as stream:
            stream.next()
            with sent(program.url, b'{"todos": []}', held_back=2) as slow:
                for _ in range(8):  # whichever worker has it has read it by then
                    assert httpx.get(f"{program.url}/healthz", trust_env=False).status_code == 200
                program.process.send_signal(signal.SIGTERM)
                assert stream.frame() is None
                wait_until(lambda: is_refused(program.url))
                assert program.process.poll() is None
                slow.sendall(b"]}")
                assert slow.recv(65536).startswith(b"HTTP/1.1 200")
                assert program.process.wait(TIMEOUT_S) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)
    release(database)
