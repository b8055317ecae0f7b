"""Decisions as values: standard library and pydantic only, so that any of them can be recomputed later."""
