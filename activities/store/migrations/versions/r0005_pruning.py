"""When the evidence of a notice, or the messages and tries of a challenge, were pruned."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_NOTICE_OF = {
    "observations": "SELECT notice_key FROM attempts WHERE key = OLD.attempt_key",
    "decisions": "SELECT OLD.notice_key",
}
"""Whose evidence a row is."""


def upgrade() -> None:
    """Add columns, and let evidence be deleted once its notice says that it was pruned; rows stay."""
    for table, closed in (("notices", "closed_at"), ("challenges", "ended_at")):
        op.add_column(table, sa.Column("pruned_at", sa.DateTime(timezone=True)))
        kept = sa.text("pruned_at IS NULL")
        op.create_index(f"ix_{table}_kept", table, [closed], sqlite_where=kept, postgresql_where=kept)
    for table, notice in _NOTICE_OF.items():
        _only_pruned(table, notice)


def _only_pruned(table: str, notice: str) -> None:
    """Let the database refuse any change but the deletion of what was pruned."""
    refusal = f"{table} is append-only"
    pruned = (
        f"EXISTS (SELECT 1 FROM notices WHERE key IN ({notice})"  # noqa: S608 - constants of this file
        " AND closed_at IS NOT NULL AND pruned_at IS NOT NULL)"
    )
    if op.get_context().dialect.name == "sqlite":
        op.execute(f"DROP TRIGGER {table}_no_delete")
        op.execute(
            f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} WHEN NOT {pruned} "
            f"BEGIN SELECT RAISE(ABORT, '{refusal}'); END"
        )
        return
    op.execute(f"DROP TRIGGER {table}_append_only ON {table}")
    op.execute(
        f"CREATE TRIGGER {table}_append_only BEFORE UPDATE OR TRUNCATE ON {table} "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_append_only()"
    )
    op.execute(
        f"CREATE FUNCTION {table}_no_delete() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN IF NOT {pruned} THEN RAISE EXCEPTION '{refusal}'; END IF; RETURN OLD; END $$"
    )
    op.execute(
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {table}_no_delete()"
    )
