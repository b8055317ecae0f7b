"""A receiver process: every part built once, handed in, and closed in order."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from logging import WARNING

from temporalio.client import Client

from activities import hosting
from activities.hosting import demand_known, demand_namespace, open_ledger
from activities.logs import event
from activities.metrics import meters_of
from activities.open_work import gauged
from activities.providers.base import Callback
from activities.providers.errors import Misconfigured
from activities.providers.provider import CallsBack, Provider
from activities.providers.registry import Providers
from activities.providers.wire import new_client
from receiver.app import build
from receiver.parts import Parts
from receiver.serving import Address, serving


@asynccontextmanager
async def hosted(client: Client, given: hosting.Parts, at: Address) -> AsyncIterator[Address]:
    """Serve for the block, and yield where; leaving it finishes the requests in hand.

    Raises StoreError where the ledger cannot be reached or is not migrated, SettingsError where a provider
    that serves is not known or lacks a setting, EngineRefusedError or EngineUnreachableError where the engine
    will not have us, CannotListenError where the address is taken.
    """
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(open_ledger(given.settings))
        providers = Providers(given.settings, await stack.enter_async_context(new_client()))
        chosen = await demand_known(providers, given, sends=False)
        await demand_namespace(client)
        meters = meters_of(client)
        own = given.settings, given.keyring, given.catalogue
        parts = Parts(*own, ledger, providers, client, meters=meters)
        await stack.enter_async_context(gauged(ledger, meters, parts.clock))
        listening = await stack.enter_async_context(serving(build(parts), at))
        for each in chosen:
            if (why := await deaf(each)) is not None:
                event("callbacks are refused", level=WARNING, provider=each.name, why=why)
        yield listening


async def deaf(provider: Provider) -> str | None:
    """Say what a provider's callbacks cannot be checked without; None where they can, or it makes none."""
    if not isinstance(provider, CallsBack):
        return None
    try:
        await provider.verify(Callback(b"", {}))
    except Misconfigured as error:
        return str(error)
    except Exception:  # noqa: BLE001 - it is no callback: that it is not believed is all there is to see
        return None
    return None
