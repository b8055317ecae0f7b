"""Verifications, the history of controls, and callbacks that are kept aside."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)
_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables; the history of controls is append-only."""
    _challenges()
    _deliveries()
    _tries()
    _control_changes()
    _strays()
    _tokens()
    _append_only("control_changes")


def _hashed(table: str, name: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"length({name}) = 64", name=f"ck_{table}_{name}ed")


def _challenges() -> None:
    op.create_table(
        "challenges",
        sa.Column("id", sa.String, nullable=False),
        sa.Column("account_id", sa.String, nullable=False),
        sa.Column("purpose", sa.String, nullable=False),
        sa.Column("kind", sa.String, nullable=False),
        sa.Column("method", sa.String, nullable=False),
        sa.Column("chain", sa.String, nullable=False),
        sa.Column("key_id", sa.String),
        sa.Column("nonce", sa.String, nullable=False),
        sa.Column("code_digits", sa.Integer, nullable=False),
        sa.Column("wrong_codes", sa.Integer, nullable=False),
        sa.Column("link_digest", sa.String),
        sa.Column("code_digest", sa.String),
        sa.Column("result_digest", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("wrong", sa.Integer, nullable=False),
        sa.Column("created_at", _INSTANT, nullable=False),
        sa.Column("expires_at", _INSTANT, nullable=False),
        sa.Column("consumed_at", _INSTANT),
        sa.Column("ended_at", _INSTANT),
        sa.PrimaryKeyConstraint("id", name="pk_challenges"),
        sa.CheckConstraint(
            "(state = 'consumed') = (consumed_at IS NOT NULL)", name="ck_challenges_consumed_whole"
        ),
        sa.CheckConstraint("(state = 'active') = (ended_at IS NULL)", name="ck_challenges_ended_whole"),
        *(_hashed("challenges", each) for each in ("link_digest", "code_digest", "result_digest")),
    )
    for each in ("link_digest", "result_digest"):
        op.create_index(f"ix_challenges_{each}", "challenges", [each], unique=True)


def _deliveries() -> None:
    op.create_table(
        "deliveries",
        sa.Column("event_id", sa.String, nullable=False),
        sa.Column("challenge_id", sa.String, nullable=False),
        sa.Column("notice_key", sa.String, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("asked_id", sa.String, nullable=False),
        sa.Column("is_automatic", sa.Boolean, nullable=False),
        sa.Column("account_id", sa.String, nullable=False),
        sa.Column("email_hash", sa.String),
        sa.Column("phone_hash", sa.String),
        sa.Column("asked_at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("event_id", name="pk_deliveries"),
        sa.ForeignKeyConstraint(["challenge_id"], ["challenges.id"], name="fk_deliveries_challenge_id"),
        sa.UniqueConstraint("challenge_id", "asked_id", name="uq_deliveries_challenge_id"),
        *(_hashed("deliveries", each) for each in ("email_hash", "phone_hash")),
    )
    for each in ("account_id", "email_hash", "phone_hash"):
        op.create_index(f"ix_deliveries_{each}", "deliveries", [each, "asked_at"])


def _tries() -> None:
    op.create_table(
        "tries",
        sa.Column("challenge_id", sa.String, nullable=False),
        sa.Column("attempt_id", sa.String, nullable=False),
        sa.Column("consumed", sa.Boolean, nullable=False),
        sa.Column("at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("challenge_id", "attempt_id", name="pk_tries"),
        sa.ForeignKeyConstraint(["challenge_id"], ["challenges.id"], name="fk_tries_challenge_id"),
    )


def _control_changes() -> None:
    op.create_table(
        "control_changes",
        sa.Column("id", _SERIAL, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("is_on", sa.Boolean, nullable=False),
        sa.Column("percent", sa.Integer, nullable=False),
        sa.Column("changed_at", _INSTANT, nullable=False),
        sa.Column("changed_by", sa.String, nullable=False),
        sa.Column("why", sa.String, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_control_changes"),
    )


def _strays() -> None:
    op.create_table(
        "strays",
        sa.Column("provider", sa.String, nullable=False),
        sa.Column("event_id", sa.String, nullable=False),
        sa.Column("provider_id", sa.String),
        sa.Column("report", sa.JSON, nullable=False),
        sa.Column("received_at", _INSTANT, nullable=False),
        sa.Column("seen", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("provider", "event_id", name="pk_strays"),
    )
    op.create_index("ix_strays_received_at", "strays", ["received_at"])
    op.create_index("ix_strays_provider_id", "strays", ["provider", "provider_id"])


def _tokens() -> None:
    op.create_table(
        "tokens",
        sa.Column("provider", sa.String, nullable=False),
        sa.Column("token", sa.String, nullable=False),
        sa.Column("body_digest", sa.String, nullable=False),
        sa.Column("taken_at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("provider", "token", name="pk_tokens"),
    )
    op.create_index("ix_tokens_taken_at", "tokens", ["taken_at"])


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
