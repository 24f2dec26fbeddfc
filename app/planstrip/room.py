"""How much the log may hold: sessions in all, and events of one (README, "Limits")."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, func, select

from planstrip.errors import Full, Said, TooLarge
from planstrip.errors import msgid as _
from planstrip.tables import sessions

COUNT_AGAIN: Final = 1_000  # sessions that one process begins between two counts: others begin some meanwhile


@dataclass(slots=True)
class Room:
    """None: as much as the store takes."""

    max_sessions: int | None = None
    max_session_events: int | None = None
    _left: int = 0

    def admit(self, connection: Connection, session: str, head: int, new: int) -> None:
        """Raises TooLarge for a session that is full, Full for a new one where there is no room for more."""
        if self.max_session_events is not None and head + new > self.max_session_events:
            said = _("session %(session)s is full: it stands at event %(head)d (limit: %(limit)d); begin another")
            raise TooLarge(Said(said, session=f"{session!r:.100}", head=head, limit=self.max_session_events))
        if head or self.max_sessions is None:
            return
        if self._left <= 0:
            count = connection.execute(select(func.count()).select_from(sessions)).scalar_one()
            self._left = min(self.max_sessions - count, COUNT_AGAIN)
        if self._left <= 0:
            said = _("this panel is full and takes no new session (limit: %(limit)d)")
            raise Full(Said(said, limit=self.max_sessions))
        self._left -= 1
