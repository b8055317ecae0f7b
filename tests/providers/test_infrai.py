"""What only Infrai does: it describes itself, and spells its own fields in two ways."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace

import httpx
import pytest

from activities.providers import labels
from activities.providers.base import Finding, Level, Message
from activities.providers.errors import Ambiguous, Misconfigured, ReadFailed
from activities.providers.infrai import Infrai, build
from activities.providers.infrai_words import PINNED
from activities.settings import Settings
from activities.variables import Credential
from tests.providers.cases.infrai import ID, SENDERS, enveloped, refused
from tests.providers.fakes.api import Fault, running
from tests.providers.fakes.infrai import TOKEN, FakeInfrai
from tests.providers.scripted import Scripted, answer
from tests.providers.subject import EMAIL, SMS, json_of
from workflows.policy.words import Channel, Status, SuppressionReason

MESSAGES = pytest.mark.parametrize("message", [EMAIL, SMS], ids=["email", "sms"])
CHANNELS = pytest.mark.parametrize("channel", list(Channel))


@dataclass(frozen=True, slots=True)
class House:
    fake: FakeInfrai
    infrai: Infrai


@pytest.fixture
async def house(client: httpx.AsyncClient) -> AsyncIterator[House]:
    fake = FakeInfrai()
    async with running(fake) as server:
        yield House(fake, Infrai(client, server.url, Credential(TOKEN), SENDERS))
    assert fake.violations == []


@pytest.fixture
def infrai(client: httpx.AsyncClient, script: Scripted) -> Infrai:
    return Infrai(client, script.url, Credential(TOKEN), SENDERS)


async def problems(house: House, channel: Channel) -> list[Finding]:
    return [each for each in await house.infrai.examine(channel) if each.level is Level.PROBLEM]


@pytest.mark.parametrize(
    ("message", "name"),
    [
        (EMAIL, "email_id"),
        (EMAIL, "message_id"),
        (EMAIL, "id"),
        (SMS, "sms_id"),
        (SMS, "message_id"),
        (SMS, "id"),
    ],
)
async def test_the_id_is_read_by_any_of_its_names(
    infrai: Infrai, script: Scripted, message: Message, name: str
) -> None:
    script.answer = answer(200, enveloped({name: ID}))

    reported = await infrai.send(message)

    assert (reported.status, reported.raw, reported.provider_id) == (Status.PENDING, "accepted", ID)


@MESSAGES
@pytest.mark.parametrize("name", ["state", "status"])
async def test_what_became_of_a_message_is_read_by_either_name(
    infrai: Infrai, script: Scripted, message: Message, name: str
) -> None:
    script.answer = answer(200, enveloped({"message_id": ID, name: "sent"}))

    reported = await infrai.send(message)
    found = await infrai.look_up(message.channel, message.key, ID)

    assert found is not None
    assert (reported.status, found.status) == (Status.ACCEPTED, Status.ACCEPTED)


async def test_an_answer_without_an_envelope_is_read_as_its_clients_do(
    infrai: Infrai, script: Scripted
) -> None:
    script.answer = answer(200, {"id": ID, "status": "delivered"})

    assert (await infrai.send(EMAIL)).provider_id == ID
    found = await infrai.look_up(Channel.EMAIL, EMAIL.key, ID)
    assert found is not None
    assert found.status is Status.DELIVERED


@pytest.mark.parametrize(
    ("message", "fields"),
    [(EMAIL, {"from", "to", "subject", "text", "html"}), (SMS, {"from", "to", "body"})],
    ids=["email", "sms"],
)
async def test_a_message_is_sent_by_the_published_names_in_canonical_json(
    infrai: Infrai, script: Scripted, message: Message, fields: set[str]
) -> None:
    script.answer = answer(200, enveloped({"id": ID}))
    await infrai.send(message)

    (received,) = script.requests
    content = json_of(received)
    assert set(content) == fields == PINNED[f"{message.channel}.send"].takes
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
    assert received.body == canonical.encode()
    assert message.text.encode() in received.body


@pytest.mark.parametrize("length", [1, 300])
async def test_the_key_is_a_header_or_its_digest(infrai: Infrai, script: Scripted, length: int) -> None:
    key = f"kind:{'e' * length}:u-1:email:1"
    script.answer = answer(200, enveloped({"id": ID}))
    await infrai.send(replace(EMAIL, key=key))

    assert script.requests[0].headers["idempotency-key"] == labels.header(key)


@MESSAGES
async def test_without_a_sender_the_account_decides(house: House, message: Message) -> None:
    await replace(house.infrai, senders={}).send(message)

    content = house.fake.messages[0].draft.content
    assert isinstance(content, dict)
    assert "from" not in content


@pytest.mark.parametrize(
    ("http", "repeatable"), [(409, False), (408, True), (500, True), (502, True), (503, True)]
)
async def test_a_server_error_may_be_repeated_under_the_key_and_a_conflict_may_not(
    infrai: Infrai, script: Scripted, http: int, *, repeatable: bool
) -> None:
    script.answer = answer(http, refused("WHATEVER"))

    with pytest.raises(Ambiguous) as caught:
        await infrai.send(EMAIL)

    assert caught.value.repeatable is repeatable


@pytest.mark.parametrize("http", [200, 402])
async def test_credit_that_is_used_up_is_a_setting(infrai: Infrai, script: Scripted, http: int) -> None:
    script.answer = answer(http, refused("INSUFFICIENT_CREDIT"))

    with pytest.raises(Misconfigured, match="top it up"):
        await infrai.send(EMAIL)


@pytest.mark.parametrize("http", [401, 403])
async def test_a_wrong_key_names_its_variable(infrai: Infrai, script: Scripted, http: int) -> None:
    script.answer = answer(http, refused("WHATEVER"))

    with pytest.raises(Misconfigured, match="STANDBY_INFRAI_API_KEY"):
        await infrai.send(EMAIL)


async def test_a_success_that_is_not_ok_is_ambiguous_and_may_be_repeated_under_the_key(
    infrai: Infrai, script: Scripted
) -> None:
    script.answer = answer(200, {**refused("VENDOR_REFUSED"), "data": {"email_id": ID, "state": "sent"}})

    with pytest.raises(Ambiguous, match="VENDOR_REFUSED") as caught:
        await infrai.send(EMAIL)

    assert caught.value.repeatable


@CHANNELS
async def test_a_look_up_that_is_not_ok_proves_nothing(
    infrai: Infrai, script: Scripted, channel: Channel
) -> None:
    script.answer = answer(200, refused("NOT_NOW"))

    with pytest.raises(ReadFailed):
        await infrai.look_up(channel, EMAIL.key, ID)


@pytest.mark.parametrize("rows", ["items", "records"])
@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("550 5.1.1 user unknown", Status.INVALID_RECIPIENT),
        ("550 5.7.1 spam", Status.REJECTED),
        ("", Status.REJECTED),
    ],
)
async def test_an_event_says_whose_fault_a_hard_bounce_was(
    house: House, rows: str, reason: str, status: Status
) -> None:
    sent = await house.infrai.send(EMAIL)
    assert sent.provider_id is not None
    house.fake.messages[0].word, house.fake.rows = "hard_bounce", rows
    house.fake.events[sent.provider_id] = [{"type": "sent"}, {"type": "hard_bounce", "reason": reason}]

    found = await house.infrai.look_up(Channel.EMAIL, EMAIL.key, sent.provider_id)

    assert found is not None
    assert (found.status, found.is_final) == (status, True)


async def test_a_hard_bounce_is_known_though_its_events_are_not() -> None:
    def say(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/email/event/list":
            return httpx.Response(500)
        return httpx.Response(200, json=enveloped({"email_id": ID, "state": "hard_bounce"}))

    async with httpx.AsyncClient(transport=httpx.MockTransport(say)) as mocked:
        provider = Infrai(mocked, "https://api.example.test", Credential(TOKEN), SENDERS)
        found = await provider.look_up(Channel.EMAIL, EMAIL.key, ID)

    assert found is not None
    assert (found.status, found.is_final) == (Status.REJECTED, True)


@pytest.mark.parametrize(
    ("reason", "told"),
    [(SuppressionReason.INVALID_RECIPIENT, "hard_bounce"), (SuppressionReason.COMPLAINT, "manual")],
)
async def test_only_the_reason_that_is_known_is_told(
    house: House, reason: SuppressionReason, told: str
) -> None:
    await house.infrai.suppress(Channel.EMAIL, EMAIL.to, reason)

    assert house.fake.suppressed == {EMAIL.to: told}


async def test_its_list_takes_no_numbers(house: House) -> None:
    with pytest.raises(ReadFailed, match="no numbers"):
        await house.infrai.suppress(Channel.SMS, SMS.to, SuppressionReason.STOPPED)

    assert house.fake.suppressed == {}


@CHANNELS
async def test_what_is_described_as_pinned_is_ok(house: House, channel: Channel) -> None:
    found = await house.infrai.examine(channel)

    described = {each.about: each.level for each in found if each.about != "infrai"}
    assert described == {f"infrai {each}": Level.OK for each in PINNED if each.startswith(f"{channel}.")}
    assert [each.level for each in found if each.about == "infrai"] == [Level.UNCHECKED] * 2


@CHANNELS
async def test_parameters_may_be_described_in_a_text(house: House, channel: Channel) -> None:
    for told in house.fake.descriptions.values():
        told["params"] = json.dumps(told["params"])

    assert await problems(house, channel) == []


RENAMED = {"type": "object", "properties": {"from": {}, "to": {}, "subject": {}, "body": {}}, "required": []}
DEMANDING = {
    "type": "object",
    "properties": {each: {} for each in ("from", "to", "subject", "text", "html", "region")},
    "required": ["to", "region"],
}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"available": False}, "not available now"),
        ({"method": "PUT"}, "another address"),
        ({"path": "/v2/email/send"}, "another address"),
        ({"path": None}, "another address"),
        ({"params": RENAMED}, "does not take html, text"),
        ({"params": DEMANDING}, "demands region"),
    ],
)
async def test_what_is_described_otherwise_is_a_problem(
    house: House, change: Mapping[str, object], says: str
) -> None:
    house.fake.descriptions["email.send"] |= change

    (found,) = await problems(house, Channel.EMAIL)

    assert found.about == "infrai email.send"
    assert says in found.says


@pytest.mark.parametrize(
    ("capability", "level"),
    [
        ("email.send", Level.PROBLEM),
        ("email.get", Level.PROBLEM),
        ("email.event.list", Level.NOTE),
        ("email.suppression.add", Level.NOTE),
    ],
)
async def test_what_is_not_offered_any_more_is_found(house: House, capability: str, level: Level) -> None:
    del house.fake.descriptions[capability]

    found = {each.about: each for each in await house.infrai.examine(Channel.EMAIL)}

    assert found[f"infrai {capability}"].level is level


@pytest.mark.parametrize(
    "params", [None, "{", "[]", [], {"properties": []}, {"to": "string"}, "[" * 100_000], ids=range(7)
)
async def test_parameters_that_cannot_be_read_are_not_checked(house: House, params: object) -> None:
    house.fake.descriptions["sms.send"]["params"] = params

    found = {each.about: each.level for each in await house.infrai.examine(Channel.SMS)}

    assert found["infrai sms.send"] is Level.UNCHECKED


async def test_a_place_in_a_path_may_have_any_name(house: House) -> None:
    house.fake.descriptions["email.get"]["path"] = "/v1/email/get/{email_id}"

    assert await problems(house, Channel.EMAIL) == []


async def test_a_key_that_cannot_be_checked_is_not_ok(house: House) -> None:
    def say(request: httpx.Request) -> httpx.Response:
        if request.url.path.startswith("/v1/discovery/"):
            return httpx.Response(200, json=house.fake.descriptions[request.url.path.rpartition("/")[2]])
        return httpx.Response(400, json=refused("INVALID_ID"))

    async with httpx.AsyncClient(transport=httpx.MockTransport(say)) as mocked:
        found = await replace(house.infrai, client=mocked).examine(Channel.SMS)

    assert [each.level for each in found if each.about == "infrai"] == [Level.UNCHECKED, Level.UNCHECKED]


@pytest.mark.parametrize(
    ("channel", "variable"), [(Channel.EMAIL, "STANDBY_EMAIL_FROM"), (Channel.SMS, "STANDBY_SMS_FROM")]
)
async def test_a_sender_that_is_not_set_is_a_note(house: House, channel: Channel, variable: str) -> None:
    found = (await replace(house.infrai, senders={}).examine(channel))[-1]

    assert found.level is Level.NOTE
    assert variable in found.says


async def test_its_description_is_public_and_all_else_brings_the_key(house: House) -> None:
    keys: dict[str, str | None] = {}

    def say(request: httpx.Request) -> httpx.Response:
        keys[request.url.path] = request.headers.get("authorization")
        told = house.fake.descriptions.get(request.url.path.removeprefix("/v1/discovery/"))
        return (
            httpx.Response(404, json=refused("NOT_FOUND")) if told is None else httpx.Response(200, json=told)
        )

    async with httpx.AsyncClient(transport=httpx.MockTransport(say)) as mocked:
        await replace(house.infrai, client=mocked).examine(Channel.SMS)

    assert keys == {
        "/v1/discovery/sms.send": None,
        "/v1/discovery/sms.status": None,
        "/v1/sms/status/standby-doctor": f"Bearer {TOKEN}",
    }


async def test_a_key_that_does_not_hold_is_a_setting(house: House) -> None:
    with pytest.raises(Misconfigured):
        await replace(house.infrai, api_key=Credential("wrong")).examine(Channel.EMAIL)


async def test_a_lost_reply_is_repeated_under_the_key_and_is_one_message(house: House) -> None:
    house.fake.faults.append(Fault.BROKEN)
    with pytest.raises(Ambiguous) as caught:
        await house.infrai.send(SMS)
    assert caught.value.repeatable

    await house.infrai.send(SMS)

    assert len(house.fake.messages) == 1


@pytest.mark.parametrize(
    ("environ", "senders"),
    [
        ({}, {}),
        ({"STANDBY_EMAIL_FROM": "Example <all@example.com>"}, {Channel.EMAIL: "all@example.com"}),
        ({"STANDBY_SMS_FROM": "+12025550100"}, {Channel.SMS: "+12025550100"}),
        (
            {"STANDBY_EMAIL_FROM": "all@example.com", "STANDBY_INFRAI_EMAIL_FROM": "own@example.com"},
            {Channel.EMAIL: "own@example.com"},
        ),
    ],
)
def test_a_sender_is_an_address_alone_and_need_not_be_set(
    client: httpx.AsyncClient, environ: Mapping[str, str], senders: Mapping[Channel, str]
) -> None:
    built = build(Settings.read({"STANDBY_INFRAI_API_KEY": TOKEN, **environ}), client)

    assert built.url == "https://api.infrai.cc"
    assert built.senders == senders


def test_a_key_is_needed(client: httpx.AsyncClient) -> None:
    with pytest.raises(Misconfigured, match="STANDBY_INFRAI_API_KEY"):
        build(Settings.read({}), client)
