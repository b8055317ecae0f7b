"""What the demonstration sends, and what must become of it: one row a fate."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pydantic import JsonValue

from activities.catalogue import Catalogue
from sandbox.fates import Fate
from workflows.policy.models import NoticeRequest
from workflows.policy.words import Channel, Outcome

Times = Mapping[str, datetime]
When = Callable[[datetime], Times]


@dataclass(frozen=True, slots=True)
class Case:
    """One notice: whom it meets, and how it must end."""

    title: str
    kind: str
    email: Fate | None
    phone: Fate | None
    outcome: Outcome
    channel: Channel | None = None
    emails: int = 0
    """Accepted by the provider: how many a person could find in the inbox."""
    texts: int = 0
    consent: bool = True
    withdrawn: bool = False
    when: When = field(default=lambda _now: {})

    def request(self, number: int, catalogue: Catalogue, now: datetime) -> NoticeRequest:
        """Return what a backend would send."""
        fields: dict[str, JsonValue] = dict(catalogue.get(self.kind).sample.fields)
        recipient = {
            "id": f"person-{number:02}",
            "email": self.email.email(f"person{number:02}") if self.email else None,
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


def _class(now: datetime) -> Times:
    return {"fallback_at": now + timedelta(seconds=6), "expires_at": now + timedelta(seconds=28)}


def _soon(now: datetime) -> Times:
    return {"expires_at": now + timedelta(seconds=12)}


def _long_ago(now: datetime) -> Times:
    return {"occurred_at": now - timedelta(hours=2)}


EMAIL, SMS = Channel.EMAIL, Channel.SMS

CASES = (
    Case(
        "the email is accepted", "password_reset", Fate.ACCEPTED, Fate.DELIVERED, Outcome.ACCEPTED, EMAIL, 1
    ),
    Case(
        "the reply is lost: asked again under the same key",
        "password_reset",
        Fate.LOST,
        Fate.DELIVERED,
        Outcome.DELIVERED,
        EMAIL,
        1,
    ),
    Case(
        "the provider is busy, twice",
        "password_reset",
        Fate.BUSY,
        Fate.DELIVERED,
        Outcome.DELIVERED,
        EMAIL,
        1,
    ),
    Case(
        "no such mailbox: the text goes out at once",
        "password_reset",
        Fate.BOUNCED,
        Fate.DELIVERED,
        Outcome.DELIVERED,
        SMS,
        1,
        1,
    ),
    Case(
        "silence until the fallback deadline",
        "password_reset",
        Fate.SILENT,
        Fate.DELIVERED,
        Outcome.DELIVERED,
        SMS,
        1,
        1,
    ),
    Case(
        "the email provider is down",
        "password_reset",
        Fate.DOWN,
        Fate.DELIVERED,
        Outcome.DELIVERED,
        SMS,
        0,
        1,
    ),
    Case(
        "greylisted first: nobody is texted",
        "seller_payout",
        Fate.DEFERRED,
        Fate.DELIVERED,
        Outcome.DELIVERED,
        EMAIL,
        1,
    ),
    Case(
        "blocked by policy: the text is delivered",
        "class_cancelled",
        Fate.BLOCKED,
        Fate.DELIVERED,
        Outcome.DELIVERED,
        SMS,
        1,
        1,
        when=_class,
    ),
    Case(
        "no such mailbox, and no consent to texts",
        "class_cancelled",
        Fate.BOUNCED,
        Fate.DELIVERED,
        Outcome.EXHAUSTED,
        None,
        1,
        consent=False,
        when=_class,
    ),
    Case(
        "email and text both fail",
        "class_cancelled",
        Fate.BOUNCED,
        Fate.BLOCKED,
        Outcome.EXHAUSTED,
        None,
        1,
        1,
        when=_class,
    ),
    Case(
        "nobody can say what became of either",
        "class_cancelled",
        Fate.SILENT,
        Fate.SILENT,
        Outcome.UNKNOWN,
        None,
        1,
        1,
        when=_class,
    ),
    Case(
        "a digest without an answer", "weekly_digest", Fate.SILENT, None, Outcome.EXPIRED, None, 1, when=_soon
    ),
    Case(
        "a reset that an outage held back for two hours",
        "password_reset",
        Fate.DELIVERED,
        Fate.DELIVERED,
        Outcome.EXPIRED,
        when=_long_ago,
    ),
    Case(
        "withdrawn while the email was silent",
        "seller_payout",
        Fate.SILENT,
        Fate.DELIVERED,
        Outcome.WITHDRAWN,
        None,
        1,
        withdrawn=True,
    ),
)
