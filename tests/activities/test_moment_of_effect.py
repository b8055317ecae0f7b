"""What is true just before the wire decides, whatever was true when the dispatch was asked for."""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest
from temporalio.exceptions import ApplicationError
from typing_extensions import override

from activities.crossing import ARRIVES_IN, WIRE_BY
from activities.eligibility import LedgerEligibility
from activities.fields import FieldError
from activities.gate import Gate
from activities.providers.base import Capabilities
from activities.store.attempts import Attempts, Claim
from activities.store.ledger import Ledger
from tests.activities.given import (
    EMAIL,
    KEYRING,
    NOW,
    SILENT,
    SMS,
    Scripted,
    SetClock,
    admitted,
    after,
    claimed,
    decision,
    dispatcher,
    engine,
    outcome,
    request,
    row_of,
    send,
)
from workflows import calls
from workflows.policy.controls import Control, Switch
from workflows.policy.eligibility import Answer
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest
from workflows.policy.words import AttemptState, Channel, SuppressionReason

HONOURS = Capabilities(idempotent_for=timedelta(days=1))
HOUR, SHORT, INSTANT = timedelta(hours=1), timedelta(seconds=10), timedelta(microseconds=1)
OFF = Control(on=False)


class Slow(Attempts):
    """A ledger that takes its time to write a claim."""

    def __init__(self, ledger: Ledger, clock: SetClock, takes: timedelta) -> None:
        super().__init__(ledger._engine)
        self._clock, self._takes = clock, takes

    @override
    async def claim(
        self, key: str, *, provider: str, address_hash: str, at: datetime, carries: bool = False
    ) -> Claim:
        claim = await super().claim(key, provider=provider, address_hash=address_hash, at=at, carries=carries)
        self._clock.passed += self._takes
        return claim


@pytest.mark.parametrize(
    ("life", "claiming", "crossings"),
    [
        (HOUR, WIRE_BY, 1),
        (HOUR, WIRE_BY + INSTANT, 0),
        (SHORT, SHORT - INSTANT, 1),
        (SHORT, SHORT, 0),
        (SHORT, SHORT + INSTANT, 0),
    ],
)
@pytest.mark.parametrize("repeats", [False, True])
async def test_a_run_that_comes_too_late_never_reaches_the_wire(
    ledger: Ledger, *, life: timedelta, claiming: timedelta, crossings: int, repeats: bool
) -> None:
    asked = await admitted(ledger)
    if repeats:
        await claimed(ledger, asked)
    clock, provider = SetClock(), Scripted("first", HONOURS)
    ledger.attempts = Slow(ledger, clock, claiming)
    call = send(asked, expires_at=NOW + life)

    said = await outcome(dispatcher(ledger, provider).send(call, clock))

    late = ("Ambiguous", AttemptState.AMBIGUOUS) if repeats else ("NotSent", AttemptState.PLANNED)
    expected = ("submitted: pending", AttemptState.SUBMITTED) if crossings else late
    assert len(provider.crossed) == crossings
    assert (said, (await row_of(ledger, call.attempt_key)).state) == expected


@pytest.mark.parametrize(("spare", "crossings"), [(timedelta(), 0), (INSTANT, 1)])
async def test_a_key_must_still_be_honoured_when_its_repeat_arrives(
    ledger: Ledger, spare: timedelta, crossings: int
) -> None:
    asked = await admitted(ledger)
    await claimed(ledger, asked, at=after(hours=-1))
    provider = Scripted("first", Capabilities(idempotent_for=HOUR + ARRIVES_IN + spare))

    await outcome(dispatcher(ledger, provider).send(send(asked), SetClock()))

    assert len(provider.crossed) == crossings


async def suppressed(ledger: Ledger, asked: NoticeRequest) -> None:
    hashed = KEYRING.address_hash(SMS, str(asked.recipient.phone))
    await ledger.suppressions.put(
        hashed, SMS, SuppressionReason.STOPPED, source_notice=asked.key, observed_at=NOW
    )


async def dispatch_off(ledger: Ledger, _: NoticeRequest) -> None:
    await ledger.controls.put(Switch.DISPATCH, OFF, by="ops", why="an incident", at=NOW)


async def fallback_off(ledger: Ledger, _: NoticeRequest) -> None:
    await ledger.controls.put(Switch.FALLBACK, OFF, by="ops", why="an incident", at=NOW)


BARS = pytest.mark.parametrize(
    ("bar", "reason"),
    [
        (suppressed, "suppressed: stopped"),
        (dispatch_off, "dispatch_off"),
        (fallback_off, "fallback_off"),
    ],
)
Bar = Callable[[Ledger, NoticeRequest], Awaitable[None]]


def check(asked: NoticeRequest, channel: Channel) -> calls.Check:
    call = send(asked, channel)
    facts = call.model_dump(include={"channel", "is_fallback", "essential", "expires_at"})
    return calls.Check(notice_key=asked.key, recipient=asked.recipient, decision=decision(asked), **facts)


@BARS
async def test_a_bar_that_came_after_the_check_stops_the_send(ledger: Ledger, bar: Bar, reason: str) -> None:
    asked = await admitted(ledger)
    checks = LedgerEligibility(Gate(ledger, KEYRING), SILENT)
    assert (await engine().run(checks.check, check(asked, SMS))).answer is Answer.YES
    await bar(ledger, asked)
    provider = Scripted()

    said = await outcome(dispatcher(ledger, provider).send(send(asked, SMS), SetClock()))

    assert (said, provider.crossed) == (f"barred: {reason}", [])
    assert await ledger.attempts.find(attempt_key(asked.key, SMS)) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [({"sms_consent": False}, "no_consent"), ({"phone": None}, "no_address")],
)
async def test_who_may_not_be_written_to_is_not(
    ledger: Ledger, changes: dict[str, object], reason: str
) -> None:
    person = request().recipient.model_copy(update=changes)
    asked = await admitted(ledger, request(recipient=person))
    provider = Scripted()

    said = await outcome(dispatcher(ledger, provider).send(send(asked, SMS), SetClock()))

    assert (said, provider.crossed) == (f"barred: {reason}", [])


async def test_nothing_leaves_at_expiry(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    provider = Scripted()

    said = await outcome(dispatcher(ledger, provider).send(send(asked, expires_at=NOW), SetClock()))

    assert (said, provider.crossed) == ("barred: expired", [])


@BARS
async def test_what_is_barred_now_may_have_left_before(ledger: Ledger, bar: Bar, reason: str) -> None:
    asked = await admitted(ledger)
    key = attempt_key(asked.key, SMS)
    await ledger.attempts.claim(key, provider="first", address_hash="5" * 64, at=after(minutes=-1))
    await bar(ledger, asked)
    provider = Scripted("first", HONOURS)

    receipt = await dispatcher(ledger, provider).send(send(asked, SMS), SetClock())

    assert (receipt.dispatch, receipt.provider, receipt.at) == ("ambiguous", "first", after(minutes=-1))
    assert receipt.clearance is not None
    assert (receipt.clearance.reason, provider.crossed) == (reason, [])


@pytest.mark.parametrize(("before", "said"), [(False, "Misconfigured"), (True, "Ambiguous")])
async def test_a_provider_that_is_gone_proves_nothing_about_an_earlier_dispatch(
    ledger: Ledger, *, before: bool, said: str
) -> None:
    asked = await admitted(ledger)
    if before:
        await claimed(ledger, asked, by="gone")
    call = send(asked)
    lost = call.model_copy(update={"watch": call.watch.model_copy(update={"provider": "gone"})})

    with pytest.raises(ApplicationError, match="provider 'gone' is not known") as caught:
        await dispatcher(ledger, Scripted()).send(lost, SetClock())

    assert caught.value.type == said


async def test_a_message_that_cannot_be_written_claims_nothing(ledger: Ledger) -> None:
    asked = await admitted(ledger, request(fields={"name": "Anna"}))
    provider = Scripted()

    with pytest.raises(FieldError, match="reset_url: missing"):
        await dispatcher(ledger, provider).send(send(asked), SetClock())

    assert provider.crossed == []
    assert await ledger.attempts.find(attempt_key(asked.key, EMAIL)) is None
