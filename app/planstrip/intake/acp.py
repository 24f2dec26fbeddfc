"""What passes between an editor and an ACP agent, into the log: through the running server, else into the database."""

import http.client
import json
import os
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, urlsplit

from planstrip.hooks.names import DEFAULT_URL, panel_url
from planstrip.transcripts.acp import LIVE, AcpWire
from planstrip.transcripts.adapter import Adapted
from planstrip.transcripts.records import list_at, parse, text_at, whole_at

if TYPE_CHECKING:
    from planstrip.writer import Writer

MAX_HELD_BYTES: Final = 256 * 1024 * 1024  # of what was not recorded yet; beyond, it is not
MAX_LINE_BYTES: Final = 64 * 1024 * 1024
BATCH: Final = 200
RUN: Final = 50
TIMEOUT_S: Final = 5.0
OK: Final = 200
TAKEN: Final = 201
ABSENT: Final = 404
PAGE: Final = 500
MAX_ANSWER_BYTES: Final = 256 * 1024 * 1024  # a page of the largest events
COUNT_S: Final = 3.0
REFUSED: Final = (400, 409, 413, 422)
RETRY_S: Final = 5.0  # before a server that was not there is asked again
FINISH_S: Final = 3.0  # at the end, for what is left


@dataclass(slots=True)
class Recorder:
    """Never in the way: `tee` only puts bytes down; all else happens in a thread of its own.

    It never writes to standard error, which is the agent's.
    """

    sink: "Sink"
    _heard: "queue.SimpleQueue[tuple[str, bytes, int] | None]" = field(default_factory=queue.SimpleQueue)
    _held_bytes: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="planstrip-recorder", daemon=True)
        self._thread.start()

    def tee(self, direction: str) -> Callable[[bytes], None]:
        def put(chunk: bytes) -> None:
            with self._lock:
                self._held_bytes += len(chunk)
                is_over = self._held_bytes > MAX_HELD_BYTES
            if not is_over:
                self._heard.put((direction, chunk, time.time_ns() // 1_000_000))

        return put

    def finish(self) -> None:
        """Returns when all is recorded, or after `FINISH_S`."""
        if self._thread is not None:
            self._heard.put(None)
            self._thread.join(FINISH_S)

    def _run(self) -> None:
        wire = AcpWire(f"{LIVE}{secrets.token_hex(6)}", turns_of=self.sink.turns_of)
        splitters: dict[str, Splitter] = {}
        is_over = False
        while not is_over:
            found: list[tuple[str, Adapted]] = []
            for heard in self._some():
                if heard is None:
                    is_over = True
                    break
                direction, chunk, now = heard
                with self._lock:
                    self._held_bytes -= len(chunk)
                for line in splitters.setdefault(direction, Splitter()).feed(chunk):
                    found += _events(wire, direction, line, now)
            for session, events in _runs(found):
                self.sink.put(session, events)
        self.sink.close()

    def _some(self) -> "Iterator[tuple[str, bytes, int] | None]":
        """What is there by now, at least one."""
        yield self._heard.get()
        for _ in range(BATCH):
            try:
                yield self._heard.get_nowait()
            except queue.Empty:
                return


@dataclass(slots=True)
class Splitter:
    """Complete lines out of chunks; one beyond the limit is left out."""

    _parts: list[bytes] = field(default_factory=list)
    _size: int = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            if self._size + len(piece) <= MAX_LINE_BYTES:
                yield b"".join([*self._parts, piece])
            self._parts, self._size = [], 0
        self._size += len(rest)
        self._parts = [*self._parts, rest] if self._size <= MAX_LINE_BYTES else []


@dataclass(slots=True)
class Sink:
    """Where events go. One that neither store takes is lost: the agent is not to wait for it."""

    server: str
    database_url: str
    _server_is_back_at: float = 0.0
    _writer: "Writer | None" = None

    def put(self, session: str, events: Sequence[Adapted]) -> None:
        if time.monotonic() >= self._server_is_back_at:
            status = self._post(session, events)
            if status in REFUSED and len(events) > 1:
                for event in events:
                    self.put(session, [event])  # what no log may hold takes no other event with it
            if status == TAKEN or status in REFUSED:
                return
            self._server_is_back_at = time.monotonic() + RETRY_S
        self._store(session, events)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.stop()
            self._writer.engine.dispose()

    def turns_of(self, session: str) -> int:
        """How many turns are recorded of it; as far as they could be counted in time."""
        deadline = time.monotonic() + COUNT_S
        path = f"/api/sessions/{quote(session, safe='')}/events?limit={PAGE}&after="
        count, after = 0, 0
        while time.monotonic() < deadline:
            status, body = self._ask("GET", f"{path}{after}", None)
            if status not in (OK, ABSENT):
                return count or self._turns_stored(session)
            page = parse(body) or {}
            found = list_at(page, "events") or []
            count += sum(text_at(event, "type") == "turn/start" for event in found)
            following = whole_at(page, "next")
            if following is None:
                return count
            after = following
        return count

    def _turns_stored(self, session: str) -> int:
        from sqlalchemy import func, select
        from sqlalchemy.exc import SQLAlchemyError

        from planstrip.errors import PlanstripError
        from planstrip.tables import events

        query = select(func.count()).where(events.c.session == session, events.c.type == "turn/start")
        try:
            with self._opened().engine.connect() as connection:
                return int(connection.execute(query).scalar_one())
        except (PlanstripError, SQLAlchemyError):
            return 0

    def _post(self, session: str, events: Sequence[Adapted]) -> int:
        """The panel's status; 0 where none answers."""
        body = json.dumps({"events": [_as_json(event) for event in events]}).encode()
        status, answer = self._ask("POST", f"/api/sessions/{quote(session, safe='')}/events", body)
        return status if b"last_position" in answer or status != TAKEN else 0

    def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Status and body of an answer; 0 where none comes."""
        parts = urlsplit(self.server.rstrip("/"))
        is_tls = parts.scheme == "https"
        make = http.client.HTTPSConnection if is_tls else http.client.HTTPConnection
        headers = {"content-type": "application/json"}
        if token := (os.environ.get("PLANSTRIP_TOKEN") or "").strip():
            headers["authorization"] = f"Bearer {token}"
        try:
            connection = make(parts.hostname or "127.0.0.1", parts.port, timeout=TIMEOUT_S)
            try:
                connection.request(method, f"{parts.path}{path}", body, headers)
                answer = connection.getresponse()
                return answer.status, answer.read(MAX_ANSWER_BYTES)
            finally:
                connection.close()
        except (OSError, ValueError, http.client.HTTPException):
            return 0, b""

    def _store(self, session: str, events: Sequence[Adapted]) -> None:
        from sqlalchemy.exc import SQLAlchemyError

        from planstrip.errors import Invalid, PlanstripError, TooLarge
        from planstrip.intake.check import check_data
        from planstrip.intake.record import take_in

        drafts = []
        for event in events:
            try:
                drafts.append(check_data(event.type, event.data, time=event.time, key=event.key, path=event.key))
            except (Invalid, TooLarge):
                continue  # no log may hold it; the others are good
        try:
            take_in(self._opened(), session, drafts)
        except (PlanstripError, SQLAlchemyError):
            return

    def _opened(self) -> "Writer":
        from planstrip.db import open_engine, prepare
        from planstrip.projection import StandingProjector
        from planstrip.writer import Writer

        if self._writer is None:
            engine = open_engine(self.database_url)
            prepare(engine)
            self._writer = Writer(engine, StandingProjector(), lambda: time.time_ns() // 1_000_000)
            self._writer.start()
        return self._writer


def server_of(given: str | None) -> str:
    return given or panel_url(os.environ) or DEFAULT_URL


def _events(wire: AcpWire, direction: str, line: bytes, now: int) -> Iterator[tuple[str, Adapted]]:
    message = parse(line)
    if message is None:
        return
    for event in wire.hear(direction, message, now):
        assert wire.header is not None
        yield wire.header.session, event


def _runs(events: Sequence[tuple[str, Adapted]]) -> Iterator[tuple[str, list[Adapted]]]:
    """Neighbours of one session, together, as many as the door takes at once."""
    run: list[Adapted] = []
    for index, (session, event) in enumerate(events):
        run.append(event)
        if index + 1 == len(events) or events[index + 1][0] != session or len(run) == RUN:
            yield session, run
            run = []


def _as_json(event: Adapted) -> dict[str, object]:
    """The door's envelope, and nothing that only a reader of files knows."""
    sent = {"type": event.type, "data": event.data, "time": event.time, "key": event.key}
    return {name: value for name, value in sent.items() if value is not None}
