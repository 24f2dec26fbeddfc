"""Sessions, events and checkpoints."""

import sqlalchemy as sa

from alembic import op

revision = "20261130_first"
down_revision = None

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
ID = sa.String(200).with_variant(sa.String(200, collation="C"), "postgresql")
MARKED = sa.text(
    "type IN ('tool/call', 'turn/start', 'turn/end', 'turn/resume', 'todo/write',"
    " 'session/rewind', 'viewer/restore', 'viewer/retire')"
)


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("id", ID, nullable=False),
        sa.Column("agent", TEXT),
        sa.Column("title", TEXT),
        sa.Column("cwd", TEXT),
        sa.Column("parent", TEXT),
        sa.Column("position", BIG, nullable=False),
        sa.Column("updated_at", BIG, nullable=False),
        sa.Column("completed", sa.Integer, nullable=False),
        sa.Column("in_progress", sa.Integer, nullable=False),
        sa.Column("pending", sa.Integer, nullable=False),
        sa.Column("active", TEXT),
        sa.Column("condition", sa.String(20), nullable=False),
        sa.Column("fold_version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_sessions"),
    )
    op.create_index("ix_sessions_updated_at_id", "sessions", ["updated_at", "id"])
    op.create_table(
        "events",
        sa.Column("id", BIG, nullable=False),
        sa.Column("session", ID, nullable=False),
        sa.Column("position", BIG, nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("time", BIG, nullable=False),
        sa.Column("key", TEXT),
        sa.Column("data", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_events"),
        sa.UniqueConstraint("session", "position", name="uq_events_session_position"),
        sqlite_autoincrement=True,
    )
    keyed = sa.text("key IS NOT NULL")
    op.create_index(
        "uq_events_session_key", "events", ["session", "key"], unique=True, sqlite_where=keyed, postgresql_where=keyed
    )
    op.create_index(
        "ix_events_marked", "events", ["session", "type", "position"], sqlite_where=MARKED, postgresql_where=MARKED
    )
    op.create_table(
        "checkpoints",
        sa.Column("session", ID, nullable=False),
        sa.Column("name", sa.String(50), nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("position", BIG, nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("session", "name", name="pk_checkpoints"),
    )


def downgrade() -> None:
    op.drop_table("checkpoints")
    op.drop_table("events")
    op.drop_table("sessions")
