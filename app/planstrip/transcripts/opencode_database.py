"""opencode's database, `opencode.db`: many sessions in one file, read while opencode writes it (formats.md §4)."""

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from planstrip.errors import UnreadableTranscript
from planstrip.events import MAX_TIME_MS
from planstrip.transcripts.adapter import Adapted, Header, session_start
from planstrip.transcripts.opencode import AGENT, Message, OpencodeSession
from planstrip.transcripts.opencode_reverts import Revert, pending_reverts
from planstrip.transcripts.records import parse

MAGIC: Final = b"SQLite format 3\0"
TABLES: Final = frozenset({"session", "message", "part"})
TIMEOUT_S: Final = 2.0
MAX_SESSIONS: Final = 256  # kept in memory; one that goes on later is read again from its start
VARIABLES: Final = 500  # in one query


def is_database(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as source:
            return source.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


@dataclass(slots=True)
class OpencodeDatabase:
    """Never written, and never locked against opencode.

    Rows that are new are found by their `rowid`, rows that change among the messages that are not over: no table is
    read twice. A `rowid` that names another row (a vacuum, a deleted tail) makes it begin again.
    """

    path: Path
    passed_over: int = 0
    first_passed_over: str | None = None
    header: Header | None = None
    _sessions: dict[str, OpencodeSession] = field(default_factory=dict)
    _left: set[str] = field(default_factory=set)
    _marks: dict[str, tuple[int, str]] = field(
        default_factory=dict
    )  # table -> its last rowid that was read, and its id
    _stamps: dict[str, tuple[object, ...]] = field(default_factory=dict)  # a message that is not over -> how it stood
    _reverts: dict[str, Revert] = field(default_factory=dict)  # by session; those that can still be undone

    @property
    def offset(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def restart(self) -> None:
        self.header = None
        for held in (self._sessions, self._marks, self._stamps):
            held.clear()

    def leave(self, session: str) -> bool:
        self._left.add(session)
        return True

    def events(self) -> Iterator[Adapted]:
        """Raises UnreadableTranscript."""
        self.passed_over, self.first_passed_over = 0, None
        try:
            with closing(connect(self.path)) as connection:
                yield from self._changes(connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # its own complaint may hold what is no text
            raise UnreadableTranscript(f"{self.path}: cannot be read: {error}") from error

    def _changes(self, connection: sqlite3.Connection) -> Iterator[Adapted]:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if not tables:
            return  # it is being made
        if not tables >= TABLES:
            shown = ", ".join(sorted(tables)[:5])
            raise UnreadableTranscript(f"{self.path}: not a database planstrip knows: its tables are {shown[:80]}")
        if any(not _still(connection, table, mark) for table, mark in self._marks.items()):
            self.restart()
        marks = {table: _mark(connection, table) for table in sorted(TABLES)}
        reverts = pending_reverts(connection)
        final = {
            id_: revert for id_, revert in self._reverts.items() if id_ not in reverts and revert.is_final(connection)
        }
        changed: dict[str, set[str]] = {id_: set() for id_ in final}
        changed |= self._changed(connection)
        for session, messages in changed.items():
            if isinstance(session, str) and session not in self._left:
                yield from self._session(connection, session, messages, final.get(session))
        self._reverts = reverts
        self._marks = {table: mark for table, mark in marks.items() if mark is not None}
        self._forget()

    def _changed(self, connection: sqlite3.Connection) -> dict[str, set[str]]:
        """Ids of sessions, the newest first, and of their messages that are new or have changed."""
        found: dict[str, set[str]] = {}
        query = "SELECT id FROM session WHERE rowid > ? ORDER BY time_created DESC"
        for (session,) in connection.execute(query, (self._after("session"),)).fetchall():
            found.setdefault(session, set())
        for table, column in (("message", "id"), ("part", "message_id")):
            query = f"SELECT DISTINCT session_id, {column} FROM {table} WHERE rowid > ?"  # noqa: S608 - names of ours
            for session, message in connection.execute(query, (self._after(table),)):
                if session in found or session in self._sessions:
                    found.setdefault(session, set()).add(message)
                else:
                    found[session] = set()  # not in memory: read it whole
        for session, message in self._restless(connection):
            found.setdefault(session, set()).add(message)
        return found

    def _restless(self, connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        """Messages that were not over, and have changed since."""
        owners = {message: id_ for id_, session in self._sessions.items() for message in session.open_messages}
        stamps = _stamps(connection, list(owners))
        for message, stamp in stamps.items():
            if self._stamps.get(message) != stamp:
                yield owners[message], message
        self._stamps = stamps

    def _session(
        self, connection: sqlite3.Connection, id_: str, messages: set[str], revert: Revert | None
    ) -> Iterator[Adapted]:
        query = "SELECT parent_id, directory, title, time_created, time_updated FROM session WHERE id = ?"
        row = connection.execute(query, (id_,)).fetchone()
        if row is None:
            return
        parent, directory, title, created, updated = row
        session = self._sessions.get(id_)
        is_new = session is None
        if session is None:
            header = Header(id_, AGENT, f"{AGENT}:header", _whole(created), _text(directory), _text(parent))
            session = self._sessions[id_] = OpencodeSession(header)
        self._sessions[id_] = self._sessions.pop(id_)  # the last used stands last
        self.header = session.header
        if is_new:
            yield session_start(session.header)
        if revert is not None:
            key = f"{AGENT}:{revert.id}/session/rewind"
            yield Adapted("session/rewind", {}, _whole(updated), key, before=revert.before)
        yield from session.name(_text(title), _whole(updated))
        query = "SELECT id FROM message WHERE session_id = ? ORDER BY time_created, id"
        for (message_id,) in connection.execute(query, (id_,)).fetchall():
            if isinstance(message_id, str) and (is_new or message_id in messages):
                message = self._message(connection, message_id)
                if message is not None:
                    yield from session.take(message)

    def _message(self, connection: sqlite3.Connection, id_: str) -> Message | None:
        rows = connection.execute("SELECT id, data FROM message WHERE id = ?", (id_,)).fetchall()
        rows += connection.execute("SELECT id, data FROM part WHERE message_id = ? ORDER BY id", (id_,)).fetchall()
        records = []
        for name, data in rows:
            record = parse(data.encode(errors="replace") if isinstance(data, str) else b"")
            if record is None:
                self._pass_over(name, data)
            elif isinstance(name, str):
                records.append((name, record))
        return Message(id_, records[0][1], records[1:]) if records and records[0][0] == id_ else None

    def _pass_over(self, name: object, data: object) -> None:
        self.passed_over += 1
        if self.first_passed_over is None:
            shown = ascii(str(data)[:80])[:80]
            self.first_passed_over = f"{self.path}: row {str(name)[:80]} does not parse: {shown}"

    def _after(self, table: str) -> int:
        return self._marks.get(table, (0, ""))[0]

    def _forget(self) -> None:
        idle = [id_ for id_, session in self._sessions.items() if not session.open_messages]
        for id_ in idle[: max(0, len(self._sessions) - MAX_SESSIONS)]:
            del self._sessions[id_]


def connect(path: Path) -> sqlite3.Connection:
    """Read-only. Where no log stands beside the file nobody has it open, and opening it plainly would make one."""
    is_idle = not any(os.path.exists(f"{path}{end}") for end in ("-wal", "-journal"))
    address = f"file:{quote(str(path.absolute()))}?mode=ro{'&immutable=1' if is_idle else ''}"
    connection = sqlite3.connect(address, uri=True, timeout=TIMEOUT_S, isolation_level=None, check_same_thread=False)
    connection.text_factory = lambda data: data.decode(errors="replace")
    return connection


def _mark(connection: sqlite3.Connection, table: str) -> tuple[int, str] | None:
    row = connection.execute(f"SELECT rowid, id FROM {table} ORDER BY rowid DESC LIMIT 1").fetchone()  # noqa: S608
    return None if row is None else (row[0], str(row[1]))


def _still(connection: sqlite3.Connection, table: str, mark: tuple[int, str]) -> bool:
    row = connection.execute(f"SELECT id FROM {table} WHERE rowid = ?", (mark[0],)).fetchone()  # noqa: S608
    return row is not None and row[0] == mark[1]


def _stamps(connection: sqlite3.Connection, messages: Sequence[str]) -> dict[str, tuple[object, ...]]:
    """By message: when it and its parts were last written, and how long they are."""
    stamps: dict[str, tuple[object, ...]] = {}
    ids = iter(messages)
    while some := list(islice(ids, VARIABLES)):
        marks = ",".join("?" * len(some))
        query = (
            "SELECT message.id, message.time_updated, length(message.data), count(part.id), max(part.time_updated),"  # noqa: S608
            " total(length(part.data)) FROM message LEFT JOIN part ON part.message_id = message.id"
            f" WHERE message.id IN ({marks}) GROUP BY message.id"
        )
        stamps |= {row[0]: tuple(row[1:]) for row in connection.execute(query, some)}
    return stamps


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value <= MAX_TIME_MS else None
