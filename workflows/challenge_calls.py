"""What a verification may ask of the world: abstract activities, and the one payload in and out of each."""

from abc import ABC, abstractmethod

from pydantic import AwareDatetime
from temporalio import activity

from workflows.policy.models import NoticeRequest, Payload
from workflows.policy.terms import ChallengeTerms
from workflows.policy.verification import Denial, Presented, VerificationRequest
from workflows.policy.words import ChallengeState


class Open(Payload):
    """Ask whether a verification may begin."""

    request: VerificationRequest
    challenge_id: str
    chain: str
    """The first run of this workflow: an operator's reset keeps it, a new start does not."""


class Opening(Payload):
    """The answer: the terms that hold from now on and the first message to send, or why there is neither."""

    refusal: str | None = None
    """One line that names the field, or a `Denial`; never what was in it."""
    again_at: AwareDatetime | None = None
    """When beginning another could be of use (UTC), where a limit refused this one."""
    terms: ChallengeTerms | None = None
    expires_at: AwareDatetime | None = None
    created_at: AwareDatetime | None = None
    notice: NoticeRequest | None = None
    """The message to deliver: it names its challenge by its event, and holds no secret."""


class Ask(Payload):
    """Ask for another message; the same `asked_id` again gets the same answer."""

    request: VerificationRequest
    challenge_id: str
    asked_id: str
    is_automatic: bool = False


class Granted(Payload):
    """The answer: the message to send, or why there is none."""

    notice: NoticeRequest | None = None
    number: int = 0
    denial: Denial | None = None
    again_at: AwareDatetime | None = None


class Seek(Payload):
    """Ask for a message whose workflow was there before its verification began it."""

    notice_key: str


class Sought(Payload):
    """Whether that workflow carries the message: a stranger's notice of the same name does not."""

    is_ours: bool


class Consume(Payload):
    """Try what somebody presented; the same `attempt_id` again gets the same answer."""

    challenge_id: str
    presented: Presented
    attempt_id: str


class Tried(Payload):
    """What came of it, and where the challenge stands now."""

    consumed: bool
    state: ChallengeState
    result: str | None = None
    at: AwareDatetime


class End(Payload):
    """Write that a challenge is over; a state that is terminal already stands."""

    challenge_id: str
    state: ChallengeState


class Ended(Payload):
    """The state that stands in the ledger."""

    state: ChallengeState
    consumed_at: AwareDatetime | None = None


class Challenging(ABC):
    """Keeps challenges: made once, consumed once, and every message for them counted."""

    @activity.defn(name="open_challenge")
    @abstractmethod
    async def open(self, call: Open) -> Opening:
        """Validate, count against the limits, and write the challenge with its first message."""

    @activity.defn(name="ask_for_message")
    @abstractmethod
    async def ask(self, call: Ask) -> Granted:
        """Decide on fresh facts whether another message may go out, and count it."""

    @activity.defn(name="seek_message")
    @abstractmethod
    async def seek(self, call: Seek) -> Sought:
        """Say whether a notice was admitted as the message that it is named after."""

    @activity.defn(name="consume_challenge")
    @abstractmethod
    async def consume(self, call: Consume) -> Tried:
        """Compare in constant time and consume in the same transaction; exactly one of many succeeds."""

    @activity.defn(name="end_challenge")
    @abstractmethod
    async def end(self, call: End) -> Ended:
        """Write the last state; the first terminal one stands."""
