"""`standby receiver`: serves the way in by HTTP until it is told to stop."""

import asyncio
import signal
from collections.abc import Iterator
from logging import WARNING
from typing import Annotated, Final

import typer

from activities.catalogue import Catalogue
from activities.connect import measured
from activities.hosting import Parts
from activities.logs import configure, event
from activities.settings import Settings, keyring
from activities.tracing import plugins
from console.deployment import Deployment
from console.exits import Exit, Stop
from receiver.hosting import hosted
from receiver.serving import Address, CannotListenError

PORT: Final = 8026
"""Beside the sandbox's."""

_LAST: Final = 65_535


def receiver(
    host: Annotated[str, typer.Option(help="Where to listen; 0.0.0.0 and :: are everywhere.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=_LAST, help="Where to listen.")] = PORT,
) -> None:
    """Serve callbacks of providers, pages for people and JSON for backends, until Ctrl-C or SIGTERM.

    Put it behind a proxy that serves HTTPS at STANDBY_PUBLIC_URL; backends show STANDBY_API_KEY. Several may
    run side by side. /openapi.json describes every address.

    Example: standby receiver --host 0.0.0.0
    """
    deployment = Deployment.here()
    # It serves: what it has to say goes where a worker's lines go.
    configure(deployment.settings.log, deployment.settings.log_level)
    try:
        asyncio.run(_serve(deployment, Address(host, port)))
    except CannotListenError as error:
        raise Stop(Exit.FAILED, f"{error}: standby receiver --host H --port N") from None


async def _serve(deployment: Deployment, at: Address) -> None:
    """Serve until SIGINT or SIGTERM, then finish the requests in hand."""
    stopping = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stopping.set)
    settings = deployment.settings
    parts = Parts(settings, keyring(settings), Catalogue.load(settings.notices, settings.public_url))
    client = await deployment.engine(plugins=plugins(), sdk=measured(settings, deployment.environ))
    async with hosted(client, parts, at) as listening:
        event("receiver started", url=listening.url, namespace=client.namespace)
        for name, effect in _missing(settings):
            event("not set", level=WARNING, setting=name, effect=effect)
        await stopping.wait()
        event("receiver stopping")


def _missing(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield each setting that is absent, and what does not work without it."""
    if settings.public_url is None:
        yield "STANDBY_PUBLIC_URL", "providers are not told where to call, and no links can be made"
    if settings.api_key is None and settings.api_key_next is None:
        yield "STANDBY_API_KEY", "no backend can be let in"
