"""Tables for people: as wide as their terminal, and for a pipe as wide as they need to be."""

import sys
from typing import Final

from rich.console import Console
from rich.table import Table

_PIPE: Final = 240
"""Columns where no terminal says how many there are: one row stays one line for grep."""


def table(*columns: str, numbers: frozenset[str] = frozenset()) -> Table:
    """Return an empty table; the columns that hold numbers stand to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for each in columns:
        made.add_column(each, justify="right" if each in numbers else "left", overflow="fold")
    return made


def show(made: Table) -> None:
    """Print a table."""
    width = None if sys.stdout.isatty() else _PIPE
    Console(width=width, highlight=False, emoji=False, markup=False).print(made)
