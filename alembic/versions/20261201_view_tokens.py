"""Who may look: the view tokens that were issued, by id, and the key that signs them."""

import secrets

import sqlalchemy as sa

from alembic import op

revision = "20261201_view_tokens"
down_revision = "20261130_board"

BIG = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    keys = op.create_table(
        "signing_keys",
        sa.Column("name", sa.String(50), nullable=False),
        sa.Column("value", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_signing_keys"),
    )
    # Made here, so that the server and the command line, whichever comes first, find the same one.
    op.bulk_insert(keys, [{"name": "view", "value": secrets.token_urlsafe(32)}])
    op.create_table(
        "view_tokens",
        sa.Column("id", sa.String(32), nullable=False),
        sa.Column("session", sa.String(200)),
        sa.Column("board", sa.Text, nullable=False),
        sa.Column("label", sa.Text),
        sa.Column("created_at", BIG, nullable=False),
        sa.Column("expires_at", BIG, nullable=False),
        sa.Column("revoked_at", BIG),
        sa.PrimaryKeyConstraint("id", name="pk_view_tokens"),
    )
    op.create_index("ix_view_tokens_session", "view_tokens", ["session"])


def downgrade() -> None:
    op.drop_table("view_tokens")
    op.drop_table("signing_keys")
