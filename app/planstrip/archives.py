"""A session's archive: zstd-compressed NDJSON, first what it holds, then each event exactly as it was stored.

`{"planstrip": "session", "version": 1, "session": ID, "events": COUNT, "sha256": of all lines below}`, then a line an
event: `{"position", "type", "time", "key"?, "data"}`. `zstd -dc FILE` shows it.
"""

import hashlib
import io
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, BinaryIO, Final, Literal, cast

import msgspec
from sqlalchemy import Connection, bindparam, select

from planstrip.errors import UnreadableTranscript
from planstrip.events import MAX_TIME_MS
from planstrip.snapshot.names import safe
from planstrip.tables import events

SUFFIX: Final = ".ndjson.zst"
VERSION: Final = 1
LEVEL: Final = 9
ROWS: Final = 1_000
MAX_LINE_BYTES: Final = 4 * 1024 * 1024
MAX_TRIES: Final = 10_000
_MAGIC: Final = b"\x28\xb5\x2f\xfd"
_BEGINNING: Final = b'{"planstrip":'


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    planstrip: Literal["session"] = "session"
    version: int = VERSION
    session: str
    events: Annotated[int, msgspec.Meta(ge=1)]
    sha256: str


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An event; `data` is its JSON, byte for byte."""

    position: int
    type: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    time: Annotated[int, msgspec.Meta(ge=0, le=MAX_TIME_MS)]
    data: msgspec.Raw
    key: Annotated[str, msgspec.Meta(min_length=1, max_length=1_000)] | None = None


def stored_lines(connection: Connection, session: str) -> Iterator[bytes]:
    """What the log holds of a session, each line with its newline."""
    after = 0
    while rows := connection.execute(_STORED, {"session": session, "after": after}).all():
        for position, type_, time, key, data in rows:
            yield msgspec.json.encode(Line(position, type_, time, msgspec.Raw(data.encode()), key)) + b"\n"
        after = rows[-1].position


def header_of(connection: Connection, session: str) -> Header | None:
    """What an archive of it would say now; None for a session without events."""
    digest, count = hashlib.sha256(), 0
    for line in stored_lines(connection, session):
        digest.update(line)
        count += 1
    return Header(session=session, events=count, sha256=digest.hexdigest()) if count else None


def write(connection: Connection, header: Header, folder: Path) -> Path:
    """The file that holds what `header` says: one that is there already and equal will do.

    None is ever replaced or deleted, whatever it holds. Raises OSError.
    """
    from zstandard import ZstdCompressor

    for path in _names(header.session, folder):
        with suppress(UnreadableTranscript):
            if os.path.lexists(path) and verify(path) == header:
                return path
        if os.path.lexists(path):
            continue
        number, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=folder)
        try:
            with open(number, "wb") as file:
                with ZstdCompressor(LEVEL, write_checksum=True).stream_writer(file, closefd=False) as writer:
                    writer.write(msgspec.json.encode(header) + b"\n")
                    for line in stored_lines(connection, header.session):
                        writer.write(line)
                file.flush()
                os.fsync(file.fileno())
            os.link(part, path)  # fails where somebody has made it meanwhile
            sync(folder)
            return path
        except FileExistsError:
            continue
        finally:
            os.unlink(part)
    raise FileExistsError(f"{folder} has {MAX_TRIES} archives of {header.session!r}")


def verify(path: Path) -> Header:
    """What it holds, read to its end and counted. Raises UnreadableTranscript for any fault."""
    digest = hashlib.sha256()
    with reading(path) as (header, lines):
        count = 0
        for count, (raw, line) in enumerate(lines, 1):
            digest.update(raw)
            if line.position != count:
                raise UnreadableTranscript(f"{path}: event {count} stands at position {line.position}")
        found = count, digest.hexdigest()
        if found != (header.events, header.sha256):
            raise UnreadableTranscript(
                f"{path}: it should hold {header.events} events, and has {count}, or others: it was cut off or changed"
            )
        return header


@contextmanager
def reading(path: Path) -> Iterator[tuple[Header, Iterator[tuple[bytes, Line]]]]:
    """The header, and each event as its bytes and read. Raises UnreadableTranscript, also while it is read."""
    from zstandard import ZstdError

    try:
        with path.open("rb") as file:
            content = _content(file)
            header = msgspec.json.decode(content.readline(MAX_LINE_BYTES), type=Header)
            if header.version != VERSION:
                raise UnreadableTranscript(f"{path}: an archive of version {header.version}; upgrade planstrip")
            yield header, _lines(content)
    except (OSError, ValueError, ZstdError, msgspec.MsgspecError) as error:
        raise UnreadableTranscript(f"{path}: no whole archive: {error}") from error


def is_archive(path: Path) -> bool:
    """Told by its name, or by its first line, also where it was decompressed."""
    if path.name.endswith(SUFFIX) or not os.path.isfile(path):
        return path.name.endswith(SUFFIX)
    try:
        with path.open("rb") as file:
            if not file.read(len(_BEGINNING)).startswith((_MAGIC, _BEGINNING)):
                return False  # most transcripts
        with reading(path):
            return True
    except (OSError, UnreadableTranscript):
        return False


def sync(folder: Path) -> None:
    """A new name in it survives a power cut."""
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _names(session: str, folder: Path) -> Iterator[Path]:
    for number in range(1, MAX_TRIES):
        yield folder / f"{safe(session)}{f'.{number}' if number > 1 else ''}{SUFFIX}"


def _lines(content: BinaryIO) -> Iterator[tuple[bytes, Line]]:
    while raw := content.readline(MAX_LINE_BYTES):
        yield raw, msgspec.json.decode(raw, type=Line)


def _content(file: BinaryIO) -> BinaryIO:
    """Its bytes, decompressed where they need it."""
    is_compressed = file.read(len(_MAGIC)) == _MAGIC
    file.seek(0)
    if not is_compressed:
        return file
    from zstandard import ZstdDecompressor

    return cast(BinaryIO, io.BufferedReader(ZstdDecompressor().stream_reader(file, read_across_frames=True)))


_STORED: Final = (
    select(events.c.position, events.c.type, events.c.time, events.c.key, events.c.data)
    .where(events.c.session == bindparam("session"), events.c.position > bindparam("after"))
    .order_by(events.c.position)
    .limit(ROWS)
)
