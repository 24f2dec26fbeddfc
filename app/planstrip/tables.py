"""The tables. The event log is only added to; all else can be dropped and rebuilt, but for the view tokens."""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Dialect,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.types import TypeEngine

from planstrip.events import MAX_TIME_MS

SCHEMA_HEAD: Final = "20261201_turns"  # the newest revision in alembic/versions; Alembic is too slow to ask at start

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class Words(TypeDecorator[str]):
    """A string for PostgreSQL, which takes no U+0000: it is kept as U+001A and `0`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        if value is None or ("\0" not in value and "\x1a" not in value):
            return value
        return value.replace("\x1a", "\x1a1").replace("\0", "\x1a0")

    def process_result_value(self, value: str | None, _dialect: Dialect) -> str | None:
        if value is None or "\x1a" not in value:
            return value
        return value.replace("\x1a0", "\0").replace("\x1a1", "\x1a")


class ShortWords(Words):
    impl = String  # type: ignore[assignment]
    cache_ok = True


class Moment(TypeDecorator[int]):
    """Milliseconds since the epoch. What lies in the store and is no such number is read as the nearest that is one."""

    impl = BigInteger
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        return dialect.type_descriptor(_BIG.dialect_impl(dialect))

    def process_result_value(self, value: object, _dialect: Dialect) -> int | None:
        if value.__class__ is not int:
            return None if value is None else 0
        return value if 0 <= value <= MAX_TIME_MS else min(max(value, 0), MAX_TIME_MS)


# In PostgreSQL ordered by code point, as SQLite does it: ranges of keys need that.
_TEXT: Final = Text().with_variant(Words(collation="C"), "postgresql")
_ID: Final = String(200).with_variant(ShortWords(200, collation="C"), "postgresql")
_BIG: Final = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers its rows itself only in an INTEGER

sessions = Table(
    "sessions",
    metadata,
    Column("id", _ID, primary_key=True),
    Column("agent", _TEXT),
    Column("title", _TEXT),
    Column("cwd", _TEXT),
    Column("parent", _TEXT),
    Column("position", _BIG, nullable=False),
    Column("updated_at", Moment, nullable=False),
    Column("completed", Integer, nullable=False),
    Column("in_progress", Integer, nullable=False),
    Column("pending", Integer, nullable=False),
    Column("active", _TEXT),
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
    Column("session", _ID, primary_key=True),
    Column("text", _TEXT, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("id", _BIG, primary_key=True),  # order over all sessions: how another process finds what is new
    Column("session", _ID, nullable=False),
    Column("position", _BIG, nullable=False),
    Column("type", _TEXT, nullable=False),
    Column("time", Moment, nullable=False),
    Column("key", _TEXT),
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
    Column("session", _ID, primary_key=True),
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
