"""Vonage alone: parts, alphabets, two kinds of signature, and an account that must be asked."""

import hashlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs

import httpx
import jwt
import pytest

from activities.providers.base import Callback, Level
from activities.providers.errors import Ambiguous, Forged, Misconfigured, Unsigned
from activities.providers.vonage import OLDEST, Vonage, build
from activities.providers.wire import SEND_BUDGET
from activities.settings import Settings
from activities.variables import Credential
from tests.providers.cases.vonage import (
    CALLBACK,
    ID,
    SIGNATURE_SECRET,
    as_form,
    as_json,
    as_query,
    by_token,
    make,
    receipt,
    record,
    signed,
    submitted,
)
from tests.providers.fakes.api import running
from tests.providers.fakes.vonage import FakeVonage
from tests.providers.scripted import Scripted, answer
from tests.providers.subject import NOW, SMS
from workflows.policy.words import Channel, Status

WAYS = pytest.mark.parametrize("way", [as_form, as_json, as_query], ids=["form", "json", "query"])


def vonage(client: httpx.AsyncClient, url: str = "https://api.example.test") -> Vonage:
    return make(client, url, SEND_BUDGET, lambda: NOW)


@pytest.fixture
async def fake() -> FakeVonage:
    return FakeVonage()


@pytest.fixture
async def provider(fake: FakeVonage, client: httpx.AsyncClient) -> AsyncIterator[Vonage]:
    async with running(fake) as server:
        yield vonage(client, server.url)
    assert fake.violations == []


async def form_of(script: Scripted, provider: Vonage, text: str = SMS.text) -> dict[str, str]:
    script.answer = answer(200, submitted({"message-id": ID, "status": "0"}))
    await provider.send(replace(SMS, text=text))
    return {name: values[0] for name, values in parse_qs(script.requests[-1].body.decode()).items()}


async def test_a_number_goes_without_its_plus(client: httpx.AsyncClient, script: Scripted) -> None:
    form = await form_of(script, vonage(client, script.url))

    assert (form["to"], form["from"]) == ("12025550142", "12025550100")


async def test_a_sender_id_goes_as_it_is(client: httpx.AsyncClient, script: Scripted) -> None:
    form = await form_of(script, replace(vonage(client, script.url), sender="Example"))

    assert form["from"] == "Example"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Code 4711: [ok] {1} ~ 5 € ^ \\ |\n\r", "text"),
        ("à la carte, Ññ, Straße, ΔΦΓΛΩΠΨΣΘΞ", "text"),
        ("Código 4711", "unicode"),
        ("fiancé", "text"),
        ("garçon", "unicode"),
        ("tick `", "unicode"),
        ("tab\t", "unicode"),
        ("王芳", "unicode"),
        ("👋", "unicode"),
    ],
)
async def test_a_text_is_unicode_where_its_alphabet_is(
    client: httpx.AsyncClient, script: Scripted, text: str, kind: str
) -> None:
    assert (await form_of(script, vonage(client, script.url), text))["type"] == kind


@pytest.mark.parametrize("text", ["plain", "{[~]} €", "Grüße, 王芳 👋"])
async def test_no_character_arrives_as_a_question_mark(provider: Vonage, fake: FakeVonage, text: str) -> None:
    await provider.send(replace(SMS, text=text))

    assert fake.messages[0].draft.text == text


async def test_the_callback_goes_without_our_key_which_would_not_fit(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    form = await form_of(script, vonage(client, script.url))

    assert (form["callback"], form["client-ref"]) == (CALLBACK, SMS.key)


@pytest.mark.parametrize("callback", [None, f"https://{'long.' * 20}example.com/callbacks/vonage"])
async def test_a_callback_that_does_not_fit_is_left_to_the_account(
    client: httpx.AsyncClient, script: Scripted, callback: str | None
) -> None:
    form = await form_of(script, replace(vonage(client, script.url), callback=callback))

    assert "callback" not in form


async def test_a_text_of_several_parts_is_known_by_its_first(provider: Vonage, fake: FakeVonage) -> None:
    reported = await provider.send(replace(SMS, text="👋" * 100))

    assert reported.provider_id == fake.messages[0].id


@pytest.mark.parametrize("code", ["1", "5", "9", "77"])
async def test_a_text_that_was_accepted_in_part_is_ambiguous(
    client: httpx.AsyncClient, script: Scripted, code: str
) -> None:
    script.answer = answer(200, submitted({"message-id": ID, "status": "0"}, {"status": code}))

    with pytest.raises(Ambiguous, match="accepted in part"):
        await vonage(client, script.url).send(SMS)


async def test_an_internal_error_of_any_part_is_ambiguous(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(200, submitted({"status": "1"}, {"status": "5"}))

    with pytest.raises(Ambiguous):
        await vonage(client, script.url).send(SMS)


async def test_wrong_credentials_are_said_with_http_200(provider: Vonage) -> None:
    with pytest.raises(Misconfigured, match="HTTP 200, 4: check STANDBY_VONAGE_API_KEY"):
        await replace(provider, api_secret=Credential("wrong")).send(SMS)


async def test_a_refusal_quotes_nothing_of_the_provider(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(200, submitted({"status": "15 +12025550142", "error-text": "to 12025550142"}))

    with pytest.raises(Ambiguous) as caught:
        await vonage(client, script.url).send(SMS)

    assert "2025550142" not in str(caught.value)


async def test_the_reports_api_is_not_asked_where_it_is_switched_off(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    assert await vonage(client, script.url).look_up(Channel.SMS, SMS.key, ID) is None
    assert script.requests == []


async def test_a_record_says_when_it_was_final(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = record({"status": "delivered", "error_code": "0"})

    found = await replace(vonage(client, script.url), reports=True).look_up(Channel.SMS, SMS.key, ID)

    assert found is not None
    assert found.provider_at == NOW - timedelta(seconds=2)


async def test_an_opt_out_that_may_be_an_illegal_number_is_neither(client: httpx.AsyncClient) -> None:
    (said,) = vonage(client).parse(as_form(signed(receipt("failed", "9"))))

    assert (said.status, said.opt_out, said.code) == (Status.REJECTED, None, "9")


async def test_a_receipt_that_is_brought_again_is_the_same_event(client: httpx.AsyncClient) -> None:
    again = receipt("delivered", "0") | {"message-timestamp": "2026-12-01 10:04:00"}
    (first,) = vonage(client).parse(as_form(signed(receipt("delivered", "0"))))
    (second,) = vonage(client).parse(as_json(signed(again, at=NOW + timedelta(minutes=4))))
    (other,) = vonage(client).parse(as_form(signed(receipt("buffered", "0"))))

    assert first.event_id == second.event_id
    assert first.event_id != other.event_id


@WAYS
async def test_one_altered_parameter_is_noticed(
    client: httpx.AsyncClient, way: Callable[[dict[str, object]], Callback]
) -> None:
    said = signed(receipt("failed", "3"))
    await vonage(client).verify(way(said))
    for name in said:
        with pytest.raises(Forged):
            await vonage(client).verify(way({**said, name: f"{said[name]}1"}))
        with pytest.raises(Forged):
            await vonage(client).verify(way({each: said[each] for each in said if each != name}))


@WAYS
@pytest.mark.parametrize("signature", ["", "🛸" * 64, "\ud800", "0" * 64, "d" * 32], ids=repr)
async def test_no_other_signature_holds(
    client: httpx.AsyncClient, way: Callable[[dict[str, object]], Callback], signature: str
) -> None:
    if way is not as_json:
        signature = signature.encode(errors="replace").decode()
    with pytest.raises(Forged):
        await vonage(client).verify(way({**signed(receipt("delivered")), "sig": signature}))


@WAYS
async def test_a_receipt_without_any_signature_is_told_from_a_forged_one(
    client: httpx.AsyncClient, way: Callable[[dict[str, object]], Callback]
) -> None:
    """Vonage forgets to sign at times, and does so when it is asked again."""
    with pytest.raises(Unsigned):
        await vonage(client).verify(way(dict(receipt("delivered"))))
    with pytest.raises(Forged) as caught:
        await vonage(client).verify(way({**signed(receipt("delivered")), "sig": "0" * 64}))
    assert not isinstance(caught.value, Unsigned)


async def test_a_name_cannot_pass_for_two_parameters(client: httpx.AsyncClient) -> None:
    said = signed(receipt("failed", "3"))
    merged = {"err-code=3&message-timestamp": said["message-timestamp"]}
    rest = {name: said[name] for name in said if name not in {"err-code", "message-timestamp"}}

    with pytest.raises(Forged, match="cannot be read"):
        await vonage(client).verify(as_json(rest | merged))


VECTORS = (
    (
        "my_secret_key_for_testing",
        {
            "message-timestamp": "2013-11-21 15:27:30",
            "messageId": "020000001B0FE827",
            "msisdn": "14843472194",
            "text": "Test again",
            "timestamp": "1385047698",
            "to": "13239877404",
            "type": "text",
        },
        "DDB8397C2B90AAC7F3882D306475C9A5058C92322EEF43C92B298B6E0FC0D330",
    ),
    (
        "signature_secret",
        {"param1": "value1", "param2": "value2", "timestamp": "1234567890"},
        "280c4320703dbc98bfa22db676655ed2acfbfe8792b062ff7622e67f1183c287",
    ),
)
"""Signatures by SHA-256 HMAC that the tests of the provider's own Ruby, PHP and Python libraries publish."""


@pytest.mark.parametrize(("secret", "said", "signature"), VECTORS)
async def test_the_providers_own_signatures_hold_and_no_altered_byte(
    client: httpx.AsyncClient, secret: str, said: dict[str, str], signature: str
) -> None:
    at = datetime.fromtimestamp(int(said["timestamp"]), UTC)
    provider = replace(vonage(client), signature_secret=Credential(secret), clock=lambda: at)

    for way in (as_form, as_json, as_query):
        await provider.verify(way({**said, "sig": signature}))
        with pytest.raises(Forged):
            await provider.verify(
                way({**said, "sig": f"{signature[:-1]}{'1' if signature[-1] == '0' else '0'}"})
            )
        for name, value in said.items():
            with pytest.raises(Forged):
                await provider.verify(way({**said, name: f"{value}1", "sig": signature}))


@pytest.mark.parametrize(
    "claims",
    [
        {"payload_hash": "0" * 64},
        {"payload_hash": None},
        {"payload_hash": 7},
        {"iat": None},
        {"iat": "soon"},
        {"iat": int((NOW - OLDEST - timedelta(seconds=1)).timestamp())},
        {"iat": int((NOW + timedelta(minutes=6)).timestamp())},
    ],
    ids=repr,
)
async def test_a_token_that_does_not_vouch_for_this_body_and_time_is_not_believed(
    client: httpx.AsyncClient, claims: dict[str, object]
) -> None:
    with pytest.raises(Forged):
        await vonage(client).verify(by_token(receipt("delivered", "0"), **claims))


async def test_the_times_of_a_token_are_not_compared_with_the_hosts_clock(client: httpx.AsyncClient) -> None:
    long_ago = NOW - timedelta(days=4000)
    claims = {"iat": int(long_ago.timestamp()), "exp": int(long_ago.timestamp()) + 60}
    to_come = NOW + timedelta(days=4000)

    await replace(vonage(client), clock=lambda: long_ago).verify(by_token(receipt("delivered"), **claims))
    await replace(vonage(client), clock=lambda: to_come).verify(
        by_token(receipt("delivered"), iat=int(to_come.timestamp()))
    )


@pytest.mark.parametrize("algorithm", ["none", "HS384", "HS512"])
async def test_a_token_of_another_algorithm_is_not_believed(
    client: httpx.AsyncClient, algorithm: str
) -> None:
    given = by_token(receipt("delivered", "0"))
    claims = jwt.decode(given.headers["authorization"][7:], options={"verify_signature": False})
    key = "" if algorithm == "none" else SIGNATURE_SECRET * 2
    token = jwt.encode(claims, key, algorithm)
    provider = replace(vonage(client), signature_secret=Credential(SIGNATURE_SECRET * 2))

    with pytest.raises(Forged):
        await provider.verify(replace(given, headers={"authorization": f"Bearer {token}"}))


async def test_a_token_vouches_for_no_query(client: httpx.AsyncClient) -> None:
    nothing = hashlib.sha256(b"").hexdigest()
    token = by_token({}, payload_hash=nothing).headers

    with pytest.raises(Forged, match="vouches for no body"):
        await vonage(client).verify(replace(as_query(receipt("delivered", "0")), headers=token))


async def test_what_a_token_vouches_for_is_read_and_not_the_query_beside_it(
    client: httpx.AsyncClient,
) -> None:
    given = by_token(receipt("failed", "3"))
    beside = replace(given, url=as_query(receipt("delivered", "0")).url)

    await vonage(client).verify(beside)
    (said,) = vonage(client).parse(beside)
    assert said.status is Status.INVALID_RECIPIENT


async def test_without_its_secret_no_receipt_is_believed(client: httpx.AsyncClient) -> None:
    with pytest.raises(Misconfigured, match="STANDBY_VONAGE_SIGNATURE_SECRET: is not set"):
        await replace(vonage(client), signature_secret=None).verify(as_form(signed(receipt("delivered"))))


async def levels(provider: Vonage) -> dict[str, Level]:
    return {each.says: each.level for each in await provider.examine(Channel.SMS)}


@pytest.mark.parametrize(
    ("value", "level", "says"),
    [
        (10.28, Level.OK, "the credentials hold, and the account has credit"),
        (0, Level.PROBLEM, "the account has no credit: top it up"),
        (-0.5, Level.PROBLEM, "the account has no credit: top it up"),
        (None, Level.UNCHECKED, "the credentials hold, but the balance cannot be read"),
    ],
)
async def test_an_account_without_credit_is_a_problem(
    provider: Vonage, fake: FakeVonage, value: object, level: Level, says: str
) -> None:
    fake.value = value

    assert (await levels(provider))[says] is level


async def test_what_cannot_be_asked_is_not_called_ok(provider: Vonage) -> None:
    found = await levels(provider)

    assert found["the API does not tell whether the account may send as +12025550100"] is Level.UNCHECKED
    assert found["the API does not tell whether the account signs its receipts"] is Level.UNCHECKED


async def test_the_reports_api_is_asked_where_it_is_switched_on(provider: Vonage) -> None:
    assert (await levels(replace(provider, reports=True)))["the Reports API answers"] is Level.OK


@pytest.mark.parametrize("callback", [None, f"https://{'long.' * 20}example.com"], ids=["none", "long"])
async def test_receipts_that_are_not_asked_for_are_noted(provider: Vonage, callback: str | None) -> None:
    found = await levels(replace(provider, callback=callback))

    says = "no receipts are asked for: STANDBY_PUBLIC_URL is not set, or too long for the provider"
    assert found[says] is Level.NOTE


async def test_receipts_that_cannot_be_believed_are_noted(provider: Vonage) -> None:
    found = await levels(replace(provider, signature_secret=None))

    says = "receipts are not believed: set STANDBY_VONAGE_SIGNATURE_SECRET, and let the account sign"
    assert found[says] is Level.NOTE


async def test_it_is_made_from_the_settings(client: httpx.AsyncClient) -> None:
    environ = {
        "STANDBY_VONAGE_API_KEY": "abcd1234",
        "STANDBY_VONAGE_API_SECRET": "s3cret",
        "STANDBY_VONAGE_REPORTS": "1",
        "STANDBY_SMS_FROM": "Example",
        "STANDBY_PUBLIC_URL": "https://standby.example.com",
    }
    made = build(Settings.read(environ), client)

    assert (made.callback, made.sender, made.reports) == (CALLBACK, "Example", True)
    assert made.capabilities(Channel.SMS).reads_by_id
    with pytest.raises(Misconfigured, match="STANDBY_VONAGE_API_SECRET: is not set"):
        build(Settings.read({"STANDBY_VONAGE_API_KEY": "abcd1234"}), client)
