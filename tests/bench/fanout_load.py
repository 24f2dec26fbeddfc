"""The viewers of `fanout`: raw sockets on both servers, in a process of its own, written to in turn."""

import asyncio
import json
import sys
import time
from dataclasses import dataclass, field
from statistics import median
from typing import cast

import uvloop

from tests.bench.client import request_bytes
from tests.bench.load_frames import Chunks
from tests.bench.logs import todos

PAUSE_S = 0.25  # longer than the program's frame interval: what is measured is a frame, not the wait for the next
FRAME_TIMEOUT_S = 30
HEARTBEAT = b"event: heartbeat\n"
OPENED_AT_ONCE = 50


@dataclass(slots=True)
class Audience:
    """All viewers of one server, and a connection to write on. `frame` is what they were last sent."""

    port: int
    viewers: int
    missing: int = 0
    frame: bytes = b""
    whole: asyncio.Event = field(default_factory=asyncio.Event)
    reader: asyncio.StreamReader = field(default_factory=asyncio.StreamReader)
    writer: asyncio.StreamWriter | None = None

    async def open(self, path: str) -> None:
        """Every viewer holds its first frame when it returns."""
        self._expect()
        loop, request = asyncio.get_running_loop(), request_bytes("GET", path)
        for start in range(0, self.viewers, OPENED_AT_ONCE):
            count = min(OPENED_AT_ONCE, self.viewers - start)
            opening = (
                loop.create_connection(lambda: Viewer(self, request), "127.0.0.1", self.port) for _ in range(count)
            )
            await asyncio.gather(*opening)
        await asyncio.wait_for(self.whole.wait(), FRAME_TIMEOUT_S)
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

    async def write(self, path: str, body: bytes) -> float:
        """Milliseconds from the request until the last viewer holds the frame that came of it."""
        assert self.writer is not None
        self._expect()
        began = time.perf_counter()  # the loop's own clock stands still while callbacks run
        self.writer.write(request_bytes("POST", path, body))
        await asyncio.wait_for(self.whole.wait(), FRAME_TIMEOUT_S)
        took_s = time.perf_counter() - began
        await self._answer()
        return took_s * 1_000

    async def put(self, path: str, body: bytes) -> None:
        assert self.writer is not None
        self.writer.write(request_bytes("POST", path, body))
        await self._answer()

    def take(self, frame: bytes) -> None:
        if frame.startswith(HEARTBEAT):
            return
        self.frame = frame
        self.missing -= 1
        if not self.missing:
            self.whole.set()

    def _expect(self) -> None:
        self.missing = self.viewers
        self.whole.clear()

    async def _answer(self) -> None:
        head = await self.reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"a write was refused: {head!r}")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        await self.reader.readexactly(length)


class Viewer(asyncio.Protocol):
    """One stream. A server sends each frame as one chunk."""

    def __init__(self, audience: Audience, request: bytes) -> None:
        self._audience = audience
        self._request = request
        self._chunks = Chunks()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        cast(asyncio.Transport, transport).write(self._request)

    def data_received(self, data: bytes) -> None:
        for frame in self._chunks.feed(data):
            self._audience.take(frame)


async def drive(session: str, ours: Audience, bare: Audience, rounds: int, writes: int) -> None:
    await ours.open(f"/sessions/{session}/stream")
    await bare.open("/stream")
    pairs = []
    for number in range(-1, rounds):
        own, other = [], []
        for step in range(writes):
            body = json.dumps({"todos": todos(number * writes + step)}).encode()
            await asyncio.sleep(PAUSE_S)
            own.append(await ours.write(f"/api/sessions/{session}/todo_write", body))
            await bare.put("/frame", ours.frame)
            await asyncio.sleep(PAUSE_S)
            other.append(await bare.write("/write", body))
            if bare.frame != ours.frame:
                raise SystemExit("the two sent different bytes")
        pairs.append((median(own), median(other)))
    print(json.dumps({"pairs": pairs[1:], "frame_bytes": len(ours.frame)}))  # the first only warmed up


async def main() -> None:
    session = sys.argv[1]
    ours, bare, viewers, rounds, writes = map(int, sys.argv[2:7])
    await drive(session, Audience(ours, viewers), Audience(bare, viewers), rounds, writes)


if __name__ == "__main__":
    uvloop.run(main())
