"""What only Twilio does: its signatures, its senders, its keys, and codes that depend on the sender."""

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

import httpx
import pytest

from activities.providers.base import Callback, Callbacks, Level, Reported
from activities.providers.errors import Forged, Misconfigured
from activities.providers.twilio import Login, Twilio, build
from activities.settings import Settings
from activities.variables import Credential
from tests.providers.cases.twilio import CALLBACK_URL, ID, called, heard
from tests.providers.fakes.api import running
from tests.providers.fakes.twilio import (
    ACCOUNT,
    KEY,
    KEY_SECRET,
    NUMBER,
    SERVICE,
    SHORT_CODE,
    TOKEN,
    FakeTwilio,
)
from tests.providers.scripted import Scripted, answer
from tests.providers.subject import PERSONAL, SMS
from workflows.policy.words import Channel, Status

URI = "https://mycompany.com/myapp.php?foo=1&bar=2"
PLAIN, PORTED = URI.replace("https", "http"), URI.replace(".com", ".com:1234")
BODY = b'{"property": "value", "boolean": true}'
HASHED = f"{URI}&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
CALL = urlencode(
    {
        "CallSid": "CA1234567890ABCDE",
        "Digits": "1234",
        "From": "+14158675309",
        "To": "+18005551212",
        "Caller": "+14158675309",
    }
).encode()

PUBLISHED = {
    "a form": (URI, CALL, "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
    "a port that was not signed": (PORTED, CALL, "RSOYDt4T1cUTdK1PDd93/VVr8B8="),
    "a port that was signed": (PORTED.replace("https", "http"), CALL, "Zmvh+3yNM1Phv2jhDCwEM3q5ebU="),
    "port 443 signed": (URI, CALL, "kvajT1Ptam85bY51eRf/AJRuM3w="),
    "port 80 signed": (PLAIN, CALL, "0ZXoZLH/DfblKGATFgpif+LLRf4="),
    "a parameter twice": (
        URI,
        b"Sid=CA123&SidAccount=AC123&Digits=5678&Digits=1234",
        "IK+Dwps556ElfBT0I3Rgjkr1wJU=",
    ),
    "JSON": (HASHED, BODY, "a9nBmqA0ju/hNViExpshrM61xv4="),
}
"""The vectors of twilio-python, `tests/unit/test_request_validator.py`, at its token 12345 (MIT)."""

published = pytest.mark.parametrize(("url", "body", "signature"), PUBLISHED.values(), ids=PUBLISHED.keys())


def adapter(client: httpx.AsyncClient, url: str = "https://api.example.test", sender: str = NUMBER) -> Twilio:
    token = Credential(TOKEN)
    return Twilio(client, url, ACCOUNT, Login(ACCOUNT, token), sender, token, CALLBACK_URL)


@published
async def test_published_signatures_hold(
    client: httpx.AsyncClient, url: str, body: bytes, signature: str
) -> None:
    twilio = replace(adapter(client), auth_token=Credential("12345"))

    await twilio.verify(Callback(body, {"x-twilio-signature": signature}, url))


@published
async def test_published_signatures_do_not_hold_for_one_altered_byte(
    client: httpx.AsyncClient, url: str, body: bytes, signature: str
) -> None:
    twilio = replace(adapter(client), auth_token=Credential("12345"))
    altered = signature[:7] + ("A" if signature[7] != "A" else "B") + signature[8:]
    for given, content, address in (
        (altered, body, url),
        (signature, body.replace(b"1", b"2", 1).replace(b"value", b"valuE"), url),
        (signature, body, url.replace("foo=1", "foo=2")),
    ):
        with pytest.raises(Forged):
            await twilio.verify(Callback(content, {"x-twilio-signature": given}, address))


async def test_a_parameter_that_is_repeated_with_its_value_is_signed_once(client: httpx.AsyncClient) -> None:
    once = called({"MessageSid": ID, "MessageStatus": "sent"}, CALLBACK_URL)

    await adapter(client).verify(replace(once, body=once.body + b"&MessageStatus=sent"))


async def test_a_callback_in_json_is_read_too(client: httpx.AsyncClient) -> None:
    body = json.dumps({"MessageSid": ID, "MessageStatus": "undelivered", "ErrorCode": 30005}).encode()
    url = f"{CALLBACK_URL}?attempt={SMS.key}&bodySHA256={hashlib.sha256(body).hexdigest()}"
    signed = hmac.new(TOKEN.encode(), url.encode(), hashlib.sha1).digest()
    callback = Callback(body, {"x-twilio-signature": base64.b64encode(signed).decode()}, url)

    await adapter(client).verify(callback)
    (said,) = adapter(client).parse(callback)

    assert (said.status, said.code, said.attempt_key) == (Status.INVALID_RECIPIENT, "30005", SMS.key)


async def test_a_callback_that_was_not_asked_for_by_us_names_no_attempt(client: httpx.AsyncClient) -> None:
    callback = called({"MessageSid": ID, "MessageStatus": "delivered"}, CALLBACK_URL)

    await adapter(client).verify(callback)
    (said,) = adapter(client).parse(callback)

    assert (said.provider_id, said.attempt_key, said.attempt_digest) == (ID, None, None)


def test_each_state_of_a_message_is_an_event_of_its_own(client: httpx.AsyncClient) -> None:
    def event(word: str, **beside: str) -> Reported:
        (said,) = adapter(client).parse(heard(word, **beside))
        return said

    sent, again = event("sent"), event("sent", RawDlrDoneDate="2612010959")
    others = [event("failed"), event("failed", ErrorCode="30003"), event("failed", ErrorCode="30005")]

    assert sent.event_id == again.event_id
    assert len({each.event_id for each in (sent, *others)}) == 4
    assert not any(part in f"{sent.event_id}" for part in (*PERSONAL, ID))


async def test_callbacks_cannot_be_checked_without_the_auth_token(client: httpx.AsyncClient) -> None:
    with pytest.raises(Misconfigured, match="STANDBY_TWILIO_AUTH_TOKEN"):
        await replace(adapter(client), auth_token=None).verify(heard("sent"))


@pytest.mark.parametrize(
    ("sender", "field"),
    [(NUMBER, "From"), (SHORT_CODE, "From"), ("Example", "From"), (SERVICE, "MessagingServiceSid")],
)
async def test_a_sender_goes_where_its_shape_belongs(
    client: httpx.AsyncClient, script: Scripted, sender: str, field: str
) -> None:
    script.answer = answer(201, {"sid": ID, "status": "accepted"})

    await adapter(client, script.url, sender).send(SMS)

    fields = dict(parse_qsl(script.requests[0].body.decode()))
    assert fields[field] == sender
    assert {"From", "MessagingServiceSid"} - fields.keys() == {"From", "MessagingServiceSid"} - {field}


async def test_no_key_is_sent_that_is_not_honoured(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(201, {"sid": ID, "status": "queued"})

    await adapter(client, script.url).send(SMS)

    assert not any("idempotency" in name for name in script.requests[0].headers)


async def test_an_acceptance_without_a_status_is_queued(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(201, {"sid": ID, "status": None})

    said = await adapter(client, script.url).send(SMS)

    assert (said.status, said.is_final) == (Status.PENDING, False)


@pytest.mark.parametrize(
    ("sender", "used", "status"),
    [
        (NUMBER, NUMBER, Status.INVALID_RECIPIENT),
        (NUMBER, None, Status.INVALID_RECIPIENT),
        (SERVICE, NUMBER, Status.INVALID_RECIPIENT),
        (SERVICE, SHORT_CODE, Status.REJECTED),
        (SERVICE, None, Status.REJECTED),
        (SHORT_CODE, SHORT_CODE, Status.REJECTED),
        ("Example", "Example", Status.REJECTED),
    ],
)
async def test_an_unreached_carrier_is_the_numbers_fault_only_where_a_number_asked(
    client: httpx.AsyncClient, script: Scripted, sender: str, used: str | None, status: Status
) -> None:
    script.answer = answer(200, {"sid": ID, "status": "undelivered", "error_code": 30006, "from": used})

    said = await adapter(client, script.url, sender).look_up(Channel.SMS, SMS.key, ID)

    assert said is not None
    assert (said.status, said.is_final, said.code) == (status, True, "30006")


async def test_without_an_address_to_call_none_is_given(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(201, {"sid": ID, "status": "queued"})
    twilio = replace(adapter(client, script.url), callback_url=None)

    await twilio.send(SMS)

    assert b"StatusCallback" not in script.requests[0].body
    assert twilio.capabilities(Channel.SMS).callbacks is Callbacks.NONE


@pytest.mark.parametrize(
    ("http", "code", "names"),
    [
        (401, 20003, "STANDBY_TWILIO_ACCOUNT_SID"),
        (404, 20404, "STANDBY_TWILIO_ACCOUNT_SID"),
        (400, 21606, "STANDBY_SMS_FROM"),
        (400, 21703, "STANDBY_SMS_FROM"),
        (400, 21608, "upgrade"),
        (403, 20005, "balance"),
    ],
)
async def test_what_is_misconfigured_says_what_to_do(
    client: httpx.AsyncClient, script: Scripted, http: int, code: int, names: str
) -> None:
    script.answer = answer(http, {"code": code, "message": f"{SMS.to} is wrong"})

    with pytest.raises(Misconfigured, match=names) as caught:
        await adapter(client, script.url).send(SMS)

    assert not any(part in str(caught.value) for part in PERSONAL)


@pytest.fixture
async def house(client: httpx.AsyncClient) -> AsyncIterator[tuple[FakeTwilio, Twilio]]:
    fake = FakeTwilio()
    async with running(fake) as server:
        yield fake, adapter(client, server.url)
    assert fake.violations == []


House = tuple[FakeTwilio, Twilio]


async def levels(twilio: Twilio) -> list[Level]:
    return [each.level for each in await twilio.examine(Channel.SMS)]


@pytest.mark.parametrize(
    ("account", "level"),
    [
        ({"status": "active", "type": "Full"}, Level.OK),
        ({"status": "active", "type": "Trial"}, Level.PROBLEM),
        ({"status": "suspended", "type": "Full"}, Level.PROBLEM),
        ({"status": "closed", "type": "Full"}, Level.PROBLEM),
        ({}, Level.PROBLEM),
    ],
)
async def test_an_account_is_active_and_paid(house: House, account: dict[str, str], level: Level) -> None:
    fake, twilio = house
    fake.account = account

    assert (await levels(twilio))[1] is level


@pytest.mark.parametrize(
    ("sender", "level"),
    [
        (NUMBER, Level.OK),
        (NUMBER[:-1], Level.PROBLEM),
        ("+14155550199", Level.PROBLEM),
        (SHORT_CODE, Level.OK),
        ("13579", Level.PROBLEM),
        (SERVICE, Level.UNCHECKED),
        ("Example", Level.UNCHECKED),
    ],
)
async def test_a_sender_is_the_accounts_own(house: House, sender: str, level: Level) -> None:
    _, twilio = house

    assert (await levels(replace(twilio, sender=sender)))[2] is level


async def test_a_number_that_cannot_text_is_no_sender(house: House) -> None:
    fake, twilio = house
    fake.texts = False

    assert (await levels(twilio))[2] is Level.PROBLEM


async def test_a_key_that_may_not_see_the_account_is_no_wrong_key(house: House) -> None:
    fake, twilio = house
    keyed = replace(twilio, login=Login(KEY, Credential(KEY_SECRET)))

    assert await levels(keyed) == [Level.OK, Level.UNCHECKED, Level.OK, Level.OK]
    fake.denies = True
    with pytest.raises(Misconfigured):
        await keyed.examine(Channel.SMS)


async def test_an_examination_says_what_a_set_up_without_callbacks_lacks(house: House) -> None:
    _, twilio = house

    findings = await replace(twilio, callback_url=None).examine(Channel.SMS)

    assert findings[-1].level is Level.NOTE
    assert "STANDBY_PUBLIC_URL" in findings[-1].says


WHOLE = {"account_sid": ACCOUNT, "auth_token": TOKEN, "sms_from": NUMBER}
KEYED = {"account_sid": ACCOUNT, "key_sid": KEY, "key_secret": KEY_SECRET, "sms_from": NUMBER}


@pytest.mark.parametrize(
    ("account", "user", "callbacks"),
    [
        (WHOLE, ACCOUNT, Callbacks.SIGNED),
        (KEYED, KEY, Callbacks.NONE),
        (KEYED | WHOLE, KEY, Callbacks.SIGNED),
    ],
    ids=["a token", "a key", "both"],
)
def test_a_key_asks_and_the_token_checks(
    client: httpx.AsyncClient, account: dict[str, str], user: str, callbacks: Callbacks
) -> None:
    made = build(
        Settings.model_validate({"twilio": account, "public_url": "https://standby.example.com"}), client
    )

    told = made.login.user
    assert (told.reveal() if isinstance(told, Credential) else told) == user
    assert made.capabilities(Channel.SMS).callbacks is callbacks


@pytest.mark.parametrize(
    ("account", "missing"),
    [
        (WHOLE, "account_sid"),
        (WHOLE, "auth_token"),
        (WHOLE, "sms_from"),
        (KEYED, "account_sid"),
        (KEYED, "key_sid"),
        (KEYED, "key_secret"),
        (KEYED | WHOLE, "key_secret"),
    ],
)
def test_what_is_missing_is_named(client: httpx.AsyncClient, account: dict[str, str], missing: str) -> None:
    given = {name: value for name, value in account.items() if name != missing}
    variable = "STANDBY_SMS_FROM" if missing == "sms_from" else f"STANDBY_TWILIO_{missing.upper()}"

    with pytest.raises(Misconfigured, match=variable):
        build(Settings.model_validate({"twilio": given}), client)
