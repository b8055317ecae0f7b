"""What only Courier does: it replays 500s, fails over by itself, and fills in variables."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from activities.providers import labels, wire
from activities.providers.base import Callback, Level, Message
from activities.providers.courier import Courier, build
from activities.providers.errors import Ambiguous, Forged, Misconfigured
from activities.settings import Settings
from activities.variables import Credential
from tests.providers.cases.courier import ID, SENDER, posted, undone, updated
from tests.providers.fakes.api import Fault, running
from tests.providers.fakes.courier import TOKEN, FakeCourier
from tests.providers.scripted import Scripted, answer
from tests.providers.subject import EMAIL, NOW, PERSONAL, SECRET, SMS, json_of
from workflows.policy.words import Channel, Status

MESSAGES = pytest.mark.parametrize("message", [EMAIL, SMS], ids=["email", "sms"])
TAKEN = answer(202, {"requestId": ID})


@dataclass(frozen=True, slots=True)
class House:
    fake: FakeCourier
    courier: Courier


def courier(client: httpx.AsyncClient, url: str, email_from: str | None = SENDER) -> Courier:
    return Courier(client, url, Credential(TOKEN), email_from, Credential(SECRET), clock=lambda: NOW)


@pytest.fixture
async def house(client: httpx.AsyncClient) -> AsyncIterator[House]:
    fake = FakeCourier()
    async with running(fake) as server:
        yield House(fake, courier(client, server.url))
    assert fake.violations == []


@pytest.fixture
async def elsewhere() -> AsyncIterator[Courier]:
    async with wire.new_client() as client:
        yield courier(client, "https://api.example.test")


async def sent(client: httpx.AsyncClient, script: Scripted, message: Message) -> dict[str, object]:
    script.answer = TAKEN
    await courier(client, script.url).send(message)
    found = json_of(script.requests[0])["message"]
    assert isinstance(found, dict)
    return found


@MESSAGES
async def test_a_500_is_kept_under_its_key_and_only_a_look_up_tells_more(
    house: House, message: Message
) -> None:
    house.fake.faults.append(Fault.BROKEN)
    for _ in range(2):
        with pytest.raises(Ambiguous) as caught:
            await house.courier.send(message)
        assert not caught.value.repeatable

    found = await house.courier.look_up(message.channel, message.key, None)

    assert found is not None
    assert found.provider_id == house.fake.messages[0].id


@pytest.mark.parametrize(
    ("http", "repeatable"), [(409, True), (408, True), (500, False), (502, False), (503, False), (599, False)]
)
async def test_what_may_be_kept_under_the_key_is_not_repeated_under_it(
    client: httpx.AsyncClient, script: Scripted, http: int, *, repeatable: bool
) -> None:
    script.answer = answer(http, {"message": "As documented."})

    with pytest.raises(Ambiguous) as caught:
        await courier(client, script.url).send(EMAIL)

    assert caught.value.repeatable is repeatable


@MESSAGES
async def test_exactly_one_channel_is_named(
    client: httpx.AsyncClient, script: Scripted, message: Message
) -> None:
    content = await sent(client, script, message)

    assert content["routing"] == {"method": "single", "channels": [message.channel]}


async def test_the_content_of_an_email_is_exempt_from_variables(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    content = await sent(client, script, replace(EMAIL, text="{{name}} stays", html="<p>{{name}}</p>"))

    assert content["channels"] == {
        "email": {
            "override": {
                "from": SENDER,
                "subject": EMAIL.subject,
                "text": "{{name}} stays",
                "html": "<p>{{name}}</p>",
            }
        }
    }


async def test_a_text_has_no_title_and_no_sender_of_ours(client: httpx.AsyncClient, script: Scripted) -> None:
    content = await sent(client, script, SMS)

    assert content["content"] == {"body": SMS.text}
    assert "channels" not in content


async def test_without_a_sender_the_integration_decides(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = TAKEN
    await courier(client, script.url, email_from=None).send(EMAIL)

    assert SENDER not in script.requests[0].body.decode()
    assert b'"from"' not in script.requests[0].body


@pytest.mark.parametrize("length", [1, 300])
async def test_one_label_is_the_key_that_is_honoured_and_the_trace_that_is_found(
    client: httpx.AsyncClient, script: Scripted, length: int
) -> None:
    key = f"kind:{'e' * length}:u-1:email:1"
    content = await sent(client, script, replace(EMAIL, key=key))

    label = labels.header(key)
    assert script.requests[0].headers["idempotency-key"] == label
    assert content["metadata"] == {"trace_id": label}


async def test_what_is_found_by_key_is_read_with_the_errors_of_the_providers(house: House) -> None:
    await house.courier.send(EMAIL)
    (stored,) = house.fake.messages
    stored.word, stored.detail = "UNDELIVERABLE", undone("BOUNCED", "550 5.1.1 user unknown")

    found = await house.courier.look_up(Channel.EMAIL, EMAIL.key, None)

    assert found is not None
    assert (found.status, found.code) == (Status.INVALID_RECIPIENT, "5.1.1")
    assert found.raw == "UNDELIVERABLE BOUNCED"


async def test_what_is_listed_and_cannot_be_shown_yet_is_known_all_the_same() -> None:
    def say(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/messages":
            return httpx.Response(200, json={"results": [{"id": ID, "status": "SENT"}]})
        return httpx.Response(404, json={"message": "Not Found", "type": "invalid_request_error"})

    async with wire.new_client(httpx.MockTransport(say)) as client:
        found = await courier(client, "https://api.example.test").look_up(Channel.EMAIL, EMAIL.key, None)

    assert found is not None
    assert (found.status, found.provider_id) == (Status.ACCEPTED, ID)


def test_a_repeated_callback_is_one_event_and_another_status_is_another(elsewhere: Courier) -> None:
    rows: tuple[Mapping[str, object], ...] = (
        {"status": "SENT"},
        {"status": "SENT", "sent": 1796119198000},
        {"status": "UNDELIVERABLE", "reason": "BOUNCED"},
        {"status": "UNDELIVERABLE", "reason": "FILTERED"},
        {"status": "SENT", "id": "1-another"},
    )
    ids = [elsewhere.parse(updated(EMAIL, **row))[0].event_id or "" for row in rows]

    assert ids[0] == ids[1]
    assert len(set(ids)) == len(rows) - 1
    assert not any(part in each for part in PERSONAL for each in ids)


@pytest.mark.parametrize(
    ("data", "at"),
    [
        ({"status": "DELIVERED", "delivered": 1630512501708}, datetime(2021, 9, 1, 16, 8, 21, 708000, UTC)),
        ({"status": "OPENED", "delivered": 1630512501708}, None),
        ({"status": "RECIPIENT", "recipient": "1630512501708"}, None),
    ],
    ids=["its own", "another's", "no status"],
)
def test_a_status_has_its_own_time_in_milliseconds(
    elsewhere: Courier, data: Mapping[str, object], at: datetime | None
) -> None:
    assert elsewhere.parse(updated(EMAIL, **data))[0].provider_at == at


@pytest.mark.parametrize(
    "beside", [{"traceId": SMS.key}, {"metadata": {"trace_id": SMS.key}}, {"metadata": {"traceId": SMS.key}}]
)
def test_the_trace_is_read_wherever_it_comes_back(elsewhere: Courier, beside: Mapping[str, object]) -> None:
    data = {"id": ID, "status": "SENT", **beside}

    assert elsewhere.parse(posted({"type": "message:updated", "data": data}))[0].attempt_key == SMS.key


async def test_any_of_several_signatures_may_be_ours(elsewhere: Courier) -> None:
    callback = updated(EMAIL, status="SENT")
    timestamp, _, signature = callback.headers["courier-signature"].partition(",")

    await elsewhere.verify(
        Callback(callback.body, {"courier-signature": f"{timestamp}, signature=00, {signature}"})
    )


async def test_a_timestamp_in_seconds_is_not_believed(elsewhere: Courier) -> None:
    with pytest.raises(Forged, match="too far from now"):
        await elsewhere.verify(posted({"type": "message:updated"}, at=str(int(NOW.timestamp()))))


async def test_the_timestamp_is_signed(elsewhere: Courier) -> None:
    callback = updated(EMAIL, status="SENT")
    later = str(int((NOW + timedelta(seconds=1)).timestamp() * 1000))
    _, _, signature = callback.headers["courier-signature"].partition(",")

    with pytest.raises(Forged, match="does not match"):
        await elsewhere.verify(Callback(callback.body, {"courier-signature": f"t={later},{signature}"}))


async def test_a_callback_without_a_secret_is_a_setting(client: httpx.AsyncClient) -> None:
    provider = Courier(client, "https://api.example.test", Credential(TOKEN))

    with pytest.raises(Misconfigured, match="STANDBY_COURIER_WEBHOOK_SECRET"):
        await provider.verify(updated(EMAIL, status="SENT"))


@pytest.mark.parametrize(
    ("channel", "email_from", "sender"),
    [
        (Channel.EMAIL, SENDER, "STANDBY_EMAIL_FROM"),
        (Channel.EMAIL, None, "that of the integration"),
        (Channel.SMS, SENDER, "that of the integration"),
    ],
)
async def test_an_examination_says_whose_sender_it_is(
    house: House, channel: Channel, email_from: str | None, sender: str
) -> None:
    holds, note = await replace(house.courier, email_from=email_from).examine(channel)

    assert (holds.level, note.level) == (Level.OK, Level.NOTE)
    assert sender in note.says


async def test_a_wrong_key_names_its_variable(house: House) -> None:
    house.fake.denies = True

    with pytest.raises(Misconfigured, match="STANDBY_COURIER_API_KEY"):
        await house.courier.send(EMAIL)


def test_a_sender_is_not_needed_and_a_key_is(client: httpx.AsyncClient) -> None:
    built = build(Settings.read({"STANDBY_COURIER_API_KEY": TOKEN}), client)

    assert (built.url, built.email_from, built.webhook_secret) == ("https://api.courier.com", None, None)
    with pytest.raises(Misconfigured, match="STANDBY_COURIER_API_KEY"):
        build(Settings.read({}), client)


@pytest.mark.parametrize(
    ("environ", "sender"),
    [
        ({"STANDBY_EMAIL_FROM": "all@example.com"}, "all@example.com"),
        ({"STANDBY_EMAIL_FROM": "all@example.com", "STANDBY_COURIER_EMAIL_FROM": SENDER}, SENDER),
    ],
)
def test_the_account_has_the_last_word_on_the_sender(
    client: httpx.AsyncClient, environ: Mapping[str, str], sender: str
) -> None:
    assert build(Settings.read({"STANDBY_COURIER_API_KEY": TOKEN, **environ}), client).email_from == sender
