"""`standby doctor`: whether this deployment could do its work, and what to do where it could not."""

import asyncio
import ipaddress
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from activities.examination import examine
from activities.providers.base import Finding, Level
from activities.providers.wire import new_client
from activities.resolving import new_resolver
from console.checkup import Chart, checks
from console.exits import Exit, Stop

WIDTH: Final = 100
_PORT: Final = 53
_LAST_PORT: Final = 65_535

_STYLES: Final = {
    Level.OK: "green",
    Level.UNCHECKED: "magenta",
    Level.NOTE: "cyan",
    Level.PROBLEM: "bold red",
}
_COUNTED: Final = (
    (Level.PROBLEM, "problem", "problems"),
    (Level.UNCHECKED, "not checked", "not checked"),
    (Level.NOTE, "note", "notes"),
    (Level.OK, "ok", "ok"),
)
"""What matters most comes first."""


def doctor(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as one JSON object.")] = False,
    dns: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Ask this name server (IP, or IP:PORT), not this machine's."),
    ] = None,
) -> None:
    """Check settings, ledger, engine, providers and the sender's DNS; nothing is sent to anyone.

    Each finding is ok, a note (nothing to do), not checked (nobody could tell), or a PROBLEM with what to do.
    Exit codes: 0 no problem, 1 at least one.

    Example: standby doctor --dns 9.9.9.9
    """
    server = _server(dns) if dns else None
    chart = Chart.here()
    with Console(stderr=True).status("asking the ledger, the engine, the providers and DNS"):
        found = asyncio.run(_examine(chart, server))
    typer.echo(as_object(found) if as_json else page(found, Console()))
    if any(each.level is Level.PROBLEM for each in found):
        raise typer.Exit(Exit.FAILED)


async def _examine(chart: Chart, server: tuple[str, int] | None) -> tuple[Finding, ...]:
    async with new_client() as client:
        return await examine(tuple(checks(chart, client, new_resolver(server))))


def as_object(found: Sequence[Finding]) -> str:
    """Return the published form; keys are only ever added."""
    counts = Counter(each.level for each in found)
    findings = [{"level": each.level, "about": each.about, "says": each.says} for each in found]
    return json.dumps({"counts": {each: counts[each] for each in Level}, "findings": findings}, indent=2)


def page(found: Sequence[Finding], shown_on: Console) -> str:
    """Return the findings as lines for a person; only a terminal gets colours, or fewer columns."""
    is_terminal = shown_on.is_terminal
    width = min(WIDTH, shown_on.width) if is_terminal else WIDTH
    out = Console(highlight=False, emoji=False, markup=False, width=width, force_terminal=is_terminal)
    with out.capture() as captured:
        out.print(_lines(found))
        out.print()
        out.print(_count(found))
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def _lines(found: Iterable[Finding]) -> Table:
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(no_wrap=True)
    lines.add_column(no_wrap=True)
    lines.add_column(overflow="fold")
    for each in found:
        lines.add_row(Text(_word(each.level), style=_STYLES[each.level]), each.about, each.says)
    return lines


def _word(level: Level) -> str:
    return level.upper() if level is Level.PROBLEM else level


def _count(found: Sequence[Finding]) -> Text:
    counts = Counter(each.level for each in found)
    words = [
        Text(f"{counts[level]} {one if counts[level] == 1 else many}", style=_STYLES[level])
        for level, one, many in _COUNTED
        if counts[level] or level is Level.PROBLEM
    ]
    return Text(", ").join(words)


def _server(given: str) -> tuple[str, int]:
    """Read IP, IP:PORT or [IP]:PORT; raises Stop for anything else."""
    host, _, port = given.rpartition(":") if given.count(":") == 1 or "]:" in given else (given, "", "")
    with suppress(ValueError):
        address, at = str(ipaddress.ip_address(host.strip("[]"))), int(port or _PORT)
        if 0 < at <= _LAST_PORT:
            return address, at
    raise Stop(Exit.BAD_INPUT, "--dns: must be an IP address, or like 127.0.0.1:5353")
