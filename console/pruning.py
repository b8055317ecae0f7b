"""`standby prune`: what the ledger no longer needs."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer
from pydantic import TypeAdapter, ValidationError

from activities.hosting import open_ledger
from activities.store.retention import Pruned
from console.deployment import Deployment
from console.exits import Exit, Stop
from console.spans import span
from workflows.policy.terms import Duration

_AGE: Final[TypeAdapter[timedelta]] = TypeAdapter(Duration)

LEAST: Final = timedelta(days=3)
"""Providers bring a report again for as long: docs/providers.md; nor must a slip cost evidence."""


def prune(
    *,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="SPAN", help="How long ago it closed, such as 90d; else STANDBY_KEEP_EVIDENCE."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be pruned.")] = False,
) -> None:
    """Delete the evidence of notices and verifications that closed long ago; their keys stay used.

    Of each one row stays, with its outcome: `standby show` still tells how it ended. Suppressions and the
    settings of controls stay. It works in small steps, and may be stopped and run again at any time.

    Example: standby prune --older-than 90d --dry-run
    """
    deployment = Deployment.here()
    age = _age(older_than) or deployment.settings.keep_evidence
    if age is None:
        raise Stop(
            Exit.BAD_INPUT, "--older-than: say how long evidence is kept, or set STANDBY_KEEP_EVIDENCE"
        )
    if age < LEAST:
        raise Stop(Exit.BAD_INPUT, f"--older-than: must be at least {span(LEAST)}: reports may still come")
    pruned = asyncio.run(_prune(deployment, age, dry_run=dry_run))
    verb = "could be pruned" if dry_run else "pruned"
    what = f"{pruned.notices} notices and {pruned.challenges} verifications"
    typer.echo(f"closed more than {span(age)} ago: {what} {verb}")


def _age(written: str | None) -> timedelta | None:
    if written is None:
        return None
    try:
        return _AGE.validate_python(written)
    except ValidationError:
        raise Stop(Exit.BAD_INPUT, "--older-than: must be a span such as 90d or 12h, at most 366d") from None


async def _prune(deployment: Deployment, age: timedelta, *, dry_run: bool) -> Pruned:
    now = datetime.now(UTC)
    async with open_ledger(deployment.settings) as ledger:
        if dry_run:
            return await ledger.retention.outdated(now - age)
        done = Pruned(0, 0)
        while any(step := await ledger.retention.prune(now - age, at=now)):
            done = Pruned(done.notices + step.notices, done.challenges + step.challenges)
        return done
