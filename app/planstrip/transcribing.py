"""`serve --watch`: a thread beside the server that reads this machine's transcripts into its log."""

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from planstrip.errors import UnusableSettings
from planstrip.hooks.names import agent_of
from planstrip.intake.imports import FileReport
from planstrip.intake.watching import watch_paths
from planstrip.transcripts.places import PLACES, transcript_folders
from planstrip.writer import Writer

WHY: Final = "`planstrip import` with this path says why"  # in words of the transcript, which no log may hold

log = logging.getLogger(__name__)


def folders_of(agents: Sequence[str]) -> list[Path]:
    """Where the named agents, or all of them, keep their transcripts here. Raises UnusableSettings for a name."""
    known = frozenset(agent_of(name) or name for name in agents) or frozenset(PLACES)
    unknown = known - PLACES.keys()
    if unknown:
        raise UnusableSettings(f"--agent is {min(unknown)!r}; expected one of {', '.join(PLACES)}")
    return transcript_folders(Path.home(), os.environ, known)


@contextmanager
def transcribing(writer: Writer, paths: Sequence[Path], stop: threading.Event) -> Iterator[None]:
    """Reads while the block runs; `stop` is set when the server is told to end, before its writer is."""
    thread = threading.Thread(target=watch_paths, args=(writer, paths, stop, _told), name="planstrip-transcripts")
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _told(report: FileReport) -> None:
    if report.failure is not None:
        log.warning("%s could not be taken in; %s", report.path, WHY)
    if report.problems:
        log.warning("%s: not all of it could be taken in; %s", report.path, WHY)
    if report.added:
        log.info("%s: %d events", report.path, report.added)
