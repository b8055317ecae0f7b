"""What a provider holds back, brought into the ledger: people's choices, and classified faults."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from activities.gate import Gate
from activities.providers.provider import ListsSuppressions
from workflows.policy.address import AddressError
from workflows.policy.hygiene import said
from workflows.policy.words import Channel


@dataclass(frozen=True, slots=True)
class Pulled:
    """How far it came."""

    listed: int = 0
    new: int = 0
    unusable: int = 0
    """Addresses that nobody could be written to at."""


@dataclass(slots=True)
class Pull:
    """One provider's list on its way into the ledger; what was taken stays, however it ends."""

    gate: Gate
    name: str
    """Of the provider, which the record names as the source."""
    done: Pulled = Pulled()

    async def run(self, provider: ListsSuppressions, channel: Channel) -> Pulled:
        """Take the whole list; taking it twice changes nothing.

        Raises ReadFailed, Misconfigured or StoreError; `done` says how far it came.
        """
        now = datetime.now(UTC)
        async for each in provider.listed(channel):
            try:
                hashed = self.gate.hashed(channel, each.address)
            except AddressError:
                self.done = replace(self.done, listed=self.done.listed + 1, unusable=self.done.unusable + 1)
                continue
            new = await self.gate.ledger.suppressions.put(
                hashed,
                channel,
                said(channel, each.reason),
                source_notice=f"{self.name}'s list",
                # A time that is not told, or not come yet, is that of the list.
                observed_at=min(each.at or now, now),
            )
            self.done = replace(self.done, listed=self.done.listed + 1, new=self.done.new + new)
        return self.done
