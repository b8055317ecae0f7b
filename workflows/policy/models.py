"""What crosses a boundary: the JSON contract of a notice, its evidence, and its result.

Payloads are frozen; unknown fields are ignored at the engine's boundary, so that an older worker can
read a newer payload; every later field has a default and no field is renamed. Input from people is
validated with `extra="forbid"` instead (`workflows.policy.contract`).
"""

import re
from datetime import UTC, datetime
from typing import Annotated, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)
from pydantic_core import to_json

from workflows.policy.cleaning import LONGEST_CODE, cleaned
from workflows.policy.keys import notice_key
from workflows.policy.words import Channel, Outcome, Source, Status, SuppressionReason

Identifier = Annotated[str, Field(min_length=1, max_length=1000)]
"""Any non-empty id that the caller uses; opaque: it appears in the UI, in logs and in search."""

Word = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f]*$")]
"""A provider's word or id: on one line, so that any log, table and database takes it."""


_LARGEST = 256 * 1024
_DEEPEST = 32


def _bounded(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Refuse what the engine could not carry inside its other payloads, sealed and with its history."""
    if len(to_json(fields)) > _LARGEST:
        raise ValueError(f"must be at most {_LARGEST // 1024} KiB of JSON")
    if _depth(fields) > _DEEPEST:
        raise ValueError(f"must be nested at most {_DEEPEST} levels deep")
    return fields


def _depth(value: JsonValue) -> int:
    match value:
        case dict():
            return 1 + max(map(_depth, value.values()), default=0)
        case list():
            return 1 + max(map(_depth, value), default=0)
        case _:
            return 0


Fields = Annotated[dict[str, JsonValue], AfterValidator(_bounded)]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d", re.ASCII)
_YEARS = range(2000, 2200)
"""Far inside the calendar, so that no margin added to a time or taken from it can leave it."""


def _written(value: object) -> object:
    """Read RFC 3339; a number is refused: whether it counts seconds or milliseconds, nobody could say."""
    if isinstance(value, str) and _TIME.match(value):
        try:
            return datetime.fromisoformat(value)
        except ValueError:
            raise ValueError("not a time") from None
    if isinstance(value, datetime):
        return value
    raise ValueError("not a time")


def believable(at: datetime) -> bool:
    """Whether an instant lies where instants of a notice can lie."""
    return at.year in _YEARS


def _in_utc(at: datetime) -> datetime:
    if not believable(at):
        message = f"must lie in the years {_YEARS[0]} to {_YEARS[-1]}"
        raise ValueError(message)
    return at.astimezone(UTC)


Instant = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_in_utc)]
"""A moment that people write, RFC 3339 with its zone; kept in UTC."""


class Payload(BaseModel):
    """A value that the engine stores; validation errors never repeat what was in it."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Recipient(Payload):
    """One person and how to reach them; only `id` may appear outside sealed payloads."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    id: Identifier
    """The caller's opaque id of this person; it appears in the UI and in logs, so it is no address."""
    email: str | None = Field(
        default=None, repr=False, max_length=320, json_schema_extra={"format": "idn-email"}
    )
    """One address, without a display name."""
    phone: str | None = Field(default=None, repr=False, max_length=32, examples=["+14155550100"])
    """E.164, with the leading plus."""
    sms_consent: bool = False
    """Whether this person agreed to texts; absent means no."""

    def address(self, channel: Channel) -> str | None:
        """Return the address for a channel, as given."""
        return self.email if channel is Channel.EMAIL else self.phone


class NoticeRequest(Payload):
    """The obligation: tell this recipient about this event. The same triple is the same notice, for ever."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    kind: Identifier
    """A folder in `notices/`."""
    event_id: Identifier
    """The event that authorises the notice; never the id of a queue delivery."""
    recipient: Recipient
    """Who is told."""
    fields: Fields = Field(default_factory=dict, repr=False)
    """What the kind's templates need."""
    occurred_at: Instant | None = None
    """When the event happened (UTC); durations of the policy count from here, else from the start."""
    expires_at: Instant | None = None
    """When the notice stops being useful (UTC); with a duration in the policy the earlier one holds."""
    fallback_at: Instant | None = None
    """When silence on the first channel stops being worth waiting for (UTC)."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        """Refuse instants that contradict each other."""
        if self.fallback_at and self.expires_at and self.fallback_at >= self.expires_at:
            raise ValueError("fallback_at: must be before expires_at")
        return self

    @property
    def key(self) -> str:
        """The notice key."""
        return notice_key(self.kind, self.event_id, self.recipient.id)


class Observation(Payload):
    """One provider report about one attempt; it holds no address and no text written by a person."""

    attempt_key: Word
    event_id: Annotated[Word, Field(max_length=200)]
    """Unique within the attempt: repeated reports carry the same one."""
    source: Source
    status: Status
    is_final: bool = False
    """Whether the provider has stopped trying."""
    raw: Annotated[str, AfterValidator(cleaned)] = ""
    """The provider's own word."""
    code: Annotated[str, AfterValidator(lambda code: cleaned(code, LONGEST_CODE))] | None = None
    """Enhanced status code or the provider's error code."""
    at: Instant
    """When we learned it (engine time for send and poll, reception for a callback)."""
    provider_at: Instant | None = None
    provider_id: Annotated[Word, Field(max_length=200)] | None = None
    opt_out: SuppressionReason | None = None
    """Set where the report is the person's own choice: a complaint, an unsubscribe, a STOP."""


class Result(Payload):
    """How a notice closed; classified words only."""

    key: str
    outcome: Outcome
    channel: Channel | None = None
    """The channel whose evidence settled it, if one did."""
    rule: str
    reason: str | None = None
    closed_at: datetime
