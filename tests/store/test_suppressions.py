import asyncio
from datetime import datetime

import pytest

from activities.store.errors import StoreError
from activities.store.ledger import Ledger
from tests.store.facts import EMAIL_HASH, KEY, NOW, SMS_HASH, after
from workflows.policy.words import Channel, SuppressionReason

INVALID = SuppressionReason.INVALID_RECIPIENT


async def suppress(
    ledger: Ledger,
    *,
    reason: SuppressionReason = INVALID,
    channel: Channel = Channel.EMAIL,
    observed_at: datetime = NOW,
) -> bool:
    return await ledger.suppressions.put(
        EMAIL_HASH, channel, reason, source_notice=KEY, observed_at=observed_at
    )


async def lift(ledger: Ledger, *, at: datetime = NOW) -> bool:
    return await ledger.suppressions.lift(EMAIL_HASH, Channel.EMAIL, INVALID, by="ops", at=at)


async def test_a_suppressed_address_is_known_by_its_reasons(ledger: Ledger) -> None:
    await suppress(ledger)
    await suppress(ledger, reason=SuppressionReason.UNSUBSCRIBED)

    assert await ledger.suppressions.active(EMAIL_HASH, Channel.EMAIL) == {
        INVALID,
        SuppressionReason.UNSUBSCRIBED,
    }


async def test_another_channel_and_another_address_are_not_suppressed(ledger: Ledger) -> None:
    await suppress(ledger)

    assert await ledger.suppressions.active(EMAIL_HASH, Channel.SMS) == frozenset()
    assert await ledger.suppressions.active(SMS_HASH, Channel.EMAIL) == frozenset()


async def test_one_of_many_that_suppress_at_once_writes_the_row(ledger: Ledger) -> None:
    put = await asyncio.gather(*[suppress(ledger) for _ in range(10)])

    assert put.count(True) == 1


async def test_a_lifted_suppression_no_longer_holds_and_the_others_do(ledger: Ledger) -> None:
    await suppress(ledger)
    await suppress(ledger, reason=SuppressionReason.COMPLAINT)

    assert await lift(ledger, at=after(hours=1))
    assert await ledger.suppressions.active(EMAIL_HASH, Channel.EMAIL) == {SuppressionReason.COMPLAINT}


async def test_lifting_what_is_not_suppressed_does_nothing(ledger: Ledger) -> None:
    assert not await lift(ledger)


async def test_an_old_report_does_not_bring_back_what_a_person_has_lifted(ledger: Ledger) -> None:
    await suppress(ledger)
    await lift(ledger, at=after(hours=1))

    assert not await suppress(ledger)
    assert await ledger.suppressions.active(EMAIL_HASH, Channel.EMAIL) == frozenset()


async def test_a_new_report_suppresses_again_after_a_lifting(ledger: Ledger) -> None:
    await suppress(ledger)
    await lift(ledger, at=after(hours=1))

    assert await suppress(ledger, observed_at=after(hours=2))
    assert await ledger.suppressions.active(EMAIL_HASH, Channel.EMAIL) == {INVALID}
    assert await lift(ledger, at=after(hours=3))


@pytest.mark.parametrize("address", ["anna@example.test", "+4915112345678", ""])
async def test_the_database_refuses_what_is_no_hash(ledger: Ledger, address: str) -> None:
    with pytest.raises(StoreError) as refused:
        await ledger.suppressions.put(address, Channel.EMAIL, INVALID, source_notice=KEY, observed_at=NOW)

    assert not address or address not in str(refused.value)
