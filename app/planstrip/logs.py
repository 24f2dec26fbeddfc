"""The program's own log: a line a record, as text or as JSON, in which no content, title, token or address stands."""

import json
import logging
import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from planstrip.terminal import plain

Format: TypeAlias = Literal["text", "json"]
Level: TypeAlias = Literal["debug", "info", "warning", "error"]

OURS: Final = re.compile(
    r"(?:planstrip|uvicorn\.error)(?:\..*)?"
)  # whose messages hold no more than names, numbers and ids
WITHHELD: Final = "a message of %s at %s:%d, withheld: it may hold what agents wrote"
IN_MESSAGE: Final = frozenset({"method", "route", "status"})
FIELDS: Final = "planstrip_fields"  # of a record: what it tells beside its message


@dataclass(slots=True)
class Concern:
    """The request that is served, and whose session it turned out to be about."""

    request_id: str
    session: str | None = None


CONCERN: Final[ContextVar[Concern | None]] = ContextVar("planstrip_concern", default=None)


def request_id() -> str | None:
    concern = CONCERN.get()
    return None if concern is None else concern.request_id


def concerning(session: str) -> None:
    """Records of this request are about that session from now on."""
    if (concern := CONCERN.get()) is not None:
        concern.session = session


def set_up(form: Format = "text", level: Level = "info") -> None:
    """To standard error, but where somebody else's logging is set up already."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=max(logging.WARNING, level_of(level)), handlers=[handler])
    logging.captureWarnings(capture=True)
    logging.getLogger("planstrip").setLevel(level_of(level))
    logging.getLogger("uvicorn").setLevel(max(logging.WARNING, level_of(level)))  # the rest we say better
    logging.getLogger("uvicorn.access").disabled = True  # it would write addresses out, whoever switches it on
    threading.excepthook = _thread_failed


def level_of(level: Level) -> int:
    return logging.getLevelNamesMapping()[level.upper()]


def _thread_failed(failed: threading.ExceptHookArgs) -> None:
    if failed.exc_value is not None:
        name = failed.thread.name if failed.thread is not None else "a thread"
        logging.getLogger(__name__).error("%s ended", name, exc_info=failed.exc_value)


def message_of(record: logging.LogRecord) -> str:
    """What a library says is built of whatever it was given: of that, where it said it is all that is told."""
    if OURS.fullmatch(record.name):
        return record.getMessage().strip()
    return WITHHELD % (record.name, os.path.basename(record.pathname), record.lineno)


def fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """`request_id` and `session` where there are such, and what the record was given."""
    concern = CONCERN.get()
    told = {} if concern is None else {"request_id": concern.request_id, "session": concern.session}
    told |= getattr(record, FIELDS, {})
    return {name: value for name, value in told.items() if value is not None}


def trace_of(error: BaseException) -> str:
    """The traceback with each error's type and without its words, which quote what was sent."""
    return "\n".join(_traced(error, set()))


def _traced(error: BaseException, seen: set[int]) -> Iterator[str]:
    seen.add(id(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None and id(before) not in seen:
        yield from _traced(before, seen)
    for part in getattr(error, "exceptions", ()):  # of a group
        if id(part) not in seen:
            yield from _traced(part, seen)
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip()
    yield f"{type(error).__module__}.{type(error).__qualname__}"


class JsonLines(logging.Formatter):
    """An object a line: `time` (UTC), `level`, `logger`, `message`, `pid`, the record's fields, `traceback`."""

    def format(self, record: logging.LogRecord) -> str:
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        told: dict[str, Any] = {
            "time": f"{moment}.{int(record.msecs):03}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message_of(record),
            "pid": record.process,
            **fields_of(record),
        }
        if record.exc_info and record.exc_info[1] is not None:
            told["traceback"] = trace_of(record.exc_info[1])
        return json.dumps(told)


class TextLines(logging.Formatter):
    """For a person: level, message, fields; a traceback on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        told = ((name, value) for name, value in fields_of(record).items() if name not in IN_MESSAGE)
        fields = "".join(f" {name}={value}" for name, value in told)
        line = plain(f"planstrip: {record.levelname} {message_of(record)}{fields}")
        if record.exc_info and record.exc_info[1] is not None:
            line += "\n" + trace_of(record.exc_info[1])
        return line
