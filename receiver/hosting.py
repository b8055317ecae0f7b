"""A receiver process: every part built once, handed in, and closed in order."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from temporalio.client import Client

from activities import hosting
from activities.hosting import demand_namespace, open_ledger
from activities.providers.registry import Providers
from activities.providers.wire import new_client
from receiver.app import build
from receiver.parts import Parts
from receiver.serving import Address, serving


@asynccontextmanager
async def hosted(client: Client, given: hosting.Parts, at: Address) -> AsyncIterator[Address]:
    """Serve for the block, and yield where; leaving it finishes the requests in hand.

    Raises StoreError where the ledger cannot be reached or is not migrated, EngineRefusedError or
    EngineUnreachableError where the engine will not have us, CannotListenError where the address is taken.
    """
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(open_ledger(given.settings))
        providers = Providers(given.settings, await stack.enter_async_context(new_client()))
        await demand_namespace(client)
        parts = Parts(given.settings, given.keyring, given.catalogue, ledger, providers, client)
        yield await stack.enter_async_context(serving(build(parts), at))
