"""A provider's own list on its way into the ledger; what was taken stays, however it ends."""

import typer

from activities.gate import Gate
from activities.hosting import open_ledger
from activities.providers.errors import Misconfigured, ReadFailed
from activities.providers.provider import ListsSuppressions
from activities.providers.registry import PROVIDERS, Providers, adapter
from activities.providers.wire import new_client
from activities.pulling import Pull
from activities.settings import keyring
from console.deployment import Deployment
from console.exits import Exit, Stop
from workflows.policy.words import Channel


async def pulled(deployment: Deployment, name: str) -> None:
    """Read the list of a provider, as it is configured, and say how far it came; raises Stop."""
    channels = _listing(name)
    async with new_client() as client, open_ledger(deployment.settings) as ledger:
        provider = _made(name, Providers(deployment.settings, client))
        for channel in channels:
            await _taken(Pull(Gate(ledger, keyring(deployment.settings)), name), provider, channel)


async def _taken(run: Pull, provider: ListsSuppressions, channel: Channel) -> None:
    try:
        await run.run(provider, channel)
    except (ReadFailed, Misconfigured) as error:
        reached = f"{run.done.listed} read, {run.done.new} new"
        code = Exit.BAD_INPUT if isinstance(error, Misconfigured) else Exit.UNREACHABLE
        raise Stop(code, f"{run.name} {channel}: {error} ({reached}; run it again)") from None
    unusable = f", {run.done.unusable} unusable" if run.done.unusable else ""
    typer.echo(f"{run.name} {channel}: {run.done.listed} read, {run.done.new} new{unusable}")


def _listing(name: str) -> list[Channel]:
    """Return the channels whose list can be read; raises Stop where there is none."""
    try:
        found = [each for each, can in adapter(name).CAPABILITIES.items() if can.lists_suppressions]
    except Misconfigured as error:
        raise Stop(Exit.BAD_INPUT, f"PROVIDER: {error}") from None
    if not found:
        raise _listless(name)
    return found


def _listless(name: str) -> Stop:
    able = sorted(
        each
        for each, module in PROVIDERS.items()
        if any(can.lists_suppressions for can in module.CAPABILITIES.values())
    )
    return Stop(
        Exit.BAD_INPUT, f"PROVIDER: {name} has no list that can be read; these have: {', '.join(able)}"
    )


def _made(name: str, providers: Providers) -> ListsSuppressions:
    try:
        provider = providers.named(name)
    except Misconfigured as error:
        raise Stop(Exit.BAD_INPUT, str(error)) from None
    if not isinstance(provider, ListsSuppressions):
        raise _listless(name)
    return provider
