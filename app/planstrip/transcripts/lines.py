"""Complete lines of a growing file, from where the last reading ended, in memory bounded by the longest line."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, Protocol

from planstrip.errors import UnreadableTranscript
from planstrip.transcripts.frames import CorruptFrameError, decoded, frame_end

CHUNK_BYTES: Final = 64 * 1024
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
CUT: Final = b"\0"  # no JSON has it, within a string or without


class Line(NamedTuple):
    """`number` counts from 1; `data` is without the newline."""

    number: int
    data: bytes


class Lines(Protocol):
    """`offset`: the byte to go on from, all lines before it given."""

    offset: int

    def read(self, source: BinaryIO) -> Iterator[Line]:
        """The lines that are complete by now and were not given yet."""
        ...


def lines_of(path: Path) -> Lines:
    return ZstdLines(path) if path.name.endswith(".zstd") else PlainLines()


@dataclass(slots=True)
class PlainLines:
    """A line counts only with its newline: what is torn may be written again differently."""

    offset: int = 0
    number: int = 0

    def read(self, source: BinaryIO) -> Iterator[Line]:
        source.seek(self.offset)
        for size, data in _split(source):
            self.offset += size
            self.number += 1
            yield Line(self.number, data)


@dataclass(slots=True)
class ZstdLines:
    """Independent frames, one after the other; a line counts only with its frame's end.

    Raises UnreadableTranscript for garbage that is no torn tail.
    """

    path: Path
    offset: int = 0
    number: int = 0
    _rest: bytes = field(default=b"", repr=False)  # of a line that goes on in the next frame

    def read(self, source: BinaryIO) -> Iterator[Line]:
        while (end := self._end(source)) is not None:
            try:
                with decoded(source, self.offset, end, self._rest) as content:
                    self._rest = yield from self._numbered(content)
            except CorruptFrameError as error:
                raise self._corrupt(error) from None  # it is all there and does not decode: that is no torn tail
            self.offset = end

    def _numbered(self, content: BinaryIO) -> Generator[Line, None, bytes]:
        pieces = _split(content)
        while True:
            try:
                _, data = next(pieces)
            except StopIteration as stop:
                rest: bytes = stop.value
                return rest
            self.number += 1
            yield Line(self.number, data)

    def _end(self, source: BinaryIO) -> int | None:
        try:
            return frame_end(source, self.offset)
        except CorruptFrameError as error:
            raise self._corrupt(error) from None

    def _corrupt(self, error: CorruptFrameError) -> UnreadableTranscript:
        return UnreadableTranscript(f"{self.path}: corrupt at byte {self.offset}: {error}")


def _split(source: BinaryIO) -> Generator[tuple[int, bytes], None, bytes]:
    """Each line that ends, with its size in bytes, newline included; returns what follows the last newline.

    Of a line of MAX_LINE_BYTES or more only the start is given, which parses no more and is passed over as such.
    """
    parts: list[bytes] = []
    size = 0
    while chunk := source.read(CHUNK_BYTES):
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            is_whole = size + len(piece) < MAX_LINE_BYTES
            yield size + len(piece) + 1, b"".join([*parts, piece] if is_whole else [*parts[:1], CUT])
            parts, size = [], 0
        if size < MAX_LINE_BYTES:
            parts.append(rest)
        size += len(rest)
    return b"".join(parts)
