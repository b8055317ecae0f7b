"""Fresh facts from the ledger, and what they say about one address at this moment."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from typing_extensions import override

from activities.gate import Gate
from activities.store.controls import ControlBoard
from activities.store.errors import StoreError, Unreachable
from activities.store.ledger import Ledger
from activities.store.suppressions import Suppressions
from tests.activities.given import EMAIL, EXPIRY, KEYRING, NOW, SMS, decision, request, send
from workflows import calls
from workflows.policy.controls import Control, Controls, Switch, cohort
from workflows.policy.eligibility import Answer, ask_again
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.words import Channel, SuppressionReason

OFF = Control(on=False)
WRITTEN = {EMAIL: "Ana@Example.test", SMS: "+1 (202) 555-0182"}
"""As people write them; the ledger knows the canonical form."""
CANONICAL = {EMAIL: "ana@example.test", SMS: "+12025550182"}
ANA = Recipient(id="user-1", email=WRITTEN[EMAIL], phone=WRITTEN[SMS], sms_consent=True)


@dataclass(frozen=True)
class Row:
    """What the ledger knows, who is asked about, and the answer."""

    answer: Answer
    reason: str | None = None
    channel: Channel = EMAIL
    person: Recipient = ANA
    now: datetime = NOW
    essential: bool = True
    is_fallback: bool = False
    suppressed: tuple[SuppressionReason, ...] = ()
    controls: dict[Switch, Control] = field(default_factory=dict)
    observed: bool = False


def without(**changes: object) -> Recipient:
    return ANA.model_copy(update=changes)


ROWS = {
    "an email": Row(Answer.YES),
    "a text with consent": Row(Answer.YES, channel=SMS),
    "a text without consent": Row(Answer.NO, "no_consent", SMS, without(sms_consent=False)),
    "an email without consent to texts": Row(Answer.YES, person=without(sms_consent=False)),
    "no address": Row(Answer.NO, "no_address", SMS, without(phone=None)),
    "a moment before expiry": Row(Answer.YES, now=EXPIRY - timedelta(microseconds=1)),
    "at expiry": Row(Answer.EXPIRED, "expired", now=EXPIRY),
    "an address that does not exist": Row(
        Answer.NO, "suppressed: invalid_recipient", suppressed=(SuppressionReason.INVALID_RECIPIENT,)
    ),
    "an essential email to somebody who unsubscribed": Row(
        Answer.YES, suppressed=(SuppressionReason.UNSUBSCRIBED,)
    ),
    "any other email to somebody who unsubscribed": Row(
        Answer.NO, "suppressed: unsubscribed", essential=False, suppressed=(SuppressionReason.UNSUBSCRIBED,)
    ),
    "a text to somebody who said STOP": Row(
        Answer.NO, "suppressed: stopped", SMS, suppressed=(SuppressionReason.STOPPED,)
    ),
    "dispatch is off": Row(Answer.HELD, "dispatch_off", controls={Switch.DISPATCH: OFF}),
    "dispatch is at no percent": Row(
        Answer.HELD, "dispatch_off", controls={Switch.DISPATCH: Control(percent=0)}
    ),
    "fallback is off, on the first channel": Row(Answer.YES, controls={Switch.FALLBACK: OFF}),
    "fallback is off": Row(
        Answer.HELD, "fallback_off", SMS, is_fallback=True, controls={Switch.FALLBACK: OFF}
    ),
    "reconciliation is off": Row(Answer.YES, controls={Switch.RECONCILE: OFF}),
    "resending is off": Row(Answer.YES, controls={Switch.RESEND: OFF, Switch.AUTOMATIC_RESEND: OFF}),
    "observing": Row(Answer.YES, controls={Switch.OBSERVE: Control()}, observed=True),
    "observing, a text": Row(
        Answer.YES, channel=SMS, is_fallback=True, controls={Switch.OBSERVE: Control()}, observed=True
    ),
    "observing is off": Row(Answer.YES, controls={Switch.OBSERVE: OFF}),
    "observing nobody": Row(Answer.YES, controls={Switch.OBSERVE: Control(percent=0)}),
    "observing, while dispatch is off": Row(
        Answer.HELD, "dispatch_off", controls={Switch.OBSERVE: Control(), Switch.DISPATCH: OFF}
    ),
    "observing who may not be written to": Row(
        Answer.NO, "no_address", SMS, without(phone=None), controls={Switch.OBSERVE: Control()}
    ),
    "observing at expiry": Row(Answer.EXPIRED, "expired", now=EXPIRY, controls={Switch.OBSERVE: Control()}),
}


async def prepare(ledger: Ledger, row: Row) -> None:
    hashed = KEYRING.address_hash(row.channel, CANONICAL[row.channel])
    for reason in row.suppressed:
        await ledger.suppressions.put(hashed, row.channel, reason, source_notice="n", observed_at=NOW)
    for switch, control in row.controls.items():
        await ledger.controls.put(switch, control, by="ops", why="an incident", at=NOW)


def check(asked: NoticeRequest, row: Row) -> calls.Check:
    return calls.Check(
        notice_key=asked.key,
        recipient=asked.recipient,
        channel=row.channel,
        is_fallback=row.is_fallback,
        essential=row.essential,
        expires_at=EXPIRY,
        decision=decision(asked),
    )


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_the_check_and_the_send_are_answered_alike(ledger: Ledger, row: Row) -> None:
    asked = request(recipient=row.person)
    await prepare(ledger, row)
    gate = Gate(ledger, KEYRING)
    sending = send(asked, row.channel, is_fallback=row.is_fallback, essential=row.essential)

    checked, sent = await gate.ask(check(asked, row), row.now), await gate.ask(sending, row.now)

    again = ask_again(row.now, EXPIRY) if row.answer is Answer.HELD else None
    assert checked == calls.Clearance(
        answer=row.answer, reason=row.reason, at=row.now, ask_again_at=again, observed=row.observed
    )
    assert sent == checked


async def test_a_cohort_is_observed_and_nobody_else(ledger: Ledger) -> None:
    asked, gate = request(), Gate(ledger, KEYRING)
    place = cohort(asked.key)
    answers = []
    for percent in (place, place + 1):
        await prepare(ledger, Row(Answer.YES, controls={Switch.OBSERVE: Control(percent=percent)}))
        answers.append((await gate.ask(send(asked), NOW)).observed)

    assert answers == [False, True]


async def test_a_control_that_is_turned_on_again_lets_through(ledger: Ledger) -> None:
    asked, gate = request(), Gate(ledger, KEYRING)
    await prepare(ledger, Row(Answer.HELD, controls={Switch.DISPATCH: OFF}))
    held = await gate.ask(send(asked), NOW)
    await prepare(ledger, Row(Answer.YES, controls={Switch.DISPATCH: Control()}))

    assert (held.answer, (await gate.ask(send(asked), NOW)).answer) == (Answer.HELD, Answer.YES)


async def test_a_suppression_concerns_one_address_on_one_channel(ledger: Ledger) -> None:
    row = Row(Answer.NO, suppressed=(SuppressionReason.INVALID_RECIPIENT,))
    await prepare(ledger, row)
    gate = Gate(ledger, KEYRING)
    corrected = request(recipient=without(email="anna@example.test"))

    answers = [
        (await gate.ask(send(asked, channel), NOW)).answer
        for asked, channel in [
            (request(recipient=ANA), EMAIL),
            (corrected, EMAIL),
            (request(recipient=ANA), SMS),
        ]
    ]

    assert answers == [Answer.NO, Answer.YES, Answer.YES]


class LostControls(ControlBoard):
    @override
    async def read(self) -> Controls:
        raise Unreachable("ledger: cannot be reached")


class LostSuppressions(Suppressions):
    @override
    async def active(self, address_hash: str, channel: Channel) -> frozenset[SuppressionReason]:
        raise Unreachable("ledger: cannot be reached")


@pytest.mark.parametrize("lost", ["controls", "suppressions"])
async def test_what_cannot_be_read_is_no_yes(ledger: Ledger, lost: str) -> None:
    if lost == "controls":
        ledger.controls = LostControls(ledger._engine)
    else:
        ledger.suppressions = LostSuppressions(ledger._engine)

    with pytest.raises(StoreError):
        await Gate(ledger, KEYRING).ask(send(request()), NOW)
