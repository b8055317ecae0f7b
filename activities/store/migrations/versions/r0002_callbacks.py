"""Callbacks find their attempt by a digest of its key, or by the provider's id."""

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ATTEMPTS = sa.table("attempts", sa.column("key", sa.String), sa.column("digest", sa.String))


def upgrade() -> None:
    """Name every attempt that is on record, and index both names."""
    op.add_column("attempts", sa.Column("digest", sa.String))
    connection = op.get_bind()
    for (key,) in connection.execute(sa.select(_ATTEMPTS.c.key)).all():
        named = _ATTEMPTS.update().where(_ATTEMPTS.c.key == key)
        connection.execute(named.values(digest=hashlib.sha256(key.encode()).hexdigest()))
    op.create_index("ix_attempts_digest", "attempts", ["digest"], unique=True)
    op.create_index("ix_attempts_provider_id", "attempts", ["provider_id"])
