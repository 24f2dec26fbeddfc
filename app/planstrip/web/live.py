"""What viewers wait for: one live view a topic, each frame rendered once for all who stand at the same place (§8)."""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from planstrip.db import said_by
from planstrip.plan.view import View
from planstrip.web.kin import Kin, SessionReader
from planstrip.web.places import Places
from planstrip.web.sse import behind, heartbeat

FRAME_INTERVAL_S: Final = 0.1  # at most ten frames a second a session
HEARTBEAT_S: Final = 15.0
MAX_FRAMES: Final = 64
RETRY_S: Final = 1.0

V = TypeVar("V")


class Base(NamedTuple):
    """Where a viewer stands: a position of the log, and a serial of what it sees beside that."""

    position: int
    serial: int = 0


log = logging.getLogger(__name__)


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
    """

    name: str
    read: Callable[[V | None], V]
    reread: Callable[[V | None], V]
    heard_at: Callable[[V], int]
    hears_all: bool = False


@dataclass(slots=True)
class Channel(Generic[V]):
    """One topic's viewers. A viewer holds its place and nothing else: slow ones cost no memory.

    `is_behind`: the store could not be read; it is tried again every `RETRY_S`.
    """

    topic: Topic[V]
    view: V | None = None
    viewers: int = 0
    beats: int = 0
    is_behind: bool = False
    turned: asyncio.Event = field(default_factory=asyncio.Event)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _frames: dict[tuple[str, Base, bool], tuple[bytes | None, Base]] = field(default_factory=dict)
    _opening: "asyncio.Task[None] | None" = None
    _pump: "asyncio.Task[None] | None" = None

    async def open(self) -> None:
        """Wait for the first view, which is read once however many viewers come at once, or for its failure."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        await asyncio.shield(self._opening)

    async def _open(self) -> None:
        await self._refresh(self.topic.read)
        if self.viewers:
            self._pump = asyncio.create_task(self._run())

    def wake(self) -> None:
        self._woken.set()

    def turn(self) -> None:
        """Let every viewer look again."""
        turned, self.turned = self.turned, asyncio.Event()
        turned.set()

    def close(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
        self.turn()

    def frame(self, kind: Kind[V], base: Base, *, is_first: bool) -> tuple[bytes | None, Base]:
        """The frame, and where a viewer stands who has it: made once for all who stand at `base`."""
        assert self.view is not None
        key = kind.name, base, is_first
        if key not in self._frames:
            if len(self._frames) >= MAX_FRAMES:  # viewers at many different places: each is late by its own doing
                self._frames.clear()
            reached = Base(kind.place(self.view), kind.serial(self.view))
            self._frames[key] = kind.build(self.view, base, is_first), reached
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

    def _fall_behind(self) -> bool:
        self.is_behind = True
        self.turn()
        asyncio.get_running_loop().call_later(RETRY_S, self.wake)
        return False

    async def _refresh(self, read: Callable[[V | None], V]) -> bool:
        """Whether the view is up to date."""
        try:
            view = await asyncio.to_thread(read, self.view)
        except SQLAlchemyError as error:
            log.warning("%r: reading the store failed, trying again: %s", self.topic.name, said_by(error))
            return self._fall_behind()
        except Exception:  # whatever it is, no viewer may take an old page for the newest
            log.exception("%r: reading failed, trying again", self.topic.name)
            return self._fall_behind()
        if self.is_behind:
            self.is_behind = False
            self.beats += 1  # who has missed nothing hears so at once
            self.turn()
        if view is not self.view:
            self.view = view
            self._frames.clear()
            self.turn()
        return True


@dataclass(slots=True)
class Hub:
    """All channels of a process. `wake` may be called from any thread; the rest belongs to the loop."""

    engine: Engine
    clock: Callable[[], int]
    is_watched: threading.Event = field(default_factory=threading.Event)
    is_closed: bool = False
    places: Places = field(default_factory=Places)
    _channels: dict[str, Channel[Any]] = field(default_factory=dict)
    _broad: set[str] = field(default_factory=set)  # the names of those that hear all
    _loop: asyncio.AbstractEventLoop | None = None
    _kin: Kin = field(init=False)

    def __post_init__(self) -> None:
        self._kin = Kin(self.engine, self._wake_parent)

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    @property
    def viewers(self) -> int:
        return sum(channel.viewers for channel in self._channels.values())

    def wake(self, heads: Mapping[str, int]) -> None:
        if not self._channels:
            return
        grown = (session for session in heads if session in self._channels or self._kin.concerns(session))
        watched = [*(grown if self._has_pages else ()), *self._broad]
        if watched and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, watched)

    def doubt(self) -> None:
        """The store has failed whoever follows it: let every channel see whether it is up to date. From any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake_all)

    def close(self) -> None:
        """End every stream. Safe to call from a signal handler of the loop's own thread, and twice."""
        self.is_closed = True
        self._kin.forget()
        for channel in list(self._channels.values()):
            channel.close()

    def session(self, session: str) -> Topic[View]:
        read = SessionReader(self.engine, self.clock, self._kin, session)
        return Topic(session, read, partial(read, is_family_due=True), lambda view: view.heard_at)

    async def frames(
        self, topic: Topic[V], kind: Kind[V], after: int, *, waits: bool = True, is_new: bool = True
    ) -> AsyncGenerator[bytes, None]:
        """The first frame at once, then each that changes something for this viewer, heartbeats between.

        `waits` False: nothing after what is there at once, a heartbeat if nothing is. `is_new` False: the viewer has
        had its first frame, and comes back for what changed since.
        """
        channel: Channel[V] = self._channels.setdefault(topic.name, Channel(topic))
        if topic.hears_all:
            self._broad.add(topic.name)
        channel.viewers += 1
        self.is_watched.set()
        try:
            await channel.open()
            base, is_first, beats = Base(after), is_new, channel.beats
            while not self.is_closed:
                turned = channel.turned
                if channel.view is None or channel.is_behind:
                    yield behind(base.position)
                else:
                    if base.position > kind.place(channel.view):  # it is of another log: begin anew
                        base, is_first = Base(0), True
                    frame, base = channel.frame(kind, base, is_first=is_first)
                    if frame is not None:
                        is_first = False
                        yield frame
                    elif channel.beats > beats or not waits:
                        yield heartbeat(base.position, topic.heard_at(channel.view), kind.key)
                if not waits:
                    return
                beats = channel.beats
                if turned is channel.turned:
                    await turned.wait()
        finally:
            self._leave(channel)

    def _leave(self, channel: Channel[V]) -> None:
        channel.viewers -= 1
        if not channel.viewers:
            channel.close()
            if self._channels.get(channel.topic.name) is channel:
                del self._channels[channel.topic.name]
                self._broad.discard(channel.topic.name)
        if not self._channels:
            self.is_watched.clear()
        if not self._has_pages:
            self._kin.forget()

    @property
    def _has_pages(self) -> bool:
        return len(self._channels) > len(self._broad)

    def _wake(self, names: list[str]) -> None:
        for name in names:
            if name in self._channels:
                self._channels[name].wake()
        if self._has_pages:
            self._kin.grew(name for name in names if name not in self._broad)

    def _wake_all(self) -> None:
        for channel in self._channels.values():
            channel.wake()

    def _wake_parent(self, session: str) -> None:
        if session in self._channels:
            self._kin.due.add(session)
            self._channels[session].wake()
