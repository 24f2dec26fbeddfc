"""A transcript as it is read and read on: from the start, then what was added, again from the start when it shrank."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, Final

from planstrip.errors import UnreadableTranscript
from planstrip.transcripts.adapter import Adapted, Adapter, Header, session_start
from planstrip.transcripts.detect import detect
from planstrip.transcripts.lines import Line, Lines, lines_of
from planstrip.transcripts.records import Record, parse

MARK_BYTES: Final = 256
SHOWN_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class Mark:
    """What tells a file that grew from one that was cut and written on, or replaced."""

    device: int
    inode: int
    offset: int
    before: bytes  # the last bytes up to `offset`

    @classmethod
    def of(cls, source: BinaryIO, offset: int) -> "Mark":
        stat = os.fstat(source.fileno())
        source.seek(max(0, offset - MARK_BYTES))
        return cls(stat.st_dev, stat.st_ino, offset, source.read(min(offset, MARK_BYTES)))


@dataclass(slots=True)
class Transcript:
    """`passed_over` counts lines that do not parse; `first_passed_over` says which was the first."""

    path: Path
    passed_over: int = 0
    first_passed_over: str | None = None
    _lines: Lines = field(init=False)
    _adapter: Adapter | None = None
    _mark: Mark | None = None

    def __post_init__(self) -> None:
        self._lines = lines_of(self.path)

    @property
    def header(self) -> Header | None:
        """None until the first complete line, or the first that says whose file it is."""
        return None if self._adapter is None else self._adapter.header

    @property
    def offset(self) -> int:
        """Bytes of the file that are done with."""
        return self._lines.offset

    def leave(self, _session: str) -> bool:
        """There is no other session in it."""
        return False

    def restart(self) -> None:
        """Read from the start next time, as after a batch that could not be stored."""
        self._lines, self._adapter, self._mark = lines_of(self.path), None, None
        self.passed_over, self.first_passed_over = 0, None

    def events(self) -> Iterator[Adapted]:
        """What was written since the last call; a reading from the start gives the `session/start` first.

        Raises UnreadableTranscript; what was given before stands.
        """
        try:
            if not S_ISREG(self.path.stat().st_mode):
                raise UnreadableTranscript(f"{self.path}: is no regular file")  # a pipe would wait for its writer
            with self.path.open("rb") as source:
                if self._mark is not None and self._mark != Mark.of(source, self._mark.offset):
                    self.restart()
                try:
                    for line in self._lines.read(source):
                        record = parse(line.data)
                        if record is None and not line.data.strip():
                            continue
                        if self._adapter is None:
                            yield from self._begin(line, record)
                            assert self._adapter is not None
                        if record is None:
                            self._pass_over(line)
                        else:
                            yield from self._adapter.take(record)
                finally:
                    self._mark = Mark.of(source, self._lines.offset)
        except OSError as error:
            raise UnreadableTranscript(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def _begin(self, line: Line, record: Record | None) -> Iterator[Adapted]:
        """The first line decides whose file it is, also when the file has grown. Raises UnreadableTranscript."""
        try:
            format_ = detect(self.path, line)
        except UnreadableTranscript:
            self.restart()
            raise
        assert record is not None
        self._adapter = format_.adapter(record, self.path)
        if (header := self._adapter.header) is not None:
            yield session_start(header)

    def _pass_over(self, line: Line) -> None:
        self.passed_over += 1
        if self.first_passed_over is None:
            shown = ascii(line.data[:SHOWN_CHARS].decode(errors="replace"))[:SHOWN_CHARS]
            self.first_passed_over = f"{self.path}: line {line.number} does not parse: {shown}"
