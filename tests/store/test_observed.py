"""What would have been sent, counted beside what callbacks and consumption showed."""

from collections import Counter

import pytest

from activities.store.ledger import Ledger
from activities.store.notices import Terms
from activities.store.observed import Seen
from tests.store.challenge_facts import challenge, code, elsewhere, opened
from tests.store.facts import DIGEST, EMAIL_HASH, EXPIRY, NOW, POLICY, REQUEST, after, report
from workflows.policy.keys import attempt_key, attempted
from workflows.policy.models import Result
from workflows.policy.verification import KIND
from workflows.policy.words import Channel, Outcome, Source, Status, Verdict

OBSERVER = "observe"


async def dispatched(
    ledger: Ledger,
    number: int,
    *,
    provider: str = OBSERVER,
    channel: Channel = Channel.EMAIL,
    **changes: str,
) -> str:
    """Put a message of a notice of its own on record, that many hours later; return its attempt key."""
    request = REQUEST.model_copy(update={"event_id": f"event-{number}", **changes})
    await ledger.notices.admit(request, Terms(POLICY, DIGEST, EXPIRY, "run-1"), at=NOW)
    key, at = attempt_key(request.key, channel), after(hours=number)
    await ledger.attempts.claim(key, provider=provider, address_hash=EMAIL_HASH, at=at)
    sent = report(Status.PENDING, key=key, source=Source.SEND, provider_id=None)
    await ledger.evidence.observe(sent, at=NOW)
    return key


def counted(*came: str) -> Seen:
    """Return the line of emails that came to this, each."""
    counts = Counter(came)
    return Seen(kind=REQUEST.kind, channel=Channel.EMAIL, would_have_sent=counts.total(), **counts)


async def test_nothing_observed_is_an_empty_report(ledger: Ledger) -> None:
    await dispatched(ledger, 0, provider="sandbox")

    assert await ledger.observed(OBSERVER) == ()


@pytest.mark.parametrize(
    ("status", "is_final", "came"),
    [
        (Status.DELIVERED, True, "delivered"),
        (Status.ACCEPTED, False, "accepted"),
        (Status.REJECTED, True, "failed"),
        (Status.INVALID_RECIPIENT, True, "failed"),
        (Status.TEMPORARY_FAILURE, True, "failed"),
        (Status.REJECTED, False, "silent"),
        (Status.UNRECOGNIZED, False, "silent"),
        (Status.TEMPORARY_FAILURE, False, "silent"),
        (Status.PENDING, False, "silent"),
    ],
)
async def test_each_is_counted_by_what_callbacks_said_of_it(
    ledger: Ledger, *, status: Status, is_final: bool, came: str
) -> None:
    key = await dispatched(ledger, 0)
    await dispatched(ledger, 1)
    said = report(status, key=key, source=Source.CALLBACK, is_final=is_final)
    await ledger.evidence.observe(said, at=NOW)

    (line,) = await ledger.observed(OBSERVER)

    assert line == counted("silent", came)


@pytest.mark.parametrize(
    ("said", "came"),
    [
        ([Status.ACCEPTED, Status.DELIVERED], "delivered"),
        ([Status.ACCEPTED, Status.TEMPORARY_FAILURE], "accepted"),
        ([Status.ACCEPTED, Status.REJECTED], "failed"),
        ([Status.DELIVERED, Status.INVALID_RECIPIENT], "delivered"),
        ([Status.REJECTED, Status.DELIVERED], "failed"),
    ],
)
async def test_an_attempt_counts_once_whatever_is_said_of_it(
    ledger: Ledger, said: list[Status], came: str
) -> None:
    key = await dispatched(ledger, 0)
    for status in said:
        is_final = status in {Status.DELIVERED, Status.REJECTED, Status.INVALID_RECIPIENT}
        told = report(status, key=key, source=Source.CALLBACK, is_final=is_final)
        await ledger.evidence.observe(told, at=NOW)

    assert await ledger.observed(OBSERVER) == (counted(came),)


async def test_what_a_callback_says_after_the_close_counts_as_well(ledger: Ledger) -> None:
    key = await dispatched(ledger, 0)
    closed = Result(key=attempted(key).notice_key, outcome=Outcome.EXPIRED, rule="expired", closed_at=EXPIRY)
    await ledger.notices.close(closed, (), at=EXPIRY)
    told = report(Status.DELIVERED, key=key, source=Source.CALLBACK, is_final=True)
    did = await ledger.evidence.observe(told, at=EXPIRY)

    assert did.verdict is Verdict.LATE
    assert await ledger.observed(OBSERVER) == (counted("delivered"),)


async def test_only_callbacks_count(ledger: Ledger) -> None:
    key = await dispatched(ledger, 0)
    await ledger.evidence.observe(report(Status.DELIVERED, key=key, source=Source.POLL), at=NOW)

    assert await ledger.observed(OBSERVER) == (counted("silent"),)


async def test_a_message_with_a_challenge_is_set_beside_its_consumption(ledger: Ledger) -> None:
    for name in ("used", "open"):
        await opened(ledger, challenge(name, account=REQUEST.recipient.id), to=elsewhere(name))
        await dispatched(ledger, 0, channel=Channel.SMS, kind=KIND, event_id=name)
    await ledger.challenges.consume("used", code("used"), "try-1", at=NOW)
    await dispatched(ledger, 0)

    verification, reset = sorted(await ledger.observed(OBSERVER), key=lambda line: line.kind == REQUEST.kind)

    assert (verification.kind, verification.channel, verification.would_have_sent) == (KIND, Channel.SMS, 2)
    assert (verification.consumed, verification.challenges) == (1, 2)
    assert (reset.consumed, reset.challenges) == (None, None)


async def test_each_channel_of_each_kind_has_a_line(ledger: Ledger) -> None:
    await dispatched(ledger, 0)
    await dispatched(ledger, 1, channel=Channel.SMS)

    lines = await ledger.observed(OBSERVER)

    assert [(line.channel, line.would_have_sent) for line in lines] == [(Channel.EMAIL, 1), (Channel.SMS, 1)]


async def test_a_report_can_begin_at_an_instant(ledger: Ledger) -> None:
    for number in range(3):
        await dispatched(ledger, number)

    (line,) = await ledger.observed(OBSERVER, after(hours=1))

    assert line.would_have_sent == 2
