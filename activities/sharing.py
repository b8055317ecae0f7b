"""What is suppressed here, told to providers that keep lists of their own, if the deployment asks for it."""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from logging import WARNING
from typing import Final

from activities.catalogue import Catalogue
from activities.logs import event
from activities.providers.errors import Misconfigured, ProviderError
from activities.providers.provider import TakesSuppressions
from activities.providers.registry import Providers
from workflows.policy.address import written as as_told
from workflows.policy.hygiene import blocks
from workflows.policy.words import Channel, SuppressionReason

PATIENCE: Final = timedelta(seconds=5)
"""A notice waits for no list longer than this."""


@dataclass(frozen=True, slots=True)
class Sharing:
    """Tells every provider of a channel that takes suppressions."""

    catalogue: Catalogue
    providers: Providers
    is_on: bool = False

    async def tell(self, channel: Channel, address: str, reason: SuppressionReason) -> None:
        """Put an address on the providers' lists; one that fails is logged, and holds nothing up.

        Nothing rests on it: the ledger is asked before every send.
        """
        if self.is_on:
            chosen = self.catalogue.chosen(channel)
            await asyncio.gather(*[self._tell(each, channel, address, reason) for each in chosen])

    async def _tell(
        self, chosen: str | None, channel: Channel, address: str, reason: SuppressionReason
    ) -> None:
        try:
            # A provider's list knows no kinds: what it holds back, it holds back from essential ones too.
            if not blocks(reason, channel, essential=self.catalogue.is_essential(channel, chosen)):
                return
            provider = self.providers.serving(channel, chosen)
            takes = provider.capabilities(channel).takes_suppressions
            if takes and isinstance(provider, TakesSuppressions):
                async with asyncio.timeout(PATIENCE.total_seconds()):
                    await provider.suppress(channel, as_told(channel, address), reason)
        except (ProviderError, Misconfigured) as error:
            event("suppression not shared", level=WARNING, channel=channel, reason=reason, why=str(error))
        except Exception as error:  # noqa: BLE001 - whatever it is, no notice waits for it
            why = type(error).__name__
            event("suppression not shared", level=WARNING, channel=channel, reason=reason, why=why)
