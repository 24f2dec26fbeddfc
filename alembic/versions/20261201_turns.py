"""Since when a session's turn runs or has ended, and the ends of sessions among what a page looks for."""

import sqlalchemy as sa

from alembic import op

revision = "20261201_turns"
down_revision = "20261201_view_tokens"

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
MARKED_BEFORE = sa.text(
    "type IN ('tool/call', 'turn/start', 'turn/end', 'turn/resume', 'todo/write',"
    " 'session/rewind', 'viewer/restore', 'viewer/retire')"
)
MARKED = sa.text(
    "type IN ('tool/call', 'turn/start', 'turn/end', 'turn/resume', 'todo/write',"
    " 'session/rewind', 'session/end', 'viewer/restore', 'viewer/retire')"
)


def upgrade() -> None:
    op.add_column("sessions", sa.Column("turn_since", BIG, nullable=False, server_default="0"))
    _mark(MARKED)


def downgrade() -> None:
    _mark(MARKED_BEFORE)
    op.drop_column("sessions", "turn_since")


def _mark(marked: sa.TextClause) -> None:
    op.drop_index("ix_events_marked", "events")
    op.create_index(
        "ix_events_marked", "events", ["session", "type", "position"], sqlite_where=marked, postgresql_where=marked
    )
