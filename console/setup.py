"""`standby setup`: the namespace of the engine, and the search attributes by which notices are found."""

import asyncio
from datetime import timedelta
from typing import Annotated, Final

import typer
from temporalio.client import Client

from activities.connect import connect
from activities.keyring import Keyring
from console.deployment import Deployment
from console.namespace import Namespace
from console.spans import span

RETENTION: Final = 30
"""Days that a closed notice can be looked at in the engine; the ledger keeps it longer."""


def setup(
    *,
    days: Annotated[
        int,
        typer.Option("--retention", min=1, max=365, help="Days that a new namespace keeps what has closed."),
    ] = RETENTION,
) -> None:
    """Make the namespace and the search attributes that notices need; doing it again changes nothing.

    Run it before the first worker, and once more with each new version. The engine is named by
    TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and their like.

    Example: TEMPORAL_ADDRESS=temporal:7233 standby setup
    """
    asyncio.run(_setup(Deployment.here(), timedelta(days=days)))


async def _setup(deployment: Deployment, retention: timedelta) -> None:
    # What is asked holds no payload, so it needs no keys.
    client: Client = await connect(Keyring.plaintext(), environ=deployment.environ)
    namespace = Namespace(client)
    if await namespace.make(retention):
        typer.echo(f"{namespace.place}: made; it keeps what has closed for {span(retention)}")
    else:
        typer.echo(f"{namespace.place}: is there already")
    made = await namespace.add_attributes()
    names = ", ".join(each.name for each in made)
    typer.echo(f"search attributes: {f'made {names}' if made else 'all there already'}")
