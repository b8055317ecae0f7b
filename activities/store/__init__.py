"""The ledger: what was promised, attempted, seen and decided, in SQLite or PostgreSQL."""
