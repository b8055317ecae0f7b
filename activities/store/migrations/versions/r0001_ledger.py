"""The ledger: notices, attempts, observations, decisions, suppressions, controls."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)
_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_HASHED = "length(address_hash) = 64"
_OPEN = sa.text("outcome IS NULL")
_ACTIVE = sa.text("lifted_at IS NULL")


def upgrade() -> None:
    """Create every table, and make the record append-only."""
    _notices()
    _attempts()
    _observations()
    _decisions()
    _suppressions()
    _controls()
    for table in ("observations", "decisions"):
        _append_only(table)


def _notices() -> None:
    op.create_table(
        "policies",
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("terms", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("digest", name="pk_policies"),
    )
    op.create_table(
        "notices",
        sa.Column("key", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("event_id", sa.String, nullable=False),
        sa.Column("recipient_id", sa.String, nullable=False),
        sa.Column("chain", sa.String, nullable=False),
        sa.Column("occurred_at", _INSTANT),
        sa.Column("policy_digest", sa.String, nullable=False),
        sa.Column("route", sa.JSON, nullable=False),
        sa.Column("phase", sa.String, nullable=False),
        sa.Column("channel", sa.String),
        sa.Column("outcome", sa.String),
        sa.Column("rule", sa.String),
        sa.Column("reason", sa.String),
        sa.Column("expires_at", _INSTANT, nullable=False),
        sa.Column("fallback_at", _INSTANT),
        sa.Column("next_at", _INSTANT),
        sa.Column("last_evidence_at", _INSTANT),
        sa.Column("reads", sa.Integer, nullable=False),
        sa.Column("created_at", _INSTANT, nullable=False),
        sa.Column("closed_at", _INSTANT),
        sa.Column("version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_notices"),
        sa.ForeignKeyConstraint(["policy_digest"], ["policies.digest"], name="fk_notices_policy_digest"),
        sa.CheckConstraint("(outcome IS NULL) = (closed_at IS NULL)", name="ck_notices_closed_whole"),
    )
    op.create_index("ix_notices_due", "notices", ["next_at"], sqlite_where=_OPEN, postgresql_where=_OPEN)


def _attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("key", sa.String, nullable=False),
        sa.Column("notice_key", sa.String, nullable=False),
        sa.Column("channel", sa.String, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("provider", sa.String),
        sa.Column("provider_id", sa.String),
        sa.Column("address_hash", sa.String),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("status", sa.String),
        sa.Column("is_final", sa.Boolean, nullable=False),
        sa.Column("dispatches", sa.Integer, nullable=False),
        sa.Column("first_dispatched_at", _INSTANT),
        sa.Column("last_dispatched_at", _INSTANT),
        sa.Column("settled_at", _INSTANT),
        sa.Column("note", sa.String),
        sa.Column("version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_attempts"),
        sa.ForeignKeyConstraint(["notice_key"], ["notices.key"], name="fk_attempts_notice_key"),
        sa.CheckConstraint(_HASHED, name="ck_attempts_hashed"),
    )
    op.create_index("ix_attempts_notice_key", "attempts", ["notice_key"])


def _observations() -> None:
    op.create_table(
        "observations",
        sa.Column("id", _SERIAL, nullable=False),
        sa.Column("attempt_key", sa.String, nullable=False),
        sa.Column("event_id", sa.String, nullable=False),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("is_final", sa.Boolean, nullable=False),
        sa.Column("raw", sa.String, nullable=False),
        sa.Column("code", sa.String),
        sa.Column("opt_out", sa.String),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("provider_at", _INSTANT),
        sa.Column("provider_id", sa.String),
        sa.Column("verdict", sa.String, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_observations"),
        sa.ForeignKeyConstraint(["attempt_key"], ["attempts.key"], name="fk_observations_attempt_key"),
        sa.UniqueConstraint("attempt_key", "event_id", name="uq_observations_attempt_key"),
    )


def _decisions() -> None:
    op.create_table(
        "decisions",
        sa.Column("notice_key", sa.String, nullable=False),
        sa.Column("run", sa.String, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("rule", sa.String, nullable=False),
        sa.Column("action", sa.String, nullable=False),
        sa.Column("channel", sa.String),
        sa.Column("at", _INSTANT, nullable=False),
        sa.Column("inputs", sa.JSON, nullable=False),
        sa.Column("answer", sa.String),
        sa.Column("reason", sa.String),
        sa.Column("answered_at", _INSTANT, nullable=False),
        sa.Column("policy_digest", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("notice_key", "run", "number", name="pk_decisions"),
        sa.ForeignKeyConstraint(["notice_key"], ["notices.key"], name="fk_decisions_notice_key"),
        sa.ForeignKeyConstraint(["policy_digest"], ["policies.digest"], name="fk_decisions_policy_digest"),
    )


def _suppressions() -> None:
    op.create_table(
        "suppressions",
        sa.Column("id", _SERIAL, nullable=False),
        sa.Column("address_hash", sa.String, nullable=False),
        sa.Column("channel", sa.String, nullable=False),
        sa.Column("reason", sa.String, nullable=False),
        sa.Column("source_notice", sa.String),
        sa.Column("observed_at", _INSTANT, nullable=False),
        sa.Column("lifted_at", _INSTANT),
        sa.Column("lifted_by", sa.String),
        sa.PrimaryKeyConstraint("id", name="pk_suppressions"),
        sa.CheckConstraint(_HASHED, name="ck_suppressions_hashed"),
    )
    op.create_index(
        "uq_suppressions_active",
        "suppressions",
        ["address_hash", "channel", "reason"],
        unique=True,
        sqlite_where=_ACTIVE,
        postgresql_where=_ACTIVE,
    )


def _controls() -> None:
    op.create_table(
        "controls",
        sa.Column("name", sa.String, nullable=False),
        sa.Column("is_on", sa.Boolean, nullable=False),
        sa.Column("percent", sa.Integer, nullable=False),
        sa.Column("changed_at", _INSTANT, nullable=False),
        sa.Column("changed_by", sa.String, nullable=False),
        sa.Column("why", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_controls"),
        sa.CheckConstraint("percent BETWEEN 0 AND 100", name="ck_controls_percent"),
    )


def _append_only(table: str) -> None:
    """Let the database refuse any change of a row that was written."""
    refusal = f"{table} is append-only"
    if op.get_context().dialect.name == "sqlite":
        for verb in ("UPDATE", "DELETE"):
            op.execute(
                f"CREATE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} "
                f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
            )
        return
    op.execute(
        f"CREATE FUNCTION {table}_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{refusal}'; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only()"
    )
