"""Connections of clients that trickle their request, or read no answer, are cut: uvicorn waits for both for ever."""

import asyncio
import json
import socket
from typing import Any, ClassVar, Final, Literal, TypeAlias

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MIN_BYTES_S: Final = 512  # of a body, and of an answer that is being read; a phone's worst network does better
# What the system may keep for a reader: of megabytes it would not tell for a minute that some were read.
UNSENT_BYTES: Final = 64 * 1024

Stage: TypeAlias = Literal["head", "body"]


class TimedProtocol(HttpToolsProtocol):
    """A head comes within `timeout_s`. A body, and what reads an answer, goes on at `MIN_BYTES_S`, looked at as often.

    The timer stands only while something is awaited: a request that comes in one piece has none.
    """

    timeout_s: ClassVar[float]
    _stage: Stage | None = "head"
    _timed: Stage | None = None
    _timer: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    _received = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # Linux and macOS
            wire: socket.socket = transport.get_extra_info("socket")
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
        self._await(self._stage)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)  # which resumes writing
        self._await(None)
        self._stop_reading()

    def data_received(self, data: bytes) -> None:
        self._received += len(data)
        super().data_received(data)
        if self._stage != self._timed:
            self._await(self._stage)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._stage = "head"

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._stage = "body"

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._stage = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._reading is None:
            self._look_at_reading(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_reading()

    def _await(self, stage: Stage | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._timed = stage
        if stage is not None and not self.transport.is_closing():
            self._received = 0
            self._timer = self.loop.call_later(self.timeout_s, self._late)

    def _late(self) -> None:
        is_ours = self._timed == "body" and self.flow.read_paused  # who reads it has not come to it
        if is_ours or (self._timed == "body" and self._received >= MIN_BYTES_S * self.timeout_s):
            self._await("body")
            return
        self._timer = None
        if self.cycle is None or (self._timed == "head" and self.cycle.response_complete):
            self.transport.write(_ANSWER)
        elif self._timed == "body" and not self.cycle.response_started:
            self.cycle.disconnected = True  # it answers no more
            self.cycle.message_event.set()
            self.transport.write(_ANSWER)
        self.transport.close()

    def _look_at_reading(self, unread: int) -> None:
        self._reading = self.loop.call_later(self.timeout_s, self._unread, unread)

    def _unread(self, before: int) -> None:
        unread = self.transport.get_write_buffer_size()
        if before - unread >= MIN_BYTES_S * self.timeout_s:
            self._look_at_reading(unread)
        else:
            self.transport.abort()  # to close it would be to wait until it has read

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


def timed(timeout_s: float) -> type[TimedProtocol]:
    return type("TimedProtocol", (TimedProtocol,), {"timeout_s": timeout_s})


def _answer() -> bytes:
    problem: dict[str, Any] = {"title": "Request timeout", "status": 408, "detail": "the request came too slowly"}
    body = json.dumps(problem).encode()
    head = f"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/problem+json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body


_ANSWER: Final = _answer()
