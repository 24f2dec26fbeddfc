"""Files of events: one a line, `{type, data, time?, key?}`, as `POST …/events` takes them and `GET` gives them."""

import json
import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from planstrip.errors import PlanstripError, UnreadableTranscript
from planstrip.eventlog import DERIVED, Append, Draft
from planstrip.events import TYPES
from planstrip.intake.check import ENVELOPE, check_event
from planstrip.intake.payload import parse
from planstrip.intake.record import complete
from planstrip.writer import Writer

SUFFIXES: Final = (".jsonl", ".ndjson")
MAX_LINE_BYTES: Final = 4 * 1024 * 1024
_KEYS: Final = {*ENVELOPE, "position"}
_ALONE: Final = {*DERIVED, "viewer/retire"}  # made complete from the log before them


def is_event_file(path: Path) -> bool:
    """Told by its first line that is not blank."""
    if path.suffix not in SUFFIXES or not os.path.isfile(path):
        return False
    try:
        with path.open("rb") as file:
            first = next((line for line in iter(lambda: file.readline(MAX_LINE_BYTES), b"") if line.strip()), b"")
        event = json.loads(first)
    except (OSError, ValueError, RecursionError):
        return False
    return (
        isinstance(event, dict)
        and set(event) <= _KEYS
        and event.get("type") in TYPES
        and isinstance(event.get("data"), dict)
    )


def append_events(writer: Writer, session: str, path: Path) -> None:
    """Raises UnreadableTranscript for the first event that the door would not take; the id is not checked."""
    try:
        for is_alone, run in groupby(list(_drafts(path)), lambda draft: draft.type in _ALONE):
            for part in ([draft] for draft in run) if is_alone else [list(run)]:
                writer.append_blocking(Append(session, part, derive=complete if is_alone else None))
    except (PlanstripError, OSError, UnicodeDecodeError) as error:
        said = error.detail if isinstance(error, PlanstripError) else f"cannot be read: {error}"
        raise UnreadableTranscript(f"{path}: {said}") from error


def _drafts(path: Path) -> Iterator[Draft]:
    lines = path.read_bytes().decode("utf-8-sig").split("\n")
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield check_event(_sent(parse(line, f"line {number}")), f"line {number}")


def _sent(event: Any) -> Any:
    """What a client would have sent of an event that the API gave: its place and the plan it brought back are ours."""
    if not isinstance(event, dict):
        return event
    sent = {key: value for key, value in event.items() if key != "position"}
    data = sent.get("data")
    if sent.get("type") in DERIVED and isinstance(data, dict):
        sent["data"] = {key: value for key, value in data.items() if key not in {"todos", "omitted"}}
    return sent
