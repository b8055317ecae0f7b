"""Facts about Standby, one a test."""
