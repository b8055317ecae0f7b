"""The tables of verifications: what was made, asked for and tried; no secret has a column."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
)

from activities.store.columns import hash_column, metadata
from activities.store.instant import Instant

challenges = Table(
    "challenges",
    metadata,
    Column("id", String, primary_key=True),
    Column("account_id", String, nullable=False),
    Column("purpose", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("method", String, nullable=False),
    Column("chain", String, nullable=False),
    Column("key_id", String),
    Column("nonce", String, nullable=False),
    Column("code_digits", Integer, nullable=False),
    Column("wrong_codes", Integer, nullable=False),
    hash_column("link_digest", nullable=True),
    hash_column("code_digest", nullable=True),
    hash_column("result_digest", nullable=False),
    Column("state", String, nullable=False),
    Column("wrong", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant, nullable=False),
    Column("consumed_at", Instant),
    Column("ended_at", Instant),
    Column("pruned_at", Instant),
    CheckConstraint("(state = 'consumed') = (consumed_at IS NOT NULL)", name="consumed_whole"),
    CheckConstraint("(state = 'active') = (ended_at IS NULL)", name="ended_whole"),
)
Index("ix_challenges_link_digest", challenges.c.link_digest, unique=True)
Index("ix_challenges_result_digest", challenges.c.result_digest, unique=True)
_kept = challenges.c.pruned_at.is_(None)
Index("ix_challenges_kept", challenges.c.ended_at, sqlite_where=_kept, postgresql_where=_kept)
Index("ix_challenges_created_at", challenges.c.created_at)
Index("ix_challenges_account_id", challenges.c.account_id, challenges.c.created_at)
Index("ix_challenges_state", challenges.c.state, challenges.c.created_at)

deliveries = Table(
    "deliveries",
    metadata,
    Column("event_id", String, primary_key=True),
    Column("challenge_id", ForeignKey("challenges.id"), nullable=False),
    Column("notice_key", String, nullable=False),
    Column("number", Integer, nullable=False),
    Column("asked_id", String, nullable=False),
    Column("is_automatic", Boolean, nullable=False),
    Column("account_id", String, nullable=False),
    hash_column("email_hash", nullable=True),
    hash_column("phone_hash", nullable=True),
    Column("asked_at", Instant, nullable=False),
    UniqueConstraint("challenge_id", "asked_id"),
)
"""Messages that were asked for: the limits count them."""
Index("ix_deliveries_account_id", deliveries.c.account_id, deliveries.c.asked_at)
Index("ix_deliveries_email_hash", deliveries.c.email_hash, deliveries.c.asked_at)
Index("ix_deliveries_phone_hash", deliveries.c.phone_hash, deliveries.c.asked_at)

tries = Table(
    "tries",
    metadata,
    Column("challenge_id", ForeignKey("challenges.id"), primary_key=True),
    Column("attempt_id", String, primary_key=True),
    Column("consumed", Boolean, nullable=False),
    Column("at", Instant, nullable=False),
)
"""What was presented to a challenge while it was active: a few at most, since wrong codes end it."""
