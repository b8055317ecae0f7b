"""The terms of a kind: one frozen model of its `policy.toml`."""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    field_validator,
    model_validator,
)

from workflows.policy.models import Payload
from workflows.policy.words import Channel, OnFailure, OnUnresolved, SettlesOn

_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_DURATION = re.compile(r"(?:\d{1,7}d)?(?:\d{1,7}h)?(?:\d{1,7}m)?(?:\d{1,7}s)?", re.ASCII)
_PART = re.compile(r"(\d+)([smhd])")


def duration(value: object) -> object:
    """Read "90s", "3m" or "1h30m"; ISO 8601, which is how the engine stores it, is left to the model.

    Raises ValueError for everything else: a bare number has no unit.
    """
    match value:
        case timedelta():
            return value
        case str() if value and _DURATION.fullmatch(value):
            parts = (timedelta(**{_UNITS[unit]: int(count)}) for count, unit in _PART.findall(value))
            return sum(parts, timedelta())
        case str() if value.startswith("P"):
            return value
        case _:
            raise ValueError("not a duration")


LONGEST = timedelta(days=366)
"""No notice is useful for longer, and no time computed from it leaves the calendar."""

Duration = Annotated[timedelta, BeforeValidator(duration), Field(gt=timedelta(), le=LONGEST)]


class Terms(Payload):
    """A part of a policy: a mistyped key in a file is an error, an unknown one from the engine is not."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Backoff(Terms):
    """Reads that grow further apart: `first * factor ** n`, at most `cap`, at most `limit` of them."""

    first: Duration
    factor: float = Field(default=2.0, ge=1.0, le=10.0, strict=True)
    cap: Duration
    jitter: float = Field(default=0.1, ge=0.0, le=0.5, strict=True)
    """Each gap is stretched or shrunk by at most this share, the same way every time for one attempt."""
    limit: int = Field(default=10, ge=1, le=50, strict=True)

    @field_validator("cap")
    @classmethod
    def _caps(cls, cap: timedelta, info: ValidationInfo) -> timedelta:
        """Refuse a cap below the first gap."""
        if cap < info.data.get("first", cap):
            raise ValueError("must not be shorter than first")
        return cap


class Watch(Terms):
    """How one channel is watched after submission."""

    polls: Annotated[tuple[Duration, ...], Field(max_length=50)] | None = None
    """Offsets from the submission, ascending."""
    backoff: Backoff | None = None
    provider: str | None = None
    """Which provider serves this channel for this kind; else the one that the deployment names."""

    @field_validator("polls")
    @classmethod
    def _ascend(cls, polls: tuple[timedelta, ...] | None) -> tuple[timedelta, ...] | None:
        """Refuse offsets that do not ascend."""
        if polls is not None and list(polls) != sorted(set(polls)):
            raise ValueError("must ascend, each once")
        return polls

    @model_validator(mode="before")
    @classmethod
    def _one_schedule(cls, given: object) -> object:
        """Refuse two schedules, before what is wrong within one of them."""
        if isinstance(given, dict) and given.get("polls") is not None and given.get("backoff") is not None:
            raise ValueError("give polls or backoff, not both")
        return given


class Limit(Terms):
    """At most so many messages within any stretch of that length."""

    count: int = Field(ge=1, le=10_000, strict=True)
    per: Duration


_FIVE_AN_HOUR = Limit(count=5, per=timedelta(hours=1))


class ChallengeTerms(Terms):
    """What a kind allows that carries a challenge; only a verification sends such a kind."""

    code_digits: int = Field(default=6, ge=6, le=8, strict=True)
    wrong_codes: int = Field(default=5, ge=1, le=5, strict=True)
    """After so many the challenge is dead."""
    resends: int = Field(default=3, ge=0, le=20, strict=True)
    """Messages after the first."""
    cooldown: Duration = Field(default=timedelta(seconds=30), validate_default=True)
    """Between one message and the next that is asked for."""
    resend_over_ambiguous: bool = Field(default=False, strict=True)
    """Whether another message may go out while one may still be on its way."""
    automatic_resend_after: Duration | None = None
    """When another message is sent that nobody asked for, if the control of that name is on too."""
    per_account: Limit = _FIVE_AN_HOUR
    per_destination: Limit = _FIVE_AN_HOUR
    countries: tuple[Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}$")], ...] = ()
    """Where texts go, as ISO 3166 codes; a number of any other country gets none."""


class Policy(Terms):
    """What may be done for one kind of notice, and until when."""

    route: tuple[Channel, ...] = Field(min_length=1)
    settles_on: SettlesOn
    on_unresolved: OnUnresolved
    on_failure: OnFailure = OnFailure.ESCALATE
    essential: bool = Field(default=False, strict=True)
    """Sent even to people who unsubscribed from email: security and service notices only."""
    expires_after: Duration | None = None
    """From the event; without it every request must bring `expires_at`."""
    cutoff_before_expiry: Duration = Field(default=timedelta(seconds=30), validate_default=True)
    """Learning anything later than this before expiry could not change an action: no more reads."""
    min_useful: Duration = Field(default=timedelta(minutes=1), validate_default=True)
    """A fallback with less time left than this is not sent."""
    fallback_after: Duration | None = None
    """From the submission on the first channel."""
    fallback_before_expiry: Duration | None = None
    """Worked backward: the latest time that still leaves the fallback this long."""
    email: Watch = Watch()
    sms: Watch = Watch()
    challenge: ChallengeTerms | None = None
    """Given where the templates carry a challenge: `verify_url`, `code`, or both."""

    @field_validator("route")
    @classmethod
    def _once_each(cls, route: tuple[Channel, ...]) -> tuple[Channel, ...]:
        """Refuse a route that repeats a channel."""
        if len(set(route)) != len(route):
            raise ValueError("names a channel more than once")
        return route

    @field_validator("cutoff_before_expiry", "min_useful", "fallback_after", "fallback_before_expiry")
    @classmethod
    def _fits(cls, value: timedelta | None, info: ValidationInfo) -> timedelta | None:
        """Refuse a margin that does not fit into the life of a notice."""
        life = info.data.get("expires_after")
        if value is not None and life is not None and value >= life:
            raise ValueError("must be shorter than expires_after")
        return value

    @field_validator("min_useful")
    @classmethod
    def _leaves_time(cls, value: timedelta, info: ValidationInfo) -> timedelta:
        """Refuse a margin that puts the fallback deadline at the submission: the fallback needs it twice."""
        life = info.data.get("expires_after")
        if len(info.data.get("route", ())) > 1 and life is not None and 2 * value >= life:
            raise ValueError("must be less than half of expires_after, where there is a fallback")
        return value

    def watch(self, channel: Channel) -> Watch:
        """Return how a channel is watched."""
        return self.email if channel is Channel.EMAIL else self.sms
