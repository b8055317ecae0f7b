"""What only Plivo does: its two signatures, its list of ids, its pools, and the order of its callbacks."""

from collections.abc import AsyncIterator
from dataclasses import replace
from urllib.parse import urlencode

import httpx
import pytest

from activities.providers.base import Callback, Callbacks, Level, Reported
from activities.providers.errors import Forged, Misconfigured
from activities.providers.fields import instant
from activities.providers.plivo import Plivo, build
from activities.settings import Settings
from activities.variables import Credential
from tests.providers.cases.plivo import CALLBACK_URL, ID, NONCE, called, heard, signature
from tests.providers.fakes.api import running
from tests.providers.fakes.plivo import AUTH_ID, NUMBER, POOL, SENT, TOKEN, TOLD, FakePlivo
from tests.providers.scripted import Scripted, answer
from tests.providers.subject import PERSONAL, SMS, json_of
from workflows.policy.words import Channel, Status

V3, MAIN_V3, V3_NONCE = "x-plivo-signature-v3", "x-plivo-signature-ma-v3", "x-plivo-signature-v3-nonce"

PUBLISHED_TOKEN = "Y2Q2ZDgxZmY5YWRiOTI5YmQ1Njg0MTAxZWIyOTc4"
CALL_ID = "3e82ae9d-2c78-4d85-b1a4-6eae7dbafb36"
CALLEE = "PlivoSignature382029104058171078704104"
CALL = urlencode(
    {
        "Direction": "outbound",
        "From": "19792014278",
        "ALegUUID": CALL_ID,
        "CallStatus": "in-progress",
        "BillRate": "0.002",
        "ParentAuthID": "MANWVLYTK4ZWU1YTY4QA",
        "To": f"sip:{CALLEE}@phone-qa.voice.plivodev.com",
        "ALegRequestUUID": CALL_ID,
        "CallUUID": CALL_ID,
        "RequestUUID": CALL_ID,
        "SIP-H-To": f"<sip:{CALLEE}@52.9.11.55;transport=udp>;tag=1",
        "SessionStart": "2020-04-08 11:34:33.238707",
        "Event": "StartApp",
    }
).encode()
URL = "https://plivobin.non-prod.plivops.com/api/v1/validate_signature03.xml"
PUBLISHED = {
    "with a query": (f"{URL}/?a=b&c=d", "k7Pusd4OxCIjR5IfA9iedDNu/h/gbdYqdzG/MiYtd1c="),
    "without a query": (URL, "iAjE5QqI37mbkYe4w3jTMudqEzbDufdqi7sYwTu64e0="),
}
"""The vectors of POST in plivo-go, `utils_test.go`, which plivo-ruby has too (MIT)."""

published = pytest.mark.parametrize(("url", "given"), PUBLISHED.values(), ids=PUBLISHED.keys())


def adapter(client: httpx.AsyncClient, url: str = "https://api.example.test", sender: str = NUMBER) -> Plivo:
    return Plivo(client, url, AUTH_ID, Credential(TOKEN), sender, CALLBACK_URL)


def with_published_token(client: httpx.AsyncClient) -> Plivo:
    return replace(adapter(client), auth_token=Credential(PUBLISHED_TOKEN))


@published
async def test_published_signatures_hold(client: httpx.AsyncClient, url: str, given: str) -> None:
    await with_published_token(client).verify(Callback(CALL, {V3: given, V3_NONCE: NONCE}, url))


@published
async def test_published_signatures_do_not_hold_for_one_altered_byte(
    client: httpx.AsyncClient, url: str, given: str
) -> None:
    plivo = with_published_token(client)
    altered = given[:7] + ("A" if given[7] != "A" else "B") + given[8:]
    for callback in (
        Callback(CALL, {V3: altered, V3_NONCE: NONCE}, url),
        Callback(CALL.replace(b"outbound", b"outbounD"), {V3: given, V3_NONCE: NONCE}, url),
        Callback(CALL, {V3: given, V3_NONCE: NONCE[:-1] + "9"}, url),
        Callback(CALL, {V3: given, V3_NONCE: NONCE}, url.replace("api", "apI")),
    ):
        with pytest.raises(Forged):
            await plivo.verify(callback)


FIELDS = {"MessageUUID": ID, "Status": "delivered"}
RIGHT, OTHER = signature(CALLBACK_URL, FIELDS), signature(CALLBACK_URL, FIELDS, "another-token")


@pytest.mark.parametrize(
    "headers",
    [
        {V3: RIGHT},
        {MAIN_V3: RIGHT},
        {V3: OTHER, MAIN_V3: RIGHT},
        {V3: f"{OTHER}, {RIGHT}"},
        {V3: f"{RIGHT},{OTHER}"},
    ],
    ids=["V3", "main", "another beside the main", "last of a list", "first of a list"],
)
async def test_one_signature_that_holds_is_enough(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    callback = replace(called(FIELDS, CALLBACK_URL), headers={**headers, V3_NONCE: NONCE})

    await adapter(client).verify(callback)


@pytest.mark.parametrize("headers", [{V3: OTHER}, {MAIN_V3: f"{OTHER},"}, {"x-plivo-signature-v2": RIGHT}])
async def test_no_signature_that_holds_is_forged(client: httpx.AsyncClient, headers: dict[str, str]) -> None:
    callback = replace(called(FIELDS, CALLBACK_URL), headers={**headers, V3_NONCE: NONCE})

    with pytest.raises(Forged):
        await adapter(client).verify(callback)


async def test_a_query_is_signed_in_the_order_of_its_names(client: httpx.AsyncClient) -> None:
    signed = signature(f"{CALLBACK_URL}?attempt=k-1&zone=eu", FIELDS)
    headers = {V3: signed, V3_NONCE: NONCE}

    await adapter(client).verify(
        Callback(urlencode(FIELDS).encode(), headers, f"{CALLBACK_URL}?zone=eu&attempt=k-1")
    )


def test_each_callback_of_a_message_is_an_event_of_its_own(client: httpx.AsyncClient) -> None:
    def event(word: str, sequence: int, **beside: str) -> Reported:
        (said,) = adapter(client).parse(heard(word, sequence, **beside))
        return said

    sent, again = event("sent", 2), event("sent", 2, TotalAmount="0.1")

    assert sent.event_id == again.event_id
    assert len({each.event_id for each in (sent, event("sent", 3), event("delivered", 3))}) == 3
    assert not any(part in f"{sent.event_id}" for part in (*PERSONAL, ID))


async def test_a_callback_that_was_not_asked_for_by_us_names_no_attempt(client: httpx.AsyncClient) -> None:
    (said,) = adapter(client).parse(called(FIELDS, CALLBACK_URL))

    assert (said.provider_id, said.attempt_key, said.attempt_digest) == (ID, None, None)


async def test_a_look_up_says_when_the_state_changed(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(200, TOLD)

    said = await adapter(client, script.url).look_up(Channel.SMS, SMS.key, ID)

    assert said is not None
    assert said.provider_at == instant("2024-08-21T12:58:51.94772+00:00")


async def test_an_acceptance_of_one_number_counts_though_another_is_invalid(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(202, {**SENT, "invalid_number": ["1111111"]})

    said = await adapter(client, script.url).send(SMS)

    assert (said.status, said.provider_id) == (Status.PENDING, ID)


@pytest.mark.parametrize(
    ("sender", "name"), [(NUMBER, "src"), ("24680", "src"), ("Example", "src"), (POOL, "powerpack_uuid")]
)
async def test_a_sender_goes_where_its_shape_belongs(
    client: httpx.AsyncClient, script: Scripted, sender: str, name: str
) -> None:
    script.answer = answer(202, SENT)

    await adapter(client, script.url, sender).send(SMS)

    fields = json_of(script.requests[0])
    assert {each: fields.get(each) for each in ("src", "powerpack_uuid")} == {
        "src": None,
        "powerpack_uuid": None,
        name: sender,
    }


async def test_without_an_address_to_call_none_is_given(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(202, SENT)
    plivo = replace(adapter(client, script.url), callback_url=None)

    await plivo.send(SMS)

    assert {"url", "method"} & json_of(script.requests[0]).keys() == set()
    assert plivo.capabilities(Channel.SMS).callbacks is Callbacks.NONE


@pytest.mark.parametrize(
    ("http", "says", "names"),
    [(401, "no", "STANDBY_PLIVO_AUTH_ID"), (402, "Insufficient Credit", "recharge")],
)
async def test_what_is_misconfigured_says_what_to_do(
    client: httpx.AsyncClient, script: Scripted, http: int, says: str, names: str
) -> None:
    script.answer = answer(http, {"error": says, "number": SMS.to})

    with pytest.raises(Misconfigured, match=names) as caught:
        await adapter(client, script.url).send(SMS)

    assert not any(part in str(caught.value) for part in PERSONAL)


House = tuple[FakePlivo, Plivo]


@pytest.fixture
async def house(client: httpx.AsyncClient) -> AsyncIterator[House]:
    fake = FakePlivo()
    async with running(fake) as server:
        yield fake, adapter(client, server.url)


async def levels(plivo: Plivo) -> list[Level]:
    return [each.level for each in await plivo.examine(Channel.SMS)]


@pytest.mark.parametrize(
    ("account", "level"),
    [
        ({"account_type": "standard", "billing_mode": "prepaid", "cash_credits": "4.88860"}, Level.OK),
        ({"account_type": "standard", "billing_mode": "prepaid", "cash_credits": "0.00000"}, Level.PROBLEM),
        ({"account_type": "standard", "billing_mode": "prepaid", "cash_credits": "-1.5"}, Level.PROBLEM),
        ({"account_type": "standard", "billing_mode": "prepaid", "cash_credits": "much"}, Level.OK),
        ({"account_type": "standard", "billing_mode": "prepaid"}, Level.OK),
        ({"account_type": "standard", "billing_mode": "postpaid", "cash_credits": "-1.5"}, Level.OK),
        ({"account_type": "developer", "billing_mode": "prepaid", "cash_credits": "9"}, Level.PROBLEM),
    ],
)
async def test_an_account_is_paid(house: House, account: dict[str, str], level: Level) -> None:
    fake, plivo = house
    fake.account = account

    assert (await levels(plivo))[0] is level


@pytest.mark.parametrize(
    ("sender", "level"),
    [
        (NUMBER, Level.OK),
        (NUMBER.removeprefix("+"), Level.OK),
        ("+14155550199", Level.PROBLEM),
        (POOL, Level.OK),
        (ID, Level.PROBLEM),
        ("24680", Level.UNCHECKED),
        ("Example", Level.UNCHECKED),
    ],
)
async def test_a_sender_is_the_accounts_own(house: House, sender: str, level: Level) -> None:
    _, plivo = house

    assert (await levels(replace(plivo, sender=sender)))[1] is level


async def test_a_number_that_cannot_text_is_no_sender(house: House) -> None:
    fake, plivo = house
    fake.texts = False

    assert (await levels(plivo))[1] is Level.PROBLEM


async def test_an_examination_says_what_a_set_up_without_callbacks_lacks(house: House) -> None:
    _, plivo = house

    findings = await replace(plivo, callback_url=None).examine(Channel.SMS)

    assert findings[-1].level is Level.NOTE
    assert "STANDBY_PUBLIC_URL" in findings[-1].says


WHOLE = {"auth_id": AUTH_ID, "auth_token": TOKEN, "sms_from": NUMBER}


@pytest.mark.parametrize(
    ("public_url", "callbacks"), [("https://standby.example.com", Callbacks.SIGNED), (None, Callbacks.NONE)]
)
def test_callbacks_come_where_they_can(
    client: httpx.AsyncClient, public_url: str | None, callbacks: Callbacks
) -> None:
    made = build(Settings.model_validate({"plivo": WHOLE, "public_url": public_url}), client)

    assert made.capabilities(Channel.SMS).callbacks is callbacks


@pytest.mark.parametrize(
    ("missing", "variable"),
    [
        ("auth_id", "STANDBY_PLIVO_AUTH_ID"),
        ("auth_token", "STANDBY_PLIVO_AUTH_TOKEN"),
        ("sms_from", "STANDBY_SMS_FROM"),
    ],
)
def test_what_is_missing_is_named(client: httpx.AsyncClient, missing: str, variable: str) -> None:
    given = {name: value for name, value in WHOLE.items() if name != missing}

    with pytest.raises(Misconfigured, match=variable):
        build(Settings.model_validate({"plivo": given}), client)
