"""A transcript as it is read and read on: from the start, then what was added, again from the start when it shrank."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO, Final

from planstrip.errors import UnreadableTranscript
from planstrip.transcripts.adapter import Adapted, Adapter, Header, LooksBeside, session_start
from planstrip.transcripts.detect import format_of, is_head, unknown
from planstrip.transcripts.lines import Line, Lines, lines_of
from planstrip.transcripts.records import Record, parse

MARK_BYTES: Final = 256
SHOWN_CHARS: Final = 80  # of a line that was passed over


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
    """`passed_over` counts lines of a reading that do not parse; `first_passed_over` says which was the first."""

    path: Path
    passed_over: int = 0
    first_passed_over: str | None = None
    _lines: Lines = field(init=False)
    agent: str | None = None  # whose file it is, from the first line that says so
    _parse: Callable[[bytes], Record | None] = parse
    _adapter: Adapter | None = None
    _unclaimed: list[Line] = field(default_factory=list)  # what came before that line
    _mark: Mark | None = None

    def __post_init__(self) -> None:
        self._lines = lines_of(self.path)

    @property
    def header(self) -> Header | None:
        """None until the first complete line, or the first that says whose file it is."""
        return None if self._adapter is None else self._adapter.header

    @property
    def looks_beside(self) -> LooksBeside | None:
        """The adapter, if it reads other files as well."""
        return self._adapter if isinstance(self._adapter, LooksBeside) else None

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
        self.agent, self._parse, self._unclaimed = None, parse, []

    def events(self) -> Iterator[Adapted]:
        """What was written since the last call; a reading from the start gives the `session/start` first.

        Raises UnreadableTranscript; what was given before stands.
        """
        self.passed_over, self.first_passed_over = 0, None
        try:
            mode = self.path.stat().st_mode
            if not S_ISREG(mode):  # a pipe would wait for its writer
                what = "a folder that may not be read" if S_ISDIR(mode) else "no regular file"
                raise UnreadableTranscript(f"{self.path}: is {what}")
            with self.path.open("rb") as source:
                self._resume(source)
                try:
                    for line in self._lines.read(source):
                        record = self._parse(line.data)
                        if record is None and not line.data.strip():
                            continue
                        if self._adapter is None:
                            yield from self._begin(line, record)
                            if self._adapter is None:
                                continue
                        if record is None:
                            self._pass_over(line)
                        else:
                            yield from self._adapter.take(record)
                    yield from self._rest()
                finally:
                    self._mark = Mark.of(source, self._lines.offset)
        except OSError as error:
            raise UnreadableTranscript(f"{self.path}: cannot be read: {error.strerror or error}") from error

    def _resume(self, source: BinaryIO) -> None:
        if self._mark is not None and self._mark != Mark.of(source, self._mark.offset):
            self.restart()
        if self.looks_beside is not None:
            self.looks_beside.look()

    def _rest(self) -> Iterator[Adapted]:
        """After the last line that is there. Raises UnreadableTranscript where no line says whose file it is."""
        if self._unclaimed and self._adapter is None:
            raise self._unknown()
        if self.looks_beside is not None:
            yield from self.looks_beside.rest()

    def _begin(self, line: Line, record: Record | None) -> Iterator[Adapted]:
        """The first line that is claimed decides whose file it is. Raises UnreadableTranscript."""
        found = format_of(line)
        record = found.parse(line.data) if record is None and found is not None else record
        if found is None or record is None:
            self._unclaimed.append(line)
            if is_head(self._unclaimed):
                raise self._unknown()
            return
        self.agent, self._parse, self._adapter = found.agent, found.parse, found.adapter(record, self.path)
        for before in self._unclaimed:
            self._pass_over(before)
        if (header := self._adapter.header) is not None:
            yield session_start(header)

    def _unknown(self) -> UnreadableTranscript:
        """The file is read from its start when it has grown."""
        first = self._unclaimed[0]
        self.restart()
        return unknown(self.path, first)

    def _pass_over(self, line: Line) -> None:
        self.passed_over += 1
        if self.first_passed_over is None:
            what = "does not parse" if parse(line.data) is None else "is no record of its agent"
            shown = ascii(line.data[:SHOWN_CHARS].decode(errors="replace"))[:SHOWN_CHARS]
            self.first_passed_over = f"{self.path}: line {line.number} {what}: {shown}"
