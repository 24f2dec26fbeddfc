"""What the board asks for: since when a session is as it is, its children, and what a search looks through."""

import sqlalchemy as sa

from alembic import op

revision = "20261130_board"
down_revision = "20261130_first"

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
ID = sa.String(200).with_variant(sa.String(200, collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("sessions", sa.Column("condition_since", BIG, nullable=False, server_default="0"))
    op.create_index("ix_sessions_condition_condition_since_id", "sessions", ["condition", "condition_since", "id"])
    op.create_index("ix_sessions_parent", "sessions", ["parent"])
    op.create_index("ix_sessions_agent", "sessions", ["agent"], postgresql_using="hash")  # of any length
    op.create_table(
        "search_texts",
        sa.Column("session", ID, nullable=False),
        sa.Column("text", TEXT, nullable=False),
        sa.PrimaryKeyConstraint("session", name="pk_search_texts"),
    )


def downgrade() -> None:
    op.drop_table("search_texts")
    for column in ("agent", "parent", "condition_condition_since_id"):
        op.drop_index(f"ix_sessions_{column}", "sessions")
    op.drop_column("sessions", "condition_since")
