"""A dispatch that carries a challenge, or that is only observed: decided at the moment of effect."""

import re
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from typing_extensions import override

from activities.gate import Gate
from activities.providers.base import Capabilities
from activities.store.attempts import Attempts, Claim
from activities.store.ledger import Ledger
from tests.activities.challenged import asked_again, opened
from tests.activities.given import (
    EMAIL,
    EXPIRY,
    KEYRING,
    NOW,
    PUBLIC,
    SHIPPED,
    SMS,
    Scripted,
    SetClock,
    admitted,
    after,
    dispatcher,
    outcome,
    row_of,
    send,
    story_of,
)
from workflows import calls
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest
from workflows.policy.words import AttemptState, ChallengeState, Channel, Method, Status


@pytest.mark.parametrize("channel", Channel)
async def test_the_secrets_cross_the_wire_and_are_nowhere_else(ledger: Ledger, channel: Channel) -> None:
    asked, made = await opened(ledger)
    await admitted(ledger, asked)
    provider, call = Scripted(), send(asked, channel)

    receipt = await dispatcher(ledger, provider, public_url=PUBLIC).send(call, SetClock())

    [crossed] = provider.crossed
    for body in (crossed.text, crossed.html or crossed.text):
        assert made.code in body
        assert f"{PUBLIC}/v/{made.link}" in body
    story, row = await story_of(ledger, asked), await ledger.challenges.find(asked.event_id)
    kept = f"{story!r}{row!r}{receipt!r}{call!r}"
    assert made.link not in kept
    # Alone, since any digits may stand in a hash.
    assert not re.search(rf"\b{made.code}\b", kept)


async def test_a_message_that_is_not_essential_carries_the_end_that_was_supplied(ledger: Ledger) -> None:
    sample = SHIPPED.get("weekly_digest").sample
    bare = {name: value for name, value in sample.fields.items() if name != "unsubscribe_url"}
    asked = await admitted(ledger, sample.model_copy(update={"event_id": "week-of-ends", "fields": bare}))
    provider = Scripted()

    await dispatcher(ledger, provider, public_url=PUBLIC).send(send(asked), SetClock())

    [message] = provider.crossed
    assert message.headers["List-Unsubscribe"].startswith(f"<{PUBLIC}/unsubscribe/")
    assert message.headers["List-Unsubscribe"].strip("<>") in message.text


async def ended(ledger: Ledger, asked: NoticeRequest, state: ChallengeState) -> None:
    await ledger.challenges.end(asked.event_id, state, at=NOW)


@pytest.mark.parametrize("state", [ChallengeState.EXPIRED, ChallengeState.DEAD, ChallengeState.WITHDRAWN])
async def test_nothing_is_sent_for_a_challenge_that_is_over(ledger: Ledger, state: ChallengeState) -> None:
    asked, _ = await opened(ledger)
    await admitted(ledger, asked)
    await ended(ledger, asked, state)
    provider, call = Scripted(), send(asked, SMS)

    said = await outcome(dispatcher(ledger, provider, public_url=PUBLIC).send(call, SetClock()))

    assert (said, provider.crossed) == ("barred: challenge_over", [])
    assert await ledger.attempts.find(call.attempt_key) is None


async def test_a_challenge_goes_to_no_address_but_those_it_was_opened_for(ledger: Ledger) -> None:
    asked, _ = await opened(ledger)
    elsewhere = asked.recipient.model_copy(update={"phone": "+12025550882"})
    foreign = await admitted(ledger, asked.model_copy(update={"recipient": elsewhere}))
    provider = Scripted()

    said = await outcome(dispatcher(ledger, provider, public_url=PUBLIC).send(send(foreign, SMS), SetClock()))

    assert (said, provider.crossed) == ("barred: not_its_message", [])


class Overtaken(Attempts):
    """A ledger in which another message is asked for a moment before the claim of this one."""

    def __init__(self, ledger: Ledger, challenge_id: str) -> None:
        super().__init__(ledger._engine)
        self._ledger, self._challenge_id = ledger, challenge_id

    @override
    async def claim(
        self, key: str, *, provider: str, address_hash: str, at: datetime, carries: bool = False
    ) -> Claim:
        await asked_again(self._ledger, self._challenge_id)
        return await super().claim(key, provider=provider, address_hash=address_hash, at=at, carries=carries)


async def test_a_message_that_is_overtaken_at_the_last_moment_is_not_sent(ledger: Ledger) -> None:
    asked, _ = await opened(ledger)
    await admitted(ledger, asked)
    provider, call = Scripted(), send(asked, SMS)
    ledger.attempts = Overtaken(ledger, asked.event_id)

    said = await outcome(dispatcher(ledger, provider, public_url=PUBLIC).send(call, SetClock()))

    assert (said, provider.crossed) == ("barred: superseded", [])
    assert await ledger.attempts.find(call.attempt_key) is None


@pytest.mark.parametrize(("gap", "said"), [(-1, "submitted: pending"), (0, "barred: challenge_over")])
async def test_a_challenge_that_expires_before_its_notice_ends_its_messages_then(
    ledger: Ledger, gap: int, said: str
) -> None:
    asked, _ = await opened(ledger)
    await admitted(ledger, asked)
    call, clock = send(asked, SMS, expires_at=after(hours=1)), SetClock(EXPIRY + timedelta(seconds=gap))

    assert await outcome(dispatcher(ledger, Scripted(), public_url=PUBLIC).send(call, clock)) == said


async def test_a_message_that_may_have_left_stays_in_doubt_when_its_challenge_is_over(ledger: Ledger) -> None:
    asked, _ = await opened(ledger)
    await admitted(ledger, asked)
    call = send(asked, SMS)
    await ledger.attempts.claim(call.attempt_key, provider="first", address_hash="e" * 64, at=NOW)
    await ended(ledger, asked, ChallengeState.DEAD)
    provider = Scripted(can=Capabilities(idempotent_for=timedelta(days=1)))

    receipt = await dispatcher(ledger, provider, public_url=PUBLIC).send(call, SetClock())

    assert (receipt.dispatch, provider.crossed) == (calls.Dispatch.AMBIGUOUS, [])


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (Method.LINK, "Misconfigured, again in 30 s"),
        (Method.BOTH, "Misconfigured, again in 30 s"),
        (Method.CODE, "submitted: pending"),
    ],
)
async def test_a_link_that_begins_nowhere_takes_no_claim(ledger: Ledger, method: Method, said: str) -> None:
    asked, _ = await opened(ledger, method)
    await admitted(ledger, asked)
    provider, call = Scripted(), send(asked, SMS)

    assert await outcome(dispatcher(ledger, provider).send(call, SetClock())) == said

    row = await ledger.attempts.find(call.attempt_key)
    assert (len(provider.crossed), row is not None) == ((1, True) if method is Method.CODE else (0, False))


async def test_a_link_that_begins_nowhere_says_nothing_about_an_earlier_dispatch(ledger: Ledger) -> None:
    asked, _ = await opened(ledger)
    await admitted(ledger, asked)
    call = send(asked, SMS)
    await ledger.attempts.claim(call.attempt_key, provider="first", address_hash="e" * 64, at=NOW)

    assert await outcome(dispatcher(ledger, Scripted()).send(call, SetClock())) == "Ambiguous, again in 30 s"


@dataclass(frozen=True, slots=True)
class Watching(Gate):
    """A gate at which an operator only wants to see."""

    @override
    async def ask(self, call: calls.Check | calls.Send, now: datetime) -> calls.Clearance:
        return (await Gate.ask(self, call, now)).model_copy(update={"observed": True})


async def test_what_is_only_observed_is_on_record_and_reaches_no_provider(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    provider = Scripted(can=Capabilities(reads_by_id=True))
    observed = replace(dispatcher(ledger, provider), gate=Watching(ledger, KEYRING))

    receipt = await observed.send(send(asked), SetClock())

    assert (receipt.dispatch, receipt.provider, receipt.readable) == (
        calls.Dispatch.SUBMITTED,
        "observe",
        False,
    )
    assert receipt.observation is not None
    assert (receipt.observation.status, receipt.observation.raw) == (Status.PENDING, "would have sent")
    row = await row_of(ledger, attempt_key(asked.key, EMAIL))
    assert (row.provider, row.state) == ("observe", AttemptState.SUBMITTED)
    assert (provider.crossed, provider.asked) == ([], [])


async def test_what_was_observed_is_not_sent_later(ledger: Ledger) -> None:
    asked, provider = await admitted(ledger), Scripted()
    now = dispatcher(ledger, provider)
    await replace(now, gate=Watching(ledger, KEYRING)).send(send(asked), SetClock())

    receipt = await now.send(send(asked), SetClock())

    assert (receipt.provider, receipt.readable, provider.crossed) == ("observe", False, [])
