"""What is read again and again: a file of one session, or a store of many."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

from planstrip.transcripts import opencode_database
from planstrip.transcripts.adapter import Adapted, Header
from planstrip.transcripts.follow import Transcript
from planstrip.transcripts.opencode_database import OpencodeDatabase
from planstrip.transcripts.opencode_export import OpencodeExport

WAL: Final = "-wal"


class Source(Protocol):
    """`header`: whose event `events` gave last, and whose it gives next until it names another.

    `passed_over`: how much of the last reading was no record, and what the first of it was.
    """

    path: Path
    passed_over: int
    first_passed_over: str | None

    @property
    def header(self) -> Header | None: ...

    @property
    def offset(self) -> int: ...

    def restart(self) -> None: ...

    def events(self) -> Iterator[Adapted]: ...

    def leave(self, session: str) -> bool:
        """Give no more of one session; False where there is no other."""
        ...


def source_of(path: Path) -> Source:
    if opencode_database.is_database(path):
        return OpencodeDatabase(path)
    return OpencodeExport(path) if path.suffix == ".json" else Transcript(path)


def reader_of(source: Source) -> str:
    """The agent whose transcripts are read so; `unknown` for a file that says nothing of it."""
    if isinstance(source, Transcript):
        return source.agent or "unknown"
    return "opencode"


def main_file(path: Path) -> Path:
    """The file that is read when `path` has changed: a database is written beside itself."""
    return path.with_name(path.name.removesuffix(WAL)) if path.name.endswith(f".db{WAL}") else path


def log_of(path: Path) -> Path:
    """Where a database is written before it is written itself; any other file itself."""
    return path.with_name(path.name + WAL) if path.suffix == ".db" else path
