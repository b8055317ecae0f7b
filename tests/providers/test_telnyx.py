"""Telnyx alone: two kinds of sender, codes that mean two things, and keys that only an address carries."""

import base64
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from activities.providers import configured
from activities.providers.base import Level
from activities.providers.errors import Forged, Misconfigured, Rejected
from activities.providers.telnyx import Telnyx, build
from activities.providers.wire import SEND_BUDGET
from activities.settings import Settings
from activities.variables import Credential
from tests.providers.cases.telnyx import CALLBACK, EVENT_ID, ID, event, make, message, signed
from tests.providers.fakes.api import running
from tests.providers.fakes.telnyx import NUMBER, PROFILE, FakeTelnyx
from tests.providers.scripted import Scripted, answer
from tests.providers.subject import NOW, SMS, json_of
from workflows.policy.keys import attempt_digest
from workflows.policy.words import Channel, Status

DELIVERED = event("message.finalized", message({"word": "delivered"}))


def telnyx(client: httpx.AsyncClient, url: str = "https://api.example.test") -> Telnyx:
    return make(client, url, SEND_BUDGET, lambda: NOW)


@pytest.fixture
async def fake() -> FakeTelnyx:
    return FakeTelnyx()


@pytest.fixture
async def provider(fake: FakeTelnyx, client: httpx.AsyncClient) -> AsyncIterator[Telnyx]:
    async with running(fake) as server:
        yield telnyx(client, server.url)
    assert fake.violations == []


async def sent(script: Scripted, provider: Telnyx) -> dict[str, object]:
    script.answer = answer(200, {"data": message({"word": "queued"})})
    await provider.send(SMS)
    return json_of(script.requests[-1])


@pytest.mark.parametrize(
    ("sender", "name"),
    [
        (NUMBER, "from"),
        ("12345", "from"),
        ("Example", "from"),
        (PROFILE, "messaging_profile_id"),
        (PROFILE.upper(), "messaging_profile_id"),
    ],
)
async def test_a_sender_is_a_number_or_a_profile_by_its_shape(
    client: httpx.AsyncClient, script: Scripted, sender: str, name: str
) -> None:
    fields = await sent(script, replace(telnyx(client, script.url), sender=sender))

    assert {each: fields.get(each) for each in ("from", "messaging_profile_id")} == {
        "from": None,
        "messaging_profile_id": None,
        name: sender,
    }


async def test_a_deployment_that_cannot_be_reached_asks_for_no_callback(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    assert "webhook_url" not in await sent(script, replace(telnyx(client, script.url), callback=None))


async def test_a_message_that_fails_at_once_says_so(client: httpx.AsyncClient, script: Scripted) -> None:
    errors = [{"code": "40001", "title": "Not routable"}]
    script.answer = answer(200, {"data": message({"word": "sending_failed", "errors": errors})})

    reported = await telnyx(client, script.url).send(SMS)

    assert (reported.status, reported.is_final, reported.code) == (Status.INVALID_RECIPIENT, True, "40001")


async def test_the_first_error_that_is_known_decides(client: httpx.AsyncClient, script: Scripted) -> None:
    errors = [{"code": "99999"}, {"code": ["40001"]}, {"code": 40012, "title": "Invalid destination"}]
    script.answer = answer(400, {"errors": errors})

    with pytest.raises(Rejected, match="HTTP 400, 40012") as caught:
        await telnyx(client, script.url).send(SMS)

    assert caught.value.reported.status is Status.INVALID_RECIPIENT


@pytest.mark.parametrize(
    ("pointer", "error"), [("/to", Rejected), ("/from", Misconfigured), ("/messages/0", Rejected)]
)
async def test_where_an_invalid_number_stands_says_whose_fault_it_is(
    client: httpx.AsyncClient, script: Scripted, pointer: str, error: type[Exception]
) -> None:
    errors = [{"code": "10002", "title": "Invalid phone number", "source": {"pointer": pointer}}]
    script.answer = answer(422, {"errors": errors})

    with pytest.raises(error):
        await telnyx(client, script.url).send(SMS)


async def test_an_event_keeps_its_id_over_its_repetitions(client: httpx.AsyncClient) -> None:
    again = {**DELIVERED, "meta": {"attempt": 2, "delivered_to": "https://failover.example.com/"}}

    (first,) = telnyx(client).parse(signed(DELIVERED))
    (second,) = telnyx(client).parse(signed(again))

    assert first == second
    assert (first.event_id, first.provider_at) == (EVENT_ID, NOW - timedelta(seconds=2))


async def test_an_attempt_is_named_by_what_is_signed_and_not_by_the_address_that_was_called(
    client: httpx.AsyncClient,
) -> None:
    other = configured.labelled(CALLBACK, "password_reset:e-2:u-2:sms:1")

    (said,) = telnyx(client).parse(signed(DELIVERED, url=other))

    assert said.attempt_key == SMS.key


async def test_a_key_that_is_too_long_comes_back_as_a_digest(client: httpx.AsyncClient) -> None:
    key = f"kind:{'e' * 160}:{'u' * 160}:sms:1"
    told = message({"word": "sent"}) | {"webhook_url": configured.labelled(CALLBACK, key)}

    (said,) = telnyx(client).parse(signed(event("message.sent", told)))

    assert (said.attempt_key, said.attempt_digest) == (None, attempt_digest(key))


@pytest.mark.parametrize("address", ["https://[", "", "no address", f"{CALLBACK}?attempt=levitating"])
async def test_an_address_without_our_key_names_nobody(client: httpx.AsyncClient, address: str) -> None:
    told = message({"word": "sent"}) | {"webhook_url": address}

    (said,) = telnyx(client).parse(signed(event("message.sent", told, delivered_to=address)))

    assert (said.attempt_key, said.attempt_digest, said.provider_id) == (None, None, ID)


async def test_an_altered_timestamp_is_noticed(client: httpx.AsyncClient) -> None:
    given = signed(DELIVERED)
    later = f"{int(NOW.timestamp()) + 1}"
    with pytest.raises(Forged):
        await telnyx(client).verify(replace(given, headers={**given.headers, "telnyx-timestamp": later}))


async def test_a_signature_of_another_account_does_not_hold(client: httpx.AsyncClient) -> None:
    other = Ed25519PrivateKey.from_private_bytes(b"another key of tests of 32 bytes")
    key = base64.b64encode(other.public_key().public_bytes_raw()).decode()
    with pytest.raises(Forged):
        await replace(telnyx(client), public_key=Credential(key)).verify(signed(DELIVERED))


@pytest.mark.parametrize("key", [None, Credential("no-key"), Credential("bm8ga2V5")], ids=repr)
async def test_without_the_public_key_no_callback_is_believed(
    client: httpx.AsyncClient, key: Credential | None
) -> None:
    with pytest.raises(Misconfigured):
        await replace(telnyx(client), public_key=key).verify(signed(DELIVERED))


async def levels(provider: Telnyx) -> dict[str, Level]:
    return {each.says: each.level for each in await provider.examine(Channel.SMS)}


@pytest.mark.parametrize("sender", [NUMBER, PROFILE])
async def test_a_right_set_up_is_ok_throughout(provider: Telnyx, sender: str) -> None:
    assert set((await levels(replace(provider, sender=sender))).values()) == {Level.OK}


@pytest.mark.parametrize(
    ("credit", "level", "says"),
    [
        ("0.00", Level.PROBLEM, "the account has no credit: top it up"),
        ("-3.10", Level.PROBLEM, "the account has no credit: top it up"),
        ("much", Level.UNCHECKED, "the key holds, but the balance cannot be read"),
        (None, Level.UNCHECKED, "the key holds, but the balance cannot be read"),
    ],
)
async def test_an_account_without_credit_is_a_problem(
    provider: Telnyx, fake: FakeTelnyx, credit: str | None, level: Level, says: str
) -> None:
    fake.balance["available_credit"] = credit

    assert (await levels(provider))[says] is level


@pytest.mark.parametrize("sender", ["+12025550199", "Example"])
async def test_a_sender_that_the_account_does_not_have_is_a_problem(provider: Telnyx, sender: str) -> None:
    says = f"{sender} has no messaging profile: give it one at the provider, or name a profile's id"
    assert (await levels(replace(provider, sender=sender)))[says] is Level.PROBLEM


async def test_a_number_without_a_messaging_profile_is_a_problem(provider: Telnyx, fake: FakeTelnyx) -> None:
    fake.number["messaging_profile_id"] = None

    says = f"{NUMBER} has no messaging profile: give it one at the provider, or name a profile's id"
    assert (await levels(provider))[says] is Level.PROBLEM


async def test_a_short_code_is_not_called_ok(provider: Telnyx) -> None:
    found = await levels(replace(provider, sender="12345"))

    assert found["short code 12345 is not looked up"] is Level.UNCHECKED


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"id": "another"}, f"messaging profile {PROFILE} is not known: check STANDBY_SMS_FROM"),
        ({"enabled": False}, f"messaging profile {PROFILE} is disabled: enable it"),
        (
            {"webhook_api_version": "1"},
            f"messaging profile {PROFILE} makes callbacks of another version: choose API v2",
        ),
    ],
    ids=["unknown", "disabled", "old callbacks"],
)
async def test_a_profile_that_cannot_be_used_is_a_problem(
    provider: Telnyx, fake: FakeTelnyx, fault: dict[str, object], says: str
) -> None:
    fake.profile.update(fault)

    assert (await levels(provider))[says] is Level.PROBLEM


@pytest.mark.parametrize(
    "deaf",
    [lambda provider: replace(provider, callback=None), lambda provider: replace(provider, public_key=None)],
    ids=["callback", "key"],
)
async def test_callbacks_that_are_not_heard_are_noted(
    provider: Telnyx, deaf: Callable[[Telnyx], Telnyx]
) -> None:
    says = "callbacks are not heard: set STANDBY_PUBLIC_URL and STANDBY_TELNYX_PUBLIC_KEY"
    assert (await levels(deaf(provider)))[says] is Level.NOTE


@pytest.mark.parametrize("sender", ["+12025550199", "00000000-a0c0-4563-9925-b25e842a7cb6"])
async def test_who_stopped_another_sender_did_not_stop_this_one(
    provider: Telnyx, fake: FakeTelnyx, sender: str
) -> None:
    fake.suppressed = {SMS.to: "STOP"}

    assert [each async for each in replace(provider, sender=sender).listed(Channel.SMS)] == []
    assert [each.address async for each in provider.listed(Channel.SMS)] == [SMS.to]


async def test_a_list_that_promises_pages_without_end_ends(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(200, {"data": [], "meta": {"total_pages": 10**9}})

    assert [each async for each in telnyx(client, script.url).listed(Channel.SMS)] == []
    assert len(script.requests) == 1


async def test_it_is_made_from_the_settings(client: httpx.AsyncClient) -> None:
    environ = {
        "STANDBY_TELNYX_API_KEY": "KEY0",
        "STANDBY_TELNYX_SMS_FROM": PROFILE,
        "STANDBY_SMS_FROM": NUMBER,
        "STANDBY_PUBLIC_URL": "https://standby.example.com",
    }
    made = build(Settings.read(environ), client)

    assert (made.callback, made.sender) == (CALLBACK, PROFILE)
    with pytest.raises(Misconfigured, match="STANDBY_TELNYX_API_KEY: is not set"):
        build(Settings(), client)
