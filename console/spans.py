"""Durations as policies write them: 90s, 1h30m, 24h, 366d."""

from datetime import timedelta
from typing import Final

_UNITS: Final = (
    (timedelta(days=1), "d"),
    (timedelta(hours=1), "h"),
    (timedelta(minutes=1), "m"),
    (timedelta(seconds=1), "s"),
)


def span(length: timedelta) -> str:
    """Write a duration in whole seconds, its largest unit first."""
    written = ""
    # A provider's "24 hours" is not yet counted in days.
    for unit, letter in _UNITS if length >= timedelta(days=2) else _UNITS[1:]:
        count, length = divmod(length, unit)
        written += f"{count}{letter}" if count else ""
    return written or "0s"
