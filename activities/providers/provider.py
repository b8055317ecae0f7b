"""What a provider does: the protocol that all adapters share, and three that some of them can offer.

An adapter is one file: tables from the provider's words to ours at its head, `CAPABILITIES`, a class with
the functions below in their order, and `build`. It performs each call once, by `activities.providers.wire`,
and raises only what `activities.providers.base` draws.
"""

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from activities.providers.base import Callback, Capabilities, Finding, Listed, Message, Reported
from workflows.policy.words import Channel, SuppressionReason


class Provider(Protocol):
    """Sends one message, and says what became of it."""

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        ...

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on, as it is set up; never more than the adapter's `CAPABILITIES`."""
        ...

    async def send(self, message: Message) -> Reported:
        """Submit once, within `wire.SEND_BUDGET`; raises a ProviderError or Misconfigured."""
        ...

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:
        """Ask what became of an attempt; None: the provider does not know it, which is no proof of anything.

        Raises ReadFailed or Misconfigured.
        """
        ...

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:
        """Check credentials, sender and limits without sending anything to anyone.

        Raises ReadFailed or Misconfigured where a check could not be made.
        """
        ...


@runtime_checkable
class Prepares(Protocol):
    """Needs something that takes time to be had."""

    async def prepare(self) -> None:
        """Get it, when a worker starts; raises Misconfigured where it cannot be had."""
        ...


@runtime_checkable
class CallsBack(Protocol):
    """Understands its own callbacks."""

    async def verify(self, callback: Callback) -> None:
        """Raise Forged unless the provider itself sent this callback, and lately.

        Raises ReadFailed where a key that it is signed with could not be had.
        """
        ...

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read a verified callback, which may tell of nothing; raises Forged for one that cannot be read."""
        ...


@runtime_checkable
class ListsSuppressions(Protocol):
    """Can be asked whom it does not write to."""

    def listed(self, channel: Channel) -> AsyncIterator[Listed]:
        """List addresses whose fault is classified, and people's own choices; raises as `look_up` does.

        Addresses that it holds back for other reasons are left out: they suppress nothing here.
        """
        ...


@runtime_checkable
class TakesSuppressions(Protocol):
    """Can be told not to write to an address."""

    async def suppress(self, channel: Channel, address: str, reason: SuppressionReason) -> None:
        """Put an address on the provider's list, if that can hold the reason; twice changes nothing.

        Raises as `look_up` does.
        """
        ...
