"""Every table of the ledger."""

from activities.store import challenge_tables, tables
from activities.store.columns import metadata

__all__ = ["challenge_tables", "metadata", "tables"]
