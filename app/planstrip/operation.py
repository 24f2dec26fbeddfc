"""The command line's `backup`, `restore` and `archive`: what came of it, in plain text."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from planstrip.progress import copy_bar
from planstrip.terminal import counted, say

if TYPE_CHECKING:
    from planstrip.retention import Moved


def run_backup(database_url: str, file: Path, *, is_forced: bool) -> int:
    """0, or 1 when the backup does not prove equal, which is not kept then."""
    from planstrip.backups import back_up

    with copy_bar("backup") as on_progress:
        copied = back_up(database_url, file, is_forced=is_forced, on_progress=on_progress)
    if copied.unequal:
        say(
            sys.stderr,
            f"not equal, and not kept: {counted(len(copied.unequal), 'session')}, such as {copied.unequal[0]!r}",
        )
        return 1
    held = f"{counted(copied.sessions, 'session')}, {counted(copied.events, 'event')}"
    say(sys.stdout, f"{file}: {held}; opened, folded, and equal to the database")
    return 0


def run_restore(database_url: str, file: Path, *, is_forced: bool) -> int:
    """0, or 1 when the database does not prove equal to the backup."""
    from planstrip.restoring import restore

    with copy_bar("restore") as on_progress:
        restored = restore(file, database_url, is_forced=is_forced, on_progress=on_progress)
    if restored.kept is not None:
        say(sys.stdout, f"what was replaced is kept: {restored.kept}")
    copied = restored.copied
    if copied.unequal:
        say(
            sys.stderr, f"not equal to {file}: {counted(len(copied.unequal), 'session')}, such as {copied.unequal[0]!r}"
        )
        return 1
    say(
        sys.stdout,
        f"{counted(copied.sessions, 'session')}, {counted(copied.events, 'event')} restored; equal to {file}",
    )
    return 0


def run_archive(database_url: str, folder: Path, *, keep_days: int, is_trial: bool) -> int:
    """A line for each session that was moved, or is due. 0, or 1 when one could not be; it stands as it stood."""
    from planstrip.retention import archive, told

    moved: list[Moved] = []
    for one in archive(
        database_url, folder, keep_days=keep_days, now_ms=time.time_ns() // 1_000_000, is_trial=is_trial
    ):
        moved.append(one)
        say(sys.stderr if one.outcome == "failed" else sys.stdout, told(one))
    done = [one for one in moved if one.outcome == "archived"]
    failed = sum(one.outcome == "failed" for one in moved)
    if is_trial:
        say(sys.stdout, f"{counted(len(moved), 'session')} due; nothing was changed")
    else:
        events = counted(sum(one.events for one in done), "event")
        say(sys.stdout, f"{counted(len(done), 'session')}, {events} archived, {failed} failed")
    return 1 if failed else 0
