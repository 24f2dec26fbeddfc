"""The command line's `import` and `watch`: a bar on a terminal, and what came of it in plain text."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from planstrip.terminal import counted, plain, say

if TYPE_CHECKING:
    from planstrip.intake.imports import FileReport, ImportReport, Progress


def run_import(database_url: str, paths: Sequence[Path]) -> int:
    """0, or 1 when a file failed. Raises StoreUnusable, before the first file or when the store fails later."""
    from planstrip.intake.imports import import_paths  # `planstrip --help` needs no database
    from planstrip.writing import writing

    with writing(database_url) as writer, _bar(paths) as on_progress:
        report = import_paths(writer, paths, on_progress)
    _print_report(report)
    return 1 if report.failed else 0


def run_watch(database_url: str, paths: Sequence[Path]) -> int:
    """Follows until SIGINT or SIGTERM, then 0. Raises StoreUnusable when the store can't be used from the start."""
    from planstrip.intake.watching import watch_paths
    from planstrip.writing import writing

    stop = threading.Event()
    with writing(database_url) as writer, _stopped_by_signals(stop):
        for path in paths:
            say(sys.stdout, f"watching {path}" if os.path.exists(path) else f"waiting for {path}")
        watch_paths(writer, paths, stop, _print_change)
    return 0


def run_copy(source_url: str, target_url: str) -> int:
    """0, or 1 when the copy does not prove equal, which is not kept then."""
    from planstrip.copying import copy_log

    with copy_bar("copy") as on_progress:
        copied = copy_log(source_url, target_url, on_progress)
    if copied.unequal:
        shown = ", ".join(repr(session) for session in copied.unequal[:5])
        say(sys.stderr, f"not equal, and not kept: {counted(len(copied.unequal), 'session')}, such as {shown}")
        return 1
    say(sys.stdout, f"{counted(copied.sessions, 'session')}, {counted(copied.events, 'event')} copied; both are equal")
    return 0


@contextmanager
def copy_bar(name: str) -> "Iterator[Callable[[int, int], None] | None]":
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=None)
        yield lambda copied, total: bar.update(task, completed=copied, total=total)


@contextmanager
def _bar(paths: Sequence[Path]) -> "Iterator[Progress | None]":
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress as Bar

    from planstrip.transcripts.detect import find

    files = [file for path in paths for file in find(path) if os.path.isfile(file)]
    sizes = {file: os.path.getsize(file) for file in files}
    done = dict.fromkeys(sizes, 0)
    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("import", total=sum(sizes.values()))

        def on_progress(path: Path, offset: int) -> None:
            bar.update(task, advance=offset - done.get(path, 0), description=escape(plain(path.name)))
            done[path] = offset

        yield on_progress


@contextmanager
def _stopped_by_signals(stop: threading.Event) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: stop.set())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _print_report(report: "ImportReport") -> None:
    for file in report.files:
        _print_problems(file)
    taken = [(file.session, *file.others) for file in report.files if not file.failure]
    sessions = len({session for named in taken for session in named if session})
    say(
        sys.stdout,
        f"{counted(len(report.files), 'file')}, {counted(sessions, 'session')}: {counted(report.added, 'event')} added,"
        f" {report.known} known already, {counted(report.failed, 'file')} failed"
        + (f", {counted(report.skipped, 'file')} skipped" if report.skipped else ""),
    )


def _print_change(file: "FileReport") -> None:
    _print_problems(file)
    if file.added:
        more = f" and {len(file.others)} more" if file.others else ""
        say(sys.stdout, f"{file.path}: session {file.session}{more}: {file.added} events added")


def _print_problems(file: "FileReport") -> None:
    for problem in file.problems:
        say(sys.stderr, problem)
    if file.failure is not None:
        say(sys.stderr, f"failed: {file.failure}")
