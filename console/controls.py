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
        Switch.DISPATCH: "messages go out",
        Switch.FALLBACK: "a second channel may be used",
        Switch.RECONCILE: "providers are asked what became",
        Switch.RESEND: "people may ask for another message",
        Switch.AUTOMATIC_RESEND: "another message goes out unasked, where its kind says so",
        Switch.OBSERVE: "nothing leaves, all is recorded",
    }
)
"""What is true while each is on."""

OTHERWISE: Final[Mapping[Switch, str]] = MappingProxyType(
    {
        Switch.DISPATCH: "no message leaves: each waits until it is on, or expires",
        Switch.FALLBACK: "no second channel is used",
        Switch.RECONCILE: "no provider is asked; callbacks are still taken",
        Switch.RESEND: "nobody gets another message",
        Switch.AUTOMATIC_RESEND: "nothing goes out that nobody asked for",
        Switch.OBSERVE: "what is due leaves, but for notices that were observed before",
    }
)
"""What is true while each is off."""

_PERCENT: Final = re.compile(r"(\d{1,3})%", re.ASCII)
_WHOLE: Final = 100
_LONGEST: Final = 200

Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]


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
    as_json: Json = False,
) -> None:
    """Set a control; every effect reads it at its own moment, so it holds from the next one on.

    Example: standby controls set fallback 10% --why "first cohort, ticket 4711"
    """
    switch, control = _switch(name), _control(value)
    who = _line("--by", by or _account())
    was, change = asyncio.run(_set(Deployment.here(), switch, control, who, _line("--why", why)))
    if as_json:
        typer.echo(json.dumps({**_as_json(change), "was": shown(was)}))
        return
    before = "as before" if shown(was) == shown(control) else f"was {shown(was)}"
    typer.echo(f"{switch}: {shown(control)} ({before}); from the next effect on: {_effect(switch, control)}")


@app.command()
def log(
    *,
    last: Annotated[int, typer.Option(min=1, help="How many settings.")] = 20,
    every: Annotated[bool, typer.Option("--all", help="Every setting there ever was.")] = False,
    as_json: Json = False,
) -> None:
    """List what was set, newest first; what is left out is counted.

    Example: standby controls log --last 50
    """
    changes = asyncio.run(_log(Deployment.here()))
    listed = changes if every else changes[:last]
    if as_json:
        typer.echo(json.dumps([_as_json(each) for each in listed]))
    elif listed:
        _show(listed)
    else:
        typer.echo("nothing was ever set: every control is as it comes")
    if more := len(changes) - len(listed):
        typer.echo(f"not listed: {more} earlier; to see them: standby controls log --all", err=as_json)


def _show(changes: tuple[ControlChange, ...]) -> None:
    table = tables.table("when (UTC)", "control", "set to", "by", "why")
    for each in changes:
        table.add_row(moment(each.changed_at), each.name, shown(each.control), each.changed_by, each.why)
    tables.show(table)


def shown(control: Control) -> str:
    """Return how a control is set, as a person writes it."""
    if not control.on or not control.percent:
        return "off"
    return "on" if control.percent == _WHOLE else f"{control.percent}%"


def _effect(switch: Switch, control: Control) -> str:
    """Say what a setting brings about; a share is two things at once."""
    match shown(control):
        case "on":
            return MEANS[switch]
        case "off":
            return OTHERWISE[switch]
        case share:
            return f"for {share} of the notices, {MEANS[switch]}; for all others, {OTHERWISE[switch]}"


def _list(board: Mapping[Switch, ControlChange], *, as_json: bool) -> None:
    holds = {each: board[each].control if each in board else _default(each) for each in Switch}
    if as_json:
        typer.echo(json.dumps([_listed(each, holds[each], board.get(each)) for each in Switch]))
        return
    table, now = tables.table("control", "set to", "while it is on", "last set"), datetime.now(UTC)
    for each in Switch:
        table.add_row(each, shown(holds[each]), MEANS[each], _history(board.get(each), now))
    tables.show(table)


def _listed(switch: Switch, control: Control, change: ControlChange | None) -> dict[str, object]:
    """Return a control as a program reads it; without a change it is as it comes."""
    row = {"name": switch, "set_to": shown(control), "is_on": control.on, "percent": control.percent}
    nobody = {"changed_at": None, "changed_by": None, "why": None}
    return {**row, **(_as_json(change) if change else nobody), "while_on": MEANS[switch]}


def _as_json(change: ControlChange) -> dict[str, object]:
    return {"name": change.name, "set_to": shown(change.control), **change.model_dump(mode="json")}


def _history(change: ControlChange | None, now: datetime) -> str:
    if change is None:
        return "never"
    when = f"{away(change.changed_at - now)} ({moment(change.changed_at)})"
    return f"{when} by {change.changed_by}: {change.why}"


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


def _account() -> str:
    """Return the name of the account here; in a container there may be none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise Stop(Exit.BAD_INPUT, "--by: say who you are, for your account here has no name") from None


def _line(option: str, text: str) -> str:
    written = text.strip()
    if not written or len(written) > _LONGEST or not written.isprintable():
        raise Stop(Exit.BAD_INPUT, f"{option}: must be one line of 1 to {_LONGEST} characters")
    return written


async def _board(deployment: Deployment) -> dict[Switch, ControlChange]:
    async with open_ledger(deployment.settings) as ledger:
        return await ledger.controls.board()


async def _log(deployment: Deployment) -> tuple[ControlChange, ...]:
    async with open_ledger(deployment.settings) as ledger:
        return await ledger.controls.changes()


async def _set(
    deployment: Deployment, switch: Switch, control: Control, by: str, why: str
) -> tuple[Control, ControlChange]:
    """Set it, and return how it was before and what is on record now."""
    at = datetime.now(UTC)
    async with open_ledger(deployment.settings) as ledger:
        before: Control = getattr(await ledger.controls.read(), switch)
        await ledger.controls.put(switch, control, by=by, why=why, at=at)
    change = ControlChange(
        name=switch, is_on=control.on, percent=control.percent, changed_at=at, changed_by=by, why=why
    )
    return before, change
