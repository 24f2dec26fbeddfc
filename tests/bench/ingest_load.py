"""The load driver of `ingest`: raw keep-alive connections, each with a session of its own and one request in flight."""

import asyncio
import json
import sys
import time
from typing import cast

import uvloop

from tests.bench.client import content_length, request_bytes
from tests.bench.logs import todos

WARM_UP_S = 0.4


class Load(asyncio.Protocol):
    """One connection. It sends the next request as soon as the answer to the last is whole."""

    is_over = False
    answers = 0
    faults: list[bytes] = []  # noqa: RUF012  (shared on purpose: one load a process)

    def __init__(self, request: bytes) -> None:
        self._request = request
        self._received = b""
        self._transport: asyncio.Transport | None = None
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class is no asyncio.Transport
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        received = self._received = self._received + data
        end = received.find(b"\r\n\r\n")
        if end < 0 or len(received) < end + 4 + content_length(received[:end]):
            return
        if not received.startswith(b"HTTP/1.1 200"):
            Load.faults.append(received[:300])
            Load.is_over = True
        self._received = b""
        Load.answers += 1
        if Load.is_over:
            self._transport.close()
        else:
            self._transport.write(self._request)

    def connection_lost(self, exc: Exception | None) -> None:
        if not Load.is_over:
            Load.faults.append(b"the server closed a connection")
        self.closed.set_result(None)


async def drive(port: int, connections: int, window_s: float) -> None:
    loop = asyncio.get_running_loop()
    body = json.dumps({"todos": todos(1)}).encode()
    loads = []
    for number in range(connections):
        request = request_bytes("POST", f"/api/sessions/load-{number}/todo_write", body)
        _, load = await loop.create_connection(lambda request=request: Load(request), "127.0.0.1", port)  # type: ignore[misc]
        loads.append(load)
    await asyncio.sleep(WARM_UP_S)
    before, began = Load.answers, time.perf_counter()
    await asyncio.sleep(window_s)
    answered, took_s = Load.answers - before, time.perf_counter() - began
    Load.is_over = True
    await asyncio.gather(*(load.closed for load in loads))
    if Load.faults:
        raise SystemExit(f"{len(Load.faults)} requests failed, the first with {Load.faults[0]!r}")
    print(json.dumps({"per_second": answered / took_s, "total": Load.answers}))


if __name__ == "__main__":
    port, connections, window_s = sys.argv[1:4]
    uvloop.run(drive(int(port), int(connections), float(window_s)))
