"""Whose file is this: told by the first of its lines that an agent's format claims, not by its name."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from planstrip.errors import UnreadableTranscript
from planstrip.transcripts import acp, claude_code, codex, deepseek_harness, gemini_cli, kimi, langchain, qwen_code
from planstrip.transcripts.adapter import Format
from planstrip.transcripts.lines import Line, lines_of
from planstrip.transcripts.opencode_database import is_database
from planstrip.transcripts.records import parse

FORMATS: Final = (
    deepseek_harness.FORMAT,
    claude_code.FORMAT,
    codex.FORMAT,
    gemini_cli.FORMAT,
    qwen_code.FORMAT,
    kimi.FORMAT,
    langchain.FORMAT,
    acp.FORMAT,
)
SUFFIXES: Final = (".jsonl", ".jsonl.zstd")
BESIDE: Final = ("-wal", "-shm")  # where SQLite writes beside a database
HEAD_LINES: Final = 20  # among which one must be claimed: those before it may be poison
HEAD_BYTES: Final = 1024 * 1024


def find(path: Path, on_skip: Callable[[Path], None] | None = None) -> Iterator[Path]:
    """The file itself; below a directory, every session file: named so, or one that a format claims.

    `on_skip` hears of every other file there. A folder that may not be read is given itself: reading it says so.
    """
    if not os.path.isdir(path):  # Path.is_dir raises where a folder above may not be read
        yield path
        return
    unreadable: list[OSError] = []
    for folder, folders, names in os.walk(path, onerror=unreadable.append):
        folders.sort()
        for name in sorted(names):
            if is_session_file(Path(folder, name)):
                yield Path(folder, name)
            elif on_skip is not None and not name.endswith(BESIDE):
                on_skip(Path(folder, name))
    yield from (Path(error.filename) for error in unreadable)


def is_session_file(path: Path) -> bool:
    """Whether a file that was not named by a person is to be read. One that is corrupt is: it is to be reported."""
    if path.name.startswith("opencode") and path.name.endswith(".db"):
        return is_database(path)
    if not path.name.endswith(SUFFIXES) or not os.path.isfile(path):  # a pipe would wait for its writer
        return False
    if path.name.startswith("session"):
        return True
    try:
        return any(format_of(line) is not None for line in head(path))
    except (OSError, UnreadableTranscript):
        return True


def unknown(path: Path, line: Line) -> UnreadableTranscript:
    """The error of a file whose head no format claims; `line` is its first."""
    known = ", ".join(format_.agent for format_ in FORMATS)
    return UnreadableTranscript(
        f"{path}: not a transcript planstrip knows: line {line.number} is {shown(line)}; expected a header of {known}"
    )


def shown(line: Line) -> str:
    return ascii(line.data[:50].decode(errors="replace"))[:70]


def format_of(line: Line) -> Format | None:
    """A line that does not parse whole may still do as far as a format reads it."""
    record = parse(line.data)
    records = ((found, found.parse(line.data) if record is None else record) for found in FORMATS)
    return next((found for found, record in records if record is not None and found.claims(record)), None)


def head(path: Path) -> Iterator[Line]:
    """The lines that may say whose file it is: the first that are complete and not blank."""
    found: list[Line] = []
    with path.open("rb") as source:
        for line in lines_of(path).read(source):
            if line.data.strip():
                found.append(line)
                yield line
                if is_head(found):
                    return


def is_head(lines: Sequence[Line]) -> bool:
    """Whether these lines are all that are looked at."""
    return len(lines) >= HEAD_LINES or sum(len(line.data) for line in lines) > HEAD_BYTES
