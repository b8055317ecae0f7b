"""What a notice tells anyone who asks: the story so far, without personal data."""

from datetime import datetime

from workflows.policy.models import Payload
from workflows.policy.progress import Attempt
from workflows.policy.words import Channel, Outcome, Phase


class Evidence(Payload):
    """The state of one notice at one moment (UTC)."""

    key: str
    kind: str
    phase: Phase
    channel: Channel | None = None
    outcome: Outcome | None = None
    expires_at: datetime | None = None
    fallback_at: datetime | None = None
    next_at: datetime | None = None
    """When something happens next, unless a report comes earlier."""
    next_step: str = ""
    """What happens then, in plain words."""
    attempts: tuple[Attempt, ...] = ()
    decisions: int = 0
    withdrawn: bool = False
