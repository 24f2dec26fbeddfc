"""Whose file is this: told by its first complete line, not by its name."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from planstrip.errors import UnreadableTranscript
from planstrip.transcripts import acp, claude_code, codex, deepseek_harness, gemini_cli, kimi, qwen_code
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
    acp.FORMAT,
)
SUFFIXES: Final = (".jsonl", ".jsonl.zstd")


def find(path: Path) -> Iterator[Path]:
    """The file itself; below a directory, every session file: named so, or one that a format claims."""
    if not os.path.isdir(path):  # Path.is_dir raises where a folder above may not be read
        yield path
        return
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            if is_session_file(Path(folder, name)):
                yield Path(folder, name)


def is_session_file(path: Path) -> bool:
    """Whether a file that was not named by a person is to be read. One that is corrupt is: it is to be reported."""
    if path.name.startswith("opencode") and path.name.endswith(".db"):
        return is_database(path)
    if not path.name.endswith(SUFFIXES) or not os.path.isfile(path):  # a pipe would wait for its writer
        return False
    if path.name.startswith("session"):
        return True
    try:
        line = first_line(path)
        return line is not None and format_of(line) is not None
    except (OSError, UnreadableTranscript):
        return True


def detect(path: Path, line: Line) -> Format:
    """The format of the file whose first complete line this is. Raises UnreadableTranscript."""
    found = format_of(line)
    if found is None:
        known = ", ".join(format_.agent for format_ in FORMATS)
        shown = ascii(line.data[:60].decode(errors="replace"))[:80]
        raise UnreadableTranscript(
            f"{path}: not a transcript planstrip knows: line {line.number} is {shown}; expected a header of {known}"
        )
    return found


def format_of(line: Line) -> Format | None:
    record = parse(line.data)
    return None if record is None else next((found for found in FORMATS if found.claims(record)), None)


def first_line(path: Path) -> Line | None:
    """The first line that is complete and not blank."""
    with path.open("rb") as source:
        return next((line for line in lines_of(path).read(source) if line.data.strip()), None)
