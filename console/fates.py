"""What the demonstration sends, and what must become of it: one row a fate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from pydantic import JsonValue

from activities.catalogue import Catalogue
from sandbox.fates import Fate
from workflows.policy.models import NoticeRequest
from workflows.policy.words import Channel, Outcome

When = Callable[[datetime], Mapping[str, datetime]]
"""The instants that an event brings, from the moment of sending."""


@dataclass(frozen=True, slots=True)
class Ends:
    """How a notice must end, and what its person could find: messages that the provider accepted."""

    outcome: Outcome
    channel: Channel | None = None
    emails: int = 0
    texts: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One notice: what it meets, by email and by text, and how it must end."""

    title: str
    kind: str
    email: Fate
    phone: Fate | None
    ends: Ends
    when: When = lambda _now: {}
    consent: bool = True
    withdrawn: bool = False

    def request(self, number: int, catalogue: Catalogue, now: datetime) -> NoticeRequest:
        """Return what a backend would send."""
        fields: dict[str, JsonValue] = dict(catalogue.get(self.kind).sample.fields)
        recipient = {
            "id": f"person-{number:02}",
            "email": self.email.email(f"person{number:02}"),
            "phone": self.phone.number() if self.phone else None,
            "sms_consent": self.consent,
        }
        return NoticeRequest.model_validate(
            {
                "kind": self.kind,
                "event_id": f"demo-{number:02}",
                "recipient": recipient,
                "fields": fields,
                **self.when(now),
            }
        )


def _class(now: datetime) -> Mapping[str, datetime]:
    return {"fallback_at": now + timedelta(seconds=6), "expires_at": now + timedelta(seconds=28)}


def _soon(now: datetime) -> Mapping[str, datetime]:
    return {"expires_at": now + timedelta(seconds=12)}


def _long_ago(now: datetime) -> Mapping[str, datetime]:
    return {"occurred_at": now - timedelta(hours=2)}


RESET, CLASS, PAYOUT, DIGEST = "password_reset", "class_cancelled", "seller_payout", "weekly_digest"
BY_EMAIL = Ends(Outcome.DELIVERED, Channel.EMAIL, emails=1)
BY_TEXT = Ends(Outcome.DELIVERED, Channel.SMS, emails=1, texts=1)
BY_TEXT_ALONE = Ends(Outcome.DELIVERED, Channel.SMS, texts=1)

CASES = (
    Case("email accepted", RESET, Fate.ACCEPTED, Fate.DELIVERED, Ends(Outcome.ACCEPTED, Channel.EMAIL, 1)),
    Case("reply lost", RESET, Fate.LOST, Fate.DELIVERED, BY_EMAIL),
    Case("provider busy", RESET, Fate.BUSY, Fate.DELIVERED, BY_EMAIL),
    Case("no such mailbox", RESET, Fate.BOUNCED, Fate.DELIVERED, BY_TEXT),
    Case("silence", RESET, Fate.SILENT, Fate.DELIVERED, BY_TEXT),
    Case("provider down", RESET, Fate.DOWN, Fate.DELIVERED, BY_TEXT_ALONE),
    Case("greylisted first", PAYOUT, Fate.DEFERRED, Fate.DELIVERED, BY_EMAIL),
    Case("blocked by policy", CLASS, Fate.BLOCKED, Fate.DELIVERED, BY_TEXT, _class),
    Case(
        "bounced, no consent",
        CLASS,
        Fate.BOUNCED,
        Fate.DELIVERED,
        Ends(Outcome.EXHAUSTED, None, 1),
        _class,
        consent=False,
    ),
    Case("both fail", CLASS, Fate.BOUNCED, Fate.BLOCKED, Ends(Outcome.EXHAUSTED, None, 1, 1), _class),
    Case("nobody can say", CLASS, Fate.SILENT, Fate.SILENT, Ends(Outcome.UNKNOWN, None, 1, 1), _class),
    Case("silent digest", DIGEST, Fate.SILENT, None, Ends(Outcome.EXPIRED, None, 1), _soon),
    Case("held up two hours", RESET, Fate.DELIVERED, Fate.DELIVERED, Ends(Outcome.EXPIRED), _long_ago),
    Case("withdrawn", PAYOUT, Fate.SILENT, Fate.DELIVERED, Ends(Outcome.WITHDRAWN, None, 1), withdrawn=True),
)
