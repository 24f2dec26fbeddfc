"""The command line's `backup`, `restore` and `archive`: what came of it, in plain text."""

import sys
from pathlib import Path

from planstrip.progress import copy_bar
from planstrip.terminal import counted, say


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
