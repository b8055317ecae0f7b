"""Facts about the whole: real engine, real ledger, real provider over HTTP, real workers."""
