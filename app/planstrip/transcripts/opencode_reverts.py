"""opencode's reverts: one can be undone until the next prompt, which deletes what it took back."""

import sqlite3
from dataclasses import dataclass
from typing import Final

from planstrip.transcripts.opencode import AGENT
from planstrip.transcripts.records import parse, text_at

PARTS: Final = "SELECT id, data FROM part WHERE message_id = ? AND id >= ? ORDER BY id"


@dataclass(frozen=True, slots=True)
class Revert:
    """`id`: the message, or the part of one, from which all is taken back. `before`: the key of its first event."""

    id: str
    is_part: bool
    before: str

    def is_final(self, connection: sqlite3.Connection) -> bool:
        table = "part" if self.is_part else "message"
        return connection.execute(f"SELECT 1 FROM {table} WHERE id = ?", (self.id,)).fetchone() is None  # noqa: S608


def pending_reverts(connection: sqlite3.Connection) -> dict[str, Revert]:
    """By session, as `session.revert` has them: `{"messageID", "partID"?, "snapshot", "diff"}`."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(session)")}
    if "revert" not in columns:
        return {}
    rows = connection.execute("SELECT id, revert FROM session WHERE revert IS NOT NULL").fetchall()
    found = ((session, _revert(connection, revert)) for session, revert in rows if isinstance(session, str))
    return {session: revert for session, revert in found if revert is not None}


def _revert(connection: sqlite3.Connection, data: object) -> Revert | None:
    """None where nothing that was told would be taken back."""
    record = parse(data.encode(errors="replace")) if isinstance(data, str) else None
    message, part = text_at(record, "messageID"), text_at(record, "partID")
    if message is None:
        return None
    if part is None:  # opencode names the prompt itself, whichever message was chosen
        return Revert(message, False, f"{AGENT}:{message}/turn/start")
    for id_, content in connection.execute(PARTS, (message, part)):
        tool = parse(content.encode(errors="replace")) if isinstance(content, str) else None
        if text_at(tool, "type") == "tool":
            return Revert(part, True, f"{AGENT}:{id_}/tool/call")
    return None
