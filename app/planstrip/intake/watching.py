"""Transcripts followed live: what is there is taken in, then every line as it is written."""

import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from planstrip import metrics
from planstrip.errors import StoreUnusable
from planstrip.intake.imports import FileReport, take_new
from planstrip.transcripts.detect import find, is_session_file
from planstrip.transcripts.follow import Transcript
from planstrip.transcripts.sources import Source, log_of, main_file, reader_of, source_of
from planstrip.writer import Writer

STEP_MS: Final = 15  # a change is told after a pause of this length
DEBOUNCE_MS: Final = 30  # or after this at the latest
TICK_S: Final = 0.25  # how soon a path that did not exist is seen, and a stop
RESCAN_S: Final = 5.0  # for what the system does not tell: network drives, a directory made in a hurry
FIRST_YIELD_MS: Final = 100  # the first yield says that the watcher stands
READY_S: Final = 5.0
RETRY_S: Final = 1.0  # after the store did not take it

Identity: TypeAlias = tuple[int, int] | None

log = logging.getLogger(__name__)


def watch_paths(
    writer: Writer,
    paths: Sequence[Path],
    stop: threading.Event,
    on_report: Callable[[FileReport], None] | None = None,
) -> None:
    """Returns once `stop` is set; runs in any thread. `on_report` hears of files that are new, changed or failing."""
    _Watch(writer, [_place(path) for path in paths], stop, on_report or (lambda _: None)).run()


@dataclass(slots=True)
class _Watch:
    writer: Writer
    paths: list[Path]
    stop: threading.Event
    on_report: Callable[[FileReport], None]
    _changed: "queue.SimpleQueue[str]" = field(default_factory=queue.SimpleQueue)
    _transcripts: dict[Path, Source] = field(default_factory=dict)
    _told: dict[Path, set[str]] = field(default_factory=dict)  # the problems that were reported already
    _stamps: dict[Path, tuple[int, ...]] = field(default_factory=dict)

    def run(self) -> None:
        while not self.stop.is_set():
            roots = self._roots()
            deep = [root for root in roots if root in self.paths]
            flat = [root for root in roots if root not in self.paths]
            notices = [_Notices(group, group is deep, self._changed) for group in (deep, flat) if group]
            for notice in notices:
                notice.start()
            try:
                self._follow(roots, notices)
            finally:
                for notice in notices:
                    notice.end()

    def _follow(self, roots: dict[Path, Identity], notices: "list[_Notices]") -> None:
        """Until a root appears, vanishes or is replaced: the system's notices are then of what is gone."""
        following = self._rescan()
        while not self.stop.is_set():
            for path in self._wait():
                self._look(path)
            if self._roots() != roots:
                return
            if time.monotonic() > following or any(notice.failed for notice in notices):
                following = self._rescan()

    def _roots(self) -> dict[Path, Identity]:
        """What is watched: a directory itself; for a file, or what does not exist yet, the directory it lies in."""
        roots = {path if os.path.isdir(path) else _nearest(path) for path in self.paths}
        return {root: _identity(root) for root in roots}

    def _wait(self) -> list[Path]:
        try:
            changed = {self._changed.get(timeout=TICK_S)}
        except queue.Empty:
            return []
        while not self._changed.empty():
            changed.add(self._changed.get())
        return sorted({main_file(Path(name)) for name in changed})

    def _look(self, path: Path) -> None:
        """A path that changed: a file to be read on, or a directory that is new."""
        if path in self._transcripts or path in self.paths:
            self._read_all(path)
        elif any(root in path.parents for root in self.paths if os.path.isdir(root)):
            if os.path.isdir(path):
                self._read_all(path)
            elif is_session_file(path):
                self._read(path)

    def _read_all(self, path: Path) -> None:
        for file in find(path):
            self._read(file)

    def _rescan(self) -> float:
        """Read what changed unnoticed; returns when to look again, so that looking costs 2 % of the time at most."""
        start = time.monotonic()
        stamps = {file: _stamp(file) for path in self.paths for file in find(path)}
        changed = [file for file, stamp in stamps.items() if self._stamps.get(file) != stamp]
        for file in sorted(changed, key=lambda file: _written_at(stamps[file]), reverse=True):  # the newest first
            self._read(file)
        end = time.monotonic()
        return end + max(RESCAN_S, 50 * (end - start))

    def _read(self, path: Path) -> None:
        stamp = _stamp(path)
        if stamp is None:
            self._transcripts.pop(path, None)
            self._stamps.pop(path, None)
            return
        transcript = self._source(path)
        try:
            report = take_new(self.writer, transcript)
        except StoreUnusable as error:
            self._stamps.pop(path, None)
            self._changed.put(str(path))
            self._tell(FileReport(path, failure=error.detail))  # which is no fault of its reader
            self.stop.wait(RETRY_S)
            return
        if report.is_later:  # anew, at the next look
            self._transcripts.pop(path, None)
            self._stamps.pop(path, None)
        else:
            self._stamps[path] = stamp
        metrics.import_failed(reader_of(transcript), self._tell(report))
        if report.added:
            self._wake_parent(transcript)

    def _wake_parent(self, transcript: Source) -> None:
        """A file that is read beside another's has changed that one as well."""
        parent = transcript.header.parent if transcript.header is not None else None
        for path, found in self._transcripts.items() if parent is not None else ():
            is_its = found.header is not None and found.header.session == parent
            if is_its and isinstance(found, Transcript) and found.looks_beside is not None:
                self._changed.put(str(path))

    def _source(self, path: Path) -> Source:
        found = self._transcripts.get(path)
        if found is None or found.header is None:  # a file that has said nothing may have become another kind
            found = self._transcripts[path] = source_of(path)
        return found

    def _tell(self, report: FileReport) -> int:
        """Returns how many faults are new."""
        told = self._told.get(report.path)
        said = {*report.problems, *([report.failure] if report.failure else [])}
        if told is None or report.added or said - told:
            self._told[report.path] = said | (told or set())
            self.on_report(report)
        return len(said - (told or set()))


class _Notices:
    """The system's notices of changes below some directories, gathered by a thread of their own."""

    def __init__(self, roots: list[Path], is_deep: bool, changed: "queue.SimpleQueue[str]") -> None:
        self.roots = roots
        self.is_deep = is_deep
        self.changed = changed
        self.failed = False
        self.ready = threading.Event()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._run, name="planstrip-notices", daemon=True)

    def start(self) -> None:
        """Returns when changes are noticed: what is read from now on can't change in secret."""
        self.thread.start()
        self.ready.wait(READY_S)

    def end(self) -> None:
        self.stop.set()
        self.thread.join()

    def _run(self) -> None:
        from watchfiles import watch  # a server that watches nothing needs none

        try:
            for changes in watch(
                *self.roots,
                watch_filter=None,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                stop_event=self.stop,
                rust_timeout=FIRST_YIELD_MS,
                yield_on_timeout=True,
                recursive=self.is_deep,
                ignore_permission_denied=True,
            ):
                self.ready.set()
                for _, name in changes:
                    self.changed.put(name)
        except Exception as error:  # noqa: BLE001 - its errors have no common class; we go on by looking ourselves
            self.failed = True
            self.ready.set()
            log.warning("no notices of changes in %s (%s): looking every %s s", self.roots, error, TICK_S)


def _place(path: Path) -> Path:
    """The path as the system names it in its notices; a link to a file stays one, since it may be replaced."""
    return path.resolve() if os.path.isdir(path) else path.parent.resolve() / path.name


def _nearest(path: Path) -> Path:
    return next((parent for parent in path.parents if os.path.isdir(parent)), path)


def _stamp(path: Path) -> tuple[int, ...] | None:
    """None where the file is gone. A database is written beside itself first."""
    try:
        stat = path.stat()
    except OSError:
        return None
    own = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
    beside = _stamp(log_of(path)) if log_of(path) != path else None
    return own + (beside or ())


def _written_at(stamp: tuple[int, ...] | None) -> int:
    return stamp[2] if stamp else 0


def _identity(path: Path) -> Identity:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
