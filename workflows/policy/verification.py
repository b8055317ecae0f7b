"""What crosses a boundary of a verification: its request, what is presented to it, and how it ended."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated

from pydantic import AwareDatetime, ConfigDict, Field, StringConstraints

from workflows.policy.keys import CHALLENGE, challenge_of, verification_id
from workflows.policy.models import Fields, Identifier, Instant, Payload, Word
from workflows.policy.words import ChallengeState, Channel, Method, Outcome

KIND = "signup_verification"
"""The kind of notice that carries a challenge, where a request names no other."""

ChallengeId = Annotated[str, StringConstraints(pattern=f"^{CHALLENGE.pattern}$")]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""The keyed digest of a secret, in hex: nobody without the key can make it or check a guess against it."""


class Destination(Payload):
    """Where the challenge goes; asking for a text is the consent to it."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    email: str | None = Field(
        default=None, repr=False, max_length=320, json_schema_extra={"format": "idn-email"}
    )
    """One address, without a display name."""
    phone: str | None = Field(default=None, repr=False, max_length=32, examples=["+14155550100"])
    """E.164, with the leading plus."""

    def address(self, channel: Channel) -> str | None:
        """Return the address for a channel, as given."""
        return self.email if channel is Channel.EMAIL else self.phone


class VerificationRequest(Payload):
    """The wish to know that an address belongs to whoever holds an account."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    account_id: Identifier
    """The caller's opaque id of the account; limits count by it. At most 160 characters, percent-encoded."""
    challenge_id: ChallengeId | None = None
    """Names this verification for ever; made where it is absent."""
    purpose: Annotated[Word, Field(min_length=1, max_length=64)]
    """A word of the caller's, such as `signup`."""
    to: Destination
    """Where the challenge goes."""
    method: Method = Method.LINK
    """What the person is given: a link to open, a code to type, or both."""
    expires_at: Instant
    """When the challenge stops being of use (UTC)."""
    return_url: str | None = Field(default=None, repr=False, max_length=2000)
    """Where the browser goes after the link was confirmed; its beginning must be on the deployment's list."""
    route: Annotated[tuple[Channel, ...], Field(min_length=1)] | None = None
    """Fewer channels than the kind has, in its order; all where absent. Another order is another kind."""
    kind: Identifier = KIND
    """A folder in `notices/` whose policy has a challenge."""
    fields: Fields = Field(default_factory=dict, repr=False)
    """What the kind's templates need besides `verify_url` and `code`."""


class Opened(Payload):
    """The answer to whoever asks whether a verification has begun."""

    challenge_id: str
    refusal: str | None = None
    """One line that names the field, or a `Denial`."""
    again_at: AwareDatetime | None = None
    """When beginning another could be of use (UTC), where a limit refused this one."""
    expires_at: AwareDatetime | None = None


class Presented(Payload):
    """What somebody brought: a keyed digest of it, never the secret itself."""

    link: Digest | None = None
    code: Digest | None = None

    def suits(self, method: Method) -> bool:
        """Whether any of it is what a challenge of this method has."""
        match method:
            case Method.LINK:
                return self.link is not None
            case Method.CODE:
                return self.code is not None
            case Method.BOTH:
                return self.link is not None or self.code is not None


class Consumption(Payload):
    """The answer to whoever presents a secret: one shape, and without a reason."""

    consumed: bool
    result: str | None = Field(default=None, repr=False)
    """After success, an opaque word that a backend exchanges for what was verified."""
    return_url: str | None = Field(default=None, repr=False)


class Denial(StrEnum):
    """Why another message was not sent."""

    OVER = "over"
    """The challenge is no longer active."""
    SWITCHED_OFF = "resend_off"
    """An operator's control."""
    MAXIMUM = "maximum"
    COOLDOWN = "cooldown"
    AMBIGUOUS = "ambiguous"
    """One may still be on its way."""
    ACCOUNT = "limited: account"
    DESTINATION = "limited: destination"
    UNKNOWN_KIND = "unknown_kind"
    """No worker has the kind any more."""


class Resent(Payload):
    """The answer to whoever asked for another message."""

    accepted: bool
    reason: Denial | None = None
    again_at: AwareDatetime | None = None
    """When asking again could be of use (UTC)."""


class Told(Payload):
    """One message that was asked for: a notice of its own."""

    number: int
    notice_key: str
    asked_at: AwareDatetime
    outcome: Outcome | None = None
    """How its notice closed; None while it is open."""


class Facts(Payload):
    """The four facts of a verification that is open, each with its own clock (UTC)."""

    challenge_id: str
    state: ChallengeState
    created_at: AwareDatetime | None = None
    expires_at: AwareDatetime | None = None
    reason: str | None = None
    """One line, where it was refused."""
    messages: tuple[Told, ...] = ()
    consumed_at: AwareDatetime | None = None


class Verified(Payload):
    """How a verification ended; the four facts, and no personal data."""

    challenge_id: str
    state: ChallengeState
    reason: str | None = None
    """One line, where it was refused."""
    again_at: datetime | None = None
    """When beginning another could be of use, where a limit refused this one."""
    created_at: datetime | None = None
    deliveries: int = 0
    """How often a message was asked for."""
    delivered: Outcome | None = None
    """How the last notice closed: transport evidence, which consumes nothing."""
    consumed_at: datetime | None = None
    ended_at: datetime


def named(request: VerificationRequest, workflow_id: str) -> tuple[str, str | None]:
    """Return the challenge that a workflow is about, and why it is none; its id may leave it out."""
    try:
        challenge_id = challenge_of(workflow_id)
    except ValueError as error:
        return request.challenge_id or "", f"workflow id: {error}"
    if request.challenge_id not in {None, challenge_id}:
        return challenge_id, f"workflow id: must be {verification_id(request.challenge_id or '')}"
    return challenge_id, None
