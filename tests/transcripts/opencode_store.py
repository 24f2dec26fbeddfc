"""An opencode database as opencode leaves it: the dump of a real one, loaded, and rows written to it live."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

SAMPLES: Final = Path(__file__).parents[2] / "fixtures" / "opencode"
DUMP: Final = SAMPLES / "opencode-dump.sql"
SESSION: Final = "ses_dd2a79a36ffeSXR6XUzj4M96Dz"
FORK: Final = "ses_dd2a75b3fffedZQVhCGTAz7NyY"


def loaded(path: Path, dump: Path = DUMP) -> Path:
    """A database with the dump's rows, closed."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(dump.read_text())
    return path


class Agent:
    """opencode at work: one open connection, one commit a row."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.now = 1_800_000_000_000

    def session(self, id_: str, parent: str | None = None, title: str = "New session - 2026") -> None:
        self._insert(
            "session",
            id=id_,
            project_id="global",
            parent_id=parent,
            slug="s",
            directory="/w",
            title=title,
            version="1.18.34",
        )

    def message(self, session: str, id_: str, role: str, **info: Any) -> None:
        data = {"role": role, "time": {"created": self.now}} | info
        self._insert("message", id=id_, session_id=session, data=json.dumps(data))

    def change_message(self, id_: str, **info: Any) -> None:
        self._change("message", id_, info)

    def part(self, session: str, message: str, id_: str, **data: Any) -> None:
        self._insert("part", id=id_, message_id=message, session_id=session, data=json.dumps(data))

    def todowrite(self, session: str, message: str, id_: str, **state: Any) -> None:
        self.part(session, message, id_, type="tool", tool="todowrite", callID=f"call_{id_}", state=state)

    def change_part(self, id_: str, **data: Any) -> None:
        self._change("part", id_, data)

    def revert(self, session: str, message: str, part: str | None = None) -> None:
        """As `POST /session/:id/revert` leaves it; the rows stay."""
        data = {"messageID": message} | ({"partID": part} if part else {}) | {"snapshot": "f9d536a3", "diff": ""}
        self.connection.execute("UPDATE session SET revert = ? WHERE id = ?", (json.dumps(data), session))

    def unrevert(self, session: str) -> None:
        self.connection.execute("UPDATE session SET revert = NULL WHERE id = ?", (session,))

    def clean_up(self, session: str) -> None:
        """What the next prompt does first: the rows that were reverted go."""
        (raw,) = self.connection.execute("SELECT revert FROM session WHERE id = ?", (session,)).fetchone()
        revert = json.loads(raw)
        message, part = revert["messageID"], revert.get("partID")
        first = f"{message}\0" if part else message  # a message of which parts stay, stays
        self.connection.execute("DELETE FROM part WHERE session_id = ? AND message_id >= ?", (session, first))
        self.connection.execute("DELETE FROM message WHERE session_id = ? AND id >= ?", (session, first))
        if part:
            self.connection.execute("DELETE FROM part WHERE message_id = ? AND id >= ?", (message, part))
        self.unrevert(session)

    def title(self, session: str, title: str) -> None:
        self.connection.execute("UPDATE session SET title = ? WHERE id = ?", (title, session))

    def close(self) -> None:
        self.connection.close()

    def _insert(self, table: str, **values: Any) -> None:
        self.now += 10
        values |= {"time_created": self.now, "time_updated": self.now}
        query = f"INSERT INTO {table} ({','.join(values)}) VALUES ({','.join('?' * len(values))})"
        self.connection.execute(query, list(values.values()))

    def _change(self, table: str, id_: str, data: dict[str, Any]) -> None:
        self.now += 10
        (old,) = self.connection.execute(f"SELECT data FROM {table} WHERE id = ?", (id_,)).fetchone()
        values = (json.dumps(json.loads(old) | data), self.now, id_)
        self.connection.execute(f"UPDATE {table} SET data = ?, time_updated = ? WHERE id = ?", values)
