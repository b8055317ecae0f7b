"""A deployment from outside: check a notice, start it once, follow it, tell its story."""
