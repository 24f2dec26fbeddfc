"""What viewers wait for: every open stream of a process, and who wakes it (spec.md §8)."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Engine

from planstrip.db import impatient
from planstrip.masks import NO_MASKS, Masks
from planstrip.plan.view import View
from planstrip.web.channels import Base, Channel, Kind, Topic
from planstrip.web.kin import Kin, SessionReader
from planstrip.web.places import Places
from planstrip.web.sse import behind, heartbeat

V = TypeVar("V")


@dataclass(slots=True)
class Hub:
    """All channels of a process. `wake` may be called from any thread; the rest belongs to the loop."""

    engine: Engine
    clock: Callable[[], int]
    masks: Masks = NO_MASKS
    is_watched: threading.Event = field(default_factory=threading.Event)
    is_closed: bool = False
    places: Places = field(default_factory=Places)
    _channels: dict[str, Channel[Any]] = field(default_factory=dict)
    _broad: set[str] = field(default_factory=set)  # the names of those that hear all
    _loop: asyncio.AbstractEventLoop | None = None
    _kin: Kin = field(init=False)
    _impatient: Engine | None = field(init=False)

    def __post_init__(self) -> None:
        self._impatient = None if self.masks else impatient(self.engine)  # a pattern takes as long as it takes
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
            self._loop.call_soon_threadsafe(self._wake, watched, heads, time.monotonic())

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

    def dispose(self) -> None:
        """When nobody reads any more."""
        if self._impatient is not None:
            self._impatient.dispose()

    def session(self, session: str) -> Topic[View]:
        read = SessionReader(self.engine, self.clock, self._kin, session, self._impatient)
        reread = partial(read, is_family_due=True)
        return Topic(session, read, reread, lambda view: view.heard_at, shown=self.masks.of, at_once=read.at_once)

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
            await channel.reach(kind.place, after)
            base, is_first, beats, seen = Base(after), is_new, channel.beats, channel.views
            while not self.is_closed:
                turned = channel.turned
                if channel.view is None or channel.is_behind:
                    yield behind(base.position)
                else:
                    if base.position > channel.place(kind):  # it is of another log: begin anew
                        base, is_first = Base(0), True
                    frame, base = channel.frame(kind, base, is_first=is_first)
                    if frame is not None:
                        is_first, seen = False, channel.hand_out(seen)
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

    def _wake(self, names: list[str], heads: Mapping[str, int], committed_at: float) -> None:
        for name in names:
            if name in self._channels:
                self._channels[name].wake(committed_at, heads.get(name))
        if self._has_pages:
            self._kin.grew(name for name in names if name not in self._broad)

    def _wake_all(self) -> None:
        for channel in self._channels.values():
            channel.wake()

    def _wake_parent(self, session: str) -> None:
        if session in self._channels:
            self._kin.due.add(session)
            self._channels[session].wake()
