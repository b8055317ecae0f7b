"""The only code that touches the world: providers, the ledger, templates and keys."""
