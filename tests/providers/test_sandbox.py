"""The sandbox's adapter against the sandbox itself: every fate, every fault, both manners."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from sandbox.config import Config
from sandbox.fates import BOUNCES_AFTER, LATE_AFTER, RECOVERS_AFTER, Fate
from sandbox.mailroom import KEY_WINDOW
from tests.providers.manners import SCALE, House, house, message
from workflows.policy.words import Channel, Status

MANNERS = pytest.mark.parametrize("house_of", [True, False], indirect=True, ids=["honouring", "plain"])


@pytest.fixture(scope="module")
async def honouring(client: httpx.AsyncClient) -> AsyncIterator[House]:
    async with house(client, Config(honours_keys=True)) as served:
        yield served


@pytest.fixture(scope="module")
async def plain(client: httpx.AsyncClient) -> AsyncIterator[House]:
    async with house(client, Config(honours_keys=False)) as served:
        yield served


@pytest.fixture
def house_of(request: pytest.FixtureRequest, honouring: House, plain: House) -> House:
    return honouring if request.param else plain


@pytest.mark.parametrize("channel", Channel)
@pytest.mark.parametrize(
    ("fate", "status", "is_final", "code"),
    [
        (Fate.ACCEPTED, Status.ACCEPTED, False, None),
        (Fate.DELIVERED, Status.DELIVERED, True, None),
        (Fate.BOUNCED, Status.INVALID_RECIPIENT, True, "5.1.1"),
        (Fate.BLOCKED, Status.REJECTED, True, "5.7.1"),
        (Fate.FULL, Status.TEMPORARY_FAILURE, True, "5.2.2"),
        (Fate.DEFERRED, Status.TEMPORARY_FAILURE, False, "4.2.0"),
        (Fate.SILENT, Status.PENDING, False, None),
        (Fate.LATE, Status.PENDING, False, None),
        (Fate.ODD, Status.UNRECOGNIZED, False, None),
        (Fate.BOUNCED_LATER, Status.DELIVERED, True, None),
    ],
)
@MANNERS
async def test_a_message_meets_the_fate_in_its_address(
    *, house_of: House, channel: Channel, fate: Fate, status: Status, is_final: bool, code: str | None
) -> None:
    sent = message(fate, f"fate-{fate}-{channel}", channel)
    receipt = await house_of.provider.send(sent)

    seen = await house_of.state(sent, receipt.provider_id)

    assert seen is not None
    assert (receipt.status, seen.status, seen.is_final, seen.code) == (Status.PENDING, status, is_final, code)
    assert seen.attempt_key == sent.key
    assert seen.provider_at is not None


@pytest.mark.parametrize(
    ("fate", "wait", "before", "after"),
    [
        (Fate.DEFERRED, RECOVERS_AFTER, Status.TEMPORARY_FAILURE, Status.DELIVERED),
        (Fate.LATE, LATE_AFTER, Status.PENDING, Status.DELIVERED),
        (Fate.BOUNCED_LATER, BOUNCES_AFTER, Status.DELIVERED, Status.INVALID_RECIPIENT),
        (Fate.SILENT, timedelta(days=30), Status.PENDING, Status.PENDING),
    ],
)
async def test_a_timed_fate_turns_when_its_scaled_time_has_come(
    plain: House, fate: Fate, wait: timedelta, before: Status, after: Status
) -> None:
    sent = message(fate, f"timed-{fate}")
    receipt = await plain.provider.send(sent)
    seen = []
    for turn in (wait * SCALE - timedelta(milliseconds=1), timedelta(milliseconds=1)):
        plain.clock.turn(turn)
        seen.append(await plain.state(sent, receipt.provider_id))

    assert [one and one.status for one in seen] == [before, after]


async def test_a_lost_reply_is_found_and_repeated_by_its_key(honouring: House) -> None:
    sent = message(Fate.LOST, "lost-honouring")
    with pytest.raises(Ambiguous):
        await honouring.provider.send(sent)
    found = await honouring.state(sent, None)
    repeated = await honouring.provider.send(sent)

    assert found is not None
    assert found.status is Status.DELIVERED
    assert repeated.provider_id == found.provider_id
    assert await honouring.submissions(sent.key) == ["accepted", "repeated"]
    assert len(await honouring.accepted(sent.key)) == 1


async def test_a_lost_reply_is_a_second_message_where_no_key_is_honoured(plain: House) -> None:
    sent = message(Fate.LOST, "lost-plain")
    for _ in range(2):
        with pytest.raises(Ambiguous):
            await plain.provider.send(sent)

    assert await plain.state(sent, None) is None
    assert len(await plain.accepted(sent.key)) == 2


@MANNERS
async def test_a_slow_reply_is_ambiguous_and_the_message_exists(house_of: House) -> None:
    sent = message(Fate.SLOW, "slow")

    with pytest.raises(Ambiguous, match="time budget spent"):
        await house_of.provider.send(sent)

    assert len(await house_of.accepted(sent.key)) == 1


@MANNERS
async def test_a_busy_provider_takes_the_third_try(house_of: House) -> None:
    sent = message(Fate.BUSY, "busy")
    for _ in range(2):
        with pytest.raises(NotSent) as caught:
            await house_of.provider.send(sent)
        assert caught.value.retry_after == timedelta(seconds=1)

    assert (await house_of.provider.send(sent)).status is Status.PENDING
    assert await house_of.submissions(sent.key) == ["busy", "busy", "accepted"]


@pytest.mark.parametrize(("fate", "error"), [(Fate.DOWN, NotSent), (Fate.DENIED, Misconfigured)])
@MANNERS
async def test_a_refused_call_leaves_no_message(house_of: House, fate: Fate, error: type[Exception]) -> None:
    sent = message(fate, f"refused-{fate}")

    with pytest.raises(error):
        await house_of.provider.send(sent)

    assert await house_of.accepted(sent.key) == []
    assert len(await house_of.submissions(sent.key)) == 1


async def test_a_message_is_unknown_before_it_was_sent(honouring: House) -> None:
    sent = message(Fate.DELIVERED, "never-sent")

    assert await honouring.state(sent, None) is None
    assert await honouring.state(sent, "sb_unknown") is None


async def test_a_key_that_stands_for_another_content_is_ambiguous_and_not_repeatable(
    honouring: House,
) -> None:
    sent = message(Fate.DELIVERED, "mismatch")
    await honouring.provider.send(sent)

    with pytest.raises(Ambiguous) as caught:
        await honouring.provider.send(replace(sent, text="another content"))

    assert not caught.value.repeatable
    assert len(await honouring.accepted(sent.key)) == 1


async def test_a_key_is_honoured_as_long_as_the_adapter_says(honouring: House) -> None:
    sent = message(Fate.DELIVERED, "window")
    window = honouring.provider.capabilities(sent.channel).idempotent_for
    assert window == KEY_WINDOW
    first = await honouring.provider.send(sent)
    honouring.clock.turn(window - timedelta(seconds=1))
    second = await honouring.provider.send(sent)
    honouring.clock.turn(timedelta(seconds=1))
    third = await honouring.provider.send(sent)

    assert first.provider_id == second.provider_id != third.provider_id


async def test_a_suppressed_address_is_rejected_and_not_invalid(plain: House) -> None:
    sent = replace(message(Fate.DELIVERED, "suppressed"), to="Listed@example.test")
    url = f"{plain.running.url}/v1/suppressions"
    await plain.client.post(url, json={"address": "listed@example.test"})
    with pytest.raises(Rejected) as caught:
        await plain.provider.send(sent)
    await plain.client.delete(f"{url}/listed@example.test")

    assert caught.value.reported.status is Status.REJECTED
    assert (await plain.provider.send(sent)).provider_id
