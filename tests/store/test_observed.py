"""What would have been sent, counted beside what callbacks and consumption showed."""

import pytest

from activities.store.ledger import Ledger
from activities.store.notices import Terms
from activities.store.observed import Seen
from tests.store.facts import DIGEST, EMAIL_HASH, EXPIRY, NOW, POLICY, REQUEST, after, report
from workflows.policy.keys import attempt_key
from workflows.policy.words import Channel, Source, Status

OBSERVER = "observe"


async def dispatched(ledger: Ledger, number: int, provider: str = OBSERVER) -> str:
    """Put an email of a notice of its own on record, and return its attempt key."""
    request = REQUEST.model_copy(update={"event_id": f"event-{number}"})
    await ledger.notices.admit(request, Terms(POLICY, DIGEST, EXPIRY, "run-1"), at=NOW)
    key, at = attempt_key(request.key, Channel.EMAIL), after(hours=number)
    await ledger.attempts.claim(key, provider=provider, address_hash=EMAIL_HASH, at=at)
    sent = report(Status.PENDING, key=key, source=Source.SEND, provider_id=None)
    await ledger.evidence.observe(sent, at=NOW)
    return key


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
        (Status.UNRECOGNIZED, False, "silent"),
        (Status.TEMPORARY_FAILURE, False, "silent"),
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

    counts = {"accepted": 0, "delivered": 0, "failed": 0, "silent": 0}
    counts["silent"] += 1
    counts[came] += 1
    expected = Seen(kind=line.kind, channel=Channel.EMAIL, would_have_sent=2, **counts)
    assert line == expected


async def test_a_report_can_begin_at_an_instant(ledger: Ledger) -> None:
    for number in range(3):
        await dispatched(ledger, number)

    (line,) = await ledger.observed(OBSERVER, after(hours=1))

    assert line.would_have_sent == 2
