"""A proxy on loopback that does to a panel's answers what real ones do, one fault at a time."""

import contextlib
import gzip
import http.server
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Final
from urllib.parse import urlsplit

from tests.running import TIMEOUT_S

HOLD_S: Final = 3.0  # longer than any test waits for a frame


@dataclass(frozen=True, slots=True)
class Faults:
    """`root` is what it serves below, and `strips` takes it off; `host` replaces Host.

    `compresses_all`: for whoever asks, what is no stream too. `sets` replaces headers of answers; `answers` is the
    status, the type and a header of its own answer to everything.
    """

    root: str = ""
    strips: bool = False
    buffers: bool = False
    compresses: bool = False
    compresses_all: bool = False
    cuts_after_s: float | None = None
    is_http_10: bool = False
    host: str | None = None
    drops: tuple[str, ...] = ()
    sets: dict[str, str] = field(default_factory=dict)
    answers: tuple[int, str, tuple[str, str]] | None = None


@contextlib.contextmanager
def proxying(upstream: str, faults: Faults) -> Iterator[str]:
    """The address of the proxy, without a path; `upstream` is the panel's."""

    class Handler(_Handler):
        panel = urlsplit(upstream)
        does = faults

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()  # which waits for its threads, and they for the panel: a test ends that first


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    panel = urlsplit("")
    does = Faults()

    def do_GET(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError, HTTPException):
            if self.does.answers is not None:
                self._own(*self.does.answers)
            elif not self.path.startswith(f"{self.does.root}/"):
                self._own(404, "text/html", ("X-Proxy", "outside"))
            else:
                self._forward()

    do_POST = do_GET  # noqa: N815 - the library's name

    def _own(self, status: int, kind: str, header: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in (("Content-Type", kind), header, ("Content-Length", "5")):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"proxy")

    def _forward(self) -> None:
        does, path = self.does, self.path[len(self.does.root) :] if self.does.strips else self.path
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        wait_s = does.cuts_after_s or (HOLD_S if does.buffers else TIMEOUT_S)
        connection = HTTPConnection(self.panel.hostname or "", self.panel.port, timeout=wait_s)
        if does.is_http_10:
            connection._http_vsn, connection._http_vsn_str = 10, "HTTP/1.0"  # type: ignore[attr-defined]
        with contextlib.closing(connection):
            headers = {name: value for name, value in self.headers.items() if name not in does.drops}
            connection.request(self.command, path, body or None, headers | ({"Host": does.host} if does.host else {}))
            with contextlib.closing(connection.getresponse()) as answer:
                self._hand_back(answer)

    def _hand_back(self, answer: HTTPResponse) -> None:
        does, is_stream = self.does, answer.headers.get_content_type() == "text/event-stream"
        is_offered = is_stream and "gzip" in self.headers.get("Accept-Encoding", "")
        parts = _parts(answer)
        if is_stream and does.buffers:
            parts = iter([b"".join(_until_silent(parts))])
        self.send_response_only(answer.status)
        replaced = {"transfer-encoding", *map(str.lower, does.sets), *["content-length"] * does.compresses_all}
        kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in replaced]
        for name, value in (*kept, *does.sets.items()):
            self.send_header(name, value)
        if does.compresses and is_offered:
            self.send_header("Content-Encoding", "gzip")
        self.end_headers()
        if does.compresses_all:
            parts = iter([gzip.compress(b"".join(parts))])
        for part in parts:
            self.wfile.write(gzip.compress(part) if does.compresses and is_offered else part)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


def _parts(answer: HTTPResponse) -> Iterator[bytes]:
    """As they come, raising TimeoutError where none comes in time."""
    yield from iter(lambda: answer.read1(65536), b"")


def _until_silent(parts: Iterator[bytes]) -> Iterator[bytes]:
    with contextlib.suppress(TimeoutError):
        yield from parts
