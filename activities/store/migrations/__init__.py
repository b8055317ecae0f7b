"""The ledger's migrations: each only adds, so that yesterday's code works on today's tables."""
