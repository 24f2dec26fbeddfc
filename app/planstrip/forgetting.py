"""Deletes a session for good: the one exception to a log that is never changed, for leaked secrets (spec.md §1)."""

from sqlalchemy import Connection, delete, func, select

from planstrip.db import address_of, for_writing, hold, open_log, without_transaction
from planstrip.errors import UnusableSettings
from planstrip.tables import checkpoints, events, search_texts, sessions, view_tokens


def forget_session(database_url: str, session: str) -> int:
    """How many events were deleted. Raises UnusableSettings when there is no such session."""
    engine = open_log(database_url)
    with for_writing(engine).begin() as connection:
        hold(connection, [session])
        known = connection.execute(
            select(func.count()).select_from(events).where(events.c.session == session)
        ).scalar_one()
        if not known:
            raise UnusableSettings(f"there is no session {session!r} in {address_of(engine)}")
        delete_events(connection, session)
        connection.execute(delete(view_tokens).where(view_tokens.c.session == session))
    if engine.dialect.name == "sqlite":
        with without_transaction(engine).connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            connection.exec_driver_sql("VACUUM")  # deleted rows stay readable in the file until then
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    return int(known)


def delete_events(connection: Connection, session: str) -> None:
    """All of them, and what was made of them. Who calls it holds the session."""
    for table, column in (
        (events, events.c.session),
        (checkpoints, checkpoints.c.session),
        (search_texts, search_texts.c.session),
        (sessions, sessions.c.id),
    ):
        connection.execute(delete(table).where(column == session))
