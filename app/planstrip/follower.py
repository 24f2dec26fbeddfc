"""Sees what other processes append to the same database, and names the sessions that grew (spec.md §2, §8)."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from planstrip.db import Notice, data_version, listening, logged, tells_commits, without_transaction
from planstrip.errors import Unavailable
from planstrip.tables import events

POLL_S: Final = 0.05  # a pragma that reads one number in memory: 20 a second are not seen in `top`
TURN_S: Final = 0.25  # the longest wait for a notice, after which it is asked whether to stop
SAFETY_S: Final = 2.0  # between two looks for what no notice told
RETRY_S: Final = 0.5
OVERLAP: Final = 4  # looks; what is numbered before it is committed is seen in one of the next, in 8 s at most

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Follower:
    """`on_growth` is called in the follower's thread with the new heads, `on_failure` when following begins to fail.
    SQLite is polled while `is_watched` is set; PostgreSQL tells on one connection, and `own` is the writer's backend
    there, whose commits need no telling.
    """

    engine: Engine
    is_watched: threading.Event
    on_growth: Callable[[Mapping[str, int]], None]
    own: Callable[[], int | None] = lambda: None
    on_failure: Callable[[], None] = lambda: None
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _version: int | None = None
    _seen: "deque[int]" = field(default_factory=deque)  # the newest event's number at each of the last looks
    _told: dict[str, int] = field(default_factory=dict)  # heads that need no telling again
    _is_failing: bool = False

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="planstrip-follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self.is_watched.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        follow = self._listen if tells_commits(self.engine) else self._poll
        while not self._stopped.is_set():
            try:
                follow()
            except (SQLAlchemyError, Unavailable) as error:
                if not self._is_failing:  # told once: it may last
                    self.on_failure()
                    log.warning("following the log failed, trying again: %s", logged(error))
                self._is_failing = True
                self._stopped.wait(RETRY_S)

    def _poll(self) -> None:
        with without_transaction(self.engine).connect() as connection:
            self._seen = self._seen or deque([_newest(connection)])
            self._version = None  # each connection counts for itself
            self._is_failing = False
            while not self._stopped.is_set():
                self.is_watched.wait()
                version = data_version(connection)
                if version != self._version:
                    self._version = version
                    self._look(connection, looks=1)
                self._stopped.wait(POLL_S)

    def _listen(self) -> None:
        """A notice may be lost with its connection: so the log is looked through when it is back, and now and then."""
        with listening(self.engine) as hear:
            due = 0.0
            while not self._stopped.is_set():
                if time.monotonic() >= due:
                    with without_transaction(self.engine).connect() as connection:
                        self._look(connection, looks=OVERLAP)
                    due = time.monotonic() + SAFETY_S
                    self._is_failing = False
                self._hear(hear(TURN_S))

    def _hear(self, notices: Sequence[Notice]) -> None:
        own = self.own()
        heads: dict[str, int] = {}
        for notice in notices:
            self._told[notice.session] = max(notice.position, self._told.get(notice.session, 0))
            if notice.backend != own:
                heads[notice.session] = notice.position
        if heads:
            self.on_growth(heads)

    def _look(self, connection: Connection, looks: int) -> None:
        """A viewer who came between two looks reads the log itself, so nothing before the first needs a report.

        `looks`: how many of them go over the same ground, since an event may be numbered before another and committed
        after it.
        """
        if not self._seen:
            self._seen.append(_newest(connection))
        query = select(events.c.session, func.max(events.c.position), func.max(events.c.id))
        rows = connection.execute(query.where(events.c.id > self._seen[0]).group_by(events.c.session)).all()
        grown = {session: position for session, position, _ in rows if position > self._told.get(session, 0)}
        self._told = {session: position for session, position, _ in rows}
        self._seen.append(max((row[2] for row in rows), default=self._seen[-1]))
        while len(self._seen) > looks:
            self._seen.popleft()
        if grown:
            self.on_growth(grown)


def _newest(connection: Connection) -> int:
    return int(connection.execute(select(func.coalesce(func.max(events.c.id), 0))).scalar_one())
