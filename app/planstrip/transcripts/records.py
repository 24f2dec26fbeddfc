"""One line of an agent's file as JSON, and what may be found in it: nothing about its shape is taken for granted."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from planstrip.events import MAX_TIME_MS

MAX_BESIDE_BYTES: Final = 64 * 1024

Record: TypeAlias = Mapping[str, object]

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def parser_of(shape: object = Any) -> Callable[[bytes], Record | None]:
    """A parser of lines: the object in one, lone surrogates in it replaced by U+FFFD; None for anything else.

    `shape`: a TypedDict of the keys that are read. Only these are made, in a fraction of the time; a line of another
    shape is parsed whole all the same.
    """
    decode = msgspec.json.Decoder(shape).decode

    def parse_line(line: bytes) -> Record | None:
        try:
            value = decode(line)  # four times as fast as json, and refuses more: never less of what is read
        except (ValueError, RecursionError):
            value = _parse_slowly(line)
        return value if isinstance(value, dict) else None

    return parse_line


parse: Final = parser_of()


def at(record: object, *path: str) -> object:
    """The value under a path of keys; None where there is none."""
    for key in path:
        if not isinstance(record, dict):  # a check for Mapping takes four times as long, and json makes no other
            return None
        record = record.get(key)
    return record


def text_at(record: object, *path: str) -> str | None:
    for key in path:  # not by `at`: what is asked most is worth its own loop
        if not isinstance(record, dict):
            return None
        record = record.get(key)
    return record if isinstance(record, str) else None


def whole_at(record: object, *path: str) -> int | None:
    value = at(record, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def list_at(record: object, *path: str) -> list[object] | None:
    value = at(record, *path)
    return value if isinstance(value, list) else None


def time_at(record: object, *path: str) -> int | None:
    """Milliseconds since the epoch, UTC; None for what the log could not hold."""
    value = whole_at(record, *path)
    return value if value is not None and 0 <= value <= MAX_TIME_MS else None


def iso_time_at(record: object, *path: str) -> int | None:
    """The same of a time like `2026-11-30T14:02:05.123Z`; one without a zone is UTC."""
    text = text_at(record, *path)
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        value = round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return value if 0 <= value <= MAX_TIME_MS else None


def json_of(value: object) -> str:
    """A value as the text that a model could have sent; empty where it is nested too deep."""
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        return ""


def joined_text(parts: object) -> str:
    """The text of a message: a string, or the `text` parts of a list, a line each."""
    if isinstance(parts, str):
        return parts
    texts = [text_at(part, "text") for part in parts] if isinstance(parts, list) else []
    return "\n".join([text for text in texts if text is not None])


def _parse_slowly(line: bytes) -> object:
    """What json takes and the fast parser does not: lone surrogates, and lists in lists 200 deep."""
    try:
        value = json.loads(line.decode())
        return _without_surrogates(value) if b"\\u" in line else value
    except (ValueError, RecursionError):
        return None


def beside(path: Path) -> bytes:
    """What a small file beside a transcript holds; nothing where there is none."""
    try:
        if path.stat().st_size <= MAX_BESIDE_BYTES and path.is_file():
            return path.read_bytes()
    except OSError:
        pass
    return b""


def line_of(path: Path) -> str | None:
    """The one line of such a file."""
    return beside(path).decode(errors="replace").strip() or None


def _without_surrogates(value: object) -> object:
    match value:
        case str():
            return _LONE_SURROGATE.sub("\ufffd", value)
        case list():
            return [_without_surrogates(item) for item in value]
        case dict():
            return {_without_surrogates(key): _without_surrogates(item) for key, item in value.items()}
        case _:
            return value
