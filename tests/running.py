"""Starts the panel for tests: in a thread, or as the real program, each on a port of its own."""

import contextlib
import itertools
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final
from urllib.parse import urlsplit

import httpx
from starlette.types import ASGIApp, Receive, Scope, Send

from planstrip.main import create_app
from planstrip.parts import Parts
from planstrip.serving import listen, server
from planstrip.settings import load
from tests.databases import url_of

TIMEOUT_S: Final = 20.0  # for what takes milliseconds: only a hang is a failure
# The browser's tests below a prefix, behind a proxy that keeps it, or takes it off: PLANSTRIP_TEST_ROOT=/plans.
ROOT: Final = os.environ.get("PLANSTRIP_TEST_ROOT", "")
STRIPS: Final = os.environ.get("PLANSTRIP_TEST_STRIPS") == "1"
JSON: Final = {"content-type": "application/json"}
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class Panel:
    """A running panel. `url` is where it is mounted, without a slash at its end; `parts` are the panel's own."""

    url: str
    client: httpx.Client
    parts: Parts

    @property
    def origin(self) -> str:
        return "{0.scheme}://{0.netloc}".format(urlsplit(self.url))

    def append(self, session: str, *events: Mapping[str, Any], **more: Any) -> httpx.Response:
        return self.client.post(f"/api/sessions/{session}/events", json={"events": list(events), **more})

    def write(self, session: str, todos: object) -> httpx.Response:
        return self.client.post(f"/api/sessions/{session}/todo_write", json={"todos": todos})

    def plan(self, session: str, at: int | None = None) -> dict[str, Any]:
        answer = self.client.get(f"/api/sessions/{session}/plan", params={} if at is None else {"at": at})
        assert answer.status_code == 200, answer.text
        plan: dict[str, Any] = answer.json()
        return plan

    def events(self, session: str) -> list[dict[str, Any]]:
        """Every stored event; none for a session that does not exist."""
        answer = self.client.get(f"/api/sessions/{session}/events?limit=1000")
        assert answer.status_code in (200, 404), answer.text
        found: list[dict[str, Any]] = answer.json().get("events", [])
        return found

    def stream(self, path: str, **headers: str) -> "Stream":
        return Stream(self.url, path, headers)


@dataclass(frozen=True, slots=True)
class Front:
    """What a proxy does with paths: what is not below `root` never reaches the panel; `strips` takes `root` off."""

    app: ASGIApp
    root: str
    strips: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            path, raw = scope["path"], scope["raw_path"]
            if path != self.root and not path.startswith(self.root + "/"):
                await send({"type": "http.response.start", "status": 404, "headers": [(b"x-front", b"outside")]})
                await send({"type": "http.response.body", "body": b"outside the prefix"})
                return
            if self.strips:
                scope = {**scope, "path": path[len(self.root) :], "raw_path": raw[len(self.root) :]}
        await self.app(scope, receive, send)


@contextlib.contextmanager
def running(database: Path, *, strips: bool | None = None, **settings: object) -> Iterator[Panel]:
    """A panel in a thread of this process: fast to start, and its parts can be looked at.

    With `strips` it stands behind a `Front`; without, and without a prefix of its own, where PLANSTRIP_TEST_ROOT says.
    """
    given = {"allow_parallel_in_progress": True, "database_url": url_of(database), **settings}
    if ROOT and "root_path" not in settings:
        given["root_path"], strips = ROOT, STRIPS
    loaded = load(**given)
    guard = create_app(loaded)
    listener = listen("127.0.0.1", 0)
    uvicorn_server = server(guard)
    if strips is not None:
        uvicorn_server.config.app = Front(guard, loaded.root_path, strips)
    parts: Parts = guard.app.state.parts  # type: ignore[attr-defined]
    thread = threading.Thread(target=uvicorn_server.run, kwargs={"sockets": [listener]})
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}{loaded.root_path}"
    try:
        with httpx.Client(base_url=url, timeout=TIMEOUT_S, trust_env=False) as client:
            yield Panel(url, client, parts)
    finally:
        uvicorn_server.should_exit = True
        parts.hub.close()
        thread.join(TIMEOUT_S)
        listener.close()
        assert not thread.is_alive()


def new_session() -> str:
    return f"s-{next(_numbers)}"


@dataclass(slots=True)
class Program:
    """`planstrip serve` as a process; `url` is the address that it printed."""

    process: "subprocess.Popen[str]"
    url: str
    said: list[str] = field(default_factory=list)

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT_S)


@contextlib.contextmanager
def serving(database: Path | str, *flags: str, env: Mapping[str, str] | None = None) -> Iterator[Program]:
    """The real program on a free port, killed at the end if it still runs. `database`: a path, or an address."""
    policy = () if any("in-progress" in flag for flag in flags) else ("--allow-parallel-in-progress",)
    command = ["serve", "--port", "0", "--database-url", url_of(database), *policy, *flags]
    with start(*command, env={"PLANSTRIP_ROOT_PATH": ROOT} | dict(env or {})) as process:
        assert process.stderr is not None
        program = Program(process, "")
        reader = threading.Thread(target=_listen, args=(process.stderr, program))
        for line in process.stderr:
            program.said.append(line)
            if found := re.search(r"https?://[^\s\"]+", line):
                program.url = found[0].rstrip("/")
                break
        assert program.url, "".join(program.said)
        reader.start()
        try:
            yield program
        finally:
            process.kill()
            process.wait(TIMEOUT_S)
            reader.join(TIMEOUT_S)


def _listen(stream: IO[str], program: Program) -> None:
    program.said.extend(stream)  # a full pipe would stop the program


@contextlib.contextmanager
def start(*arguments: str, env: Mapping[str, str] | None = None) -> "Iterator[subprocess.Popen[str]]":
    """`planstrip …` with an environment without settings of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PLANSTRIP_")}
    with subprocess.Popen(
        [sys.executable, "-m", "planstrip", *arguments],
        env=kept | dict(env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def run(*arguments: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `planstrip …`."""
    with start(*arguments, env=env) as process:
        out, err = process.communicate(timeout=60)
    return process.returncode, out, err


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event; `event` is `message` where the frame names none."""

    event: str
    id: str | None
    data: str


class Stream:
    """An open event stream, read frame by frame. A wait beyond the timeout raises TimeoutError.

    Raw, so that a test sees the bytes and when they come: a client library reads ahead.
    """

    def __init__(self, url: str, path: str, headers: Mapping[str, str]) -> None:
        address = urlsplit(url)
        self.socket = socket.create_connection((address.hostname or "", address.port or 80), TIMEOUT_S)
        named = {"Host": address.netloc} | {name.replace("_", "-"): value for name, value in headers.items()}
        lines = (f"GET {address.path}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items()))
        self.socket.sendall("\r\n".join((*lines, "", "")).encode())
        self._wire = b""
        self._text = b""
        head = self._until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        self.status = int(head[0].split()[1])
        pairs = (line.partition(": ") for line in head[1:] if line)
        self.headers = httpx.Headers([(name, value) for name, _, value in pairs])

    def __enter__(self) -> "Stream":
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _error: BaseException | None, _traceback: TracebackType | None
    ) -> None:
        self.socket.close()

    def raw(self) -> bytes:
        """The next event's bytes, empty at the stream's end."""
        while b"\n\n" not in self._text:
            size = int(self._until(b"\r\n") or b"0", 16)
            if size == 0:
                return b""
            while len(self._wire) < size + 2:
                self._receive()
            self._text, self._wire = self._text + self._wire[:size], self._wire[size + 2 :]
        event, _, self._text = self._text.partition(b"\n\n")
        return event

    def frame(self) -> Frame | None:
        """The next frame, heartbeats included; None at the stream's end."""
        raw = self.raw()
        if not raw:
            return None
        fields = [line.partition(": ")[::2] for line in raw.decode().split("\n")]
        named = dict(fields)
        data = "\n".join(value for name, value in fields if name == "data")
        return Frame(named.get("event", "message"), named.get("id"), data)

    def next(self, event: str | None = None) -> Frame:
        """The next frame of a kind; without one, the next that shows something."""
        while True:
            frame = self.frame()
            assert frame is not None, "the stream ended"
            if frame.event == event or (event is None and frame.event not in ("heartbeat", "behind")):
                return frame

    def wait(self, seconds: float) -> Frame | None:
        """The next frame that shows something, or None when none comes within `seconds`."""
        self.socket.settimeout(seconds)
        try:
            return self.next()
        except TimeoutError:
            return None
        finally:
            self.socket.settimeout(TIMEOUT_S)

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._wire:
            if not self._receive():
                return b""
        found, _, self._wire = self._wire.partition(mark)
        return found

    def _receive(self) -> bytes:
        received = self.socket.recv(65536)
        self._wire += received
        return received


def todos(notation: str) -> list[dict[str, str]]:
    """`a=c b=i c=p` as a list of to-dos."""
    words = {"c": "completed", "i": "in_progress", "p": "pending"}
    pairs = (part.rpartition("=") for part in notation.split())
    return [{"content": content, "status": words[letter]} for content, _, letter in pairs]
