"""What viewers wait for: one live view a session, each frame rendered once for all who stand at the same place (§8)."""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from planstrip import projection
from planstrip.plan.view import View

FRAME_INTERVAL_S: Final = 0.1  # at most ten frames a second a session
HEARTBEAT_S: Final = 15.0
MAX_FRAMES: Final = 64
RETRY_S: Final = 1.0

# Bytes of the frame that takes a viewer from a position to the view's; None when nothing it shows has changed.
Build: TypeAlias = Callable[[View, int, bool], bytes | None]
# Where a viewer of this kind stands once it has the view.
Place: TypeAlias = Callable[[View], int]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of stream in one language: its frames are shared by all viewers that have an equal `name`."""

    name: str
    build: Build
    place: Place


@dataclass(slots=True)
class Channel:
    """One session's viewers. A viewer holds its position and nothing else: slow ones cost no memory."""

    session: str
    engine: Engine
    view: View = field(default_factory=View)
    viewers: int = 0
    beats: int = 0
    turned: asyncio.Event = field(default_factory=asyncio.Event)
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _frames: dict[tuple[str, int, bool], tuple[bytes | None, int]] = field(default_factory=dict)
    _opening: "asyncio.Task[None] | None" = None
    _pump: "asyncio.Task[None] | None" = None

    async def open(self) -> None:
        """Wait for the first view, which is read once however many viewers come at once."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        await asyncio.shield(self._opening)

    async def _open(self) -> None:
        self.view = await asyncio.to_thread(self._catch_up)
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

    def frame(self, kind: Kind, base: int, *, is_first: bool) -> tuple[bytes | None, int]:
        """The frame, and where a viewer stands who has it: made once for all who stand at `base`."""
        key = kind.name, base, is_first
        if key not in self._frames:
            if len(self._frames) >= MAX_FRAMES:  # viewers at many different places: each is late by its own doing
                self._frames.clear()
            self._frames[key] = kind.build(self.view, base, is_first), kind.place(self.view)
        return self._frames[key]

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        next_beat = loop.time() + HEARTBEAT_S
        while True:
            try:
                await asyncio.wait_for(self._woken.wait(), next_beat - loop.time())
            except TimeoutError:
                self.beats += 1
                next_beat = loop.time() + HEARTBEAT_S
                self.turn()
                continue
            self._woken.clear()
            await self._refresh()
            await asyncio.sleep(FRAME_INTERVAL_S)

    async def _refresh(self) -> None:
        try:
            view = await asyncio.to_thread(self._catch_up)
        except SQLAlchemyError:
            log.exception("session %r: reading the log failed, trying again", self.session)
            asyncio.get_running_loop().call_later(RETRY_S, self.wake)
            return
        if view is not self.view:
            self.view = view
            self._frames.clear()
            self.turn()

    def _catch_up(self) -> View:
        with self.engine.connect() as connection:
            if self.view.standing.position:
                return projection.catch_up(connection, self.session, self.view)
            return projection.view(connection, self.session)


@dataclass(slots=True)
class Hub:
    """All channels of a process. `wake` may be called from any thread; the rest belongs to the loop."""

    engine: Engine
    is_watched: threading.Event = field(default_factory=threading.Event)
    is_closed: bool = False
    _channels: dict[str, Channel] = field(default_factory=dict)
    _loop: asyncio.AbstractEventLoop | None = None

    def bind(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    @property
    def viewers(self) -> int:
        return sum(channel.viewers for channel in self._channels.values())

    def wake(self, heads: Mapping[str, int]) -> None:
        watched = [session for session in heads if session in self._channels]
        if watched and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake, watched)

    def close(self) -> None:
        """End every stream. Safe to call from a signal handler of the loop's own thread, and twice."""
        self.is_closed = True
        for channel in list(self._channels.values()):
            channel.close()

    async def frames(self, session: str, kind: Kind, after: int) -> AsyncIterator[bytes]:
        """The first frame at once, then each that changes something for this viewer, heartbeats between."""
        channel = self._channels.setdefault(session, Channel(session, self.engine))
        channel.viewers += 1
        self.is_watched.set()
        try:
            await channel.open()
            # A position beyond the log is of another log: begin anew.
            base = after if after <= channel.view.standing.position else 0
            beats, is_first = channel.beats, True
            while not self.is_closed:
                turned = channel.turned
                frame, base = channel.frame(kind, base, is_first=is_first)
                if frame is not None:
                    is_first = False
                    yield frame
                elif channel.beats > beats:
                    yield heartbeat(base)
                beats = channel.beats
                if turned is channel.turned:
                    await turned.wait()
        finally:
            self._leave(channel)

    def _leave(self, channel: Channel) -> None:
        channel.viewers -= 1
        if not channel.viewers:
            channel.close()
            if self._channels.get(channel.session) is channel:
                del self._channels[channel.session]
        if not self._channels:
            self.is_watched.clear()

    def _wake(self, sessions: list[str]) -> None:
        for session in sessions:
            if session in self._channels:
                self._channels[session].wake()


def heartbeat(position: int) -> bytes:
    """Named, so that page code sees it: a comment never reaches it."""
    return f"event: heartbeat\ndata: {position}\n\n".encode()


def sse(data: str, *, position: int, event: str | None = None) -> bytes:
    """One frame. Every line of `data` gets its own `data:`, for CR, LF and CRLF alike."""
    lines = data.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    head = f"event: {event}\n" if event else ""
    return (head + f"id: {position}\n" + "".join(f"data: {line}\n" for line in lines) + "\n").encode()
