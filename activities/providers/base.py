"""What passes between Standby and a provider: a message, a report, a callback; and what can go wrong.

    Exception
    ├── ProviderError      retry_after: how long the provider asks us to wait, if it said so
    │   ├── NotSent        proven not accepted: the send may be repeated
    │   ├── Rejected       refused for good: `reported` says with which status
    │   ├── Ambiguous      may have been accepted: repeat only under a key that the provider honours
    │   └── ReadFailed     a look-up that failed: it proves nothing, and may be repeated
    ├── Misconfigured      credentials, sender or address of the API are wrong; never the recipient's fault
    └── Forged             a callback that must not be believed
        └── Unsigned       and that its provider is asked to bring again, signed

The tree itself is `activities.providers.errors`; what a provider does with all this, `provider`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from workflows.policy.cleaning import LONGEST_CODE, cleaned
from workflows.policy.models import believable
from workflows.policy.words import Channel, Status, SuppressionReason

LONGEST_ID: Final = 200
"""Characters of a provider's id."""


class Callbacks(StrEnum):
    """How a provider's callbacks can be believed."""

    NONE = "none"
    """It makes none."""
    SECRET = "secret"  # noqa: S105 - a word, not a secret
    """They bring a secret that we chose, and are not signed."""
    SIGNED = "signed"
    ONCE = "once"
    """What is signed is a token, and not the body: each is taken once."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do on one channel; the dispatch and the workflow behave accordingly."""

    idempotent_for: timedelta | None = None
    """How long it honours our key, from the first dispatch; None: not at all."""
    reads_by_id: bool = False
    reads_by_key: bool = False
    """Whether an attempt whose reply was lost can be found."""
    reads_per_second: float | None = None
    """How many look-ups it allows; None: no limit is known."""
    callbacks: Callbacks = Callbacks.NONE
    has_suppressions: bool = False
    """Whether it refuses addresses from a list of its own."""
    lists_suppressions: bool = False
    """Whether that list can be read."""
    takes_suppressions: bool = False
    """Whether an address can be put on that list."""
    takes_headers: bool = False
    """Whether a message can carry `List-Unsubscribe`."""

    @property
    def reads(self) -> bool:
        """Whether it can be asked what became of a message; else its acceptance is all there is."""
        return self.reads_by_id or self.reads_by_key


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
    unsubscribe_url: str | None = field(default=None, repr=False)
    """Where one POST ends email of this kind (RFC 8058); None for what is essential, and for texts."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of an email that may be unsubscribed from (RFC 2369, RFC 8058)."""
        if self.unsubscribe_url is None:
            return MappingProxyType({})
        return MappingProxyType(
            {
                "List-Unsubscribe": f"<{self.unsubscribe_url}>",
                "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            }
        )


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
    attempt_digest: str | None = None
    """Where our key did not fit (`labels`): the ledger knows the attempt by this."""
    opt_out: SuppressionReason | None = None

    def __post_init__(self) -> None:
        """Clean here what no adapter may forget to clean."""
        if self.provider_id is not None and not can_be_kept(self.provider_id):
            object.__setattr__(self, "provider_id", None)
        if self.event_id is not None and not can_be_kept(self.event_id):
            digest = hashlib.sha256(self.event_id.encode(errors="replace")).hexdigest()
            object.__setattr__(self, "event_id", digest)
        object.__setattr__(self, "raw", cleaned(self.raw))
        if self.provider_at is not None and not believable(self.provider_at):
            object.__setattr__(self, "provider_at", None)
        if self.code is not None:
            object.__setattr__(self, "code", cleaned(self.code, LONGEST_CODE) or None)


def can_be_kept(provider_id: str) -> bool:
    """Whether an id fits into the ledger, a log and an address: printable, short, and no step in a path."""
    return 0 < len(provider_id) <= LONGEST_ID and provider_id.isprintable() and provider_id not in {".", ".."}


@dataclass(frozen=True, slots=True)
class Callback:
    """One request that a provider made to us, as it came."""

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    """By lower-case name."""
    url: str = field(default="", repr=False)
    """The public address that was called, with its query."""
    method: str = "POST"


@dataclass(frozen=True, slots=True)
class Listed:
    """One address on a provider's own list, and whose word put it there."""

    address: str = field(repr=False)
    reason: SuppressionReason
    at: datetime | None
    """When, by the provider's clock (UTC); None where it does not say."""


class Level(StrEnum):
    """What a finding asks of its reader."""

    OK = "ok"
    UNCHECKED = "not checked"
    """Nobody could tell: never the same as ok."""
    NOTE = "note"
    """True, and worth knowing: nothing to do."""
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of an examination; a problem says what to do."""

    level: Level
    about: str
    says: str
