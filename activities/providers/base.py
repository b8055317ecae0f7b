"""What a provider is: its capabilities, a message, what it reported, and the protocol that all of them share.

An adapter is one file: a table from the provider's words to (status, is_final) at its head, `build`, and a
class with the five functions of `Provider` in their order. It performs each call once, by
`activities.providers.wire`, and raises only what `activities.providers.errors` draws.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from workflows.policy.cleaning import LONGEST_CODE, cleaned
from workflows.policy.models import believable
from workflows.policy.words import Channel, Status, SuppressionReason


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do on one channel; the dispatch and the workflow behave accordingly."""

    idempotent_for: timedelta | None = None
    """How long it honours our key, from the first dispatch; None: not at all."""
    reads_by_id: bool = False
    reads_by_key: bool = False
    """Whether an attempt whose reply was lost can be found."""
    signs_callbacks: bool = False
    has_suppressions: bool = False
    """Whether it refuses addresses from a list of its own."""
    reads_per_second: float | None = None
    """How many look-ups it allows; None: no limit is known."""


@dataclass(frozen=True, slots=True)
class Message:
    """One attempt, rendered; only the key and the channel may be shown."""

    key: str
    """The attempt key."""
    channel: Channel
    to: str = field(repr=False)
    subject: str | None = field(repr=False)
    text: str = field(repr=False)
    html: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Reported:
    """One provider report about one attempt, normalised; it holds no address and no text."""

    status: Status
    is_final: bool
    """Whether the provider has stopped trying."""
    raw: str
    """The provider's own word, cleaned."""
    code: str | None = None
    """Enhanced status code or the provider's error code, cleaned."""
    provider_id: str | None = None
    provider_at: datetime | None = None
    """When it happened, by the provider's clock (UTC)."""
    event_id: str | None = None
    """The same for every repetition of one callback; None for a send or a read."""
    attempt_key: str | None = None
    opt_out: SuppressionReason | None = None

    def __post_init__(self) -> None:
        """Clean here what no adapter may forget to clean."""
        object.__setattr__(self, "raw", cleaned(self.raw))
        if self.provider_at is not None and not believable(self.provider_at):
            object.__setattr__(self, "provider_at", None)
        if self.code is not None:
            object.__setattr__(self, "code", cleaned(self.code, LONGEST_CODE) or None)


class Provider(Protocol):
    """Sends one message, says what became of it, and understands its own callbacks."""

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        ...

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on."""
        ...

    async def send(self, message: Message) -> Reported:
        """Submit once, within `wire.SEND_BUDGET`; raises a ProviderError or Misconfigured."""
        ...

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:
        """Ask what became of an attempt; None: the provider does not know it, which is no proof of anything.

        Raises ReadFailed or Misconfigured.
        """
        ...

    def verify(self, headers: Mapping[str, str], body: bytes) -> None:
        """Raise Forged unless the provider itself sent this callback, and lately."""
        ...

    def parse(self, headers: Mapping[str, str], body: bytes) -> tuple[Reported, ...]:
        """Read a verified callback; raises Forged for one that cannot be read."""
        ...
