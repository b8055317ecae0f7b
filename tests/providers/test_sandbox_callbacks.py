"""Callbacks of the sandbox: told twice, out of order, altered, stale, or to nobody."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest

from activities.providers.base import Callback
from activities.providers.errors import Forged
from activities.variables import Credential
from sandbox.config import Config
from sandbox.fates import RECOVERS_AFTER, Fate
from tests.providers.manners import BEGINNING, SCALE, Clock, House, house, message
from tests.providers.scripted import Received, Scripted, answer, scripted
from workflows.policy.words import Status

Told = tuple[House, list[Received]]


def as_called(received: Received) -> Callback:
    return Callback(received.body, received.headers)


@pytest.fixture(scope="module")
async def told(client: httpx.AsyncClient) -> AsyncIterator[Told]:
    """A message that was deferred and then delivered, and what was called back about it."""
    async with scripted(answer(200)) as receiver:
        config = Config(callback_url=f"{receiver.url}/callbacks", duplicate_callbacks=True)
        async with house(client, config) as served:
            await served.provider.send(message(Fate.DEFERRED, "told"))
            yield served, await receiver.received(4)


async def test_each_event_is_called_back_twice_and_is_the_same_event(told: Told) -> None:
    served, calls = told
    for call in calls:
        await served.provider.verify(as_called(call))
    events = [event for call in calls for event in served.provider.parse(as_called(call))]

    assert [event.status for event in events] == [Status.TEMPORARY_FAILURE] * 2 + [Status.DELIVERED] * 2
    assert [event.event_id for event in events[:2]] == [events[0].event_id] * 2
    assert len({event.event_id for event in events}) == 2
    assert {event.attempt_key for event in events} == {"told"}
    assert len({event.provider_id for event in events}) == 1


async def test_events_that_arrive_in_the_wrong_order_keep_their_own_times(told: Told) -> None:
    served, calls = told
    late, early = (served.provider.parse(as_called(calls[index]))[0] for index in (3, 0))

    assert (late.status, early.status) == (Status.DELIVERED, Status.TEMPORARY_FAILURE)
    assert early.provider_at == BEGINNING
    assert late.provider_at == BEGINNING + RECOVERS_AFTER * SCALE


async def test_a_callback_that_nobody_takes_is_tried_three_times(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(500)
    async with house(client, Config(callback_url=script.url)) as served:
        await served.provider.send(message(Fate.ACCEPTED, "given-up"))
        calls = await script.received(3)

    assert len({json.loads(call.body)["event_id"] for call in calls}) == 1
    assert len(script.requests) == 3


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("sandbox-signature", ""),
        ("sandbox-signature", "0" * 64),
        ("sandbox-signature", "Grüße"),
        ("sandbox-timestamp", ""),
        ("sandbox-timestamp", "1"),
        ("sandbox-timestamp", "9" * 5000),
    ],
    ids=range(6),
)
async def test_a_forged_callback_is_not_believed(told: Told, header: str, value: str) -> None:
    served, calls = told

    with pytest.raises(Forged):
        await served.provider.verify(Callback(calls[0].body, {**calls[0].headers, header: value}))


async def test_one_altered_byte_or_another_secret_is_not_believed(told: Told) -> None:
    served, calls = told
    altered = calls[0].body.replace(b"deferred", b"deferreD")

    with pytest.raises(Forged, match="signature"):
        await served.provider.verify(Callback(altered, calls[0].headers))
    with pytest.raises(Forged, match="signature"):
        await replace(served.provider, secret=Credential("another")).verify(as_called(calls[0]))


@pytest.mark.parametrize("age", [-300, 0, 300])
async def test_a_callback_is_believed_for_five_minutes(told: Told, age: int) -> None:
    served, calls = told
    provider = replace(served.provider, clock=Clock(BEGINNING + timedelta(seconds=age)))

    await provider.verify(as_called(calls[0]))


@pytest.mark.parametrize("age", [-301, 301])
async def test_a_stale_callback_is_not_believed(told: Told, age: int) -> None:
    served, calls = told
    provider = replace(served.provider, clock=Clock(BEGINNING + timedelta(seconds=age)))

    with pytest.raises(Forged, match="too far from now"):
        await provider.verify(as_called(calls[0]))
