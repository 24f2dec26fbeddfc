"""Clients that trickle a request or read no answer are cut by the running program; slow ones that go on are not."""

import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from tests.running import TIMEOUT_S, Program, serving

TIMEOUT = {"PLANSTRIP_CLIENT_TIMEOUT_S": "1"}
HEAD = b"POST /api/sessions/a/todo_write HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
PATIENCE_S = 0.2


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with serving(tmp_path_factory.mktemp("timed") / "log.sqlite3", env=TIMEOUT) as program:
        yield program


def connect(program: Program) -> socket.socket:
    address = urlsplit(program.url)
    wire = socket.create_connection((address.hostname or "", address.port or 0), TIMEOUT_S)
    wire.settimeout(PATIENCE_S)
    return wire


def trickle(wire: socket.socket, part: bytes) -> bytes:
    """What is answered to a part every fifth of a second, until the other end has closed."""
    answer = b""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
        try:
            wire.sendall(part)
            received = wire.recv(65536)
        except TimeoutError:
            continue
        except OSError:
            return answer
        if not received:
            return answer
        answer += received
    raise AssertionError("it was never cut")


def answer_of(wire: socket.socket) -> bytes:
    wire.settimeout(TIMEOUT_S)
    return wire.recv(65536)


@pytest.mark.parametrize(
    ("began", "part"),
    [
        (b"", b""),
        (b"GET / HT", b""),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\n", b"x-a: b\r\n"),
        (HEAD + b"content-length: 100000\r\n\r\n", b" "),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"GET /healthz HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\n", b" "),
    ],
    ids=["nothing", "a line", "headers", "a body", "chunks", "a body that nobody wants"],
)
def test_who_trickles_a_request_is_cut(program: Program, began: bytes, part: bytes) -> None:
    with connect(program) as wire:
        wire.sendall(began)
        answer = trickle(wire, part)
    assert answer.split(b" ")[1] == (b"200" if b"/healthz" in began else b"408")
    assert b"application/problem+json" in answer or b"/healthz" in began


def test_who_trickles_a_second_request_is_cut(program: Program) -> None:
    with connect(program) as wire:
        wire.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert answer_of(wire).startswith(b"HTTP/1.1 200")
        wire.settimeout(PATIENCE_S)
        wire.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert b"HTTP/1.1 408" in trickle(wire, b"x-a: b\r\n")


def test_a_slow_body_that_goes_on_is_taken(program: Program) -> None:
    """Three times as long as a head may take, at a few kilobytes a second."""
    body = b'{"todos": []}'.ljust(12_000)
    with connect(program) as wire:
        wire.sendall(HEAD + f"content-length: {len(body)}\r\n\r\n".encode())
        for start in range(0, len(body), 400):
            wire.sendall(body[start : start + 400])
            time.sleep(0.1)
        assert answer_of(wire).startswith(b"HTTP/1.1 200")


def test_a_quiet_stream_is_no_slow_client(program: Program) -> None:
    with connect(program) as wire:
        wire.sendall(b"GET /sessions/quiet/stream HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert answer_of(wire).startswith(b"HTTP/1.1 200")
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            wire.settimeout(max(0.01, end - time.monotonic()))
            try:
                assert wire.recv(65536) != b""
            except TimeoutError:
                break


def test_who_reads_no_answer_is_cut_and_who_reads_slowly_is_not(program: Program) -> None:
    """An answer that is larger than what the system keeps for a connection."""
    events = [{"type": "x", "data": {"text": "x" * 250_000}}] * 16
    for _ in range(3):
        assert httpx.post(f"{program.url}/api/sessions/a/events", json={"events": events}).status_code == 201
    with small(program) as stuck, small(program) as slow:
        for wire in (stuck, slow):
            wire.sendall(b"GET /api/sessions/a/events HTTP/1.1\r\nhost: localhost\r\n\r\n")
        read, end = 0, time.monotonic() + 2.5
        while time.monotonic() < end:
            read += len(slow.recv(4096))
            time.sleep(0.02)
        assert _rest(stuck) < 12_000_000
        while read < 12_000_000:
            part = slow.recv(1 << 20)
            assert part, "the slow reader was cut"
            read += len(part)


def small(program: Program) -> socket.socket:
    """A reader with a small buffer: what it does not read stays with the server."""
    address = urlsplit(program.url)
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.settimeout(TIMEOUT_S)
    wire.connect((address.hostname, address.port))
    return wire


def _rest(wire: socket.socket) -> int:
    """How much still comes until the end, which an abort may make abrupt."""
    size = 0
    try:
        while part := wire.recv(1 << 20):
            size += len(part)
    except ConnectionResetError:
        pass
    return size
