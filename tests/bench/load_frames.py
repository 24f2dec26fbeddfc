"""What a viewer reads of a stream: HTTP's chunks, each of which is one frame."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

ID = re.compile(rb"id: (\d+)\n")
COMPLETED = re.compile(rb'data-said="(\d+) ')  # of the strip, which tells first how many to-dos are completed


class RefusedError(Exception):
    """The stream was not opened; the answer's head."""


@dataclass(slots=True)
class Chunks:
    _received: bytes = b""
    _is_open: bool = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The frames that `data` completes. Raises RefusedError."""
        self._received += data
        if not self._is_open:
            head, mark, rest = self._received.partition(b"\r\n\r\n")
            if not mark:
                return
            if not head.startswith(b"HTTP/1.1 200"):
                raise RefusedError(head[:200].decode(errors="replace"))
            self._received, self._is_open = rest, True
        while True:
            end = self._received.find(b"\r\n")
            size = int(self._received[:end], 16) if end > 0 else 0
            if not size or len(self._received) < end + 4 + size:
                return
            frame = self._received[end + 2 : end + 2 + size]
            self._received = self._received[end + 4 + size :]
            yield frame


@dataclass(slots=True)
class Seen:
    """Where a viewer stands: the log's position that its last frame told, and how many to-dos its strip calls done."""

    position: int = 0
    completed: int = -1

    def take(self, frame: bytes) -> bool:
        """Whether it brought the viewer on. A heartbeat does not."""
        told = ID.match(frame)
        if told is None:
            return False
        strip = COMPLETED.search(frame)
        if strip:
            self.completed = int(strip[1])
        self.position = int(told[1])
        return True
