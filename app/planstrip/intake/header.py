"""A transcript's header against the session that is stored under its id: never two agents' runs in one log."""

import json
from datetime import UTC, datetime

from sqlalchemy import Connection, select

from planstrip import projection
from planstrip.errors import ContradictingHeader
from planstrip.eventlog import Append, Draft
from planstrip.intake.check import check_session_id
from planstrip.tables import events
from planstrip.transcripts import acp
from planstrip.transcripts.adapter import Header
from planstrip.writer import Writer


def begin(writer: Writer, header: Header, draft: Draft) -> int:
    """Append the file's `session/start`, unless it stands there; how many events were new.

    Raises ContradictingHeader, and appends nothing, when the id belongs to a session of another header; Invalid for
    an id that is none. A wire does not name its agent: what stands behind it may be any.
    """
    check_session_id(header.session)

    def refuse(connection: Connection, session: str, new: Draft, head: int) -> Draft:
        """Called for a `session/start` that is new: under the file's own key none may stand yet."""
        stored = _stored(connection, header)
        if stored is not None:
            raise _contradiction(header, stored[0], stored[1])
        agent = projection.current(connection, session).outline.agent if head else None
        if agent is not None and agent != header.agent and acp.AGENT not in (agent, header.agent):
            raise ContradictingHeader(
                f"session {session!r} is stored as one of {agent!r}, the file says {header.agent!r}; it was left alone"
            )
        return new

    appended = writer.append_blocking(Append(header.session, [draft], takes_in=True, derive=refuse))
    if not appended.added and header.created_at is not None:
        with writer.engine.connect() as connection:
            stored = _stored(connection, header)
        if stored is not None and stored[0] != header.created_at:
            raise _contradiction(header, stored[0], stored[1])
    return appended.added


def _stored(connection: Connection, header: Header) -> tuple[int, str] | None:
    """Time and data of the `session/start` that this key names."""
    query = select(events.c.time, events.c.data).where(events.c.session == header.session, events.c.key == header.key)
    row = connection.execute(query).first()
    return None if row is None else (row.time, row.data)


def _contradiction(header: Header, time: int, data: str) -> ContradictingHeader:
    stored = json.loads(data)
    pairs = [(key, stored.get(key), getattr(header, key)) for key in ("agent", "cwd", "parent")]
    if header.created_at is not None:
        pairs.append(("created at", _shown(time), _shown(header.created_at)))
    faults = [f"{key} is stored as {was!r:.80}, the file says {now!r:.80}" for key, was, now in pairs if was != now]
    return ContradictingHeader(f"session {header.session!r}: {'; '.join(faults)}; it was left alone")


def _shown(time: int) -> str:
    return datetime.fromtimestamp(time / 1000, UTC).isoformat(timespec="milliseconds")
