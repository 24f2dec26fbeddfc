"""Beside a Claude Code session's file: its subagents' Task calls, which change the session's list (formats.md §2).

Their files, `agent-ID.jsonl`, lie in `SESSION/subagents`; with 2.0.x beside the session's own, among other sessions'.
"""

import os
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from planstrip.transcripts import claude_code_rows as rows
from planstrip.transcripts.lines import PlainLines
from planstrip.transcripts.mapping import MAX_PLAN_BYTES
from planstrip.transcripts.records import Record, at, iso_time_at, parse, text_at

FOLDER: Final = "subagents"
CHANGING: Final = frozenset({"TaskCreate", "TaskUpdate"})  # a TaskList's answer has no details here, only words
CALL: Final = b'"Task'  # what a line has that is worth parsing
RESULT: Final = b'"tool_result"'
HEAD_LINES: Final = 20
MAX_CALLS: Final = 64  # of one file without their result
MAX_HELD: Final = 5_000  # changes read ahead of the session's own rows
MAX_HELD_BYTES: Final = 8 * 1024 * 1024
GRAIN_NS: Final = 1_000_000_000  # a folder's time does not tell of what was made this soon after


@dataclass(frozen=True, slots=True)
class Change:
    """An answered Task call. `key` is that of the result; `size_bytes`: of its line and the call's."""

    time: int
    key: str
    file: str
    call_id: str
    name: str
    sent: object
    text: str
    details: object
    is_error: bool
    size_bytes: int


@dataclass(slots=True)
class Subagents:
    """Changes in the order of their time, as far as they are there by then: what comes late is given when it comes."""

    path: Path
    session: str
    _files: "dict[Path, _File]" = field(default_factory=dict)
    _listed_at: int | None = None  # the time of the session's own folder when all in it were known
    _held: deque[Change] = field(default_factory=deque)
    _is_full: bool = False

    @property
    def holds_any(self) -> bool:
        return bool(self._held)

    def look(self) -> None:
        """Read what was written since."""
        for path in self._new_paths():
            self._files[path] = _File(path)
        found = list(self._held)
        size = sum(change.size_bytes for change in found)
        for changes in (changes for file in self._files.values() for changes in file.read()):
            found += changes
            size += sum(change.size_bytes for change in changes)
            self._is_full = len(found) >= MAX_HELD or size >= MAX_HELD_BYTES
            if self._is_full:
                break
        else:
            self._is_full = False
        self._held = deque(sorted(found, key=lambda change: change.time))

    def before(self, moment: int | None) -> Iterator[Change]:
        """Those of an earlier time, for None all."""
        while self._held and (moment is None or self._held[0].time < moment):
            yield self._held.popleft()
            if self._is_full and not self._held:
                self.look()

    def _new_paths(self) -> Iterator[Path]:
        for folder in (self.path.with_suffix("") / FOLDER, self.path.parent / FOLDER):
            yield from self._new_in(folder)
        changed_at = _changed_at(self.path.parent)
        if changed_at != self._listed_at:
            is_settled = changed_at is not None and time.time_ns() - changed_at > GRAIN_NS
            self._listed_at = changed_at if is_settled else None
            yield from self._new_in(self.path.parent)

    def _new_in(self, folder: Path) -> Iterator[Path]:
        try:
            entries = [(entry.name, entry.inode()) for entry in os.scandir(folder) if _is_subagents(entry)]
        except OSError:
            return
        for name, inode in sorted(entries):
            path = folder / name
            if path not in self._files:
                try:
                    if _session_of(path, inode) == self.session:
                        yield path
                except (LookupError, OSError):
                    self._listed_at = None  # its first line is still to come


@dataclass(slots=True)
class _File:
    """`_open`: calls without their result, by id: name, input and size."""

    path: Path
    _lines: PlainLines = field(default_factory=PlainLines)
    _inode: int = 0
    _time: int = 0
    _open: dict[str, tuple[str, object, int]] = field(default_factory=dict)

    def read(self) -> Iterator[list[Change]]:
        """What was written since, a row's at a time; from the start where the file was cut or replaced."""
        try:
            stat = self.path.stat()
            if stat.st_ino != self._inode or stat.st_size < self._lines.offset:
                self._inode, self._lines, self._open = stat.st_ino, PlainLines(), {}
            if stat.st_size == self._lines.offset:
                return
            with self.path.open("rb") as source:
                for line in self._lines.read(source):
                    if CALL in line.data or (self._open and RESULT in line.data):
                        yield list(self._of_row(parse(line.data) or {}, len(line.data)))
        except OSError:
            return

    def _of_row(self, record: Record, size: int) -> Iterator[Change]:
        blocks, uuid = rows.blocks_of(record) or [], text_at(record, "uuid")
        self._time = iso_time_at(record, "timestamp") or self._time
        if record.get("type") == "assistant":
            for part in rows.of_type(blocks, "tool_use"):
                self._called(part, size)
        elif record.get("type") == "user" and uuid is not None:
            parts = rows.of_type(blocks, "tool_result")
            for number, part in enumerate(parts, 1):
                details = at(record, "toolUseResult") if len(parts) == 1 else None
                yield from self._answered(part, details, rows.numbered(uuid, number), size)

    def _called(self, part: Record, size: int) -> None:
        call_id, name = text_at(part, "id"), text_at(part, "name")
        if call_id is None or name not in CHANGING:
            return
        self._open[call_id] = name, part.get("input") if size <= MAX_PLAN_BYTES else None, size
        if len(self._open) > MAX_CALLS:
            del self._open[next(iter(self._open))]

    def _answered(self, part: Record, details: object, key: str, size: int) -> Iterator[Change]:
        call_id = text_at(part, "tool_use_id") or ""
        if (call := self._open.pop(call_id, None)) is not None:
            name, sent, sent_bytes = call
            text, is_error = rows.result_text(part), rows.is_failed(part, details)
            yield Change(
                self._time, key, self.path.name, call_id, name, sent, text, details, is_error, size + sent_bytes
            )


def _is_subagents(entry: os.DirEntry[str]) -> bool:
    """A pipe would wait for its writer."""
    return entry.name.startswith("agent-") and entry.name.endswith(".jsonl") and entry.is_file()


@lru_cache(maxsize=16_384)
def _session_of(path: Path, _inode: int) -> str:
    """Whose subagent's file it is. Raises LookupError, which is not remembered, where it does not say so yet."""
    with path.open("rb") as source:
        for line in islice(PlainLines().read(source), HEAD_LINES):
            record = parse(line.data)
            session = text_at(record, "sessionId")
            if session is not None and at(record, "isSidechain") is True:
                return session
    raise LookupError(path)


def _changed_at(folder: Path) -> int | None:
    try:
        return folder.stat().st_mtime_ns
    except OSError:
        return None
