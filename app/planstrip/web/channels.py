"""One live view a topic, each frame of it rendered once for all who stand at the same place (spec.md §8)."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from planstrip import metrics
from planstrip.db import logged
from planstrip.logs import FIELDS

FRAME_INTERVAL_S: Final = 0.1  # at most ten frames a second a session
HEARTBEAT_S: Final = 15.0
MAX_FRAMES: Final = 64
MEASURED: Final = 32  # viewers of a topic, or so: of a thousand each 32nd, or measuring would slow the others down
RETRY_S: Final = 1.0

V = TypeVar("V")

log = logging.getLogger(__name__)


class Base(NamedTuple):
    """Where a viewer stands: a position of the log, and a serial of what it sees beside that."""

    position: int
    serial: int = 0


@dataclass(frozen=True, slots=True)
class Kind(Generic[V]):
    """A kind of stream in one language: its frames are shared by all viewers that have an equal `name`.

    `build` makes the frame that takes a viewer from a place to the view's, None when nothing that it shows has
    changed; `place` and `serial` say where a viewer stands once it has the view. `key` tells whose its heartbeats are
    where a stream has those of several.
    """

    name: str
    build: Callable[[V, Base, bool], bytes | None]
    place: Callable[[V], int]
    serial: Callable[[V], int] = lambda _view: 0
    key: str = ""


@dataclass(frozen=True, slots=True)
class Topic(Generic[V]):
    """What is watched. `read` gives its view, from the last one where there is one: the same when nothing changed.

    `reread` does so with each heartbeat, where the view depends on the clock; `heard_at` tells the last event's time
    (ms, UTC; 0 where there is no one session to tell it of). `hears_all`: it depends on every session. A
    session's topic is named by its id; as no id has a slash, other topics' names begin with one.
    `at_once` reads in the loop's own thread, None where that may take long: a thread that reads from SQLite asks for
    the GIL at every row, and while the loop is busy waits for it each time.
    """

    name: str
    read: Callable[[V | None], V]
    reread: Callable[[V | None], V]
    heard_at: Callable[[V], int]
    hears_all: bool = False
    shown: Callable[[V], V] = lambda view: view
    at_once: Callable[[V], V | None] = lambda _view: None


@dataclass(slots=True)
class Channel(Generic[V]):
    """One topic's viewers. A viewer holds its place and nothing else: slow ones cost no memory.

    `view` is advanced, `shown` is the same as a viewer may see it.
    `is_behind`: the store could not be read; it is tried again every `RETRY_S`.
    """

    topic: Topic[V]
    view: V | None = None
    shown: V | None = None
    viewers: int = 0
    beats: int = 0
    is_behind: bool = False
    turned: asyncio.Event = field(default_factory=asyncio.Event)
    views: int = 0
    _since: float | None = None  # of the commits that the view shows and the one before it did not, the first
    _news: list[float] = field(default_factory=list)  # when each commit came that no view shows yet
    _head: int = 0
    _handed_out: int = 0
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    _frames: dict[tuple[str, Base, bool], tuple[bytes | None, Base]] = field(default_factory=dict)
    _places: dict[str, int] = field(default_factory=dict)
    _opening: "asyncio.Task[None] | None" = None
    _pump: "asyncio.Task[None] | None" = None

    async def open(self) -> None:
        """Wait for the first view, which is read once however many viewers come at once, or for its failure."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), context=Context())  # no one viewer's request
        await asyncio.shield(self._opening)

    async def _open(self) -> None:
        await self._refresh(self.topic.read)
        if self.viewers:
            self._pump = asyncio.create_task(self._run(), context=Context())

    async def _look(self, read: Callable[[V | None], V]) -> tuple[V, V]:
        view = self.topic.at_once(self.view) if self.view is not None and read is self.topic.read else None
        return await asyncio.to_thread(self._seen, read) if view is None else self._with_shown(view)

    def _seen(self, read: Callable[[V | None], V]) -> tuple[V, V]:
        return self._with_shown(read(self.view))

    def _with_shown(self, view: V) -> tuple[V, V]:
        return view, self.topic.shown(view) if view is not self.view or self.shown is None else self.shown

    def wake(self, committed_at: float | None = None, head: int | None = None) -> None:
        """`head`: where its session stands since then; the follower of a SQLite file tells our own commits again."""
        if committed_at is not None and (head is None or head > self._head):
            self._news.append(committed_at)
            self._head = head or 0
        self._woken.set()

    def hand_out(self, seen: int) -> int:
        """Counts a frame for a viewer who had seen so many of the views; returns how many there are."""
        if seen < self.views:
            metrics.frames_coalesced("slow_viewer", self.views - seen - 1)
            self._handed_out += 1
            if self._since is not None and self._handed_out % (self.viewers // MEASURED + 1) == 0:
                metrics.frame_handed_out(time.monotonic() - self._since)
        return self.views

    def turn(self) -> None:
        """Let every viewer look again."""
        turned, self.turned = self.turned, asyncio.Event()
        turned.set()

    def close(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
        self.turn()

    def place(self, kind: Kind[V]) -> int:
        """Where a viewer stands who has the view: told once for all of them."""
        assert self.view is not None
        if kind.name not in self._places:
            self._places[kind.name] = kind.place(self.view)
        return self._places[kind.name]

    def frame(self, kind: Kind[V], base: Base, *, is_first: bool) -> tuple[bytes | None, Base]:
        """The frame, and where a viewer stands who has it: made once for all who stand at `base`."""
        assert self.view is not None
        assert self.shown is not None
        key = kind.name, base, is_first
        if key not in self._frames:
            if len(self._frames) >= MAX_FRAMES:  # viewers at many different places: each is late by its own doing
                self._frames.clear()
            reached = Base(self.place(kind), kind.serial(self.view))
            self._frames[key] = kind.build(self.shown, base, is_first), reached
        return self._frames[key]

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        next_beat = loop.time() + HEARTBEAT_S
        while True:
            try:
                await asyncio.wait_for(self._woken.wait(), next_beat - loop.time())
            except TimeoutError:
                next_beat = loop.time() + HEARTBEAT_S
                if await self._refresh(self.topic.reread):  # else it is not known whether the page is up to date
                    self.beats += 1
                    self.turn()
                continue
            self._woken.clear()
            await self._refresh(self.topic.read)
            await asyncio.sleep(FRAME_INTERVAL_S)

    def _told(self) -> dict[str, Any]:
        """What a log record says of it: the board's name is what it was asked, which may be anything."""
        return {FIELDS: {} if self.topic.hears_all else {"session": self.topic.name}}

    def _fall_behind(self) -> bool:
        self.is_behind = True
        self.turn()
        asyncio.get_running_loop().call_later(RETRY_S, self.wake)
        return False

    async def reach(self, place: Callable[[V], int], position: int) -> None:
        """Look again where a viewer has seen more: another worker showed it, whose notice has not come yet."""
        if self.view is not None and place(self.view) < position:
            await self._refresh(self.topic.read)

    async def _refresh(self, read: Callable[[V | None], V]) -> bool:
        """Whether the view is up to date. One at a time: what was read first must not arrive last."""
        async with self._reading:
            return await self._refreshed(read)

    async def _refreshed(self, read: Callable[[V | None], V]) -> bool:
        news, self._news = self._news, []
        try:
            view, shown = await self._look(read)
        except SQLAlchemyError as error:
            self._news = news + self._news
            log.warning("reading for a stream failed, trying again: %s", logged(error), extra=self._told())
            return self._fall_behind()
        except Exception:  # whatever it is, no viewer may take an old page for the newest
            log.exception("reading for a stream failed, trying again", extra=self._told())
            return self._fall_behind()
        if self.is_behind:
            self.is_behind = False
            self.beats += 1  # who has missed nothing hears so at once
            self.turn()
        if view is not self.view:
            self.view, self.shown = view, shown
            self.views += 1
            self._since = news[0] if news else None
            metrics.frames_coalesced("burst", 0 if self.topic.hears_all else len(news) - 1)
            self._frames.clear()
            self._places.clear()
            self.turn()
        return True
