"""Fates: what becomes of a message is chosen by its address, and written down here alone.

An email's fate is the local part up to `+` (`bounced+anna@example.test`); a text's fate is the last two
digits of the number (`+1 202 555 0183`). Any other address is delivered.

==============  ======  ===================================================================
local part      digits  what happens
==============  ======  ===================================================================
accepted        81      handed to the next hop, and never heard of again
delivered       82      delivered at once
bounced         83      refused for good: no such recipient (5.1.1)
blocked         84      refused for good: policy (5.7.1), which is not the recipient's fault
full            85      the provider gave up: mailbox full (5.2.2)
deferred        86      a temporary failure, then delivered after 20 s
silent          87      queued for ever
late            88      queued, and delivered only after 5 min
odd             89      a status word that nobody knows
bounced-later   90      delivered, and bounced (5.1.1) after 30 s
lost            91      fault: takes the message, then drops the connection without a reply
down            92      fault: 503 before taking the message
busy            93      fault: 429 with Retry-After, twice; then takes it and delivers
slow            94      fault: takes the message, and replies only after 40 s
denied          95      fault: 401
==============  ======  ===================================================================

Durations are multiplied by `Config.scale`. In the manner that honours keys, `lost` and `slow` strike once:
the repeat of a key is answered at once with the first message.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType

RECOVERS_AFTER = timedelta(seconds=20)
LATE_AFTER = timedelta(minutes=5)
BOUNCES_AFTER = timedelta(seconds=30)
SLOW_REPLY = timedelta(seconds=40)
BUSY_TIMES = 2
BUSY_FOR = timedelta(seconds=2)

_AT_ONCE = timedelta()


class Fate(StrEnum):
    """What becomes of a message; the last five are faults of the call itself."""

    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    BOUNCED = "bounced"
    BLOCKED = "blocked"
    FULL = "full"
    DEFERRED = "deferred"
    SILENT = "silent"
    LATE = "late"
    ODD = "odd"
    BOUNCED_LATER = "bounced-later"
    LOST = "lost"
    DOWN = "down"
    BUSY = "busy"
    SLOW = "slow"
    DENIED = "denied"

    def email(self, tag: str = "anna") -> str:
        """Return an address that meets this fate."""
        return f"{self}+{tag}@example.test"

    def number(self) -> str:
        """Return a number that meets this fate, from the block reserved for fiction."""
        return f"+120255501{DIGITS[self]}"


DIGITS: Mapping[Fate, str] = MappingProxyType(
    {
        Fate.ACCEPTED: "81",
        Fate.DELIVERED: "82",
        Fate.BOUNCED: "83",
        Fate.BLOCKED: "84",
        Fate.FULL: "85",
        Fate.DEFERRED: "86",
        Fate.SILENT: "87",
        Fate.LATE: "88",
        Fate.ODD: "89",
        Fate.BOUNCED_LATER: "90",
        Fate.LOST: "91",
        Fate.DOWN: "92",
        Fate.BUSY: "93",
        Fate.SLOW: "94",
        Fate.DENIED: "95",
    },
)

_BY_NAME: Mapping[str, Fate] = MappingProxyType({str(fate): fate for fate in Fate})
_BY_DIGITS: Mapping[str, Fate] = MappingProxyType({digits: fate for fate, digits in DIGITS.items()})


def fate_of(channel: str, to: str) -> Fate:
    """Read the fate off an address; one that names none is delivered."""
    if channel == "sms":
        return _BY_DIGITS.get(to[-2:], Fate.DELIVERED)
    local = to.rpartition("@")[0].partition("+")[0].lower()
    return _BY_NAME.get(local, Fate.DELIVERED)


@dataclass(frozen=True, slots=True)
class Step:
    """One word about a message, from an offset after its acceptance on."""

    after: timedelta
    word: str
    code: str | None = None
    reply: str | None = None
    """The receiving server's own line."""


QUEUED = Step(_AT_ONCE, "queued")
_DELIVERED = Step(_AT_ONCE, "delivered")
_NOBODY = "550 5.1.1 The recipient does not exist"

SCRIPTS: Mapping[Fate, tuple[Step, ...]] = MappingProxyType(
    {
        Fate.ACCEPTED: (Step(_AT_ONCE, "sent"),),
        Fate.BOUNCED: (Step(_AT_ONCE, "bounced", "5.1.1", _NOBODY),),
        Fate.BLOCKED: (Step(_AT_ONCE, "bounced", "5.7.1", "550 5.7.1 Message refused by policy"),),
        Fate.FULL: (Step(_AT_ONCE, "bounced", "5.2.2", "552 5.2.2 Mailbox full"),),
        Fate.DEFERRED: (
            Step(_AT_ONCE, "deferred", "4.2.0", "450 4.2.0 Greylisted, try again later"),
            Step(RECOVERS_AFTER, "delivered"),
        ),
        Fate.SILENT: (),
        Fate.LATE: (Step(LATE_AFTER, "delivered"),),
        Fate.ODD: (Step(_AT_ONCE, "levitating"),),
        Fate.BOUNCED_LATER: (_DELIVERED, Step(BOUNCES_AFTER, "bounced", "5.1.1", _NOBODY)),
    },
)


def script(fate: Fate) -> tuple[Step, ...]:
    """Return what follows `queued`; a message that survives a fault of the call is delivered."""
    return SCRIPTS.get(fate, (_DELIVERED,))
