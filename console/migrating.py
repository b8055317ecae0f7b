"""`standby migrate`: brings the ledger's tables up to this version."""

import asyncio

import typer

from activities.store.database import parsed
from activities.store.errors import place
from activities.store.migrate import migrate as apply
from console.deployment import Deployment


def migrate() -> None:
    """Bring the ledger's tables up to this version; doing it twice, or several at once, is safe.

    Run it before the workers of a new version start. The ledger is named by STANDBY_DATABASE_URL.

    Example: STANDBY_DATABASE_URL=postgresql://standby@db/standby standby migrate
    """
    database = Deployment.here().database
    done = asyncio.run(apply(database))
    where = place(parsed(database))
    if done.changed:
        typer.echo(f"{where}: {done.before or 'empty'} -> {done.after}")
    else:
        typer.echo(f"{where}: {done.after} already, nothing to do")
