"""The sessions that a full panel does not take, so that nothing else waits for them. Standard library only."""

import contextlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

FULL: Final = "full.json"
HELD_S: Final = 300.0  # as long as the panel itself says (`Retry-After`)


class Held:
    """Of one spool, while it is drained; kept in its folder from one process to the next.

    Until the time has passed none of them is offered. Then all are, and the first refusal holds the others back again:
    a panel that stays full costs one request in that time, and one for each session that is new to it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / FULL
        self._until, self._known = _read(self._file)
        left = self._until - time.time()
        self._closed = set(self._known) if 0 < left <= HELD_S else set[str]()  # a clock set back holds nothing for long

        self._is_changed = False

    def forget_all_but(self, sessions: set[str]) -> None:
        """Those of which nothing waits any more."""
        self._known &= sessions

    def has(self, session: str) -> bool:
        return session in self._closed

    def hold(self, session: str) -> None:
        self._known.add(session)
        self._closed = set(self._known)
        self._until, self._is_changed = time.time() + HELD_S, True

    def took(self, session: str) -> None:
        self._known.discard(session)

    def keep(self, write: Callable[[str, bytes], None]) -> None:
        """Raises OSError."""
        if self._is_changed:
            write(FULL, json.dumps({"until": self._until, "sessions": sorted(self._known)}).encode())
        elif not self._known:
            self._file.unlink(missing_ok=True)


def try_again(folder: Path) -> None:
    """Offer all of them at the next draining: the panel was started, maybe with more room."""
    with contextlib.suppress(OSError):
        (folder / FULL).unlink(missing_ok=True)


def _read(file: Path) -> tuple[float, set[str]]:
    try:
        told = json.loads(file.read_bytes())
        return float(told["until"]), {str(session) for session in told["sessions"]}
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0, set()
