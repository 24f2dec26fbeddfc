"""Takes an archived session in again: the same positions, times and keys; twice is once."""

import json
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from sqlalchemy.exc import DBAPIError

from planstrip.archives import Line, reading, stored_lines, verify
from planstrip.db import address_of, said_by
from planstrip.errors import PlanstripError, StoreUnusable, Unavailable, UnreadableTranscript
from planstrip.eventlog import LISTS, Append, Draft
from planstrip.events import decode, encode
from planstrip.intake.check import check_data, check_session_id
from planstrip.intake.imports import FileReport
from planstrip.writer import Writer

BATCH_EVENTS: Final = 1_000
BATCH_BYTES: Final = 4 * 1024 * 1024


def import_archive(writer: Writer, path: Path) -> FileReport:
    """Nothing is changed by a file that is not whole, nor in a session that stands with other events.

    Raises StoreUnusable when the store fails.
    """
    try:
        header = verify(path)
        session = check_session_id(header.session)
        known = _known(writer, session, path)
        added = 0
        for batch in _batches(path, known):
            added += writer.append_blocking(Append(session, batch, expected_position=known + added)).added
    except (Unavailable, DBAPIError) as error:
        said = error.detail if isinstance(error, Unavailable) else said_by(error)
        raise StoreUnusable(f"database {address_of(writer.engine)}: {said}") from error
    except PlanstripError as error:
        said = error.detail
        return FileReport(path, failure=said if said.startswith(str(path)) else f"{path}: {said}")
    problems = () if added or not known else (f"{path}: session {session!r} stands already: nothing was changed",)
    return FileReport(path, session, added, min(known, header.events), problems)


def _known(writer: Writer, session: str, path: Path) -> int:
    """Where the session stands, if it holds what the archive does, as far as both go.

    Raises UnreadableTranscript for one that is another.
    """
    stands = 0
    with writer.engine.connect() as connection, reading(path) as (_, lines):
        for stored, archived in zip_longest(stored_lines(connection, session), lines):
            if stored is None:
                break
            stands += 1
            if archived is not None and stored != archived[0]:
                raise UnreadableTranscript(
                    f"{path}: session {session!r} stands already, with another event at position {stands};"
                    " it was left alone"
                )
    return stands


def _batches(path: Path, after: int) -> Iterator[list[Draft]]:
    batch: list[Draft] = []
    size = 0
    with reading(path) as (_, lines):
        for raw, line in lines:
            if line.position > after:
                batch.append(_draft(line, f"{path}: position {line.position}"))
                size += len(raw)
            if len(batch) >= BATCH_EVENTS or size > BATCH_BYTES:
                yield batch
                batch, size = [], 0
    if batch:
        yield batch


def _draft(line: Line, where: str) -> Draft:
    """Of what stood in a log: the door's other checks may have changed since. Raises Invalid, UnreadableTranscript."""
    text = bytes(line.data).decode()
    data: Any = json.loads(text)
    try:
        encode(data)
    except (ValueError, RecursionError) as error:
        raise UnreadableTranscript(f"{where}: {error}") from error
    if not isinstance(data, dict):
        raise UnreadableTranscript(f"{where}: data is no object")
    if line.type in LISTS:  # the one thing that every list in a log can be relied on for (spec.md §2)
        check_data("todo/write", {name: data[name] for name in ("todos", "omitted") if name in data}, path=where)
    return Draft(line.type, decode(line.type, text), text, line.time, line.key)
