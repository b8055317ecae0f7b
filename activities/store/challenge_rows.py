"""Rows of verifications as values; every instant is UTC."""

import hmac
from datetime import datetime
from typing import Final

from pydantic import Field

from workflows.policy.models import Payload
from workflows.policy.verification import Presented
from workflows.policy.words import ChallengeState, Method, Outcome, Phase

_NOTHING_KEPT: Final = "-" * 64
_NOTHING_BROUGHT: Final = "+" * 64
"""As long as a digest, and none; nor does one equal the other."""


class ChallengeRow(Payload):
    """One challenge: from what its secrets are derived, what is known of them, and where it stands."""

    id: str
    account_id: str
    """As keys have it, percent-encoded; so is the kind."""
    kind: str
    purpose: str
    method: Method
    chain: str
    """The first run of the workflow that owns it."""
    key_id: str | None = None
    nonce: str = Field(repr=False)
    code_digits: int
    wrong_codes: int
    """After so many it is dead."""
    link_digest: str | None = Field(default=None, repr=False)
    code_digest: str | None = Field(default=None, repr=False)
    result_digest: str = Field(repr=False)
    state: ChallengeState = ChallengeState.ACTIVE
    wrong: int = 0
    created_at: datetime
    expires_at: datetime
    consumed_at: datetime | None = None
    ended_at: datetime | None = None
    pruned_at: datetime | None = None
    """When its messages and tries were deleted; this row stays."""

    @property
    def notice_key(self) -> str:
        """The notice of its first message."""
        return f"{self.kind}:{self.id}:{self.account_id}"

    def matches(self, presented: Presented) -> bool:
        """Compare in constant time: both secrets, whatever was brought and whatever there is."""
        pairs = ((self.link_digest, presented.link), (self.code_digest, presented.code))
        right = [
            hmac.compare_digest(kept or _NOTHING_KEPT, brought or _NOTHING_BROUGHT) for kept, brought in pairs
        ]
        return any(right)

    def counts_guesses(self, at: datetime) -> bool:
        """Whether a wrong code takes anything away from it."""
        is_open = self.state is ChallengeState.ACTIVE and at < self.expires_at
        return is_open and self.code_digest is not None


class DeliveryRow(Payload):
    """One message that was asked for."""

    event_id: str
    """The event of its notice."""
    challenge_id: str
    notice_key: str
    number: int
    asked_id: str
    is_automatic: bool = False
    account_id: str
    email_hash: str | None = Field(default=None, repr=False)
    phone_hash: str | None = Field(default=None, repr=False)
    asked_at: datetime


class Delivered(Payload):
    """One message of a challenge, and where its notice stands."""

    number: int
    notice_key: str
    is_automatic: bool
    asked_at: datetime
    phase: Phase | None = None
    """None while no worker has admitted it."""
    outcome: Outcome | None = None
    closed_at: datetime | None = None


class ChallengeStory(Payload):
    """The four facts of a verification, each with its own clock, and no personal data."""

    challenge_id: str
    account_id: str
    purpose: str
    method: Method
    state: ChallengeState
    created_at: datetime
    """When the challenge was made."""
    deliveries: tuple[Delivered, ...] = ()
    """When messages were asked for, and what their notices know of the transport."""
    consumed_at: datetime | None = None
    """When the challenge was consumed: this alone shows that somebody holds the address."""
    wrong_codes: int = 0
    expires_at: datetime
    ended_at: datetime | None = None
