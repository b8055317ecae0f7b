"""The tables, once, for both databases. Addresses have no column: only their keyed hashes are kept.

Words are stored as they are and checked by the models that rows become, so that a new word needs no
migration. A change here needs one in `migrations/versions`; a test holds the two together.
"""

from sqlalchemy import (
    JSON,
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

from activities.store.columns import Serial, hash_column, metadata
from activities.store.instant import Instant

policies = Table(
    "policies",
    metadata,
    Column("digest", String, primary_key=True),
    Column("terms", JSON, nullable=False),
)

notices = Table(
    "notices",
    metadata,
    Column("key", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("event_id", String, nullable=False),
    Column("recipient_id", String, nullable=False),
    Column("chain", String, nullable=False),
    Column("occurred_at", Instant),
    Column("policy_digest", ForeignKey("policies.digest"), nullable=False),
    Column("route", JSON, nullable=False),
    Column("phase", String, nullable=False),
    Column("channel", String),
    Column("outcome", String),
    Column("rule", String),
    Column("reason", String),
    Column("expires_at", Instant, nullable=False),
    Column("fallback_at", Instant),
    Column("next_at", Instant),
    Column("last_evidence_at", Instant),
    Column("reads", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("closed_at", Instant),
    Column("pruned_at", Instant),
    Column("version", Integer, nullable=False),
    CheckConstraint("(outcome IS NULL) = (closed_at IS NULL)", name="closed_whole"),
)
_open = notices.c.outcome.is_(None)
Index("ix_notices_due", notices.c.next_at, sqlite_where=_open, postgresql_where=_open)
_kept = notices.c.pruned_at.is_(None)
Index("ix_notices_kept", notices.c.closed_at, sqlite_where=_kept, postgresql_where=_kept)
Index("ix_notices_created_at", notices.c.created_at)
for _name in ("kind", "outcome", "recipient_id"):
    Index(f"ix_notices_{_name}", notices.c[_name], notices.c.created_at)

attempts = Table(
    "attempts",
    metadata,
    Column("key", String, primary_key=True),
    Column("notice_key", ForeignKey("notices.key"), nullable=False, index=True),
    Column("channel", String, nullable=False),
    Column("number", Integer, nullable=False),
    Column("provider", String),
    Column("provider_id", String, index=True),
    hash_column(nullable=True),
    Column("state", String, nullable=False),
    Column("status", String),
    Column("is_final", Boolean, nullable=False),
    Column("dispatches", Integer, nullable=False),
    Column("first_dispatched_at", Instant),
    Column("last_dispatched_at", Instant),
    Column("settled_at", Instant),
    Column("note", String),
    Column("version", Integer, nullable=False),
    Column("digest", String, index=True, unique=True),
)

observations = Table(
    "observations",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("attempt_key", ForeignKey("attempts.key"), nullable=False),
    Column("event_id", String, nullable=False),
    Column("source", String, nullable=False),
    Column("status", String, nullable=False),
    Column("is_final", Boolean, nullable=False),
    Column("raw", String, nullable=False),
    Column("code", String),
    Column("opt_out", String),
    Column("at", Instant, nullable=False),
    Column("provider_at", Instant),
    Column("provider_id", String),
    Column("verdict", String, nullable=False),
    Column("reason", String, nullable=False),
    UniqueConstraint("attempt_key", "event_id"),
)
"""Append-only: a trigger refuses any change but the deletion of what was pruned."""

decisions = Table(
    "decisions",
    metadata,
    Column("notice_key", ForeignKey("notices.key"), primary_key=True),
    Column("run", String, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("rule", String, nullable=False),
    Column("action", String, nullable=False),
    Column("channel", String),
    Column("at", Instant, nullable=False),
    Column("inputs", JSON, nullable=False),
    Column("answer", String),
    Column("reason", String),
    Column("answered_at", Instant, nullable=False),
    Column("policy_digest", ForeignKey("policies.digest"), nullable=False),
)
"""Append-only: a trigger refuses any change but the deletion of what was pruned."""

suppressions = Table(
    "suppressions",
    metadata,
    Column("id", Serial, primary_key=True),
    hash_column(nullable=False),
    Column("channel", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("source_notice", String),
    Column("observed_at", Instant, nullable=False),
    Column("lifted_at", Instant),
    Column("lifted_by", String),
    Column("lifted_why", String),
)
_active = suppressions.c.lifted_at.is_(None)
Index(
    "uq_suppressions_active",
    suppressions.c.address_hash,
    suppressions.c.channel,
    suppressions.c.reason,
    unique=True,
    sqlite_where=_active,
    postgresql_where=_active,
)
Index("ix_suppressions_address_hash", suppressions.c.address_hash)
Index("ix_suppressions_observed_at", suppressions.c.observed_at)

controls = Table(
    "controls",
    metadata,
    Column("name", String, primary_key=True),
    Column("is_on", Boolean, nullable=False),
    Column("percent", Integer, CheckConstraint("percent BETWEEN 0 AND 100", name="percent"), nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("changed_by", String, nullable=False),
    Column("why", String, nullable=False),
)

control_changes = Table(
    "control_changes",
    metadata,
    Column("id", Serial, primary_key=True),
    Column("name", String, nullable=False),
    Column("is_on", Boolean, nullable=False),
    Column("percent", Integer, nullable=False),
    Column("changed_at", Instant, nullable=False),
    Column("changed_by", String, nullable=False),
    Column("why", String, nullable=False),
)
"""Append-only: a trigger refuses any change."""

strays = Table(
    "strays",
    metadata,
    Column("provider", String, primary_key=True),
    Column("event_id", String, primary_key=True),
    Column("provider_id", String),
    Column("report", JSON, nullable=False),
    Column("received_at", Instant, nullable=False, index=True),
    Column("seen", Integer, nullable=False),
)
"""Callbacks about attempts that nobody knows, or not yet."""
Index("ix_strays_provider_id", strays.c.provider, strays.c.provider_id)

tokens = Table(
    "tokens",
    metadata,
    Column("provider", String, primary_key=True),
    Column("token", String, primary_key=True),
    Column("body_digest", String, nullable=False),
    Column("taken_at", Instant, nullable=False, index=True),
)
"""Signed tokens of callbacks whose body is not signed: each is good for one body."""
