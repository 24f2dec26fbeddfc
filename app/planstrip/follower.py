"""Sees what other processes append to the same database, and names the sessions that grew (spec.md §2, §8)."""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from planstrip.db import NO_TRANSACTION, data_version
from planstrip.tables import events

POLL_S: Final = 0.05  # a pragma that reads one number in memory: 20 a second are not seen in `top`

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Follower:
    """Polls only while `is_watched` is set; `on_growth` is called in the follower's thread with the new heads."""

    engine: Engine
    is_watched: threading.Event
    on_growth: Callable[[Mapping[str, int]], None]
    _stopped: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _version: int | None = None
    _seen: int = 0

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="planstrip-follower", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self.is_watched.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                with self.engine.execution_options(**NO_TRANSACTION).connect() as connection:
                    self._follow(connection)
            except SQLAlchemyError:
                log.exception("following the log failed, trying again")
                self._stopped.wait(1.0)

    def _follow(self, connection: Connection) -> None:
        self._seen = connection.execute(select(func.coalesce(func.max(events.c.id), 0))).scalar_one()
        while not self._stopped.is_set():
            self.is_watched.wait()
            version = data_version(connection)
            if version is None or version != self._version:
                self._version = version
                self._report(connection)
            self._stopped.wait(POLL_S)

    def _report(self, connection: Connection) -> None:
        """A viewer who came between two polls reads the log itself, so nothing before it needs a report."""
        query = select(events.c.session, func.max(events.c.position), func.max(events.c.id))
        rows = connection.execute(query.where(events.c.id > self._seen).group_by(events.c.session)).all()
        if rows:
            self._seen = max(row[2] for row in rows)
            self.on_growth({session: position for session, position, _ in rows})
