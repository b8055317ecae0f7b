"""What an operator can turn off, for everybody or for a share of the notices."""

import hashlib
from enum import StrEnum

from pydantic import Field

from workflows.policy.keys import first_of
from workflows.policy.models import Payload


class Switch(StrEnum):
    """The effects that have a control. Callbacks have none: evidence is always taken."""

    DISPATCH = "dispatch"
    FALLBACK = "fallback"
    RECONCILE = "reconcile"
    RESEND = "resend"
    """A second message that a person asked for."""
    AUTOMATIC_RESEND = "automatic_resend"
    """A second message that nobody asked for: off unless an operator turns it on."""
    OBSERVE = "observe"
    """The record is real and the effect is not: what would have been sent is noted, and nothing leaves."""


class Control(Payload):
    """Whether an effect is allowed, and for which share of the notices."""

    on: bool = True
    percent: int = Field(default=100, ge=0, le=100)


_OFF = Control(on=False)


class Controls(Payload):
    """All controls at one moment, as they are where nobody has set them."""

    dispatch: Control = Control()
    fallback: Control = Control()
    reconcile: Control = Control()
    resend: Control = Control()
    automatic_resend: Control = _OFF
    observe: Control = _OFF


def allows(control: Control, notice_key: str) -> bool:
    """Whether a control lets this notice through; raising the percentage only ever adds notices."""
    return control.on and cohort(notice_key) < control.percent


def cohort(notice_key: str) -> int:
    """Return the place (0 to 99) of a notice, the same for every control, host and replay.

    All messages of one verification have the place of the first.
    """
    digest = hashlib.sha256(first_of(notice_key).encode()).digest()
    return int.from_bytes(digest[:8]) % 100
