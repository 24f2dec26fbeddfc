"""One keep-alive connection that blocks: as little as can stand between the clock and the server."""

import json
import socket
from types import TracebackType
from typing import Self

RECEIVE_BYTES = 1 << 18


def request_bytes(method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    if body:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"\r\n" + body


class Client:
    def __init__(self, port: int) -> None:
        self._port = port
        self._socket = _connected(port)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()

    def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """The answer's body. Raises RuntimeError for any status but 200 and 201."""
        self._socket.sendall(request_bytes(method, path, body))
        received = self._socket.recv(RECEIVE_BYTES)
        if not received and method == "GET":  # it was idle for longer than the server keeps a connection
            self._socket.close()
            self._socket = _connected(self._port)
            self._socket.sendall(request_bytes(method, path, body))
        while b"\r\n\r\n" not in received:
            received += self._receive()
        head, _, rest = received.partition(b"\r\n\r\n")
        parts = [rest]
        missing = content_length(head) - len(rest)
        while missing > 0:
            parts.append(self._receive())
            missing -= len(parts[-1])
        if head[9:12] not in (b"200", b"201"):
            raise RuntimeError(f"{method} {path}: {head[:40]!r} {b''.join(parts)[:300]!r}")
        return b"".join(parts)

    def post_json(self, path: str, value: object) -> bytes:
        return self.request("POST", path, json.dumps(value).encode())

    def _receive(self) -> bytes:
        received = self._socket.recv(RECEIVE_BYTES)
        if not received:
            raise RuntimeError("the server closed the connection")
        return received


def _connected(port: int) -> socket.socket:
    found = socket.create_connection(("127.0.0.1", port), 60)
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


class Stream:
    """An open stream of server-sent events, read a frame at a time."""

    def __init__(self, port: int, path: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), 60)
        self._socket.sendall(request_bytes("GET", path))
        self._received = b""
        self._until(b"\r\n\r\n")

    def frame(self) -> bytes:
        """The next frame that is no heartbeat, without HTTP's chunk marks: each chunk is one frame."""
        while True:
            size = int(self._until(b"\r\n"), 16)
            while len(self._received) < size + 2:
                self._received += self._socket.recv(RECEIVE_BYTES)
            frame, self._received = self._received[:size], self._received[size + 2 :]
            if not frame.startswith(b"event: heartbeat"):
                return frame

    def close(self) -> None:
        self._socket.close()

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._received:
            received = self._socket.recv(RECEIVE_BYTES)
            if not received:
                raise RuntimeError("the server closed the stream")
            self._received += received
        before, _, self._received = self._received.partition(mark)
        return before


def content_length(head: bytes) -> int:
    lowered = head.lower()
    start = lowered.find(b"content-length:")
    return int(lowered[start + 15 :].split(b"\r\n", 1)[0]) if start >= 0 else 0
