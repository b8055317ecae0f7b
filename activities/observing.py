"""The provider of observe mode: it takes every message, and nothing leaves."""

from dataclasses import dataclass

from activities.providers.base import Capabilities, Finding, Message, Reported
from workflows.policy.words import Channel, Status

OBSERVER = "observe"
"""Its name, by which the report of observe mode finds its attempts."""

WOULD_HAVE = "would have sent"


@dataclass(frozen=True, slots=True)
class Observer:
    """Stands where a provider would, so that the record is real and the effect is not."""

    name: str = OBSERVER

    def capabilities(self, channel: Channel) -> Capabilities:  # noqa: ARG002 - nothing can be asked of it
        """Promise nothing: nobody could be asked what became of a message that never left."""
        return Capabilities()

    async def send(self, message: Message) -> Reported:  # noqa: ARG002 - it is dropped
        """Say that it would have been sent; more evidence never comes."""
        return Reported(Status.PENDING, is_final=False, raw=WOULD_HAVE)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Know of nothing."""
        return None

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """Find nothing to check."""
        return ()
