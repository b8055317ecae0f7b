"""`standby controls`: what an operator turns on and off, for everybody or for a share of the notices."""

import asyncio
import getpass
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Final

import typer

from activities.hosting import open_ledger
from activities.store.records import ControlChange
from console import tables
from console.deployment import Deployment
from console.exits import Exit, Stop
from console.page import away
from workflows.policy.controls import Control, Controls, Switch
from workflows.policy.telling import moment

app = typer.Typer()

MEANS: Final[Mapping[Switch, str]] = MappingProxyType(
    {
        Switch.DISPATCH: "messages go out; off holds them until it is on, or they expire",
        Switch.FALLBACK: "a second channel is used in place of the first",
        Switch.RECONCILE: "providers are asked what became of messages",
        Switch.RESEND: "a person gets another message who asks for it",
        Switch.AUTOMATIC_RESEND: "another message goes out that nobody asked for",
        Switch.OBSERVE: "nothing leaves, and what would have is on record",
    }
)
"""What is true while each is on."""

_PERCENT: Final = re.compile(r"(\d{1,3})%")
_WHOLE: Final = 100
_LONGEST: Final = 200

Json = Annotated[bool, typer.Option("--json", help="Print one JSON array, and nothing else.")]


@app.callback(invoke_without_command=True)
def controls(
    context: typer.Context,
    *,
    as_json: Json = False,
) -> None:
    """List every control: how it is set, and who set it, when and why.

    Example: standby controls
    """
    if context.invoked_subcommand is None:
        _list(asyncio.run(_board(Deployment.here())), as_json=as_json)


@app.command(name="set")
def set_control(
    name: Annotated[str, typer.Argument(metavar="NAME", help=", ".join(Switch))],
    value: Annotated[str, typer.Argument(metavar="on|off|N%", help="N% is a share, stable by notice key.")],
    *,
    why: Annotated[str, typer.Option(help="Kept for ever, beside the setting.")],
    by: Annotated[str | None, typer.Option(help="Who you are; by default your account here.")] = None,
) -> None:
    """Set a control; every effect reads it at its own moment, so it holds from the next one on.

    Example: standby controls set fallback 10% --why "first cohort, ticket 4711"
    """
    switch, control = _switch(name), _control(value)
    who = _line("--by", by or getpass.getuser())
    change = asyncio.run(_set(Deployment.here(), switch, control, who, _line("--why", why)))
    typer.echo(f"{switch}: {shown(control)}{change}; while it is on, {MEANS[switch]}")


@app.command()
def log(
    *,
    last: Annotated[int, typer.Option(min=1, max=1000, help="How many settings.")] = 20,
    as_json: Json = False,
) -> None:
    """List what was set, newest first.

    Example: standby controls log --last 50
    """
    changes = asyncio.run(_log(Deployment.here(), last))
    if as_json:
        typer.echo(json.dumps([each.model_dump(mode="json") for each in changes]))
        return
    table = tables.table("when (UTC)", "control", "set to", "by", "why")
    for each in changes:
        table.add_row(moment(each.changed_at), each.name, shown(each.control), each.changed_by, each.why)
    if changes:
        tables.show(table)
    else:
        typer.echo("nothing was ever set: every control is as it comes")


def shown(control: Control) -> str:
    """Return how a control is set, as a person writes it."""
    if not control.on or not control.percent:
        return "off"
    return "on" if control.percent == _WHOLE else f"{control.percent}%"


def _list(board: Mapping[Switch, ControlChange], *, as_json: bool) -> None:
    holds = {each: board[each].control if each in board else _default(each) for each in Switch}
    if as_json:
        rows = [
            {
                "name": each,
                "set_to": shown(holds[each]),
                **(board[each].model_dump(mode="json", exclude={"name"}) if each in board else {}),
            }
            for each in Switch
        ]
        typer.echo(json.dumps(rows))
        return
    table, now = tables.table("control", "set to", "while on", "by", "when (UTC)", "why"), datetime.now(UTC)
    for each in Switch:
        table.add_row(each, shown(holds[each]), MEANS[each], *_history(board.get(each), now))
    tables.show(table)


def _history(change: ControlChange | None, now: datetime) -> tuple[str, str, str]:
    if change is None:
        return "-", "never set", "-"
    when = f"{moment(change.changed_at)} ({away(change.changed_at - now)})"
    return change.changed_by, when, change.why


def _default(switch: Switch) -> Control:
    found: Control = getattr(Controls(), switch)
    return found


def _switch(name: str) -> Switch:
    try:
        return Switch(name)
    except ValueError:
        raise Stop(Exit.BAD_INPUT, f"NAME: must be one of {', '.join(Switch)}") from None


def _control(value: str) -> Control:
    found = _PERCENT.fullmatch(value)
    match value, found:
        case "on", _:
            return Control()
        case "off", _:
            return Control(on=False)
        case _, re.Match() if int(found[1]) <= _WHOLE:
            return Control(percent=int(found[1]))
        case _:
            raise Stop(Exit.BAD_INPUT, "value: must be on, off, or a share from 0% to 100%")


def _line(option: str, text: str) -> str:
    written = text.strip()
    if not written or len(written) > _LONGEST or not written.isprintable():
        raise Stop(Exit.BAD_INPUT, f"{option}: must be one line of 1 to {_LONGEST} characters")
    return written


async def _board(deployment: Deployment) -> dict[Switch, ControlChange]:
    async with open_ledger(deployment.settings) as ledger:
        return await ledger.controls.board()


async def _log(deployment: Deployment, last: int) -> tuple[ControlChange, ...]:
    async with open_ledger(deployment.settings) as ledger:
        return await ledger.controls.changes(last)


async def _set(deployment: Deployment, switch: Switch, control: Control, by: str, why: str) -> str:
    """Set it, and say what it was before."""
    async with open_ledger(deployment.settings) as ledger:
        before: Control = getattr(await ledger.controls.read(), switch)
        await ledger.controls.put(switch, control, by=by, why=why, at=datetime.now(UTC))
    return " as before" if shown(before) == shown(control) else f" (was {shown(before)})"
