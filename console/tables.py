"""Tables for people: as wide as their terminal, and for a pipe as wide as they need to be."""

import sys
from collections.abc import Sequence
from typing import Final

import typer
from rich.console import Console, RenderableType
from rich.table import Table

_PIPE: Final = 2_000
"""Columns where no terminal says how many there are: one row stays one line for grep."""


def table(*columns: str, numbers: frozenset[str] = frozenset()) -> Table:
    """Return an empty table; the columns that hold numbers stand to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for each in columns:
        made.add_column(each, justify="right" if each in numbers else "left", overflow="fold")
    return made


def show(made: RenderableType) -> None:
    """Print a table, or several."""
    typer.echo("\n".join(_lines(made)))


def show_named(names: Sequence[str], made: Table, named: Table) -> None:
    """Print a table with its names; where they have no room beside the rows, each stands whole above its own.

    Who copies a name must not have to put it together.
    """
    out = _console()
    if out.measure(named, options=out.options.update(max_width=_PIPE)).maximum <= out.width:
        show(named)
        return
    heading, *rows = _lines(made)
    above = [line for name, row in zip(names, rows, strict=True) for line in (name, f"  {row}")]
    typer.echo("\n".join((f"  {heading}", *above)))


def _lines(made: RenderableType) -> list[str]:
    out = _console()
    with out.capture() as captured:
        out.print(made)
    # Tables fill their columns up with blanks, which are a nuisance in a pipe.
    return [line.rstrip() for line in captured.get().splitlines()]


def _console() -> Console:
    width = None if sys.stdout.isatty() else _PIPE
    return Console(width=width, highlight=False, emoji=False, markup=False)
