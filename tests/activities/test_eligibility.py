"""Each check is on record with its answer; what a report forbids holds from then on."""

import pytest
from typing_extensions import override

from activities.eligibility import LedgerEligibility
from activities.gate import Gate
from activities.store.decisions import Answered, Decisions
from activities.store.errors import Unreachable
from activities.store.ledger import Ledger
from tests.activities.given import (
    EMAIL,
    EXPIRY,
    KEYRING,
    NOW,
    SILENT,
    SMS,
    admitted,
    after,
    decision,
    engine,
    story_of,
)
from workflows import calls
from workflows.policy.controls import Control, Switch
from workflows.policy.eligibility import Answer
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Observation
from workflows.policy.words import Channel, Source, Status, SuppressionReason


def eligibility(ledger: Ledger) -> LedgerEligibility:
    return LedgerEligibility(Gate(ledger, KEYRING), SILENT)


def check(asked: NoticeRequest, channel: Channel = EMAIL, number: int = 1) -> calls.Check:
    return calls.Check(
        notice_key=asked.key,
        recipient=asked.recipient,
        channel=channel,
        is_fallback=channel is SMS,
        essential=True,
        expires_at=EXPIRY,
        decision=decision(asked, number),
    )


def stop(asked: NoticeRequest) -> calls.Suppress:
    return calls.Suppress(
        notice_key=asked.key,
        channel=SMS,
        address=str(asked.recipient.phone),
        reason=SuppressionReason.STOPPED,
        observed_at=NOW,
    )


async def test_a_check_goes_on_record_with_its_answer(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    call = check(asked)

    clearance = await engine().run(eligibility(ledger).check, call)

    [kept] = (await story_of(ledger, asked)).decisions
    assert (clearance.answer, clearance.reason) == (Answer.YES, None)
    assert (kept.run, kept.number, kept.inputs) == ("run-1", 1, call.decision.progress)
    assert (kept.answer, kept.reason, kept.answered_at) == ("yes", None, clearance.at)


async def test_a_no_goes_on_record_with_its_reason(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    await engine().run(eligibility(ledger).suppress, stop(asked))

    clearance = await engine().run(eligibility(ledger).check, check(asked, SMS))

    [kept] = (await story_of(ledger, asked)).decisions
    assert (clearance.answer, clearance.reason) == (Answer.NO, "suppressed: stopped")
    assert (kept.answer, kept.reason) == ("no", "suppressed: stopped")


async def test_a_check_that_is_held_says_when_to_ask_again(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    off = Control(on=False)
    await ledger.controls.put(Switch.DISPATCH, off, by="ops", why="an incident", at=NOW)

    clearance = await engine().run(eligibility(ledger).check, check(asked))

    assert clearance.answer is Answer.HELD
    assert clearance.ask_again_at is not None
    assert clearance.at < clearance.ask_again_at < EXPIRY


class Full(Decisions):
    """A ledger that can be read, and takes no decision."""

    @override
    async def put(self, *_: object, **__: object) -> Answered:
        raise Unreachable("ledger: cannot be reached")


async def test_an_answer_that_cannot_be_put_on_record_is_no_answer(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    ledger.decisions = Full(ledger._engine)

    with pytest.raises(Unreachable):
        await engine().run(eligibility(ledger).check, check(asked))


async def test_a_retried_check_is_one_decision(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    for number in (1, 1, 2):
        env = engine(after(seconds=number))
        await env.run(eligibility(ledger).check, check(asked, number=number))

    assert [each.number for each in (await story_of(ledger, asked)).decisions] == [1, 2]


async def test_a_retried_check_acts_on_the_answer_that_is_on_record(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    await engine().run(eligibility(ledger).check, check(asked, SMS))
    await engine().run(eligibility(ledger).suppress, stop(asked))

    again = await engine(after(seconds=5)).run(eligibility(ledger).check, check(asked, SMS))

    [kept] = (await story_of(ledger, asked)).decisions
    assert (again.answer, again.at) == (Answer.YES, kept.answered_at)


async def test_a_suppression_names_its_notice_and_never_the_address(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    call = stop(asked)
    hashed = KEYRING.address_hash(SMS, "+12025550182")

    for _ in range(2):
        await engine().run(eligibility(ledger).suppress, call)

    assert await ledger.suppressions.active(hashed, SMS) == {SuppressionReason.STOPPED}
    assert call.address not in repr(call)
    assert await ledger.suppressions.lift(hashed, SMS, SuppressionReason.STOPPED, by="ops", at=after(days=1))
    assert await ledger.suppressions.active(hashed, SMS) == frozenset(), "twice was once"


async def reported(ledger: Ledger, asked: NoticeRequest, status: Status) -> None:
    """Put an email on record that was sent, and what a callback said of it."""
    key = attempt_key(asked.key, EMAIL)
    await ledger.attempts.claim(key, provider="sandbox", address_hash="e" * 64, at=NOW)
    seen = Observation(
        attempt_key=key,
        event_id="callback",
        source=Source.CALLBACK,
        status=status,
        is_final=status is Status.DELIVERED,
        at=NOW,
    )
    await ledger.evidence.observe(seen, at=NOW)


@pytest.mark.parametrize("status", [Status.DELIVERED, Status.REJECTED, Status.TEMPORARY_FAILURE])
async def test_the_check_of_a_fallback_brings_what_the_ledger_has_of_the_channel_before_it(
    ledger: Ledger, status: Status
) -> None:
    asked = await admitted(ledger)
    await reported(ledger, asked, status)

    fallback = await engine().run(eligibility(ledger).check, check(asked, SMS))
    first = await engine().run(eligibility(ledger).check, check(asked, EMAIL, number=2))

    assert [(each.attempt_key, each.status) for each in fallback.news] == [
        (attempt_key(asked.key, EMAIL), status)
    ]
    assert first.news == ()


async def test_a_dispatch_that_nobody_has_said_anything_of_is_no_news(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    key = attempt_key(asked.key, EMAIL)
    await ledger.attempts.claim(key, provider="sandbox", address_hash="e" * 64, at=NOW)

    clearance = await engine().run(eligibility(ledger).check, check(asked, SMS))

    assert clearance.news == ()
