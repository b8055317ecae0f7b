"""`standby observe-report`: what would have been sent, beside what became known of it all the same."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer
from pydantic import TypeAdapter, ValidationError

from activities.hosting import open_ledger
from activities.observing import OBSERVER
from activities.store.observed import Seen
from activities.store.strays import Aside
from console import aside, tables
from console.deployment import Deployment
from console.exits import Exit, Stop
from workflows.policy.terms import Duration

_DURATION: Final[TypeAdapter[timedelta]] = TypeAdapter(Duration)
_NONE: Final = (
    "nothing was observed; to begin: standby controls set observe on --why TEXT (or a share, like 10%)"
)
_COUNTS: Final = ("would_have_sent", "accepted", "delivered", "failed", "silent")
_READING: Final = (
    "accepted to silent: what callbacks said, each of what would have been sent",
    "consumed: of the challenges they would have carried, those that somebody used",
)


def observe_report(
    *,
    since: Annotated[str | None, typer.Option(help='Only the last "90m", "12h", "2d".')] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array, and nothing else.")] = False,
) -> None:
    """Set what would have been sent while observing beside what callbacks and consumption showed.

    Example: standby observe-report --since 2d
    """
    seen, kept = asyncio.run(_seen(Deployment.here(), _begin(since)))
    if as_json:
        typer.echo(json.dumps([each.model_dump(mode="json") for each in seen]))
        return
    if seen:
        _show(seen)
    else:
        typer.echo(_NONE)
    if strays := aside.told(kept):
        typer.echo(strays)


def _begin(since: str | None) -> datetime | None:
    if since is None:
        return None
    try:
        return datetime.now(UTC) - _DURATION.validate_python(since)
    except ValidationError:
        raise Stop(Exit.BAD_INPUT, '--since: must be a duration like "90m", "12h" or "2d"') from None


async def _seen(deployment: Deployment, since: datetime | None) -> tuple[tuple[Seen, ...], tuple[Aside, ...]]:
    async with open_ledger(deployment.settings) as ledger:
        return await ledger.observed(OBSERVER, since), await ledger.strays.counted()


def _show(seen: tuple[Seen, ...]) -> None:
    counts = [name.replace("_", " ") for name in _COUNTS]
    made = tables.table("kind", "channel", *counts, "consumed", numbers=frozenset({*counts, "consumed"}))
    for line in seen:
        consumed = "-" if line.challenges is None else f"{line.consumed} of {line.challenges}"
        made.add_row(line.kind, line.channel, *(str(getattr(line, name)) for name in _COUNTS), consumed)
    tables.show(made)
    for remark in _READING if any(each.challenges is not None for each in seen) else _READING[:1]:
        typer.echo(remark)
