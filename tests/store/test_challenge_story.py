"""Four facts of a verification, each with its own clock."""

import json

from activities.store.challenge_rows import Delivered
from activities.store.ledger import Ledger
from tests.store.challenge_facts import ACCOUNT, EXPIRES, ID, asked, claimed, digest, link, opened, wrong
from tests.store.facts import EMAIL_HASH, NOW, SMS_HASH, after, report
from workflows.policy.models import Result
from workflows.policy.words import ChallengeState, Channel, Outcome, Phase, Source, Status

FIRST = f"signup_verification:{ID}:{ACCOUNT}"


async def test_a_verification_that_is_not_on_record_has_no_story(ledger: Ledger) -> None:
    assert await ledger.challenge_story(ID) is None


async def test_a_story_has_the_published_keys_and_no_secret(ledger: Ledger) -> None:
    await opened(ledger)
    story = await ledger.challenge_story(ID)

    assert story is not None
    told = story.model_dump_json()
    assert list(json.loads(told)) == [
        "challenge_id",
        "account_id",
        "purpose",
        "method",
        "state",
        "created_at",
        "deliveries",
        "consumed_at",
        "wrong_codes",
        "expires_at",
        "ended_at",
    ]
    kept = [digest(what, ID) for what in ("link", "code", "result")] + [EMAIL_HASH, SMS_HASH]
    assert [each for each in (*kept, digest("nonce", ID, "run-1")) if each in told] == []


async def test_the_four_facts_have_a_clock_each(ledger: Ledger) -> None:
    await opened(ledger)
    attempt = await claimed(ledger)
    await ledger.evidence.observe(
        report(Status.DELIVERED, key=attempt, source=Source.SEND), at=after(seconds=20)
    )
    closed = Result(
        key=FIRST,
        outcome=Outcome.DELIVERED,
        channel=Channel.SMS,
        rule="settled",
        closed_at=after(seconds=21),
    )
    await ledger.notices.close(closed, (), at=after(seconds=21))
    await asked(ledger, at=after(minutes=1))
    await ledger.challenges.consume(ID, wrong(), "try-1", at=after(minutes=2))
    await ledger.challenges.consume(ID, link(), "try-2", at=after(minutes=3))

    story = await ledger.challenge_story(ID)

    assert story is not None
    assert (story.created_at, story.consumed_at, story.ended_at) == (NOW, after(minutes=3), after(minutes=3))
    assert (story.state, story.wrong_codes, story.expires_at) == (ChallengeState.CONSUMED, 1, EXPIRES)
    assert story.deliveries == (
        Delivered(
            number=1,
            notice_key=FIRST,
            is_automatic=False,
            asked_at=NOW,
            phase=Phase.CLOSED,
            outcome=Outcome.DELIVERED,
            closed_at=after(seconds=21),
        ),
        Delivered(
            number=2,
            notice_key=f"signup_verification:{ID}.2:{ACCOUNT}",
            is_automatic=False,
            asked_at=after(minutes=1),
        ),
    )


async def test_a_delivery_consumes_nothing(ledger: Ledger) -> None:
    await opened(ledger)
    attempt = await claimed(ledger)

    await ledger.evidence.observe(report(Status.DELIVERED, key=attempt), at=after(seconds=20))

    story = await ledger.challenge_story(ID)
    assert story is not None
    assert (story.state, story.consumed_at) == (ChallengeState.ACTIVE, None)


async def test_a_consumption_says_nothing_of_the_transport(ledger: Ledger) -> None:
    await opened(ledger)
    attempt = await claimed(ledger)

    await ledger.challenges.consume(ID, link(), "try-1", at=after(minutes=3))

    story = await ledger.challenge_story(ID)
    assert story is not None
    assert [(each.phase, each.outcome) for each in story.deliveries] == [(Phase.CLAIMED, None)]
    row = await ledger.attempts.find(attempt)
    assert row is not None
    assert row.status is None
