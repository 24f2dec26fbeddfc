"""Asks a panel over HTTP/1.1 and hears its streams, with the time at which each frame came. No redirect is followed."""

import json
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from typing import Any, Final
from urllib.parse import urlsplit

from planstrip.errors import UnusableSettings

TIMEOUT_S: Final = 10.0
MAX_BYTES: Final = 4 * 1024 * 1024
_PAGES: Final = ("/sessions/", "/embed/")


@dataclass(frozen=True, slots=True)
class Target:
    """Where a panel should be: `root` is the path of its address, without a slash at its end."""

    scheme: str
    netloc: str
    root: str
    token: str | None = None

    @property
    def url(self) -> str:
        return f"{self.scheme}://{self.netloc}{self.root}"

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def sent_host(self) -> str:
        """The Host header that goes with a request, lower case."""
        default = {"http": ":80", "https": ":443"}[self.scheme]
        return self.netloc.lower().removesuffix(default)

    def connection(self, timeout_s: float) -> HTTPConnection:
        kind = HTTPSConnection if self.scheme == "https" else HTTPConnection
        return kind(self.host, urlsplit(self.url).port, timeout=timeout_s)

    def headers(self, more: Mapping[str, str]) -> dict[str, str]:
        bearer = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return {"User-Agent": "planstrip-doctor", **bearer, **more}


def target_of(url: str, token: str | None) -> Target:
    """Of the address of a panel, or of a page of it. Raises UnusableSettings for what is none."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or "@" in parts.netloc or not url.isascii() or not url.isprintable() or " " in url:
        raise UnusableSettings(f"--url is {url[:100]!r}; expected an address such as https://host.example/plans")
    if token is not None and not (token.isascii() and token.isprintable()):
        raise UnusableSettings("PLANSTRIP_TOKEN has characters that no header takes")
    root = parts.path
    for page in _PAGES:
        root = root.partition(page)[0]
    return Target(parts.scheme, parts.netloc, root.rstrip("/"), token)


@dataclass(frozen=True, slots=True)
class Answer:
    """`version` is 10 or 11, of HTTP; `took_s` until the whole of it was there."""

    status: int
    headers: HTTPMessage
    body: bytes
    version: int
    took_s: float

    @property
    def type(self) -> str:
        return self.headers.get_content_type()

    @property
    def coding(self) -> str:
        return self.headers.get("Content-Encoding", "identity").lower()

    def json(self) -> dict[str, Any]:
        """An empty object for what is none."""
        try:
            value = json.loads(self.body)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def detail(self) -> str:
        """What the panel says of an error."""
        return str(self.json().get("detail", "")) if self.type == "application/problem+json" else ""


def ask(target: Target, path: str, *, body: str | None = None, headers: Mapping[str, str] | None = None) -> Answer:
    """A GET of `path` below the panel's root, or a POST of `body`. Raises OSError or HTTPException."""
    start = time.monotonic()
    with closing(target.connection(TIMEOUT_S)) as connection:
        method = "GET" if body is None else "POST"
        connection.request(method, target.root + path, body, target.headers(headers or {}))
        answer = connection.getresponse()
        text = answer.read(MAX_BYTES)
        return Answer(answer.status, answer.headers, text, answer.version, time.monotonic() - start)


@dataclass(frozen=True, slots=True)
class Frame:
    """A server-sent event; `at_s` is when it came, from the request on."""

    event: str
    data: str
    at_s: float


@dataclass(slots=True)
class Stream:
    """An open stream. `ended_s`: when it ended, None while it is open."""

    response: HTTPResponse
    wire: socket.socket
    start: float
    ended_s: float | None = None
    _text: bytes = field(default=b"")

    @property
    def headers(self) -> HTTPMessage:
        return self.response.headers

    def frame(self, until_s: float) -> Frame | None:
        """The next frame; None when the stream ended, or when `until_s`, from the request on, has passed."""
        while b"\n\n" not in self._text:
            left = until_s - self._now()
            if self.ended_s is not None or left <= 0:
                return None
            self.wire.settimeout(left)
            try:
                received = self.response.read1(65536)
            except TimeoutError:
                return None
            except (OSError, HTTPException):
                received = b""
            if not received:
                self.ended_s = self._now()
            self._text += received.replace(b"\r\n", b"\n")
        raw, _, self._text = self._text.partition(b"\n\n")
        pairs = [line.partition(": ")[::2] for line in raw.decode(errors="replace").split("\n")]
        data = "\n".join(value for name, value in pairs if name == "data")
        return Frame(dict(pairs).get("event", "message"), data, self._now())

    def _now(self) -> float:
        return time.monotonic() - self.start


@contextmanager
def listening(target: Target, path: str, wait_s: float, *, encodings: str = "identity") -> Iterator[Stream]:
    """Raises TimeoutError when no head comes within `wait_s`; OSError or HTTPException."""
    with closing(target.connection(wait_s)) as connection:
        start = time.monotonic()
        connection.connect()
        wire = connection.sock  # which the connection forgets where the answer says that it will close it
        headers = {"Accept": "text/event-stream", "Accept-Encoding": encodings}
        connection.request("GET", target.root + path, headers=target.headers(headers))
        with closing(connection.getresponse()) as response:
            yield Stream(response, wire, start)


def offers_h2(target: Target) -> bool:
    """Whether TLS there leads to HTTP/2; browsers speak it nowhere else."""
    if target.scheme != "https":
        return False
    import ssl

    context = ssl.create_default_context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    address = (target.host, urlsplit(target.url).port or 443)
    with (
        socket.create_connection(address, TIMEOUT_S) as plain,
        context.wrap_socket(plain, server_hostname=target.host) as wire,
    ):
        return wire.selected_alpn_protocol() == "h2"
