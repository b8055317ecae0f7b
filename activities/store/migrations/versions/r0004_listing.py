"""What lists go by, and why a suppression was lifted."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_NEWEST_FIRST = (
    ("notices", "kind"),
    ("notices", "outcome"),
    ("notices", "recipient_id"),
    ("challenges", "account_id"),
    ("challenges", "state"),
)
"""Each filter of a list, with the time that the list is ordered by."""


def upgrade() -> None:
    """Add indexes and a column; rows stay as they are."""
    for table in ("notices", "challenges"):
        op.create_index(f"ix_{table}_created_at", table, ["created_at"])
    for table, column in _NEWEST_FIRST:
        op.create_index(f"ix_{table}_{column}", table, [column, "created_at"])
    op.create_index("ix_suppressions_address_hash", "suppressions", ["address_hash"])
    op.create_index("ix_suppressions_observed_at", "suppressions", ["observed_at"])
    op.add_column("suppressions", sa.Column("lifted_why", sa.String))
