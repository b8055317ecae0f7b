"""The vocabulary: every enum that the engine, the ledger, the console and the docs share."""

from enum import StrEnum


class Channel(StrEnum):
    """How a notice can reach a person."""

    EMAIL = "email"
    SMS = "sms"


class Status(StrEnum):
    """A provider's word about one attempt, normalised; what no table knows is `unrecognized`."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    TEMPORARY_FAILURE = "temporary_failure"
    INVALID_RECIPIENT = "invalid_recipient"
    REJECTED = "rejected"
    UNRECOGNIZED = "unrecognized"


class Source(StrEnum):
    """Where an observation came from."""

    SEND = "send"
    POLL = "poll"
    CALLBACK = "callback"


class AttemptState(StrEnum):
    """Where one channel's single submission stands; the last three are terminal."""

    PLANNED = "planned"
    AMBIGUOUS = "ambiguous"
    """It may have left: the result of the dispatch never came."""
    SUBMITTED = "submitted"
    CONFIRMED = "confirmed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    """The evidence window closed without a trustworthy result; this is not a failure."""


class Phase(StrEnum):
    """Where the notice is, together with the channel that it is on."""

    QUEUED = "queued"
    CLAIMED = "claimed"
    AWAITING = "awaiting"
    CLOSED = "closed"


class Outcome(StrEnum):
    """How a notice closed."""

    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    UNKNOWN = "unknown"
    """Everything allowed was sent, and nobody could say what became of it."""
    EXHAUSTED = "exhausted"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"
    REFUSED = "refused"

    @property
    def reached(self) -> bool:
        """Whether the evidence that the kind asked for was seen."""
        return self in {Outcome.ACCEPTED, Outcome.DELIVERED}


class SettlesOn(StrEnum):
    """The evidence that a kind asks for before it closes."""

    ACCEPTED = "accepted"
    DELIVERED = "delivered"


class OnUnresolved(StrEnum):
    """What silence means at the fallback deadline."""

    ESCALATE = "escalate"
    EXPIRE = "expire"


class OnFailure(StrEnum):
    """What a classified permanent failure means before the fallback deadline."""

    ESCALATE = "escalate"
    WAIT = "wait"


class SuppressionReason(StrEnum):
    """Why an address is not written to; all but the first are the person's own choice."""

    INVALID_RECIPIENT = "invalid_recipient"
    COMPLAINT = "complaint"
    UNSUBSCRIBED = "unsubscribed"
    STOPPED = "stopped"


class Verdict(StrEnum):
    """What an observation did to its attempt."""

    APPLIED = "applied"
    REPEATED = "repeated"
    REFUSED = "refused"
    LATE = "late"


class Method(StrEnum):
    """What a person is given to show that a message reached them."""

    LINK = "link"
    CODE = "code"
    BOTH = "both"


class ChallengeState(StrEnum):
    """Where a challenge stands; all but the first are terminal."""

    ACTIVE = "active"
    CONSUMED = "consumed"
    EXPIRED = "expired"
    DEAD = "dead"
    """Too many wrong codes."""
    WITHDRAWN = "withdrawn"
    REFUSED = "refused"
    """It was never opened."""
