"""`standby providers`: what each provider can do, as its adapter says; a page of the docs shows the same."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Final, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from activities.providers.base import Callbacks, Capabilities
from activities.providers.registry import PROVIDERS, Adapter
from console.exits import Exit, Stop
from console.spans import span
from workflows.policy.words import Channel

LEGEND: Final = (
    ("repeats", "how long the same send can safely be repeated, by the key that it honours"),
    (
        "asked by",
        "how it is asked about a message: by its id, or by our key where that got lost",
    ),
    ("a second", "how many such questions it allows"),
    (
        "callbacks",
        "whether it tells by itself, and how that is believed: signed, a signed token once, or a secret",
    ),
    ("suppressions", "whether it keeps a list of its own, and whether that can be read and added to"),
    ("headers", "whether an email can carry List-Unsubscribe"),
)
_COLUMNS: Final = ("provider", "channel", *(name for name, _ in LEGEND))
_NONE: Final = "-"


class Row(NamedTuple):
    """One provider on one channel: all that its adapter can do, however it is set up."""

    provider: str
    channel: Channel
    can: Capabilities

    @property
    def cells(self) -> tuple[str, ...]:
        """Its words, by column."""
        *words, headers = _words(self.can)
        # A text has no headers, whatever its provider could carry in an email.
        return (self.provider, self.channel, *words, headers if self.channel is Channel.EMAIL else _NONE)


def providers(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as one JSON array.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print them as a table for a page.")] = False,
) -> None:
    """List the providers that there are, and what each can do at most; `standby doctor` looks at yours.

    Example: standby providers --json
    """
    if as_json and markdown:
        raise Stop(Exit.BAD_INPUT, "--json: cannot go with --markdown")
    if as_json:
        typer.echo(json.dumps([published(each) for each in rows()], indent=2))
    elif markdown:
        typer.echo(table(), nl=False)
    else:
        _show(tuple(rows()))


def rows(adapters: Mapping[str, Adapter] = PROVIDERS) -> Iterator[Row]:
    """Yield every provider on every channel that it serves: email first, then texts, by name."""
    for channel in Channel:
        for name, adapter in sorted(adapters.items()):
            if channel in adapter.CAPABILITIES:
                yield Row(name, channel, adapter.CAPABILITIES[channel])


def table(adapters: Mapping[str, Adapter] = PROVIDERS) -> str:
    """Return the capabilities as a Markdown table, which ends in a line break."""
    lines = [_COLUMNS, tuple("---" for _ in _COLUMNS), *(each.cells for each in rows(adapters))]
    return "".join(f"| {' | '.join(each)} |\n" for each in lines)


def published(row: Row) -> dict[str, object]:
    """Return the published form; keys are only ever added."""
    can = row.can
    window = span(can.idempotent_for) if can.idempotent_for is not None else None
    return {"provider": row.provider, "channel": row.channel} | asdict(can) | {"idempotent_for": window}


def told(can: Capabilities, channel: Channel) -> str:
    """Return what a provider can do as one line."""
    window, asked, pace, callbacks, suppressions, _ = _words(can)
    pace = f", {pace} a second" if can.reads_per_second else ""
    parts = [
        f"repeats are safe for {window}" if can.idempotent_for else "no repeats",
        f"asked by {asked}{pace}" if can.reads else "cannot be asked",
        f"callbacks {callbacks}" if can.callbacks is not Callbacks.NONE else "no callbacks",
        f"suppressions {suppressions}" if can.has_suppressions else "no suppressions",
    ]
    if channel is Channel.EMAIL:
        parts.append("headers" if can.takes_headers else "no headers")
    return "; ".join(parts)


def _words(can: Capabilities) -> tuple[str, ...]:
    asked = [name for name, holds in (("id", can.reads_by_id), ("key", can.reads_by_key)) if holds]
    suppressions = [
        name
        for name, holds in (
            ("kept", can.has_suppressions),
            ("read", can.lists_suppressions),
            ("added to", can.takes_suppressions),
        )
        if holds
    ]
    return (
        span(can.idempotent_for) if can.idempotent_for is not None else _NONE,
        " or ".join(asked) or _NONE,
        f"{can.reads_per_second:g}" if can.reads_per_second is not None else _NONE,
        _NONE if can.callbacks is Callbacks.NONE else str(can.callbacks),
        ", ".join(suppressions) or _NONE,
        "yes" if can.takes_headers else _NONE,
    )


def _show(found: Sequence[Row]) -> None:
    out = Console(highlight=False, emoji=False, markup=False, width=100)
    with out.capture() as captured:
        out.print(_grid(_COLUMNS, [each.cells for each in found]))
        out.print()
        out.print(_grid((), LEGEND))
    # Tables fill their columns up with blanks, which are a nuisance in a pipe.
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _grid(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=bool(headings))
    for heading in headings or lines[0]:
        made.add_column(heading, overflow="fold")
    for each in lines:
        made.add_row(*each)
    return made
