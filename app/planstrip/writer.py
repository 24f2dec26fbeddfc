"""The single writer of a process: concurrent appends share a commit, each is acknowledged after it (spec.md §2)."""

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from planstrip import db, metrics
from planstrip.appending import Job, Outcome, Request, answer, groups
from planstrip.errors import PlanstripError, Said, Unavailable
from planstrip.errors import msgid as _
from planstrip.eventlog import Append, Appended, Batch, Projector
from planstrip.room import Room

MAX_APPENDS_PER_COMMIT: Final = 512
DOUBT_S: Final = 5.0
IN_DOUBT: Final = Said(
    _("the store went away as it committed: it may have been written or not; send it again, with its key")
)

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Writer:
    """`clock` gives ms since the epoch; `on_commit` is called in the writer's thread with each session's new head.

    `backend`: the store's own number for the writer's connection, where it has one.
    """

    engine: Engine
    projector: Projector
    clock: Callable[[], int]
    on_commit: Callable[[Mapping[str, int]], None] | None = None
    room: Room = field(default_factory=Room)
    appends: int = 0
    commits: int = 0
    backend: int | None = None
    _queue: "queue.SimpleQueue[Request | None]" = field(default_factory=queue.SimpleQueue)
    _thread: threading.Thread | None = None
    _is_stopped: bool = False
    _connection: Connection | None = None
    _version: int | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="planstrip-writer", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what was handed in, then end."""
        self._is_stopped = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    async def append(self, append: Append) -> Appended:
        """Durable when it returns. Raises Conflict, Unavailable or what `append.derive` raises, with nothing stored."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Appended] = loop.create_future()
        self._put(Request(append, future, loop))
        return await future

    def append_blocking(self, append: Append) -> Appended:
        return self.begin_append(append).result()

    def begin_append(self, append: Append) -> "Future[Appended]":
        """For a thread that has something else to do until it asks for the result."""
        future: Future[Appended] = Future()
        self._put(Request(append, future, None))
        return future

    def run_blocking(self, job: Job) -> None:
        """Run `job` in a transaction of its own, in turn with the appends."""
        future: Future[Appended] = Future()
        self._put(Request(job, future, None))
        future.result()

    def _put(self, request: Request) -> None:
        """Also before `start`: it is written then."""
        if self._is_stopped:
            raise Unavailable(Said(_("the writer has stopped; nothing was written")))
        self._queue.put(request)

    def _run(self) -> None:
        try:
            is_running = True
            while is_running:
                requests, is_running = self._next()
                for group in groups(requests):
                    self._write(group)
        finally:
            self._is_stopped = True
            self._disconnect()
            self._refuse_rest()

    def _next(self) -> tuple[list[Request], bool]:
        """What has come in, at least one request, and whether more may come."""
        requests: list[Request] = []
        following = self._queue.get()
        while following is not None:
            requests.append(following)
            if len(requests) >= MAX_APPENDS_PER_COMMIT or self._queue.empty():
                break
            following = self._queue.get()
        return requests, following is not None

    def _refuse_rest(self) -> None:
        """Nobody may wait for a thread that has ended."""
        while not self._queue.empty():
            request = self._queue.get()
            if request is not None:
                answer([request], [Unavailable(Said(_("the writer has stopped; nothing was written")))])

    def _write(self, requests: Sequence[Request]) -> None:
        """One commit for all; if it fails, one for each, so that a bad neighbour takes nobody down."""
        heads: Mapping[str, int] = {}
        try:
            outcomes, heads = self._commit_again(requests)
        except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to who asked, and the thread goes on
            self._disconnect()
            if len(requests) > 1 and not _is_stores(error):
                for request in requests:
                    self._write([request])
                return
            outcomes = [_said(error)] * len(requests)
        if heads and self.on_commit is not None:
            with contextlib.suppress(RuntimeError):  # its loop has closed: then nobody watches
                self.on_commit(heads)
        answer(requests, outcomes)

    def _commit_again(self, requests: Sequence[Request]) -> tuple[list[Outcome], Mapping[str, int]]:
        """As `_commit`, once more after what passes: a connection that was lost meanwhile, a place that was taken."""
        try:
            return self._commit(requests)
        except _InDoubtError as doubt:
            self._disconnect()
            if self._has_committed(doubt):
                return doubt.outcomes, doubt.heads
        except DBAPIError as error:
            self._disconnect()
            db.renew(self.engine, error)
            if not db.is_passing(error):
                raise
        return self._commit(requests)

    def _commit(self, requests: Sequence[Request]) -> tuple[list[Outcome], Mapping[str, int]]:
        connection = self._connect()
        outcomes: list[Outcome] = []
        with connection.begin() as transaction:
            self._renew(connection, [request.work.session for request in requests if isinstance(request.work, Append)])
            batch = Batch(connection, self.projector, self.clock(), self.room)
            for request in requests:
                if not isinstance(request.work, Append):
                    request.work(connection)
                    outcomes.append(Appended((), 0, 0))
                    continue
                try:
                    outcomes.append(batch.add(request.work))
                except PlanstripError as error:
                    if request.is_alone:
                        raise
                    outcomes.append(error)
            batch.flush()
            number = db.announce(connection, batch.heads) if batch.heads else None
            try:
                transaction.commit()
            except DBAPIError as error:
                if number is None or not db.is_lost(error):
                    raise
                raise _InDoubtError(number, outcomes, batch.heads) from error
        self.commits += 1
        appends = sum(isinstance(request.work, Append) for request in requests)
        self.appends += sum(isinstance(outcome, Appended) for outcome in outcomes)
        metrics.committed(appends)
        return outcomes, batch.heads

    def _connect(self) -> Connection:
        if self._connection is None:
            self._connection = db.for_writing(self.engine).connect()
            self.backend = db.backend(self._connection)
        return self._connection

    def _renew(self, connection: Connection, sessions: Sequence[str]) -> None:
        """See that nothing which is cached is of yesterday, and that nobody else writes these sessions meanwhile."""
        version = db.data_version(connection)
        if version is None:
            db.hold(connection, sessions)
            self.projector.refresh(connection, list(dict.fromkeys(sessions)))
        elif version != self._version:
            self.projector.reset()
            self._version = version

    def _has_committed(self, doubt: "_InDoubtError") -> bool:
        """Ask until the server is back. Raises Unavailable where it cannot be known."""
        end = time.monotonic() + DOUBT_S
        while time.monotonic() < end:
            with contextlib.suppress(SQLAlchemyError):
                found = db.has_committed(self.engine, doubt.transaction)
                if found is None:
                    break
                return found
            time.sleep(0.1)
        raise Unavailable(IN_DOUBT) from doubt

    def _disconnect(self) -> None:
        self.projector.reset()
        self._version = self.backend = None
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):
                self._connection.invalidate()  # whatever state it is in: nobody is handed it again
                self._connection.close()
            self._connection = None


class _InDoubtError(Exception):
    """The connection was lost while it committed `outcomes`."""

    def __init__(self, transaction: str, outcomes: list[Outcome], heads: Mapping[str, int]) -> None:
        super().__init__(f"transaction {transaction}")
        self.transaction = transaction
        self.outcomes = outcomes
        self.heads = heads


def _is_stores(error: Exception) -> bool:
    """Whether it is no request's fault, and would meet each of them alone."""
    return isinstance(error, Unavailable) or (
        isinstance(error, DBAPIError) and (db.is_lost(error) or db.is_held(error))
    )


def _said(error: Exception) -> Exception:
    if isinstance(error, _InDoubtError):  # twice in a row
        return Unavailable(IN_DOUBT)
    if isinstance(error, DBAPIError) and db.is_stores(error):
        log.warning("the store did not take appends: %s", db.logged(error))
        told = _("the store did not take it: %(error)s; nothing was written, try again")
        return Unavailable(Said(told, error=db.said_by(error)))
    if not isinstance(error, PlanstripError):
        log.error("an append failed", exc_info=error)
    return error
