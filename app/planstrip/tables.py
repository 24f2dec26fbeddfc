"""The tables. The event log is only added to; all else can be dropped and rebuilt, but for the view tokens."""

from typing import Final

from sqlalchemy import BigInteger, Column, Index, Integer, MetaData, String, Table, Text, UniqueConstraint, text

SCHEMA_HEAD: Final = "20261201_turns"  # the newest revision in alembic/versions; Alembic is too slow to ask at start

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

_BIG: Final = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers its rows itself only in an INTEGER

sessions = Table(
    "sessions",
    metadata,
    Column("id", String(200), primary_key=True),
    Column("agent", Text),
    Column("title", Text),
    Column("cwd", Text),
    Column("parent", Text),
    Column("position", _BIG, nullable=False),
    Column("updated_at", _BIG, nullable=False),
    Column("completed", Integer, nullable=False),
    Column("in_progress", Integer, nullable=False),
    Column("pending", Integer, nullable=False),
    Column("active", Text),
    Column("condition", String(20), nullable=False),
    Column("fold_version", Integer, nullable=False),
    Column("condition_since", _BIG, nullable=False, server_default="0"),
    Column("turn_since", _BIG, nullable=False, server_default="0"),
    Index(None, "updated_at", "id"),
    Index(None, "condition", "condition_since", "id"),
    Index(None, "parent"),
    Index(None, "agent"),
)

# What a search looks through, folded as `str.casefold` does it: no store knows every script's small letters.
search_texts = Table(
    "search_texts",
    metadata,
    Column("session", String(200), primary_key=True),
    Column("text", Text, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("id", _BIG, primary_key=True),  # order over all sessions: how another process finds what is new
    Column("session", String(200), nullable=False),
    Column("position", _BIG, nullable=False),
    Column("type", Text, nullable=False),
    Column("time", _BIG, nullable=False),
    Column("key", Text),
    Column("data", Text, nullable=False),
    UniqueConstraint("session", "position"),
    sqlite_autoincrement=True,
)

Index(
    "uq_events_session_key",
    events.c.session,
    events.c.key,
    unique=True,
    sqlite_where=events.c.key.is_not(None),  # PostgreSQL's is in the migration: here it would load that dialect
)

# What a page looks for from the log's end: its cost must not grow with what lies between.
MARKED: Final = (
    "type IN ('tool/call', 'turn/start', 'turn/end', 'turn/resume', 'todo/write',"
    " 'session/rewind', 'session/end', 'viewer/restore', 'viewer/retire')"
)

Index(
    "ix_events_marked",
    events.c.session,
    events.c.type,
    events.c.position,
    sqlite_where=text(MARKED),
)

checkpoints = Table(
    "checkpoints",
    metadata,
    Column("session", String(200), primary_key=True),
    Column("name", String(50), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("position", _BIG, nullable=False),
    Column("value", Text, nullable=False),
)

# Who may look at what, and until when: `board` is a filter as JSON. A token itself is never stored.
view_tokens = Table(
    "view_tokens",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("session", String(200)),
    Column("board", Text, nullable=False),
    Column("label", Text),
    Column("created_at", _BIG, nullable=False),
    Column("expires_at", _BIG, nullable=False),
    Column("revoked_at", _BIG),
    Index(None, "session"),
)

signing_keys = Table(
    "signing_keys",
    metadata,
    Column("name", String(50), primary_key=True),
    Column("value", Text, nullable=False),
)
