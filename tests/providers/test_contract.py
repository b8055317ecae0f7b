"""The contract of every adapter: its provider's words, its capabilities, its callbacks."""

from dataclasses import replace

import httpx
import pytest

from activities.providers.base import Message, Provider
from activities.providers.errors import (
    Forged,
    Rejected,
)
from tests.providers.scripted import Scripted, answer
from tests.providers.subjects import EMAIL, PERSONAL, SMS, SUBJECTS, Refusal, Said, Subject
from workflows.policy.words import Status

STATUSES = [
    pytest.param(subject, said, id=f"{subject.name}: {said.fields}")
    for subject in SUBJECTS
    for said in subject.said
]
REFUSALS = [
    pytest.param(subject, refusal, id=f"{subject.name}: {refusal.http} {refusal.fields}")
    for subject in SUBJECTS
    for refusal in subject.refusals
]


@pytest.mark.parametrize("message", [EMAIL, SMS], ids=["email", "sms"])
async def test_an_accepted_send_is_pending_and_has_an_id(provider: Provider, message: Message) -> None:
    reported = await provider.send(message)

    assert (reported.status, reported.is_final) == (Status.PENDING, False)
    assert reported.provider_id


@pytest.mark.parametrize(("subject", "said"), STATUSES)
async def test_each_documented_status_reads_as_documented(
    subject: Subject, said: Said, client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(200, subject.state(said.fields))

    reported = await subject.at(client, script.url).look_up(EMAIL.channel, EMAIL.key, "sb_1")

    assert reported is not None
    assert (reported.status, reported.is_final) == (said.status, said.is_final)


async def test_an_unknown_word_is_unrecognized_and_kept(
    subject: Subject, provider: Provider, script: Scripted
) -> None:
    script.answer = answer(200, subject.state({"status": "levitating 🛸 anna@example.test"}))

    reported = await provider.look_up(EMAIL.channel, EMAIL.key, "sb_1")

    assert reported is not None
    assert (reported.status, reported.is_final) == (Status.UNRECOGNIZED, False)
    assert reported.raw == "levitating <address>"


@pytest.mark.parametrize(("subject", "refusal"), REFUSALS)
async def test_each_documented_error_reads_as_documented(
    subject: Subject, refusal: Refusal, client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(refusal.http, refusal.fields)

    with pytest.raises(refusal.error) as caught:
        await subject.at(client, script.url).send(EMAIL)

    if isinstance(caught.value, Rejected):
        assert (caught.value.reported.status, caught.value.reported.is_final) == (refusal.status, True)


async def test_a_look_up_before_the_provider_knows_the_message_finds_nothing(
    provider: Provider, script: Scripted
) -> None:
    script.answer = answer(404, {"error": "unknown_message"})

    assert await provider.look_up(EMAIL.channel, EMAIL.key, "sb_1") is None


async def test_a_long_key_and_any_text_arrive_whole(
    subject: Subject, provider: Provider, script: Scripted
) -> None:
    message = replace(
        EMAIL, key=f"kind:{'e%20' * 120}:u@1+:email:1", text="🧑‍🧑‍🧒 \u202eRTL\u202c 王芳 \u0000 \"'<&>\n"
    )

    await provider.send(message)

    assert subject.content(script.requests[0].body) == (message.key, message.text)


async def test_a_message_and_its_adapter_show_no_personal_data(provider: Provider) -> None:
    shown = f"{EMAIL!r} {SMS!r} {provider!r} {await provider.send(EMAIL)!r}"

    assert not any(part in shown for part in PERSONAL)
    assert "secret" not in shown


async def test_an_adapter_that_claims_idempotency_repeats_itself_exactly(
    provider: Provider, script: Scripted
) -> None:
    await provider.send(EMAIL)
    await provider.send(EMAIL)

    first, second = (received.identity for received in script.requests)
    assert first == second
    claims = provider.capabilities(EMAIL.channel).idempotent_for is not None
    assert (first[1] == EMAIL.key) is claims


async def test_an_adapter_asks_by_key_only_where_it_says_so(
    subject: Subject, provider: Provider, script: Scripted
) -> None:
    script.answer = answer(200, {"messages": [subject.taken]})

    reported = await provider.look_up(EMAIL.channel, EMAIL.key, None)

    reads = provider.capabilities(EMAIL.channel).reads_by_key
    assert (reported is not None, len(script.requests)) == (reads, int(reads))


async def test_an_adapter_that_signs_believes_nothing_unsigned(provider: Provider) -> None:
    assert provider.capabilities(EMAIL.channel).signs_callbacks

    with pytest.raises(Forged):
        provider.verify({}, b"{}")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"[" * 100_000, b"\xff", b'{"event_id": "1"}'])
async def test_a_callback_that_cannot_be_read_is_not_believed(provider: Provider, body: bytes) -> None:
    with pytest.raises(Forged):
        provider.parse({}, body)
