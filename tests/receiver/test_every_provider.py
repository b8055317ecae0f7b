"""Every adapter that is called back is heard through HTTP, by what its provider documents and signs."""

from collections.abc import Iterator

import httpx
import pytest

from activities.providers.base import Callback
from activities.store.ledger import Ledger
from tests.providers.subject import NOW, Heard, Subject
from tests.providers.subjects import SUBJECTS
from tests.receiver.deployed import PUBLIC, Engine, calling, dispatched, is_problem, parts
from workflows.policy.words import Source


def _first() -> Iterator[tuple[Subject, Heard]]:
    """Yield of every adapter on every channel the first callback that names an attempt."""
    for subject in SUBJECTS:
        told = [each for each in subject.heard if each.status is not None and each.names_attempt]
        if told:
            yield subject, told[0]


SIGNED = [pytest.param(*each, id=each[0].name) for each in _first()]


REFUSED = {"mailgun": 406, "vonage": 503}
"""Mailgun takes 406 alone for a refusal, and Vonage brings again, signed, what it forgot to sign."""


async def called(client: httpx.AsyncClient, provider: str, callback: Callback) -> httpx.Response:
    """Call as the provider does, at the address that it signed, or at ours where it signs none."""
    path = callback.url.removeprefix(PUBLIC) or f"/callbacks/{provider}"
    return await client.request(callback.method, path, content=callback.body, headers=dict(callback.headers))


@pytest.mark.parametrize(("subject", "heard"), SIGNED)
async def test_a_signed_callback_reaches_its_notice(ledger: Ledger, subject: Subject, heard: Heard) -> None:
    engine, adapter = Engine(), subject.at(httpx.AsyncClient(), "https://api.example.test")
    await dispatched(ledger, adapter.name, subject.message.key)
    async with calling(parts(ledger, engine, [adapter])) as client:
        answer = await called(client, adapter.name, heard.callback)
    assert (answer.status_code, answer.content) == (200, b"")
    (seen,) = engine.heard
    assert (seen.attempt_key, seen.status, seen.is_final) == (
        subject.message.key,
        heard.status,
        heard.is_final,
    )
    assert (seen.source, seen.at) == (Source.CALLBACK, NOW)


@pytest.mark.parametrize(("subject", "heard"), SIGNED)
async def test_the_same_without_what_is_signed_reaches_nobody(
    ledger: Ledger, subject: Subject, heard: Heard
) -> None:
    engine, adapter = Engine(), subject.at(httpx.AsyncClient(), "https://api.example.test")
    await dispatched(ledger, adapter.name, subject.message.key)
    async with calling(parts(ledger, engine, [adapter])) as client:
        bare = Callback(b"{}", {}, heard.callback.url, heard.callback.method)
        answer = await called(client, adapter.name, bare)
    assert is_problem(answer, REFUSED.get(adapter.name, 403))
    assert engine.heard == []
    assert await ledger.strays.count() == {}


def test_every_adapter_that_is_called_back_is_here() -> None:
    assert {each.values[0].name for each in SIGNED} == {each.name for each in SUBJECTS if each.heard}  # type: ignore[union-attr]
