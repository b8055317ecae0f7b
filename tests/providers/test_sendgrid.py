"""What SendGrid alone does."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import httpx
import pytest

from activities.providers import labels, wire
from activities.providers.base import Callback, Level, Listed
from activities.providers.errors import Forged, Misconfigured, NotSent, ReadFailed, Rejected
from activities.providers.provider import CallsBack, ListsSuppressions, TakesSuppressions
from activities.providers.sendgrid import PAGE, SendGrid
from activities.variables import Credential
from tests.providers.cases.sendgrid import ID, LATER, NO_USER, PUBLIC, SENDER, SPAM, event, refusal, signed
from tests.providers.fakes.api import running
from tests.providers.fakes.sendgrid import TAIL, TOKEN, FakeSendGrid
from tests.providers.scripted import Scripted, answer
from tests.providers.subject import EMAIL, NOW, PERSONAL, Json, Refusal, json_of
from workflows.policy.words import Channel, Status, SuppressionReason

# Published by SendGrid with its own libraries (sendgrid-python, test/unit/test_eventwebhook.py; MIT).
PUBLISHED_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaIN"
    "XvVpiglSI8eNEc6wEA3F+g=="
)
PUBLISHED_BODY = (
    b'[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address",'
    b'"sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",'
    b'"sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0",'
    b'"smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n'
)
PUBLISHED_AT = "1600112502"
PUBLISHED = Callback(
    PUBLISHED_BODY,
    {
        "x-twilio-email-event-webhook-signature": (
            "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM="
        ),
        "x-twilio-email-event-webhook-timestamp": PUBLISHED_AT,
    },
)
OLDER_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEEDr2LjtURuePQzplybdC+u4CwrqDqBaWjcMMsTbhdbcwHBcepxo7yAQGhHPTnlvF"
    "YPAZFceEu/1FwCM/QmGUhA=="
)
OLDER = Callback(
    b'{"category":"example_payload","event":"test_event","message_id":"message_id"}',
    {
        "x-twilio-email-event-webhook-signature": (
            "MEUCIQCtIHJeH93Y+qpYeWrySphQgpNGNr/U+UyUlBkU6n7RAwIgJTz2C+8a8xonZGi6BpSzoQsbVRamr2nlxFDWYNH2j/0="
        ),
        "x-twilio-email-event-webhook-timestamp": "1588788367",
    },
)
VECTORS = [
    pytest.param(PUBLISHED, PUBLISHED_KEY, id="with a line's end"),
    pytest.param(OLDER, OLDER_KEY, id="older"),
]
FULL = f"{ID}{TAIL}"


class House(NamedTuple):
    """A fake that runs, and the adapter that talks to it."""

    fake: FakeSendGrid
    provider: SendGrid


@pytest.fixture
async def house(client: httpx.AsyncClient) -> AsyncIterator[House]:
    fake = FakeSendGrid()
    async with running(fake) as server:
        yield House(fake, made(client, server.url))
    assert fake.violations == []


def made(
    client: httpx.AsyncClient, url: str, key: str = PUBLIC, clock: datetime = NOW, sender: str = SENDER.name
) -> SendGrid:
    return SendGrid(
        client, url, Credential(TOKEN), SENDER._replace(name=sender), Credential(key), clock=lambda: clock
    )


def at(callback: Callback) -> datetime:
    return datetime.fromtimestamp(int(callback.headers["x-twilio-email-event-webhook-timestamp"]), UTC)


# Sending


async def test_a_message_is_written_as_sendgrid_asks(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(202, b"", X_Message_Id=ID)
    await made(client, script.url).send(EMAIL)

    fields = json_of(script.requests[0])
    label = labels.label(EMAIL.key)
    assert fields["personalizations"] == [{"to": [{"email": EMAIL.to}], "custom_args": {"standby": label}}]
    assert fields["categories"] == [label]
    assert fields["from"] == {"email": "notices@example.com", "name": "Example"}
    assert fields["content"] == [
        {"type": "text/plain", "value": EMAIL.text},
        {"type": "text/html", "value": EMAIL.html},
    ]
    assert fields.keys() == {"personalizations", "from", "subject", "content", "categories"}


async def test_a_sender_without_a_name_has_none(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(202, b"", X_Message_Id=ID)
    await made(client, script.url, sender="").send(replace(EMAIL, html=None))

    fields = json_of(script.requests[0])
    assert fields["from"] == {"email": "notices@example.com"}
    assert fields["content"] == [{"type": "text/plain", "value": EMAIL.text}]


UNVERIFIED = "The from address does not match a verified Sender Identity."


@pytest.mark.parametrize(
    ("refused", "says"),
    [
        (refusal(400, "no address", "from.email", Misconfigured), "HTTP 400, from: .* STANDBY_EMAIL_FROM"),
        (refusal(403, UNVERIFIED, "from", Misconfigured), "HTTP 403, from: .* STANDBY_EMAIL_FROM"),
        (refusal(403, "access forbidden", None, Misconfigured), "HTTP 403, .* STANDBY_SENDGRID_API_KEY"),
        (refusal(401, "unauthorized", "null", Misconfigured), "HTTP 401, .* STANDBY_SENDGRID_API_KEY"),
        (refusal(401, "Maximum credits exceeded", None, Misconfigured), "credits of the account"),
    ],
)
async def test_a_wrong_setting_says_which(
    client: httpx.AsyncClient, script: Scripted, refused: Refusal, says: str
) -> None:
    script.answer = refused.answer

    with pytest.raises(refused.error, match=says):
        await made(client, script.url).send(EMAIL)


async def test_where_sender_and_recipient_are_both_refused_the_recipient_is_not_to_blame(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    fields = ("personalizations.0.to.0.email", "from.email")
    errors = [{"message": "Does not contain a valid address.", "field": each} for each in fields]
    script.answer = answer(400, {"errors": errors})

    with pytest.raises(Misconfigured):
        await made(client, script.url).send(EMAIL)


async def test_a_refused_recipient_is_named_by_its_field_and_not_by_its_address(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = refusal(400, f"{EMAIL.to} is bad", "personalizations.0.to.0.email", Rejected).answer

    with pytest.raises(Rejected, match=r"HTTP 400, personalizations\.0\.to") as caught:
        await made(client, script.url).send(EMAIL)

    assert not any(each in f"{caught.value} {caught.value.reported!r}" for each in PERSONAL)


EPOCH = int(NOW.timestamp())
DATE = "Tue, 01 Dec 2026 10:00:00 GMT"
RESETS = [
    pytest.param({"Date": DATE, "X_RateLimit_Reset": f"{EPOCH + 42}"}, timedelta(seconds=42), id="to come"),
    pytest.param({"Date": DATE, "X_RateLimit_Reset": f"{EPOCH - 42}"}, timedelta(), id="gone by"),
    pytest.param({"Date": DATE, "X_RateLimit_Reset": f"{EPOCH + 7200}"}, timedelta(hours=1), id="bounded"),
    pytest.param({"Date": DATE, "X_RateLimit_Reset": "nan"}, None, id="no time"),
    pytest.param({"X_RateLimit_Reset": f"{EPOCH + 42}"}, None, id="by no clock"),
    pytest.param(
        {"Date": DATE, "X_RateLimit_Reset": f"{EPOCH + 42}", "Retry_After": "7"},
        timedelta(seconds=7),
        id="after Retry-After",
    ),
]


@pytest.mark.parametrize(("headers", "wait"), RESETS)
async def test_a_429_says_when_the_limit_is_reset(
    client: httpx.AsyncClient, script: Scripted, headers: dict[str, str], wait: timedelta | None
) -> None:
    script.answer = answer(429, {"errors": [{"message": "too many requests"}]}, **headers)

    with pytest.raises(NotSent) as caught:
        await made(client, script.url).send(EMAIL)
    with pytest.raises(ReadFailed) as failed:
        await made(client, script.url).look_up(EMAIL.channel, EMAIL.key, None)

    assert (caught.value.retry_after, failed.value.retry_after) == (wait, wait)


# Looking up


@pytest.mark.parametrize("by_id", [True, False], ids=["by id", "by key"])
async def test_a_look_up_is_one_request(house: House, by_id: bool) -> None:  # noqa: FBT001
    reported = await house.provider.send(EMAIL)

    found = await house.provider.look_up(EMAIL.channel, EMAIL.key, reported.provider_id if by_id else None)

    assert found is not None
    assert (found.status, found.provider_id) == (Status.PENDING, reported.provider_id)
    assert house.fake.reads == ["logs"]


@pytest.mark.parametrize(
    ("full", "is_ours"),
    [(ID, True), (FULL, True), (f"{ID}x{TAIL}", False), (f"x{FULL}", False), (ID[:-1] + TAIL, False)],
)
async def test_an_id_is_the_first_part_of_another(
    client: httpx.AsyncClient,
    script: Scripted,
    full: str,
    is_ours: bool,  # noqa: FBT001
) -> None:
    script.answer = answer(200, {"messages": [{"sg_message_id": full, "status": "delivered"}]})

    found = await made(client, script.url).look_up(EMAIL.channel, EMAIL.key, ID)

    assert (found is not None) == is_ours


@pytest.mark.parametrize(
    ("words", "strongest"),
    [
        (["processed", "delivered"], "delivered"),
        (["delivered", "processed"], "delivered"),
        (["delivered", "deferred"], "delivered"),
        (["deferred", "processed"], "deferred"),
        (["teleported", "processed"], "teleported"),
        (["teleported", "delivered"], "delivered"),
        (["blocked", "delivered"], "blocked"),
        (["delivered", "spamreport", "blocked"], "spamreport"),
    ],
)
async def test_of_several_rows_the_strongest_counts(
    client: httpx.AsyncClient, script: Scripted, words: list[str], strongest: str
) -> None:
    rows = [{"sg_message_id": FULL, "status": each, "reason": LATER} for each in words]
    script.answer = answer(200, {"messages": rows})

    found = await made(client, script.url).look_up(EMAIL.channel, EMAIL.key, ID)

    assert found is not None
    assert found.raw == strongest


async def test_a_bounce_is_explained_by_its_events(house: House) -> None:
    reported = await house.provider.send(EMAIL)
    house.fake.messages[0].word = "bounced"
    house.fake.messages[0].detail = {
        "events": [
            {"event": "processed", "timestamp": EPOCH - 60},
            {
                "event": "bounce",
                "type": "bounce",
                "timestamp": EPOCH,
                "bounce_classification": "Invalid Address",
                "reason": "unknown",
            },
        ]
    }

    found = await house.provider.look_up(EMAIL.channel, EMAIL.key, reported.provider_id)

    assert found is not None
    assert (found.status, found.is_final) == (Status.INVALID_RECIPIENT, True)
    assert (found.provider_id, found.provider_at) == (reported.provider_id, NOW)
    assert house.fake.reads == ["logs", "log"]


def told(*events: Json) -> dict[str, list[Json]]:
    processed = {"event_name": "processed", "processed": "2026-12-01T09:59:00Z"}
    return {"events": [processed, *({"processed": "2026-12-01T10:00:00Z", **each} for each in events)]}


@dataclass(frozen=True, slots=True)
class Active:
    """What Email Activity tells of one message."""

    word: str
    detail: dict[str, list[Json]]
    status: Status
    is_final: bool
    opt_out: SuppressionReason | None = None

    @property
    def at(self) -> datetime | None:
        """When the last of the events happened."""
        return NOW if self.detail else None


@pytest.mark.parametrize(
    "told",
    [
        Active("processed", {}, Status.PENDING, is_final=False),
        Active("delivered", {}, Status.DELIVERED, is_final=True),
        Active("bounced", {}, Status.UNRECOGNIZED, is_final=True),
        Active(
            "bounced",
            told({"event_name": "bounced", "bounce_type": "hard", "reason": NO_USER}),
            Status.INVALID_RECIPIENT,
            is_final=True,
        ),
        Active(
            "blocked",
            told({"event_name": "bounced", "bounce_type": "soft", "reason": NO_USER}),
            Status.REJECTED,
            is_final=True,
        ),
        Active(
            "deferred",
            told({"event_name": "deferred", "reason": LATER, "attempt_num": 1}),
            Status.TEMPORARY_FAILURE,
            is_final=False,
        ),
        Active(
            "dropped",
            told({"event_name": "dropped", "reason": "Unsubscribed Address"}),
            Status.REJECTED,
            is_final=True,
            opt_out=SuppressionReason.UNSUBSCRIBED,
        ),
        Active(
            "bounced",
            told({"event_name": "bounced", "reason": SPAM}, {"event_name": "spam_report"}),
            Status.DELIVERED,
            is_final=True,
            opt_out=SuppressionReason.COMPLAINT,
        ),
        Active(
            "bounced",
            told({"event_name": "delivered"}, {"event_name": "opened"}, {"event_name": "clicked"}),
            Status.DELIVERED,
            is_final=True,
        ),
    ],
    ids=lambda each: f"{each.word}, {len(each.detail.get('events', []))} events, {each.status}",
)
async def test_where_there_are_no_logs_email_activity_is_asked(house: House, told: Active) -> None:
    house.fake.has_logs = False
    reported = await house.provider.send(EMAIL)
    house.fake.messages[0].word = told.word
    house.fake.messages[0].detail = told.detail

    found = await house.provider.look_up(EMAIL.channel, EMAIL.key, reported.provider_id)

    assert found is not None
    assert (found.status, found.is_final, found.opt_out) == (told.status, told.is_final, told.opt_out)
    assert (found.provider_id, found.provider_at) == (reported.provider_id, told.at)
    assert house.fake.reads[:2] == ["logs", "activities"]


async def test_where_neither_may_be_read_somebody_must_permit_it(house: House) -> None:
    house.fake.has_logs = house.fake.has_activity = False

    with pytest.raises(Misconfigured, match="STANDBY_SENDGRID_API_KEY read Email Logs or Email Activity"):
        await house.provider.look_up(EMAIL.channel, EMAIL.key, None)


@pytest.mark.parametrize("http", [404, 410])
async def test_what_neither_knows_is_not_found(
    client: httpx.AsyncClient, script: Scripted, http: int
) -> None:
    script.answer = answer(http, {"errors": [{"message": "not found"}]})

    assert await made(client, script.url).look_up(EMAIL.channel, EMAIL.key, ID) is None
    assert len(script.requests) == 2


async def test_a_bounce_with_half_a_character_for_an_id_is_read_as_it_stands(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(200, {"messages": [{"sg_message_id": "\ud800", "status": "bounced"}]})

    said = await made(client, script.url).look_up(EMAIL.channel, EMAIL.key, None)

    assert said is not None
    assert (said.status, said.provider_id) == (Status.REJECTED, None)


# Callbacks


@pytest.mark.parametrize(("published", "key"), VECTORS)
async def test_the_published_signature_holds(
    client: httpx.AsyncClient, published: Callback, key: str
) -> None:
    await made(client, "https://api.example.test", key, at(published)).verify(published)


@pytest.mark.parametrize(("published", "key"), VECTORS)
async def test_one_altered_byte_of_what_was_published_is_noticed(
    client: httpx.AsyncClient, published: Callback, key: str
) -> None:
    later = {
        **published.headers,
        "x-twilio-email-event-webhook-timestamp": f"{at(published).timestamp() + 1:.0f}",
    }
    altered = [
        replace(published, body=published.body.rstrip(b"\n}") + b" "),
        replace(published, body=published.body.replace(b"event", b"Event", 1)),
        replace(published, headers=later),
    ]
    provider = made(client, "https://api.example.test", key, at(published))
    for each in altered:
        with pytest.raises(Forged):
            await provider.verify(each)


async def test_another_key_than_the_published_one_does_not_fit(client: httpx.AsyncClient) -> None:
    with pytest.raises(Forged):
        await made(client, "https://api.example.test", OLDER_KEY, at(PUBLISHED)).verify(PUBLISHED)


async def test_callbacks_without_a_key_say_which_setting_lacks(client: httpx.AsyncClient) -> None:
    provider = replace(made(client, "https://api.example.test"), webhook_key=None)

    with pytest.raises(Misconfigured, match="STANDBY_SENDGRID_WEBHOOK_KEY"):
        await provider.verify(PUBLISHED)


def parsed(*events: Json) -> list[tuple[Status, str | None]]:
    provider = made(wire.new_client(), "https://api.example.test")
    assert isinstance(provider, CallsBack)
    return [(each.status, each.event_id) for each in provider.parse(signed(*events))]


def test_the_published_event_is_read(client: httpx.AsyncClient) -> None:
    (said,) = made(client, "https://api.example.test").parse(PUBLISHED)

    assert (said.status, said.code, said.attempt_key) == (Status.REJECTED, "Bounced Address", None)
    assert said.provider_id == "LRzXl_NHStOGhQ4kofSm_A"
    assert said.provider_at == datetime(2020, 9, 14, 19, 41, 32, tzinfo=UTC)


def test_an_event_is_known_again_though_its_own_id_changes() -> None:
    copies = [event("delivered", sg_event_id=f"copy-{each}") for each in range(46)]

    assert len(set(parsed(*copies))) == 1


@pytest.mark.parametrize(
    "other",
    [
        event("open"),
        event("delivered", timestamp=EPOCH),
        event("delivered", sg_message_id=f"other{TAIL}"),
        event("delivered", standby=labels.label("password_reset:e-2:u-1:email:1")),
    ],
    ids=["another word", "another time", "another message", "another attempt"],
)
def test_another_event_has_another_id(other: Json) -> None:
    (_, first), (_, second) = parsed(event("delivered"), other)

    assert first != second


def test_the_id_of_an_event_holds_no_address_and_fits() -> None:
    ((_, event_id),) = parsed(event("delivered", sg_message_id=f"{EMAIL.to}{'x' * 500}"))

    assert event_id is not None
    assert len(event_id) == 64
    assert not any(each in event_id for each in PERSONAL)


def test_a_batch_tells_of_many_and_leaves_out_what_ties_to_nothing() -> None:
    batch: tuple[Json, ...] = (
        event("processed"),
        event("bounce", sg_message_id="", standby=None, email=EMAIL.to),
        event("delivered"),
        {"event": "account_status_change", "timestamp": EPOCH},
        event("bounce", type="bounce", reason=NO_USER, standby=None),
        {},
    )

    statuses = [status for status, _ in parsed(*batch)]

    assert statuses == [Status.PENDING, Status.DELIVERED, Status.INVALID_RECIPIENT]


@pytest.mark.parametrize("body", [b"{}", json.dumps(event("delivered")).encode(), b"null"])
def test_what_is_no_array_cannot_be_read(client: httpx.AsyncClient, body: bytes) -> None:
    with pytest.raises(Forged):
        made(client, "https://api.example.test").parse(Callback(body, {}))


def test_half_a_character_breaks_nothing() -> None:
    ((status, event_id),) = parsed(event("delivered", sg_message_id="\ud800", standby="\udfff"))

    assert status is Status.DELIVERED
    assert event_id


# Suppressions


async def listed(provider: object) -> list[Listed]:
    assert isinstance(provider, ListsSuppressions)
    return [each async for each in provider.listed(Channel.EMAIL)]


async def test_of_the_lists_only_choices_and_faults_are_read(house: House) -> None:
    house.fake.suppressed = {
        "complained@example.test": "spam_reports",
        "left@example.test": "unsubscribes",
        "unknown@example.test": "invalid_emails",
        "nobody@example.test": "bounces",
        "full@example.test": "bounces",
        "strict@example.test": "bounces",
        "silent@example.test": "bounces",
        "blocked@example.test": "blocks",
    }
    house.fake.reasons = {
        "nobody@example.test": {"reason": NO_USER, "status": "5.1.1"},
        "full@example.test": {"reason": "552 mailbox full", "status": "5.2.2"},
        "strict@example.test": {"reason": SPAM, "status": "5.7.1"},
    }

    assert [(each.address.partition("@")[0], each.reason) for each in await listed(house.provider)] == [
        ("complained", SuppressionReason.COMPLAINT),
        ("left", SuppressionReason.UNSUBSCRIBED),
        ("unknown", SuppressionReason.INVALID_RECIPIENT),
        ("nobody", SuppressionReason.INVALID_RECIPIENT),
    ]


@pytest.mark.parametrize("count", [PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 1])
async def test_every_page_of_a_list_is_turned(house: House, count: int) -> None:
    house.fake.suppressed = {f"person{n}@example.test": "unsubscribes" for n in range(count)}

    assert len({each.address for each in await listed(house.provider)}) == count


@pytest.mark.parametrize("body", [{"errors": []}, {"result": []}])
async def test_a_list_that_is_none_is_not_the_end_of_it(
    client: httpx.AsyncClient, script: Scripted, body: Json
) -> None:
    script.answer = answer(200, body)

    with pytest.raises(ReadFailed):
        await listed(made(client, script.url))


@pytest.mark.parametrize(
    ("reason", "read"),
    [
        (SuppressionReason.COMPLAINT, [SuppressionReason.UNSUBSCRIBED]),
        (SuppressionReason.UNSUBSCRIBED, [SuppressionReason.UNSUBSCRIBED]),
        (SuppressionReason.INVALID_RECIPIENT, []),
    ],
)
async def test_only_a_choice_is_put_on_the_list_and_comes_back_as_one(
    house: House, reason: SuppressionReason, read: list[SuppressionReason]
) -> None:
    assert isinstance(house.provider, TakesSuppressions)
    await house.provider.suppress(Channel.EMAIL, EMAIL.to, reason)

    assert [each.reason for each in await listed(house.provider)] == read


# Examinations


async def findings(house: House) -> dict[str, Level]:
    return {each.says: each.level for each in await house.provider.examine(Channel.EMAIL)}


def found(findings: dict[str, Level], words: str) -> Level:
    (level,) = [level for says, level in findings.items() if words in says]
    return level


async def test_a_right_set_up_is_all_right(house: House) -> None:
    assert set((await findings(house)).values()) == {Level.OK}


async def test_a_key_that_may_not_send_is_a_problem(house: House) -> None:
    house.fake.scopes.remove("mail.send")

    assert found(await findings(house), "STANDBY_SENDGRID_API_KEY") is Level.PROBLEM


async def test_a_key_that_may_not_read_a_list_is_noted(house: House) -> None:
    house.fake.scopes.remove("suppression.bounces.read")

    assert found(await findings(house), "for want of suppression.bounces.read") is Level.NOTE


async def test_email_activity_instead_of_logs_is_noted(house: House) -> None:
    house.fake.has_logs = False

    assert found(await findings(house), "Email Activity is asked") is Level.NOTE


async def test_neither_logs_nor_activity_is_a_problem(house: House) -> None:
    house.fake.has_logs = house.fake.has_activity = False

    assert found(await findings(house), "read Email Logs or Email Activity") is Level.PROBLEM


OTHER_DOMAINS: list[list[dict[str, object]]] = [
    [],
    [{"domain": "example.com", "valid": False}],
    [{"domain": "mail.example.com", "valid": True}],
    [{"domain": "notexample.com", "valid": True}],
]


@pytest.mark.parametrize("domains", OTHER_DOMAINS)
async def test_a_domain_that_is_not_authenticated_is_a_problem(
    house: House, domains: list[dict[str, object]]
) -> None:
    house.fake.domains = domains
    house.fake.senders = [{"from_email": "notices@example.com", "verified": False}]

    assert found(await findings(house), "STANDBY_EMAIL_FROM") is Level.PROBLEM


async def test_a_verified_sender_needs_no_domain(house: House) -> None:
    house.fake.domains = []
    house.fake.senders = [{"from_email": "Notices@Example.com", "verified": True}]

    assert found(await findings(house), "the sender verified") is Level.OK


async def test_a_sender_that_the_key_cannot_see_is_not_checked(house: House) -> None:
    house.fake.sees_senders = False

    assert found(await findings(house), "cannot be seen") is Level.UNCHECKED


@pytest.mark.parametrize(
    ("to", "status"),
    [("anna@example.test", Status.INVALID_RECIPIENT), ("änna@example.test", Status.REJECTED)],
)
async def test_an_internationalised_address_is_not_to_blame_for_what_is_made_of_it(
    client: httpx.AsyncClient, script: Scripted, to: str, status: Status
) -> None:
    error = {"message": "Does not contain a valid address.", "field": "personalizations.0.to.0.email"}
    script.answer = answer(400, {"errors": [error]})

    with pytest.raises(Rejected) as caught:
        await made(client, script.url).send(replace(EMAIL, to=to))

    assert caught.value.reported.status is status
