"""A hook whose transcript is readable here only wakes its reader, which knows more than any hook tells (spec.md §2)."""

import logging
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISREG
from typing import Any, Final, Literal, TypeAlias

from planstrip import metrics
from planstrip.errors import PlanstripError, StoreUnusable
from planstrip.intake.hooks_facts import Prompted, Told
from planstrip.intake.imports import take_new
from planstrip.transcripts.adapter import Header
from planstrip.transcripts.opencode_database import is_database
from planstrip.transcripts.records import text_at
from planstrip.transcripts.sources import Source, reader_of, source_of
from planstrip.writer import Writer

LOOKS_S: Final = (0.0, 0.25, 1.5)  # a line may come to the disk after its hook
MAX_TRANSCRIPTS: Final = 64
MAX_PATH_CHARS: Final = 4_000
STOP_S: Final = 1.0

Where: TypeAlias = Literal["here", "coming", "elsewhere"]

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Readers:
    """Reads on in a thread of its own, which begins at the first wake. Wakes of one path are one reading."""

    writer: Writer
    _due: dict[Path, list[float]] = field(default_factory=dict)
    _transcripts: OrderedDict[Path, Source] = field(default_factory=OrderedDict)
    _headers: dict[Path, Header] = field(default_factory=dict)
    _told: set[str] = field(default_factory=set)
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _thread: threading.Thread | None = None
    _is_stopped: bool = False

    def take(self, told: Told, payload: Mapping[str, Any]) -> Where:
        """Whether the payload's transcript is readable here; it is then read. `coming`: it may be, in a moment."""
        path = _path(payload, "transcript_path") or _dsh_path(payload, told.session)
        if path is None:
            return "elsewhere"
        root = told.parent if told.parent is not None and path.stem != told.session else told.session
        if not self._is_known(path, told.agent, {root, told.session}):
            if not _is_coming(path, told):
                return "elsewhere"
            self.wake(path)
            return "coming"
        for found in (path, *_of_child(path, told, payload)):
            self.wake(found)
        return "here"

    def wake(self, path: Path) -> None:
        now = time.monotonic()
        with self._changed:
            if self._is_stopped:
                return
            self._due[path] = [now + wait for wait in LOOKS_S]
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="planstrip-hooks", daemon=True)
                self._thread.start()
            self._changed.notify()

    def stop(self) -> None:
        """A reading that takes longer ends with the writer."""
        with self._changed:
            self._is_stopped = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def _is_known(self, path: Path, agent: str, sessions: set[str]) -> bool:
        """Whether the file is this session's own: the same path may lie on two machines."""
        if not _is_file(path):
            self._headers.pop(path, None)
            return False
        if is_database(path):
            return agent == "opencode" and any(_holds(path, session) for session in sessions)
        header = self._headers.get(path) or _header(path)
        if header is None or header.agent != agent or header.session not in sessions:
            return False
        if len(self._headers) > 100 * MAX_TRANSCRIPTS:
            self._headers.clear()
        self._headers[path] = header
        return True

    def _run(self) -> None:
        while (path := self._next()) is not None:
            self._read(path)

    def _next(self) -> Path | None:
        """Waits until a path is due; None at the end."""
        with self._changed:
            while not self._is_stopped:
                path = min(self._due, key=lambda found: self._due[found][0], default=None)
                wait = None if path is None else self._due[path][0] - time.monotonic()
                if path is not None and wait is not None and wait <= 0:
                    self._due[path].pop(0)
                    if not self._due[path]:
                        del self._due[path]
                    return path
                self._changed.wait(wait)
        return None

    def _read(self, path: Path) -> None:
        if not _is_file(path):
            return
        transcript = self._transcripts.setdefault(path, source_of(path))
        self._transcripts.move_to_end(path)
        while len(self._transcripts) > MAX_TRANSCRIPTS:
            self._transcripts.popitem(last=False)
        try:
            report = take_new(self.writer, transcript)
        except StoreUnusable as error:
            self._tell(path, error.detail)
            return
        if report.is_later:  # anew, when a hook tells of it again
            self._transcripts.pop(path, None)
        for problem in (*report.problems, *([report.failure] if report.failure else [])):
            if self._tell(path, problem):
                metrics.import_failed(reader_of(transcript), 1)

    def _tell(self, path: Path, problem: str) -> bool:
        """Whether it is told: once, and not in its own words, which quote the transcript."""
        is_new = problem not in self._told and len(self._told) < 1_000
        if is_new:
            self._told.add(problem)
            log.warning("%s: woken by a hook, and not all of it could be taken in; `planstrip import` says why", path)
        return is_new


def _path(payload: Mapping[str, Any], key: str) -> Path | None:
    given = text_at(payload, key)
    if not given or len(given) > MAX_PATH_CHARS or "\0" in given or not os.path.isabs(given):
        return None
    return Path(given)


def _dsh_path(payload: Mapping[str, Any], session: str) -> Path | None:
    """dsh's plugin knows the folder of all sessions; each lies in one for its project."""
    folder = _path(payload, "sessions_dir")
    if folder is None or session in (".", ".."):
        return None
    try:
        projects = sorted(folder.iterdir())
    except OSError:
        return None
    found = (project / session / name for project in projects for name in ("session.jsonl.zstd", "session.jsonl"))
    return next((path for path in found if _is_file(path)), None)


def _of_child(path: Path, told: Told, payload: Mapping[str, Any]) -> Iterator[Path]:
    """Where the file of the subagent that a payload is about may lie."""
    if told.parent is None:
        return
    given = _path(payload, "agent_transcript_path")
    if given is not None and _is_file(given):
        yield given
        return
    name = f"agent-{told.session}.jsonl"
    places = (path.with_suffix("") / "subagents" / name, path.with_name(name))
    found = [place for place in places if _is_file(place)]
    if not found and told.agent == "codex":
        found = [place for place in _siblings(path) if place.name.endswith(f"-{told.session}.jsonl")]
    yield from found


def _siblings(path: Path) -> list[Path]:
    try:
        return list(path.parent.iterdir())
    except OSError:
        return []


def _is_coming(path: Path, told: Told) -> bool:
    """A session's file comes with its first message: by what follows the prompt it is there, or never will be."""
    if any(not isinstance(fact, Prompted) for fact in told.facts):
        return False
    try:
        return path.parent.is_dir() and (not path.exists() or path.stat().st_size == 0)
    except OSError:
        return False


def _is_file(path: Path) -> bool:
    try:
        return S_ISREG(path.stat().st_mode) and os.access(path, os.R_OK)
    except OSError:
        return False


def _header(path: Path) -> Header | None:
    source = source_of(path)
    try:
        next(source.events(), None)
    except PlanstripError:
        return None
    return source.header


def _holds(path: Path, session: str) -> bool:
    """Whether opencode's database has the session. One that is new there is committed before its event is sent."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=0.1)) as database:
            return database.execute("SELECT 1 FROM session WHERE id = ?", (session,)).fetchone() is not None
    except sqlite3.Error:
        return False
