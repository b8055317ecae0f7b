"""The contract of every adapter: its provider's words, its capabilities, its callbacks."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

import httpx
import pytest

from activities.providers import labels
from activities.providers.base import Callback, Callbacks, Reported
from activities.providers.errors import Forged, Rejected
from activities.providers.provider import CallsBack, ListsSuppressions, Provider, TakesSuppressions
from activities.providers.registry import PROVIDERS
from activities.providers.signatures import TOLERANCE
from tests.providers.scripted import Scripted
from tests.providers.subject import EMAIL, NOW, PERSONAL, SECRET, SMS, Heard, Refusal, Said, Subject
from tests.providers.subjects import SUBJECTS, can, made, that
from workflows.policy.keys import attempt_digest
from workflows.policy.state import transition
from workflows.policy.words import AttemptState, Status

STATUSES = [
    pytest.param(subject, said, id=f"{subject.name}: {said.says}")
    for subject in SUBJECTS
    for said in subject.said
]
REFUSALS = [
    pytest.param(subject, refusal, id=f"{subject.name}: {refusal.http} {refusal.body!r}")
    for subject in SUBJECTS
    for refusal in subject.refusals
]
HEARD = [
    pytest.param(subject, heard, id=f"{subject.name}: {heard.name}")
    for subject in SUBJECTS
    for heard in subject.heard
]
SIGNED = [each for each in HEARD if each.values[0].signature_header]  # type: ignore[union-attr]
CALLING_BACK = that(lambda subject: can(subject).callbacks is not Callbacks.NONE)
READING = that(lambda subject: can(subject).reads_by_id)


def test_every_adapter_is_held_to_the_contract_on_every_channel() -> None:
    held = {(subject.name.split()[0], subject.message.channel) for subject in SUBJECTS}
    offered = {(name, channel) for name, module in PROVIDERS.items() for channel in module.CAPABILITIES}
    # The sandbox's channels are alike.
    assert {each for each in offered - held if each[0] != "sandbox"} == set()


async def test_an_accepted_send_has_an_id(subject: Subject, provider: Provider) -> None:
    reported = await provider.send(subject.message)

    assert (reported.status, reported.is_final) == (subject.acceptance, False)
    assert reported.provider_id == subject.provider_id


@pytest.mark.parametrize(("subject", "said"), STATUSES)
async def test_each_documented_status_reads_as_documented(
    subject: Subject, said: Said, client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = subject.state(said.says)

    reported = await subject.at(client, script.url).look_up(
        subject.message.channel, subject.message.key, subject.provider_id
    )

    assert reported is not None
    assert (reported.status, reported.is_final, reported.opt_out) == (
        said.status,
        said.is_final,
        said.opt_out,
    )


@READING
async def test_an_unknown_word_is_unrecognized_and_kept(
    subject: Subject, client: httpx.AsyncClient, script: Scripted
) -> None:
    assert subject.unknown_word is not None
    script.answer = subject.state(subject.unknown_word)

    reported = await subject.at(client, script.url).look_up(
        subject.message.channel, subject.message.key, subject.provider_id
    )

    assert reported is not None
    assert (reported.status, reported.is_final) == (Status.UNRECOGNIZED, False)
    assert reported.raw == "levitating <address>"


@pytest.mark.parametrize(("subject", "refusal"), REFUSALS)
async def test_each_documented_error_reads_as_documented(
    subject: Subject, refusal: Refusal, client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = refusal.answer

    with pytest.raises(refusal.error) as caught:
        await subject.at(client, script.url).send(subject.message)

    if isinstance(caught.value, Rejected):
        said = caught.value.reported
        assert (said.status, said.is_final, said.opt_out) == (refusal.status, True, refusal.opt_out)


@READING
async def test_a_look_up_before_the_provider_knows_the_message_finds_nothing(
    subject: Subject, client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = subject.unknown_message

    found = await subject.at(client, script.url).look_up(
        subject.message.channel, subject.message.key, subject.provider_id
    )

    assert found is None


async def test_any_text_arrives_whole(subject: Subject, provider: Provider, script: Scripted) -> None:
    message = replace(subject.message, text="🧑‍🧑‍🧒 \u202eRTL\u202c 王芳 \"'<&>\n=+%")

    await provider.send(message)

    _, text = subject.content(script.requests[0])
    assert text == message.text


@that(lambda subject: subject.carries_key)
@pytest.mark.parametrize("length", [1, 40, 120], ids=["short", "long", "longest"])
async def test_any_key_arrives_as_a_name_of_its_attempt(
    subject: Subject, client: httpx.AsyncClient, script: Scripted, length: int
) -> None:
    script.answer = subject.taken
    key = f"kind:{'e%20' * length}:u@1+:{subject.message.channel}:1"

    await subject.at(client, script.url).send(replace(subject.message, key=key))

    carried, _ = subject.content(script.requests[0])
    assert labels.read(carried) in {labels.Label(key=key), labels.Label(digest=attempt_digest(key))}


async def test_a_message_and_its_adapter_show_no_personal_data(subject: Subject, provider: Provider) -> None:
    shown = f"{EMAIL!r} {SMS!r} {provider!r} {await provider.send(subject.message)!r}"

    assert not any(part in shown for part in PERSONAL)
    assert SECRET not in shown


@that(lambda subject: can(subject).idempotent_for)
async def test_an_adapter_that_claims_idempotency_repeats_itself_exactly(
    subject: Subject, client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = subject.taken
    provider = subject.at(client, script.url)
    await provider.send(subject.message)
    await provider.send(subject.message)

    first, second = (received.identity for received in script.requests)
    assert first == second
    assert subject.message.key in f"{first}"


@that(lambda subject: not can(subject).reads_by_key)
async def test_an_adapter_that_cannot_find_by_key_does_not_ask(
    subject: Subject, client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = subject.taken
    provider = subject.at(client, script.url)

    assert await provider.look_up(subject.message.channel, subject.message.key, None) is None
    assert script.requests == []


async def test_an_adapter_does_what_its_capabilities_say(subject: Subject, provider: Provider) -> None:
    has = provider.capabilities(subject.message.channel)
    at_most = PROVIDERS[provider.name].CAPABILITIES[subject.message.channel]

    assert (has.callbacks is not Callbacks.NONE) == isinstance(provider, CallsBack) == bool(subject.heard)
    offered = PROVIDERS[provider.name].CAPABILITIES.values()
    assert any(each.lists_suppressions for each in offered) == isinstance(provider, ListsSuppressions)
    assert any(each.takes_suppressions for each in offered) == isinstance(provider, TakesSuppressions)
    assert has.lists_suppressions == at_most.lists_suppressions
    assert has.takes_suppressions == at_most.takes_suppressions
    assert (has.idempotent_for or timedelta()) <= (at_most.idempotent_for or timedelta())
    assert (has.reads_by_id, has.reads_by_key) <= (at_most.reads_by_id, at_most.reads_by_key)


@pytest.mark.parametrize(("subject", "heard"), HEARD)
async def test_a_callback_is_believed_and_reads_as_documented(
    subject: Subject, heard: Heard, client: httpx.AsyncClient
) -> None:
    provider = subject.at(client, "https://api.example.test")
    assert isinstance(provider, CallsBack)

    await provider.verify(heard.callback)
    reports = provider.parse(heard.callback)

    if heard.status is None:
        assert reports == ()
        return
    (said,) = reports
    assert (said.status, said.is_final, said.opt_out) == (heard.status, heard.is_final, heard.opt_out)
    assert said.event_id
    if heard.names_attempt:
        digest = attempt_digest(subject.message.key)
        assert (said.attempt_key, said.attempt_digest) in {(subject.message.key, None), (None, digest)}
    else:
        assert said.provider_id


def ends(reports: Iterable[Reported]) -> AttemptState:
    """Return where an attempt comes by these reports."""
    reached = AttemptState.SUBMITTED
    for each in reports:
        reached = transition(reached, each.status, is_final=each.is_final).state
    return reached


def first(subject: Subject, *statuses: Status, is_final: bool) -> Callback | None:
    found = (each for each in subject.heard if each.status in statuses and each.is_final is is_final)
    return next((each.callback for each in found), None)


def on_the_way(subject: Subject) -> Callback | None:
    return first(subject, Status.PENDING, Status.ACCEPTED, Status.TEMPORARY_FAILURE, is_final=False)


def arrived(subject: Subject) -> Callback | None:
    return first(subject, Status.DELIVERED, is_final=True)


@that(lambda subject: on_the_way(subject) and arrived(subject))
async def test_two_events_in_the_wrong_order_end_as_in_the_right_one(subject: Subject) -> None:
    provider, calls = made(subject), (on_the_way(subject), arrived(subject))
    assert isinstance(provider, CallsBack)
    early, late = (provider.parse(each)[0] for each in calls if each)

    assert ends([late, early]) is ends([early, late]) is AttemptState.CONFIRMED


def altered(callback: Callback, header: str, *, bodies: bool) -> list[Callback]:
    """Return callbacks with one byte of the signature, or of the body, changed, here and there."""
    signature, body = callback.headers[header], callback.body
    positions = [len(signature) - each for each in (3, 9, 20)]  # before any padding
    headers = [{**callback.headers, header: _changed(signature, at)} for at in positions]
    changed = [replace(callback, headers=each) for each in headers]
    if bodies:
        places = (0, len(body) // 2, len(body) - 1)
        flipped = [body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :] for at in places]
        changed += [replace(callback, body=each) for each in flipped]
    return changed


def _changed(signature: str, at: int) -> str:
    other = "A" if signature[at] != "A" else "B"
    return signature[:at] + other + signature[at + 1 :]


@pytest.mark.parametrize(("subject", "heard"), SIGNED)
async def test_one_altered_byte_is_noticed(subject: Subject, heard: Heard, client: httpx.AsyncClient) -> None:
    provider = subject.at(client, "https://api.example.test")
    assert isinstance(provider, CallsBack)
    for each in altered(heard.callback, subject.signature_header, bodies=subject.signs_body):
        with pytest.raises(Forged):
            await provider.verify(each)


def called_at(subject: Subject, client: httpx.AsyncClient, at: datetime) -> CallsBack:
    provider = subject.at(client, "https://api.example.test", clock=lambda: at)
    assert isinstance(provider, CallsBack)
    return provider


AGING = that(lambda subject: subject.heard and subject.oldest)


@AGING
async def test_a_callback_is_believed_in_its_time_only(subject: Subject, client: httpx.AsyncClient) -> None:
    assert subject.oldest is not None
    callback, a_second = subject.heard[0].callback, timedelta(seconds=1)
    for at in (NOW - TOLERANCE, NOW + subject.oldest):
        await called_at(subject, client, at).verify(callback)
    for at in (NOW - TOLERANCE - a_second, NOW + subject.oldest + a_second):
        with pytest.raises(Forged, match="too far from now"):
            await called_at(subject, client, at).verify(callback)


REPEATED = {
    "aws_sms": timedelta(hours=1),
    "courier": timedelta(hours=24),
    "mailgun": timedelta(hours=8, minutes=5),
    "sendgrid": timedelta(hours=24),
    "ses": timedelta(hours=1),
    "vonage": timedelta(hours=72),
}
"""How long after the first try one may come that has the same timestamp, or of which nobody knows it."""


@that(lambda subject: subject.name.split()[0] in REPEATED)
async def test_what_is_repeated_after_an_outage_is_believed(
    subject: Subject, client: httpx.AsyncClient
) -> None:
    at = NOW + REPEATED[subject.name.split()[0]]
    await called_at(subject, client, at).verify(subject.heard[0].callback)


@CALLING_BACK
async def test_nothing_unsigned_is_believed(subject: Subject) -> None:
    provider = made(subject)
    assert isinstance(provider, CallsBack)
    with pytest.raises(Forged):
        await provider.verify(Callback(b"{}", {}, "https://standby.example.com/callbacks/x"))


@pytest.mark.parametrize("body", [b"", b"{", b'"x"', b"7", b"[" * 100_000, b"\xff", b"\x00" * 9])
@CALLING_BACK
async def test_a_callback_that_cannot_be_read_is_not_believed(subject: Subject, body: bytes) -> None:
    provider = made(subject)
    assert isinstance(provider, CallsBack)
    with pytest.raises(Forged):
        provider.parse(Callback(body, {}, "https://standby.example.com/callbacks/x"))


@READING
async def test_a_read_of_what_was_taken_says_nothing_personal(
    subject: Subject, client: httpx.AsyncClient, script: Scripted
) -> None:
    assert subject.said
    script.answer = subject.state(subject.said[0].says)
    found = await subject.at(client, script.url).look_up(
        subject.message.channel, subject.message.key, subject.provider_id
    )
    assert not any(part in f"{found!r}" for part in PERSONAL)
