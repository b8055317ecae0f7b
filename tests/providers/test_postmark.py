"""What Postmark alone does. It signs nothing, so there are no published signatures to check against."""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from activities.accounts import Postmark as Account
from activities.providers import postmark
from activities.providers.base import Callback, Level, Listed
from activities.providers.errors import Forged, Misconfigured, ReadFailed, Rejected
from activities.providers.postmark import Postmark
from activities.settings import Settings
from activities.variables import Credential
from tests.providers.cases.postmark import BOUNCED, ID, NO_MAILBOX, SENDER, TAKEN, basic, called, event, told
from tests.providers.fakes.api import running
from tests.providers.fakes.postmark import STREAM, TOKEN, FakePostmark
from tests.providers.scripted import Scripted, answer
from tests.providers.subject import EMAIL, PERSONAL, SECRET, json_of
from workflows.policy.words import Channel, Status, SuppressionReason

BOUNCE_ID = "4323372036854775807"


def provider(client: httpx.AsyncClient, url: str) -> Postmark:
    return Postmark(client, url, Credential(TOKEN), SENDER, STREAM, Credential(SECRET))


@pytest.fixture
async def served(client: httpx.AsyncClient) -> AsyncIterator[tuple[FakePostmark, Postmark]]:
    fake = FakePostmark()
    async with running(fake) as server:
        yield fake, provider(client, server.url)


async def test_a_send_says_its_stream_and_one_recipient(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(200, TAKEN)

    await provider(client, script.url).send(EMAIL)

    fields = json_of(script.requests[0])
    assert (fields["MessageStream"], fields["To"], fields["From"]) == (STREAM, EMAIL.to, SENDER.written)
    assert "Headers" not in fields


@pytest.mark.parametrize("length", [1, 30, 60])
async def test_metadata_has_room_for_a_label_or_a_digest(
    served: tuple[FakePostmark, Postmark], length: int
) -> None:
    fake, adapter = served

    await adapter.send(replace(EMAIL, key=f"kind:{'e' * length}:u-1:email:1"))

    assert len(fake.messages[0].draft.key or "") <= 80
    assert fake.violations == []


async def test_an_acceptance_with_a_warning_and_without_an_error_code_is_one(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(200, {"MessageID": ID, "Message": "OK, but delivery may be delayed."})

    assert (await provider(client, script.url).send(EMAIL)).provider_id == ID


async def test_an_internationalised_address_that_it_cannot_take_is_not_to_blame(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(422, {"ErrorCode": 300, "Message": "Invalid 'To' address: 'grüße@example.test'."})

    with pytest.raises(Rejected) as caught:
        await provider(client, script.url).send(replace(EMAIL, to="grüße@example.test"))

    assert caught.value.reported.status is Status.REJECTED


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (10, "STANDBY_POSTMARK_SERVER_TOKEN"),
        (400, "STANDBY_EMAIL_FROM"),
        (405, "credits"),
        (412, "approval"),
        (1235, "STANDBY_POSTMARK_STREAM"),
    ],
)
async def test_a_wrong_setting_says_what_to_do(
    client: httpx.AsyncClient, script: Scripted, code: int, remedy: str
) -> None:
    script.answer = answer(422, {"ErrorCode": code, "Message": "anna.secret@example.test"})

    with pytest.raises(Misconfigured, match=remedy):
        await provider(client, script.url).send(EMAIL)
    with pytest.raises(Misconfigured, match=remedy):
        await provider(client, script.url).look_up(Channel.EMAIL, EMAIL.key, ID)


async def test_a_bounce_is_asked_for_by_its_id(served: tuple[FakePostmark, Postmark]) -> None:
    fake, adapter = served
    reported = await adapter.send(EMAIL)
    fake.messages[0].detail = {"MessageEvents": [event("Delivered", 20), BOUNCED]}
    fake.bounces[BOUNCE_ID] = {"Type": "SpamNotification", "Details": NO_MAILBOX}

    found = await adapter.look_up(Channel.EMAIL, EMAIL.key, reported.provider_id)

    assert found is not None
    assert (found.status, found.raw, found.provider_id) == (
        Status.REJECTED,
        "SpamNotification",
        reported.provider_id,
    )


async def test_a_bounce_that_is_gone_is_what_its_event_sums_up(
    served: tuple[FakePostmark, Postmark],
) -> None:
    fake, adapter = served
    await adapter.send(EMAIL)
    fake.messages[0].detail = {"MessageEvents": [BOUNCED]}

    found = await adapter.look_up(Channel.EMAIL, EMAIL.key, None)

    assert found is not None
    assert (found.status, found.is_final, found.code) == (Status.INVALID_RECIPIENT, True, "5.1.1")


async def test_the_last_of_two_bounces_counts_however_they_are_listed(
    served: tuple[FakePostmark, Postmark],
) -> None:
    fake, adapter = served
    await adapter.send(EMAIL)
    hard, soft = event("Bounced", 40, BounceID="2"), event("Bounced", 10, BounceID="1")
    fake.messages[0].detail = {"MessageEvents": [hard, soft]}
    fake.bounces = {"1": {"Type": "SoftBounce"}, "2": {"Type": "HardBounce", "Details": NO_MAILBOX}}

    found = await adapter.look_up(Channel.EMAIL, EMAIL.key, None)

    assert found is not None
    assert found.status is Status.INVALID_RECIPIENT


async def test_an_id_that_is_no_number_asks_for_nothing(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(200, told(event("Bounced", BounceID="../server", Summary=NO_MAILBOX)))

    found = await provider(client, script.url).look_up(Channel.EMAIL, EMAIL.key, ID)

    assert found is not None
    assert found.status is Status.INVALID_RECIPIENT
    assert len(script.requests) == 1


async def test_a_message_under_another_key_is_not_ours(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(200, {"Messages": [{"MessageID": ID, "Metadata": {"standby": "k-another"}}]})

    assert await provider(client, script.url).look_up(Channel.EMAIL, EMAIL.key, None) is None
    assert len(script.requests) == 1


async def test_only_peoples_own_choices_are_listed(served: tuple[FakePostmark, Postmark]) -> None:
    fake, adapter = served
    fake.suppressed = {
        "a@example.test": "SpamComplaint Recipient",
        "b@example.test": "ManualSuppression Recipient",
        "c@example.test": "ManualSuppression Customer",
        "d@example.test": "HardBounce Recipient",
        "e@example.test": "ManualSuppression Admin",
    }

    listed: list[Listed] = [each async for each in adapter.listed(Channel.EMAIL)]

    assert [(each.address[0], each.reason) for each in listed] == [
        ("a", SuppressionReason.COMPLAINT),
        ("b", SuppressionReason.UNSUBSCRIBED),
    ]
    assert {each.at and each.at.isoformat() for each in listed} == {"2026-11-17T13:58:33+00:00"}


async def test_an_address_that_is_not_taken_is_a_failure(served: tuple[FakePostmark, Postmark]) -> None:
    fake, adapter = served
    fake.refuses_addresses = True

    with pytest.raises(ReadFailed):
        await adapter.suppress(Channel.EMAIL, EMAIL.to, SuppressionReason.COMPLAINT)


async def test_the_user_name_of_a_callback_may_be_any(client: httpx.AsyncClient) -> None:
    given = base64.b64encode(f":{SECRET}".encode()).decode()

    await provider(client, "").verify(Callback(b"{}", {"authorization": f"basic {given}"}))


@pytest.mark.parametrize(
    "given",
    [
        basic("another"),
        basic(""),
        basic(f"{SECRET}:"),
        basic(SECRET).replace("Basic", "Bearer"),
        f"Basic {SECRET}",
        "Basic /w==",
        "Basic Grüße",
        "Basic",
        "",
    ],
)
async def test_another_secret_is_not_believed(client: httpx.AsyncClient, given: str) -> None:
    with pytest.raises(Forged):
        await provider(client, "").verify(Callback(called("Delivery").body, {"authorization": given}))


async def test_without_a_secret_no_callback_is_believed(client: httpx.AsyncClient) -> None:
    bare = Postmark(client, "", Credential(TOKEN), SENDER, STREAM)

    with pytest.raises(Misconfigured, match="STANDBY_POSTMARK_WEBHOOK_SECRET"):
        await bare.verify(called("Delivery"))


def test_an_event_has_the_same_id_whenever_it_is_told(client: httpx.AsyncClient) -> None:
    kinds = [
        called("Delivery", DeliveredAt="2026-12-01T10:00:00Z", Recipient=EMAIL.to),
        called("Delivery", DeliveredAt="2026-12-01T10:00:01Z", Recipient=EMAIL.to),
        called("Bounce", ID=4323372036854775807, Type="HardBounce", BouncedAt="2026-12-01T10:00:00Z"),
        called("Bounce", ID=4323372036854775806, Type="HardBounce", BouncedAt="2026-12-01T10:00:00Z"),
        called("Open", ReceivedAt="2026-12-01T10:00:00Z"),
        called("Click", ReceivedAt="2026-12-01T10:00:00Z"),
    ]
    ids = [provider(client, "").parse(each)[0].event_id or "" for each in [*kinds, *kinds]]
    spaced = replace(kinds[0], body=json.dumps(json.loads(kinds[0].body), indent=1).encode())

    assert ids[:6] == ids[6:]
    assert len(set(ids)) == 6
    assert provider(client, "").parse(spaced)[0].event_id == ids[0]
    assert not any(part in f"{ids}" for part in PERSONAL)


async def test_a_sandbox_server_is_a_problem_and_the_sender_is_not_checked(
    served: tuple[FakePostmark, Postmark],
) -> None:
    fake, adapter = served
    right = [each.level for each in await adapter.examine(Channel.EMAIL)]
    fake.delivery_type = "Sandbox"
    wrong = [each.level for each in await adapter.examine(Channel.EMAIL)]

    assert right == [Level.OK, Level.OK, Level.UNCHECKED]
    assert wrong == [Level.PROBLEM, Level.OK, Level.UNCHECKED]


async def test_the_token_of_tests_is_a_problem(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(200, {"DeliveryType": "Live", "MessageStreamType": "Transactional"})
    adapter = replace(provider(client, script.url), server_token=Credential("POSTMARK_API_TEST"))

    assert (await adapter.examine(Channel.EMAIL))[0].level is Level.PROBLEM


@pytest.mark.parametrize(
    ("stream", "level"),
    [
        ({"MessageStreamType": "Broadcasts"}, Level.NOTE),
        ({"MessageStreamType": "Inbound"}, Level.PROBLEM),
        ({"MessageStreamType": "Transactional", "ArchivedAt": "2026-01-01T00:00:00Z"}, Level.PROBLEM),
    ],
)
async def test_a_stream_that_is_not_transactional_is_said(
    served: tuple[FakePostmark, Postmark], stream: dict[str, str | None], level: Level
) -> None:
    fake, adapter = served
    fake.streams[STREAM] = stream

    assert (await adapter.examine(Channel.EMAIL))[1].level is level


async def test_a_stream_that_is_not_there_is_a_setting(served: tuple[FakePostmark, Postmark]) -> None:
    fake, adapter = served
    fake.streams.clear()

    with pytest.raises(Misconfigured, match="STANDBY_POSTMARK_STREAM"):
        await adapter.examine(Channel.EMAIL)
    with pytest.raises(Misconfigured, match="STANDBY_POSTMARK_STREAM"):
        await adapter.send(EMAIL)


async def test_it_is_built_from_its_settings(client: httpx.AsyncClient) -> None:
    account = Account(server_token=Credential(TOKEN), stream=STREAM, webhook_secret=Credential(SECRET))
    built = postmark.build(Settings(email_from=SENDER.written, postmark=account), client)

    assert built == provider(client, "https://api.postmarkapp.com")
    with pytest.raises(Misconfigured, match="STANDBY_POSTMARK_SERVER_TOKEN"):
        postmark.build(Settings(email_from=SENDER.written), client)
    with pytest.raises(Misconfigured, match="STANDBY_EMAIL_FROM"):
        postmark.build(Settings(postmark=account), client)


async def test_a_list_of_thousands_comes_in_one_piece(client: httpx.AsyncClient, script: Scripted) -> None:
    rows = [
        {
            "EmailAddress": f"a-person-with-a-long-name-{n}@mail.example.test",
            "SuppressionReason": "SpamComplaint",
            "Origin": "Recipient",
            "CreatedAt": "2026-11-17T08:58:33-05:00",
        }
        for n in range(8_000)
    ]
    script.answer = answer(200, {"Suppressions": rows})

    listed = [each async for each in provider(client, script.url).listed(Channel.EMAIL)]

    assert {each.address for each in listed} == {row["EmailAddress"] for row in rows}


async def test_a_list_that_is_not_there_is_not_an_empty_one(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(404, {"ErrorCode": 1226, "Message": "As documented."})

    with pytest.raises((ReadFailed, Misconfigured)):
        _ = [each async for each in provider(client, script.url).listed(Channel.EMAIL)]
