"""The sessions of a file or a folder, each with its events: taken in as `import` would, into a store of the moment."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from planstrip.errors import UnreadableTranscript
from planstrip.eventlog import read
from planstrip.events import Entry
from planstrip.intake.imports import import_file
from planstrip.snapshot import names
from planstrip.snapshot.event_files import append_events, is_event_file
from planstrip.tables import metadata
from planstrip.transcripts.detect import find
from planstrip.writer import Writer
from planstrip.writing import writing


@dataclass(slots=True)
class Files:
    """A transcript, a file of events (one a line, as the API takes them), or every one of them below a folder.

    Each file stands for itself: what another tells of the same session changes nothing in its record.
    Known once all sessions were given: `failures`, the files that gave none, and `problems`, what was passed over in
    others; `folder`, what all names stand below ("" for the top), None for a file of one session.
    """

    path: Path
    failures: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    folder: str | None = None
    _given: names.Names = field(default_factory=names.Names)

    def sessions(self) -> Iterator[tuple[str, Sequence[Entry]]]:
        """The name of each one's record, and its events."""
        if not os.path.isdir(self.path):
            yield from self._file(self.path, names.of_file(self.path))
            return
        self.folder = ""
        for path in _files(self.path):
            yield from self._file(path, names.of_file(path, self.path))

    def _file(self, path: Path, name: str) -> Iterator[tuple[str, Sequence[Entry]]]:
        with _store() as writer:
            try:
                sessions = self._take_in(writer, path)
            except UnreadableTranscript as error:
                self.failures.append(error.detail)
                return
            name = self._given.give(name)
            is_many = len(sessions) > 1 or path.suffix == ".db"
            if is_many and self.folder is None:
                self.folder = name
            for session in sessions:
                shown = self._given.give(f"{name}/{names.safe(session)}") if is_many else name
                with writer.engine.connect() as connection:
                    yield shown, list(read(connection, session))

    def _take_in(self, writer: Writer, path: Path) -> list[str]:
        """The ids of the sessions that the file holds."""
        if is_event_file(path):
            append_events(writer, path.stem, path)
            return [path.stem]
        report = import_file(writer, path)
        if report.failure is not None or report.session is None:
            raise UnreadableTranscript("; ".join(filter(None, (report.failure, *report.problems))))
        self.problems += report.problems
        return [report.session, *report.others]


def _files(folder: Path) -> Iterator[Path]:
    """The transcripts and the files of events below a folder, in the walk's order."""
    skipped: list[Path] = []
    for file in find(folder, skipped.append):
        yield from filter(is_event_file, skipped)
        skipped.clear()
        yield file
    yield from filter(is_event_file, skipped)


@contextmanager
def _store() -> Iterator[Writer]:
    """Of the moment: no migration is older than it."""
    with (
        tempfile.TemporaryDirectory(prefix="planstrip-snapshot-") as folder,
        writing(f"sqlite:///{folder}/log.sqlite3", metadata.create_all, lambda: 0) as writer,
    ):
        yield writer
