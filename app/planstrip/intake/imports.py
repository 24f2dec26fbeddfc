"""Transcripts into the log: detect, parse, adapt, check, take in; again and again with the same outcome."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from sqlalchemy.exc import DBAPIError

from planstrip import archives
from planstrip.errors import (
    ContradictingHeader,
    Full,
    Invalid,
    PlanstripError,
    StoreUnusable,
    TooLarge,
    Unavailable,
    UnreadableTranscript,
)
from planstrip.eventlog import Draft, position_of
from planstrip.intake.check import check_data
from planstrip.intake.header import begin
from planstrip.intake.record import TAKEN_EVENTS, begin_take_in
from planstrip.intake.restated import Restated
from planstrip.transcripts.adapter import Adapted, Header
from planstrip.transcripts.detect import find
from planstrip.transcripts.follow import Transcript
from planstrip.transcripts.sources import Source, source_of
from planstrip.writer import Writer

BATCH_CHARS: Final = 4 * 1024 * 1024
MAX_PROBLEMS: Final = 20


@dataclass(frozen=True, slots=True)
class FileReport:
    """`added` events are new, `known` were there. A file with `failure` was taken in up to there, or not at all.

    `problems` name what was passed over in a file that was taken in. `others`: the further sessions of a store.
    `is_later`: a full panel did not take a session of it, and may later.
    """

    path: Path
    session: str | None = None
    added: int = 0
    known: int = 0
    problems: tuple[str, ...] = ()
    failure: str | None = None
    others: tuple[str, ...] = ()
    is_later: bool = False


@dataclass(frozen=True, slots=True)
class ImportReport:
    """`skipped`: how many files in the folders were no transcripts."""

    files: tuple[FileReport, ...]
    skipped: int = 0

    @property
    def added(self) -> int:
        return sum(file.added for file in self.files)

    @property
    def known(self) -> int:
        return sum(file.known for file in self.files)

    @property
    def failed(self) -> int:
        return sum(file.failure is not None for file in self.files)


Progress = Callable[[Path, int], None]


def import_paths(writer: Writer, paths: Sequence[Path], on_progress: Progress | None = None) -> ImportReport:
    """Take in every transcript at or below `paths`; a file that fails takes no other with it.

    `on_progress` is told the path and how many of its bytes are done. Raises StoreUnusable when the store fails.
    """
    reports: list[FileReport] = []
    skipped: list[Path] = []
    for path in paths:
        before = len(reports)
        others: list[Path] = []
        reports += [import_file(writer, file, on_progress) for file in find(path, others.append)]
        for file in others:
            if file.name.endswith(archives.SUFFIX):
                reports.append(import_file(writer, file, on_progress))
            else:
                skipped.append(file)
        if len(reports) == before:
            reports.append(FileReport(path, failure=f"{path}: no transcript in this directory"))
    return ImportReport(tuple(reports), len(skipped))


def import_file(writer: Writer, path: Path, on_progress: Progress | None = None) -> FileReport:
    if archives.is_archive(path):
        from planstrip.intake.unarchive import import_archive

        return import_archive(writer, path)
    transcript = source_of(path)
    report = take_new(writer, transcript, on_progress)
    agent = transcript.agent if isinstance(transcript, Transcript) else None
    if report.failure is None and transcript.header is None and agent is not None:
        problem = f"{path}: a file of {agent} that holds no message yet, and does not say whose session it is"
        return replace(report, problems=(*report.problems, problem))
    if report.failure is None and transcript.header is None:
        failure = f"{path}: not a transcript planstrip knows: it holds no complete line yet"
        return FileReport(path, failure=failure)
    return report


def take_new(writer: Writer, transcript: Source, on_progress: Progress | None = None) -> FileReport:
    """Take in what was written since the last call. What could not be stored is read again at the next one.

    Raises StoreUnusable when the store fails; nothing else.
    """
    taking = _Taking(writer, transcript)
    failure = None
    try:
        taking.run(on_progress)
    except UnreadableTranscript as error:
        failure = error.detail
    except (Unavailable, DBAPIError) as error:
        transcript.restart()
        raise StoreUnusable(f"database {writer.engine.url.render_as_string()}: {_said(error)}") from error
    except PlanstripError as error:
        transcript.restart()
        taking.is_later |= isinstance(error, Full)
        failure = f"{transcript.path}: {error.detail}"
    return taking.report(failure)


def _said(error: Unavailable | DBAPIError) -> str:
    return error.detail if isinstance(error, Unavailable) else f"{error.orig}"


class _Taking:
    """One reading of one transcript, or of a store of many sessions."""

    def __init__(self, writer: Writer, transcript: Source) -> None:
        self.writer = writer
        self.transcript = transcript
        self.added = 0
        self.offered = 0
        self.problems: list[str] = []
        self.begun: tuple[Header, int, Callable[[], int]] | None = None  # a batch that is being written
        self.is_from_start = False
        self.restated: Restated | None = None
        self.is_later = False
        self.sessions: dict[str, bool] = {}  # in the order they came -> whether it is taken in

    def run(self, on_progress: Progress | None) -> None:
        """What was read before a fault is stored."""
        try:
            for header, batch in self.batches():
                self.store(header, batch)
                if on_progress is not None:
                    on_progress(self.transcript.path, self.transcript.offset)
        finally:
            self.settle()

    def batches(self) -> Iterator[tuple[Header, list[Draft]]]:
        """Runs of one session's drafts, bounded in number and size; those before a fault come before its error."""
        batch: list[Draft] = []
        owner: Header | None = None
        size = 0
        try:
            for event in self.transcript.events():
                header = self.transcript.header
                assert header is not None
                # A rewind takes back what must stand in the log before it.
                if owner is not None and batch and (header.session != owner.session or event.before is not None):
                    yield owner, batch
                    batch, size = [], 0
                owner = header
                draft = self.checked(event)
                if draft is None or self.is_held(draft):
                    continue
                batch.append(draft)
                size += len(draft.data)
                if draft.type == "session/start" or len(batch) >= TAKEN_EVENTS or size > BATCH_CHARS:
                    yield owner, batch
                    batch, size = [], 0
        except UnreadableTranscript:
            if owner is not None and batch:
                yield owner, batch
            raise
        if owner is not None and batch:
            yield owner, batch
        if owner is not None and self.restated is not None and (held := list(self.restated.held())):
            yield owner, held

    def is_held(self, draft: Draft) -> bool:
        """Whether it is a list that is kept back until all has been read, since the log may have newer ones."""
        if draft.type == "session/start":
            self.restated, self.is_from_start = None, True
        elif draft.is_state and self.is_from_start:
            if self.restated is None:
                self.settle()
                assert self.transcript.header is not None
                self.restated = Restated.of(self.writer.engine, self.transcript.header.session)
            return self.restated.holds(draft)
        elif draft.type == "turn/start" and self.restated is not None:
            self.restated.turn_starts()
        return False

    def checked(self, event: Adapted) -> Draft | None:
        """None for an event that no log may hold; without its `session/start` the file fails."""
        try:
            draft = check_data(event.type, self.data(event), time=event.time, key=event.key, path=event.key)
            return replace(draft, is_state=True) if event.is_state else draft
        except (Invalid, TooLarge) as error:
            if event.type == "session/start":
                if not self.left_alone(error):
                    raise
                return None
            if len(self.problems) < MAX_PROBLEMS:
                self.problems.append(f"{self.transcript.path}: passed over: {error.detail:.200}")
            return None

    def data(self, event: Adapted) -> dict[str, object]:
        """An event's data, with the position that only the log knows."""
        header = self.transcript.header
        if event.before is None or header is None:
            return event.data
        self.settle()
        with self.writer.engine.connect() as connection:
            position = position_of(connection, header.session, event.before)
        return event.data if position is None else event.data | {"to_position": position - 1}

    def store(self, header: Header, batch: list[Draft]) -> None:
        """Begin to: it is written while the next batch is read. Raises what stood in the way of the one before."""
        self.settle()
        if not self.sessions.setdefault(header.session, True):
            return
        is_start = batch[0].type == "session/start"
        with self.apart(header):
            finish = (
                partial(begin, self.writer, header, batch[0])
                if is_start
                else begin_take_in(self.writer, header.session, batch)
            )
            self.begun = header, len(batch), finish
        if is_start:
            self.settle()

    def settle(self) -> None:
        """Wait for the batch that is being written, if there is one."""
        if self.begun is None:
            return
        (header, offered, finish), self.begun = self.begun, None
        with self.apart(header):
            self.added += finish()
            self.offered += offered

    @contextmanager
    def apart(self, header: Header) -> Iterator[None]:
        """A session that can't be taken in takes no other of its store with it."""
        try:
            yield
        except (ContradictingHeader, Full, Invalid) as error:
            if not self.left_alone(error, header):
                raise

    def left_alone(self, error: PlanstripError, header: Header | None = None) -> bool:
        """Whether the session, by default the one that is read, was the only thing at fault."""
        header = header or self.transcript.header
        if header is None or not self.transcript.leave(header.session):
            return False
        self.sessions[header.session] = False
        self.is_later |= isinstance(error, Full)
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(f"{self.transcript.path}: {error.detail:.300}")
        return True

    def report(self, failure: str | None) -> FileReport:
        header = self.transcript.header
        missed = self.transcript.passed_over
        if self.transcript.first_passed_over is not None:
            more = f" ({missed} lines passed over)" if missed > 1 else ""
            self.problems.append(f"{self.transcript.first_passed_over}{more}")
        taken = [name for name, is_taken in self.sessions.items() if is_taken]
        session = taken[0] if taken else None if header is None else header.session
        known = self.offered - self.added
        problems = tuple(self.problems)
        return FileReport(
            self.transcript.path, session, self.added, known, problems, failure, tuple(taken[1:]), self.is_later
        )
