"""The viewers of `load`, in a process of their own: some read slowly, some never.

`python -m tests.bench.load_viewers PORT SESSIONS VIEWERS SLOW STALLED OUT` says `ready` when all are open. A line on
its standard input tells where the sessions end; when all stand there OUT gets what was seen, as JSON. Another line lets
them go.
"""

import asyncio
import json
import socket
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import uvloop

from tests.bench.client import request_bytes
from tests.bench.load_frames import Chunks, RefusedError, Seen

OPENED_AT_ONCE = 50
OPEN_TIMEOUT_S = 120
SLOW_BYTES = 1024  # a second
SMALL_BUFFER = 8192  # else the kernel reads for a reader that does not
LARGE_BUFFER = 1 << 20
SEGMENT_BYTES = 1400  # of a network; over loopback's own 64 KiB the sender waits for a window that never comes
CATCH_UP_S = 15.0
LOOK_S = 0.05


@dataclass(slots=True)
class Viewer(asyncio.Protocol):
    """Reads as fast as it can. `times` are of a clock that all processes of the machine share."""

    session: int
    request: bytes
    opened: "asyncio.Future[None]"
    positions: list[int] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    seen: Seen = field(default_factory=Seen)
    fault: str = ""
    is_leaving: bool = False
    transport: asyncio.Transport | None = None
    _chunks: Chunks = field(default_factory=Chunks)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        try:
            for frame in self._chunks.feed(data):
                if self.seen.take(frame):
                    self.positions.append(self.seen.position)
                    self.times.append(now)
                    self._open()
        except RefusedError as error:
            self.fault = str(error)
            self._open()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.is_leaving:
            self.fault = self.fault or f"the server closed a stream: {exc}"
        self._open()

    def _open(self) -> None:
        if not self.opened.done():
            self.opened.set_result(None)


@dataclass(slots=True)
class Slow:
    """Takes `SLOW_BYTES` a second, none when it is stalled."""

    session: int
    is_stalled: bool
    socket: socket.socket
    seen: Seen = field(default_factory=Seen)
    is_cut: bool = False
    until: int | None = None
    _chunks: Chunks = field(default_factory=Chunks)

    @property
    def is_done(self) -> bool:
        return self.is_stalled or self.is_cut or (self.until is not None and self.seen.position >= self.until)

    async def read(self) -> None:
        """One task does all of it: to cancel a reading for another could lose its bytes."""
        while not self.is_done:
            if self.until is None:
                await asyncio.sleep(1)
            await self._take(SLOW_BYTES if self.until is None else 1 << 16)

    def catch_up(self, position: int) -> None:
        """Read on at full speed until `position`."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, LARGE_BUFFER)
        self.until = position

    async def _take(self, count: int) -> None:
        """A server may cut who reads too slowly: that is told, and is no fault."""
        try:
            data = await asyncio.get_running_loop().sock_recv(self.socket, count)
        except OSError:
            data = b""
        self.is_cut = not data
        for frame in self._chunks.feed(data):
            self.seen.take(frame)


def path(session: int) -> str:
    return f"/sessions/load-{session}/stream?after=0"


async def open_viewers(port: int, sessions: list[int]) -> list[Viewer]:
    loop = asyncio.get_running_loop()
    viewers = [Viewer(session, request_bytes("GET", path(session)), loop.create_future()) for session in sessions]
    for start in range(0, len(viewers), OPENED_AT_ONCE):
        some = viewers[start : start + OPENED_AT_ONCE]
        await asyncio.gather(
            *(loop.create_connection(lambda viewer=viewer: viewer, "127.0.0.1", port) for viewer in some)  # type: ignore[misc]
        )
        await asyncio.wait_for(asyncio.gather(*(viewer.opened for viewer in some)), OPEN_TIMEOUT_S)
    return viewers


async def open_slow(port: int, session: int, *, is_stalled: bool) -> Slow:
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT_BYTES)
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(connection, ("127.0.0.1", port))
    await loop.sock_sendall(connection, request_bytes("GET", path(session)))
    return Slow(session, is_stalled, connection)


async def watch(port: int, sessions: int, count: int, slow: int, stalled: int, out: Path) -> None:
    """The last viewers are the slow and the stalled ones."""
    order = [number % sessions for number in range(count)]
    viewers = await open_viewers(port, order[: count - slow - stalled])
    late = [
        await open_slow(port, session, is_stalled=number >= slow)
        for number, session in enumerate(order[count - slow - stalled :])
    ]
    reading = [asyncio.create_task(reader.read()) for reader in late]
    print("ready", flush=True)
    heads = {int(session): head for session, head in json.loads(await _line()).items()}
    for reader in late:
        reader.catch_up(heads.get(reader.session, 0))
    await asyncio.gather(*(_until(viewer, heads.get(viewer.session, 0)) for viewer in viewers))
    await _until_done(late)
    for task in reading:  # which may wait for what comes after that
        task.cancel()
    await asyncio.gather(*reading, return_exceptions=True)
    await asyncio.to_thread(out.write_text, json.dumps(_told(viewers, late)))
    print("done", flush=True)
    await _line()
    for viewer in viewers:
        viewer.is_leaving = True
        if viewer.transport is not None:
            viewer.transport.close()
    for reader in late:
        reader.socket.close()


async def _line() -> str:
    return await asyncio.to_thread(sys.stdin.readline)


async def _until(viewer: Viewer, position: int) -> None:
    """Wait for `position`, but not for ever: whoever is still behind then has lost an update."""
    for _ in range(round(CATCH_UP_S / LOOK_S)):
        if viewer.fault or viewer.seen.position >= position:
            return
        await asyncio.sleep(LOOK_S)


async def _until_done(late: list[Slow]) -> None:
    for _ in range(round(CATCH_UP_S / LOOK_S)):
        if all(reader.is_done for reader in late):
            return
        await asyncio.sleep(LOOK_S)


def _told(viewers: list[Viewer], late: list[Slow]) -> dict[str, object]:
    return {
        "viewers": [
            {
                "session": one.session,
                "positions": one.positions,
                "times": one.times,
                "completed": one.seen.completed,
                "fault": one.fault,
            }
            for one in viewers
        ],
        "slow": [
            {
                "session": one.session,
                "position": one.seen.position,
                "completed": one.seen.completed,
                "is_cut": one.is_cut,
            }
            for one in late
            if not one.is_stalled
        ],
    }


if __name__ == "__main__":
    numbers = list(map(int, sys.argv[1:6]))
    uvloop.run(watch(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], Path(sys.argv[6])))
