"""Callbacks find their attempt by a digest of its key, or by the provider's id."""

import hashlib

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_ATTEMPTS = sa.table("attempts", sa.column("key", sa.String), sa.column("digest", sa.String))


_BATCH = 10_000
_ON_POSTGRESQL = "UPDATE attempts SET digest = encode(sha256(convert_to(key, 'UTF8')), 'hex')"


def upgrade() -> None:
    """Name every attempt that is on record, and index both names."""
    op.add_column("attempts", sa.Column("digest", sa.String))
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text(_ON_POSTGRESQL))
    else:
        _name(connection)
    op.create_index("ix_attempts_digest", "attempts", ["digest"], unique=True)
    op.create_index("ix_attempts_provider_id", "attempts", ["provider_id"])


def _name(connection: sa.Connection) -> None:
    """Name the attempts of a database that knows no digests, many with one statement."""
    named = (
        _ATTEMPTS.update().where(_ATTEMPTS.c.key == sa.bindparam("of")).values(digest=sa.bindparam("name"))
    )
    keys = connection.execute(sa.select(_ATTEMPTS.c.key)).scalars().all()
    for start in range(0, len(keys), _BATCH):
        batch = keys[start : start + _BATCH]
        connection.execute(
            named, [{"of": key, "name": hashlib.sha256(key.encode()).hexdigest()} for key in batch]
        )
