"""What Mailgun alone does."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

import httpx
import pytest

from activities.accounts import Mailgun as Account
from activities.providers import mailgun
from activities.providers.base import Callback, Level
from activities.providers.errors import Ambiguous, Forged, Misconfigured, ReadFailed, Rejected
from activities.providers.mailgun import Mailgun
from activities.settings import Settings
from activities.variables import Credential
from tests.providers.cases.mailgun import ID, SENDER, TAG, TOKEN, event, page, signed
from tests.providers.fakes.api import running
from tests.providers.fakes.mailgun import DOMAIN, KEY, FakeMailgun
from tests.providers.scripted import Scripted, answer
from tests.providers.subject import EMAIL, NOW, SECRET
from workflows.policy.words import Channel, Status, SuppressionReason

Served = tuple[FakeMailgun, Mailgun]

PUBLISHED = Callback(
    json.dumps(
        {
            "signature": {
                "timestamp": "1403645220",
                "token": "5egbgr1vjgqxtrnp65xfznchgdccwh5d6i09vijqi3whgowmn6",
                "signature": "9cfc5c41582e51246e73c88d34db3af0a3a2692a76fbab81492842f000256d33",
            },
            "event-data": {"event": "delivered"},
        }
    ).encode(),
    {},
)
"""Signed with KEY, in the tests of Mailgun's own library for PHP (mailgun/mailgun-php, MIT)."""


def provider(client: httpx.AsyncClient, url: str, now: datetime = NOW) -> Mailgun:
    secret = Credential(SECRET)
    return Mailgun(client, url, Credential(KEY), DOMAIN, SENDER, secret, clock=lambda: now)


@pytest.fixture
async def served(client: httpx.AsyncClient) -> AsyncIterator[Served]:
    fake = FakeMailgun()
    async with running(fake) as server:
        yield fake, provider(client, server.url)
    assert fake.violations == []


async def test_a_recipient_sees_our_label_and_nothing_else_of_ours(served: Served) -> None:
    fake, adapter = served
    await adapter.send(EMAIL)
    await adapter.send(replace(EMAIL, key="password_reset:E-1:u-1:email:1"))

    tags = list(fake.tags.values())
    assert [each.draft.key for each in fake.messages] == [
        "k-cGFzc3dvcmRfcmVzZXQ6ZS0xOnUtMTplbWFpbDox",
        "k-cGFzc3dvcmRfcmVzZXQ6RS0xOnUtMTplbWFpbDox",
    ]
    # Their case means nothing, so keys must differ in more than that.
    assert len({each.lower() for each in tags}) == 2
    assert all(each.isalnum() and each.islower() for each in tags)


async def test_an_id_has_no_angle_brackets(served: Served) -> None:
    fake, adapter = served

    reported = await adapter.send(EMAIL)

    assert reported.provider_id == fake.messages[0].id


async def test_events_of_other_messages_on_a_page_are_not_ours(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    other = {**event("complained", 9), "message": {"headers": {"message-id": "other@x"}}, "tags": ["other"]}
    script.answer = answer(200, page(other, event("accepted")))
    adapter = provider(client, script.url)

    by_id = await adapter.look_up(Channel.EMAIL, EMAIL.key, ID)
    by_tag = await adapter.look_up(Channel.EMAIL, EMAIL.key, None)

    assert by_id is not None
    assert by_tag is not None
    assert (by_id.status, by_tag.status) == (Status.PENDING, Status.PENDING)
    assert [each.line.split()[1] for each in script.requests] == [
        f"/v3/{DOMAIN}/events?message-id={ID.replace('@', '%40')}&limit=100",
        f"/v3/{DOMAIN}/events?tags={TAG}&limit=100",
    ]


async def test_a_message_that_is_found_by_tag_brings_its_id(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(200, page({**event("delivered"), "tags": [TAG.upper()]}))

    found = await provider(client, script.url).look_up(Channel.EMAIL, EMAIL.key, None)

    assert found is not None
    assert (found.provider_id, found.provider_at) == (ID, NOW)


async def test_an_internationalised_address_that_it_cannot_take_is_not_to_blame(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(400, {"message": "to parameter is not a valid address"})

    with pytest.raises(Rejected) as caught:
        await provider(client, script.url).send(replace(EMAIL, to="grüße@example.test"))

    assert caught.value.reported.status is Status.REJECTED


@pytest.mark.parametrize(
    ("http", "said", "remedy"),
    [
        (401, "Forbidden", "STANDBY_MAILGUN_API_KEY"),
        (404, "Domain not found: x", "STANDBY_MAILGUN_URL"),
        (403, "Domain x is not allowed to send: Free accounts", "limits"),
        (400, "Sandbox subdomains are for test purposes only.", "STANDBY_MAILGUN_DOMAIN"),
        (400, "from parameter is not a valid address", "STANDBY_EMAIL_FROM"),
    ],
)
async def test_a_wrong_setting_says_what_to_do(
    client: httpx.AsyncClient, script: Scripted, http: int, said: str, remedy: str
) -> None:
    script.answer = answer(http, {"message": said})

    with pytest.raises(Misconfigured, match=remedy):
        await provider(client, script.url).send(EMAIL)
    with pytest.raises(Misconfigured, match=remedy):
        await provider(client, script.url).look_up(Channel.EMAIL, EMAIL.key, ID)


async def test_its_welcome_page_is_a_wrong_path_and_a_longer_page_is_anything(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    adapter = provider(client, script.url)
    script.answer = answer(200, b"Mailgun Magnificent API")
    with pytest.raises(Misconfigured, match="STANDBY_MAILGUN_DOMAIN"):
        await adapter.send(EMAIL)
    with pytest.raises(Misconfigured, match="STANDBY_MAILGUN_DOMAIN"):
        await adapter.look_up(Channel.EMAIL, EMAIL.key, ID)

    script.answer = answer(200, b"<html>" + b" " * 100 + b"Mailgun Magnificent API")
    with pytest.raises(Ambiguous):
        await adapter.send(EMAIL)


async def test_the_published_signature_is_believed_in_its_time_only(client: httpx.AsyncClient) -> None:
    signed_at = datetime(2014, 6, 24, 21, 27, tzinfo=UTC)
    then = replace(provider(client, "", signed_at), webhook_key=Credential(KEY))
    now = replace(then, clock=lambda: NOW)

    await then.verify(PUBLISHED)
    with pytest.raises(Forged, match="too far from now"):
        await now.verify(PUBLISHED)


@pytest.mark.parametrize("name", ["timestamp", "token", "signature"])
@pytest.mark.parametrize("at", [0, 5, -1])
async def test_one_altered_letter_of_the_published_signature_is_noticed(
    client: httpx.AsyncClient, name: str, at: int
) -> None:
    signed_at = datetime(2014, 6, 24, 21, 27, tzinfo=UTC)
    adapter = replace(provider(client, "", signed_at), webhook_key=Credential(KEY))
    fields = json.loads(PUBLISHED.body)
    letters = list(fields["signature"][name])
    letters[at] = "0" if letters[at] != "0" else "1"
    fields["signature"][name] = "".join(letters)

    with pytest.raises(Forged, match="does not match"):
        await adapter.verify(replace(PUBLISHED, body=json.dumps(fields).encode()))


@pytest.mark.parametrize("token", ["\ud800", "Grüße", 7, None, ["x"]])
async def test_a_signature_that_cannot_be_read_is_not_believed(
    client: httpx.AsyncClient, token: object
) -> None:
    fields = {"signature": {"timestamp": "1796119200", "token": token, "signature": token}}

    with pytest.raises(Forged):
        await provider(client, "").verify(Callback(json.dumps(fields).encode(), {}))


async def test_a_subaccounts_event_is_believed_by_the_key_of_its_parent(client: httpx.AsyncClient) -> None:
    parents = json.loads(signed({}).body)["signature"]["signature"]
    callback = signed(event("delivered"), key="key-of-the-subaccount", **{"parent-signature": parents})

    await provider(client, "").verify(callback)


async def test_a_captured_signature_brings_no_second_event(client: httpx.AsyncClient) -> None:
    adapter = provider(client, "")
    right = json.loads(signed(event("delivered")).body)
    forged = Callback(json.dumps({**right, "event-data": event("complained")}).encode(), {})

    await adapter.verify(forged)  # the body is not signed
    (first,) = adapter.parse(signed(event("delivered")))
    (second,) = adapter.parse(forged)

    # The ledger takes one event of an id, and keeps the token for longer than its signature holds.
    assert first.event_id == second.event_id == TOKEN


async def test_without_a_key_no_callback_is_believed(client: httpx.AsyncClient) -> None:
    with pytest.raises(Misconfigured, match="STANDBY_MAILGUN_WEBHOOK_KEY"):
        await replace(provider(client, ""), webhook_key=None).verify(PUBLISHED)


async def test_every_list_is_read_and_each_address_for_its_reason(served: Served) -> None:
    fake, adapter = served
    fake.suppressed = {f"{n}{each[0]}@example.test": each for n in "12" for each in fake.rows}

    listed = [each async for each in adapter.listed(Channel.EMAIL)]

    assert {(each.address[:2], each.reason) for each in listed} == {
        ("1b", SuppressionReason.INVALID_RECIPIENT),
        ("2b", SuppressionReason.INVALID_RECIPIENT),
        ("1c", SuppressionReason.COMPLAINT),
        ("2c", SuppressionReason.COMPLAINT),
        ("1u", SuppressionReason.UNSUBSCRIBED),
        ("2u", SuppressionReason.UNSUBSCRIBED),
    }
    assert len(listed) == 6
    assert {each.at for each in listed} == {datetime(2011, 10, 21, 11, 2, 55, tzinfo=UTC)}


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("bounces", {"code": "552", "error": "5.2.2 mailbox full"}),
        ("bounces", {"code": "550", "error": "5.7.1 spam"}),
        ("bounces", {"code": "550", "error": ""}),
        ("bounces", {"code": "605", "error": ""}),
        ("unsubscribes", {"tags": ["newsletter"]}),
        ("unsubscribes", {"tag": "newsletter"}),
    ],
)
async def test_what_is_no_choice_and_no_fault_is_left_out(
    served: Served, name: str, row: dict[str, object]
) -> None:
    fake, adapter = served
    fake.suppressed = {EMAIL.to: name}
    fake.rows[name] = row

    assert [each async for each in adapter.listed(Channel.EMAIL)] == []


@pytest.mark.parametrize("row", [{"tag": "*"}, {"tags": ["newsletter", "*"]}, {}])
async def test_who_left_all_mail_is_listed(served: Served, row: dict[str, object]) -> None:
    fake, adapter = served
    fake.suppressed = {EMAIL.to: "unsubscribes"}
    fake.rows["unsubscribes"] = row

    assert [each.address async for each in adapter.listed(Channel.EMAIL)] == [EMAIL.to]


@pytest.mark.parametrize(
    "elsewhere",
    [
        "http://169.254.169.254/latest/meta-data",
        "https://127.0.0.1/v3/x/complaints",
        "http://127.0.0.1:1/v3/x/complaints",
        "file:///etc/passwd",
        "//127.0.0.1/x",
        "/v3/x/complaints?page=2",
        "http://[::1",
        "\ud800",
    ],
)
async def test_a_next_page_elsewhere_is_not_turned_to(
    client: httpx.AsyncClient, script: Scripted, elsewhere: str
) -> None:
    script.answer = answer(200, {"items": [{"address": EMAIL.to}], "paging": {"next": elsewhere}})
    pages = provider(client, script.url).listed(Channel.EMAIL)

    with pytest.raises(ReadFailed, match="its next page"):
        _ = [each async for each in pages]
    assert len(script.requests) == 1


async def test_an_empty_page_is_the_last(client: httpx.AsyncClient, script: Scripted) -> None:
    following = f"{script.url}/v3/{DOMAIN}/complaints?page=next"
    script.answer = answer(200, {"items": [], "paging": {"next": following}})

    assert [each async for each in provider(client, script.url).listed(Channel.EMAIL)] == []
    assert len(script.requests) == 3


async def test_a_page_that_comes_again_ends_the_list_with_an_error(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    row = {"address": EMAIL.to, "created_at": "Fri, 21 Oct 2011 11:02:55 GMT"}
    itself = f"{script.url}/v3/{DOMAIN}/complaints?limit=500"
    script.answer = answer(200, {"items": [row], "paging": {"next": itself}})

    with pytest.raises(ReadFailed, match="does not end"):
        _ = [each async for each in provider(client, script.url).listed(Channel.EMAIL)]


@pytest.mark.parametrize(
    ("reason", "name"),
    [
        (SuppressionReason.INVALID_RECIPIENT, "bounces"),
        (SuppressionReason.COMPLAINT, "complaints"),
        (SuppressionReason.UNSUBSCRIBED, "unsubscribes"),
        (SuppressionReason.STOPPED, "unsubscribes"),
    ],
)
async def test_an_address_is_put_on_the_list_of_its_reason(
    served: Served, reason: SuppressionReason, name: str
) -> None:
    fake, adapter = served

    await adapter.suppress(Channel.EMAIL, EMAIL.to, reason)

    assert fake.suppressed == {EMAIL.to: name}


async def test_a_right_set_up_is_ok_in_every_way(served: Served) -> None:
    _, adapter = served

    assert {each.level for each in await adapter.examine(Channel.EMAIL)} == {Level.OK}


@pytest.mark.parametrize(
    ("change", "level"),
    [
        ({"domain": {"name": DOMAIN, "state": "unverified"}}, Level.PROBLEM),
        ({"domain": {"name": DOMAIN, "state": "active", "is_disabled": True}}, Level.PROBLEM),
        ({"domain": {"name": DOMAIN, "state": "active", "type": "sandbox"}}, Level.PROBLEM),
        ({"records": [{"record_type": "TXT", "valid": "unknown"}]}, Level.PROBLEM),
        ({"records": []}, Level.UNCHECKED),
        ({"limits": {"limit": 9, "count": 9, "limit_reached": True}}, Level.PROBLEM),
        ({"limits": None}, Level.UNCHECKED),
    ],
)
async def test_a_wrong_set_up_is_found(served: Served, change: dict[str, object], level: Level) -> None:
    fake, adapter = served
    for name, value in change.items():
        setattr(fake, name, value)

    found = [each.level for each in await adapter.examine(Channel.EMAIL) if each.level is not Level.OK]

    assert found == [level]


@pytest.mark.parametrize(
    ("domain", "noted"),
    [("example.org", True), ("notexample.com", True), ("example.com", False), ("a.mg.example.com", False)],
)
async def test_a_sender_of_another_domain_is_noted(served: Served, domain: str, noted: bool) -> None:  # noqa: FBT001  # a row
    _, adapter = served
    sender = SENDER._replace(address=f"notices@{domain}")

    found = await replace(adapter, sender=sender).examine(Channel.EMAIL)

    assert (Level.NOTE in {each.level for each in found}) is noted


async def test_a_domain_that_is_not_there_is_a_setting(served: Served) -> None:
    _, adapter = served

    with pytest.raises(Misconfigured, match="STANDBY_MAILGUN_DOMAIN"):
        await replace(adapter, domain="mg.example.org").examine(Channel.EMAIL)


async def test_it_is_built_from_its_settings(client: httpx.AsyncClient) -> None:
    account = Account(
        api_key=Credential(KEY),
        domain=DOMAIN,
        webhook_key=Credential(SECRET),
        url="https://api.eu.mailgun.net",
    )
    built = mailgun.build(Settings(email_from=SENDER.written, mailgun=account), client)

    assert replace(built, clock=built.clock) == replace(
        provider(client, "https://api.eu.mailgun.net"), clock=built.clock
    )
    with pytest.raises(Misconfigured, match="STANDBY_MAILGUN_API_KEY"):
        mailgun.build(Settings(email_from=SENDER.written), client)
    bare = account.model_copy(update={"domain": None})
    with pytest.raises(Misconfigured, match="STANDBY_MAILGUN_DOMAIN"):
        mailgun.build(Settings(email_from=SENDER.written, mailgun=bare), client)


async def test_a_list_that_is_not_there_is_not_an_empty_one(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(404, {"message": "Domain not found"})

    with pytest.raises((ReadFailed, Misconfigured)):
        _ = [each async for each in provider(client, script.url).listed(Channel.EMAIL)]
