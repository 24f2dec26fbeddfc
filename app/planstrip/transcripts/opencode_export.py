"""opencode's exports: `opencode export` and `GET /session/ID/message`, one JSON document each (formats.md §4)."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from planstrip.errors import UnreadableTranscript
from planstrip.transcripts.adapter import Adapted, Header, session_start
from planstrip.transcripts.opencode import AGENT, Message, OpencodeSession
from planstrip.transcripts.records import Record, list_at, parse, text_at, time_at

MAX_BYTES: Final = 256 * 1024 * 1024


@dataclass(slots=True)
class OpencodeExport:
    """Read whole, whenever it has changed: a document has no lines to go on from."""

    path: Path
    passed_over: int = 0
    first_passed_over: str | None = None
    header: Header | None = None
    offset: int = 0
    _stamp: tuple[int, int, int] | None = field(default=None)

    def restart(self) -> None:
        self.header, self.offset, self._stamp = None, 0, None

    def leave(self, _session: str) -> bool:
        return False

    def events(self) -> Iterator[Adapted]:
        """Raises UnreadableTranscript, also for a document that is torn."""
        self.passed_over, self.first_passed_over = 0, None
        try:
            stat = os.stat(self.path)
            stamp = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
            if stamp == self._stamp:
                return
            if stat.st_size > MAX_BYTES:
                raise UnreadableTranscript(f"{self.path}: has {stat.st_size} bytes; at most {MAX_BYTES} are read")
            content = self.path.read_bytes()
        except OSError as error:
            raise UnreadableTranscript(f"{self.path}: cannot be read: {error.strerror or error}") from error
        self.restart()
        yield from self._take(content)
        self._stamp, self.offset = stamp, len(content)

    def _take(self, content: bytes) -> Iterator[Adapted]:
        document = parse(b'{"messages":%b}' % content) if content.lstrip()[:1] == b"[" else parse(content)
        listed = list_at(document, "messages")
        if document is None or listed is None:
            raise UnreadableTranscript(f"{self.path}: not a transcript planstrip knows: {self._fault(content)}")
        info = document.get("info")
        messages = list(self._messages(listed))
        header = _header(info) if info is not None else _header_of(messages)
        if header is None:
            raise UnreadableTranscript(f"{self.path}: not a transcript planstrip knows: no message names its session")
        self.header = header
        session = OpencodeSession(header)
        yield session_start(header)
        yield from session.name(text_at(info, "title"), header.created_at)
        for message in messages:
            if text_at(message.info, "sessionID") in (None, header.session):
                yield from session.take(message)
        yield from session.finish()

    def _messages(self, listed: list[object]) -> Iterator[Message]:
        for number, item in enumerate(listed, 1):
            info, parts = _record(item, "info"), list_at(item, "parts")
            id_ = text_at(info, "id")
            if info is None or id_ is None or parts is None:
                self._pass_over(number, item)
                continue
            named = [(text_at(part, "id") or f"{id_}.{index}", part) for index, part in enumerate(parts)]
            yield Message(id_, info, [(name, part) for name, part in named if isinstance(part, dict)])

    def _pass_over(self, number: int, item: object) -> None:
        self.passed_over += 1
        if self.first_passed_over is None:
            shown = ascii(json.dumps(item)[:80])[:80]
            self.first_passed_over = f"{self.path}: message {number} is not one of opencode's: {shown}"

    @staticmethod
    def _fault(content: bytes) -> str:
        try:
            json.loads(content)
        except (ValueError, RecursionError) as error:
            return f"{error!s:.80}"
        return "expected opencode's messages"


def _record(item: object, key: str) -> Record | None:
    value = item.get(key) if isinstance(item, dict) else None
    return value if isinstance(value, dict) else None


def _header(info: object) -> Header | None:
    """Of an export, which says of its session what the database says."""
    session = text_at(info, "id")
    if not session:
        return None
    created, cwd = time_at(info, "time", "created"), text_at(info, "directory")
    return Header(session, AGENT, f"{AGENT}:header", created, cwd, text_at(info, "parentID"))


def _header_of(messages: list[Message]) -> Header | None:
    """Of a bare list of messages, which says less: hence a key of its own."""
    session = next((name for message in messages if (name := text_at(message.info, "sessionID"))), None)
    if not session:
        return None
    cwd = next((cwd for message in messages if (cwd := text_at(message.info, "path", "cwd"))), None)
    return Header(session, AGENT, f"{AGENT}:messages", messages[0].created_at, cwd)
