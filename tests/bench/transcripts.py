"""Makes Claude transcripts of any size: a sample's rows again and again, each time under fresh ids."""

import io
import re
from collections.abc import Iterator
from pathlib import Path

from planstrip.paths import fixtures_dir
from planstrip.transcripts.lines import lines_of

SESSION = "5bd1e6ff-0000-4000-8000-000000000000"
MIXED = "todowrite-parallel-and-errors.jsonl"  # a session of many kinds of rows
PLANS = "todowrite-250-updates.jsonl.zstd"  # nothing but calls that write a plan

_IDS = re.compile(rb'"(uuid|parentUuid|leafUuid|id|tool_use_id|sourceToolAssistantUUID)":"([^"]{8,})"')
_SESSION = re.compile(rb'"sessionId":"[^"]*"')


def rows_of(sample: str, session: str = SESSION) -> list[bytes]:
    """The rows of a sample, each with its newline, as those of another session."""
    path = fixtures_dir() / "claude-code" / sample
    lines = [line.data + b"\n" for line in lines_of(path).read(io.BytesIO(path.read_bytes()))]
    return [_SESSION.sub(b'"sessionId":"' + session.encode() + b'"', line) for line in lines]


def repeated(rows: list[bytes]) -> Iterator[bytes]:
    """The rows for ever; ids differ from each repetition to the next."""
    number = 0
    while True:
        number += 1
        fresh = rb'"\1":"\2-%d"' % number
        yield from (_IDS.sub(fresh, row) for row in rows)


def make(path: Path, sample: str, size: int) -> None:
    """A transcript of at least `size` bytes."""
    written = 0
    with path.open("wb") as target:
        for row in repeated(rows_of(sample)):
            written += target.write(row)
            if written >= size:
                return
