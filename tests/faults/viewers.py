"""Viewers of one session who come back when their stream is cut, as a browser does (spec.md §8)."""

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from typing import Final

import httpx

from tests.faults.waiting import wait_until
from tests.running import TIMEOUT_S, Frame, Stream

ITEM: Final = re.compile(r'data-status="(\w+)".*?data-field="content"[^>]*>(.*?)</', re.DOTALL)
STRIP: Final = re.compile(r'<hx-partial[^>]*"#strip".*?</hx-partial>', re.DOTALL)
RETRY_S: Final = 0.05

Todos = list[tuple[str, str]]  # content, status


@dataclass(slots=True)
class Viewer:
    """Of a session's page, or of its plan as JSON. `told` is what it was told last: `live`, `behind` or `lost`.

    `positions` are those of its frames, in the order in which they came.
    """

    url: str
    session: str
    is_page: bool = False
    todos: Todos | None = None
    told: str = "lost"
    positions: list[int] = field(default_factory=list)
    connections: int = 0
    _stopped: threading.Event = field(default_factory=threading.Event)
    _stream: Stream | None = None
    _thread: threading.Thread | None = None

    def start(self) -> "Viewer":
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def cut(self) -> None:
        """The connection breaks, whatever was on its way."""
        if (stream := self._stream) is not None:
            with contextlib.suppress(OSError):
                stream.socket.shutdown(2)

    def stop(self) -> None:
        self._stopped.set()
        self.cut()
        if self._thread is not None:
            self._thread.join(TIMEOUT_S)
            assert not self._thread.is_alive()

    def until(self, todos: Todos, within_s: float) -> None:
        """Until it sees this plan and is told that it is live."""
        wait_until(lambda: (self.todos, self.told) == (todos, "live"), within_s, self)

    def until_told(self, told: str, within_s: float = TIMEOUT_S) -> None:
        wait_until(lambda: self.told == told, within_s, self)

    def _watch(self) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(OSError, AssertionError):
                self._follow()
            self.told = "lost"
            self._stopped.wait(RETRY_S)

    def _follow(self) -> None:
        path = f"/sessions/{self.session}/stream?after=0" if self.is_page else f"/api/sessions/{self.session}/stream"
        headers = {"Last-Event-ID": str(self.positions[-1])} if self.positions else {}
        with Stream(self.url, path, headers) as self._stream:
            self.connections += 1
            while (frame := self._stream.frame()) is not None:
                self._take(frame)

    def _take(self, frame: Frame) -> None:
        if frame.event == "behind":
            self.told = "behind"
            return
        if frame.id is not None:
            self.positions.append(int(frame.id))
            self.todos = self._todos(frame.data)
        self.told = "live"

    def _todos(self, data: str) -> Todos | None:
        if not self.is_page:
            return listed(json.loads(data)["todos"])
        strip = STRIP.search(data)
        return self.todos if strip is None else shown(strip[0])


def shown(html: str) -> Todos:
    """The to-dos of a page's strip."""
    return [(unescape(content), status) for status, content in ITEM.findall(html)]


def listed(todos: list[dict[str, str]] | None) -> Todos | None:
    return None if todos is None else [(todo["content"], todo["status"]) for todo in todos]


@contextlib.contextmanager
def viewing(url: str, session: str, count: int = 2) -> Iterator[list[Viewer]]:
    """Every second of them sees the page, the others the JSON."""
    viewers = [Viewer(url, session, is_page=bool(number % 2)).start() for number in range(count)]
    try:
        yield viewers
    finally:
        for viewer in viewers:
            viewer.stop()


def standing(url: str, session: str) -> Todos | None:
    """The plan as a fresh read has it."""
    return listed(httpx.get(f"{url}/api/sessions/{session}/plan", trust_env=False).json()["todos"])
