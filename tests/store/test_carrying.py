"""What carries a challenge is claimed only as the challenge's own message, its last, and while it is open."""

import asyncio
from datetime import datetime, timedelta

import pytest

from activities.store.attempts import Barred, Claim, Fresh
from activities.store.carrying import Bar
from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from activities.store.ledger import Ledger
from activities.store.notices import Terms
from tests.store.challenge_facts import EXPIRES, ID, asked, challenge, elsewhere, opened
from tests.store.facts import DIGEST, EMAIL_HASH, NOW, POLICY, SMS_HASH
from workflows.policy.keys import attempt_key, delivery_event
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.verification import Denial
from workflows.policy.words import ChallengeState, Channel

Ledgers = tuple[Ledger, Ledger]


async def test_what_is_no_message_of_a_challenge_is_not_claimed(ledger: Ledger) -> None:
    await opened(ledger)
    key = await admitted(ledger)

    assert await claim_text(ledger, key, address_hash=EMAIL_HASH) == Barred(Bar.FOREIGN)
    assert await ledger.attempts.find(key) is None
    assert await claim_text(ledger, key) == Fresh(dispatch=1)


@pytest.mark.parametrize("state", [ChallengeState.DEAD, ChallengeState.EXPIRED, ChallengeState.WITHDRAWN])
async def test_nothing_is_claimed_for_a_challenge_that_is_over(ledger: Ledger, state: ChallengeState) -> None:
    await opened(ledger)
    key = await admitted(ledger)
    await ledger.challenges.end(ID, state, at=NOW)

    assert await claim_text(ledger, key) == Barred(Bar.OVER)


async def test_nothing_is_claimed_at_the_moment_of_expiry(ledger: Ledger) -> None:
    await opened(ledger)
    key = await admitted(ledger)

    assert await claim_text(ledger, key, at=EXPIRES) == Barred(Bar.OVER)
    assert await claim_text(ledger, key, at=EXPIRES - timedelta(microseconds=1)) == Fresh(dispatch=1)


async def test_a_message_is_not_claimed_after_a_later_one_was_asked_for(ledger: Ledger) -> None:
    await opened(ledger)
    first, second = await admitted(ledger), await admitted(ledger, 2)
    await asked(ledger)

    assert await claim_text(ledger, first) == Barred(Bar.SUPERSEDED)
    assert await claim_text(ledger, second) == Fresh(dispatch=1)


async def test_of_a_claim_and_a_wish_for_another_message_one_sees_the_other(ledgers: Ledgers) -> None:
    for number in range(10):
        new = challenge(f"racing-{number}", account=f"account-{number}")
        await opened(ledgers[0], new, to=elsewhere(new.id))
        key = await admitted(ledgers[0], of=new)

        claimed, wished = await asyncio.gather(
            claim_text(ledgers[0], key, address_hash=str(elsewhere(new.id).phone)),
            asked(ledgers[1], challenge_id=new.id),
        )

        is_asked = isinstance(wished, DeliveryRow)
        assert claimed == (Barred(Bar.SUPERSEDED) if is_asked else Fresh(dispatch=1))
        assert is_asked or wished == (Denial.AMBIGUOUS, None)


async def admitted(ledger: Ledger, number: int = 1, *, of: ChallengeRow | None = None) -> str:
    """Admit the notice of a message, and return the key of its text."""
    of = of or challenge()
    event_id = delivery_event(of.id, number)
    request = NoticeRequest(kind=of.kind, event_id=event_id, recipient=Recipient(id=of.account_id))
    await ledger.notices.admit(request, Terms(POLICY, DIGEST, EXPIRES, f"run-{number}"), at=NOW)
    return attempt_key(request.key, Channel.SMS, number)


async def claim_text(ledger: Ledger, key: str, *, address_hash: str = SMS_HASH, at: datetime = NOW) -> Claim:
    return await ledger.attempts.claim(
        key, provider="sandbox", address_hash=address_hash, at=at, carries=True
    )
