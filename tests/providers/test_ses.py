"""Only what Amazon SES does; what all adapters do is in the contract."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.header import decode_header, make_header
from pathlib import Path

import httpx
import pytest
from moto.server import ThreadedMotoServer

from activities.providers import labels, ses, wire
from activities.providers.base import Level, Message
from activities.providers.configured import Sender
from activities.providers.errors import Forged, Misconfigured, ReadFailed, Rejected
from activities.providers.ses import Ses
from activities.providers.ses_words import seen
from activities.settings import Settings
from tests.providers.cases.ses import ID, UNVERIFIED, make, published
from tests.providers.fakes.api import running
from tests.providers.fakes.ses import ADDED_AT, FakeSes
from tests.providers.scripted import Scripted, answer
from tests.providers.sns_signing import MESSAGE_ID, SUBSCRIBE_URL, enclosed, envelope, subscription
from tests.providers.subject import EMAIL, NOW, PERSONAL
from workflows.policy.words import Channel, Status, SuppressionReason

COMPLAINT = SuppressionReason.COMPLAINT


def adapter(client: httpx.AsyncClient, url: str, *, insights: bool = False) -> Ses:
    return make(client, url, wire.SEND_BUDGET, lambda: NOW, insights=insights)


@pytest.fixture
async def fake() -> AsyncIterator[tuple[FakeSes, str]]:
    house = FakeSes()
    async with running(house) as server:
        yield house, server.url
    assert house.violations == []


async def sent(
    client: httpx.AsyncClient, script: Scripted, message: Message = EMAIL, sender: Sender | None = None
) -> dict[str, object]:
    """Return what SES is told of a message."""
    script.answer = answer(200, {"MessageId": ID})
    made = adapter(client, script.url)
    await (made if sender is None else replace(made, sender=sender)).send(message)
    fields = json.loads(script.requests[-1].body)
    assert isinstance(fields, dict)
    return fields


async def test_every_text_names_its_charset(client: httpx.AsyncClient, script: Scripted) -> None:
    fields = await sent(client, script)

    assert fields["Content"] == {
        "Simple": {
            "Subject": {"Data": EMAIL.subject, "Charset": "UTF-8"},
            "Body": {
                "Text": {"Data": EMAIL.text, "Charset": "UTF-8"},
                "Html": {"Data": EMAIL.html, "Charset": "UTF-8"},
            },
        }
    }


async def test_a_senders_name_is_written_in_ascii(client: httpx.AsyncClient, script: Scripted) -> None:
    sender = Sender("Grüße, Anna <notices@example.com>", "Grüße, Anna", "notices@example.com")
    written = (await sent(client, script, sender=sender))["FromEmailAddress"]

    assert isinstance(written, str)
    assert written.isascii()
    assert str(make_header(decode_header(written))) == "Grüße, Anna <notices@example.com>"


@pytest.mark.parametrize(
    ("address", "written"),
    [
        ("anna@faß.example.test", "anna@xn--fa-hia.example.test"),
        ("Anna+x@example.test", "Anna+x@example.test"),
        ("änna@münchen.example.test", "änna@xn--mnchen-3ya.example.test"),
        ("no address", "no address"),
    ],
)
async def test_a_domain_is_written_in_punycode(
    client: httpx.AsyncClient, script: Scripted, address: str, written: str
) -> None:
    fields = await sent(client, script, replace(EMAIL, to=address))

    assert fields["Destination"] == {"ToAddresses": [written]}


async def test_the_key_travels_as_a_tag_with_the_configuration_set(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    fields = await sent(client, script)

    assert fields["EmailTags"] == [{"Name": "standby", "Value": labels.label(EMAIL.key)}]
    assert fields["ConfigurationSetName"] == "notices"


async def test_no_configuration_set_is_named_where_there_is_none(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(200, {"MessageId": ID})

    await replace(adapter(client, script.url), configuration_set=None).send(EMAIL)

    assert "ConfigurationSetName" not in json.loads(script.requests[0].body)


async def test_an_error_is_read_from_the_header_too(client: httpx.AsyncClient, script: Scripted) -> None:
    named = {"x_amzn_errortype": "MailFromDomainNotVerifiedException:http://aws.example/"}
    script.answer = answer(400, {"message": "?"}, **named)

    with pytest.raises(Misconfigured, match="MailFromDomainNotVerified"):
        await adapter(client, script.url).send(EMAIL)


@pytest.mark.parametrize(
    ("http", "fields", "remedy"),
    [
        (400, {"__type": "MessageRejected", "message": UNVERIFIED}, "STANDBY_EMAIL_FROM"),
        (400, {"__type": "MailFromDomainNotVerifiedException"}, "STANDBY_EMAIL_FROM"),
        (404, {"__type": "NotFoundException"}, "STANDBY_SES_CONFIGURATION_SET"),
        (400, {"__type": "AccountSuspendedException"}, "console"),
        (400, {"__type": "Throttling", "message": "Daily message quota exceeded."}, "quota"),
        (403, {"__type": "AccessDeniedException", "message": "user/anna.secret may not"}, "permit"),
    ],
)
async def test_a_setting_that_is_wrong_says_what_to_do_and_nothing_personal(
    client: httpx.AsyncClient, script: Scripted, http: int, fields: Mapping[str, object], remedy: str
) -> None:
    script.answer = answer(http, fields)

    with pytest.raises(Misconfigured, match=remedy) as caught:
        await adapter(client, script.url).send(EMAIL)
    assert not any(part in f"{caught.value}" for part in PERSONAL)


async def test_the_words_of_an_error_that_is_not_known_mean_nothing(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(400, {"__type": "Unheard", "message": UNVERIFIED})

    with pytest.raises(Rejected):
        await adapter(client, script.url).send(EMAIL)


async def test_without_insights_nobody_is_asked_and_acceptance_is_all(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    script.answer = answer(200, {"MessageId": ID})
    made = adapter(client, script.url)

    assert await made.look_up(Channel.EMAIL, EMAIL.key, ID) is None
    assert script.requests == []
    assert (await made.send(EMAIL)).status is Status.ACCEPTED
    assert not made.capabilities(Channel.EMAIL).reads


async def test_insights_are_asked_for_once_a_second(client: httpx.AsyncClient) -> None:
    has = adapter(client, "https://x.test", insights=True).capabilities(Channel.EMAIL)

    assert (has.reads_by_id, has.reads_by_key, has.reads_per_second) == (True, False, 1.0)


SEND = {"Type": "SEND", "Timestamp": 1764579600.0}
DELAY = {"Type": "DELIVERY_DELAY", "Timestamp": 1764579601.0}
DELIVERY = {"Type": "DELIVERY", "Timestamp": 1764579602.25}
OPEN = {"Type": "OPEN", "Timestamp": 1764579603.0}
BOUNCE = {
    "Type": "BOUNCE",
    "Timestamp": 1764579604.0,
    "Details": {"Bounce": {"BounceType": "TRANSIENT", "BounceSubType": "General"}},
}
UNDETERMINED = {
    "Type": "BOUNCE",
    "Timestamp": 1764579604.0,
    "Details": {"Bounce": {"BounceType": "UNDETERMINED", "BounceSubType": "Undetermined"}},
}
GONE = {
    "Type": "BOUNCE",
    "Timestamp": 1764579604.0,
    "Details": {"Bounce": {"BounceType": "PERMANENT", "BounceSubType": "NoEmail"}},
}
COMPLAINED = {"Type": "COMPLAINT", "Timestamp": 1764579600.5}
TOMORROW = {"Type": "TELEPORTED", "Timestamp": 1764579609.0}


@pytest.mark.parametrize(
    ("events", "raw", "is_final"),
    [
        ([SEND, DELIVERY], "DELIVERY", True),
        ([DELIVERY, SEND], "DELIVERY", True),
        ([DELAY, SEND], "DELIVERY_DELAY", False),
        ([DELIVERY, DELAY], "DELIVERY", True),
        ([OPEN, DELIVERY], "OPEN", True),
        ([BOUNCE, DELIVERY], "DELIVERY", True),
        ([DELIVERY, UNDETERMINED], "DELIVERY", True),
        ([DELIVERY, GONE], "BOUNCE PERMANENT NoEmail", True),
        ([DELAY, BOUNCE], "BOUNCE TRANSIENT General", True),
        ([COMPLAINED, BOUNCE, OPEN], "COMPLAINT", True),
        ([TOMORROW, SEND], "SEND", False),
        ([TOMORROW], "TELEPORTED", False),
        ([{"Type": "SUBSCRIPTION"}], "no events", False),
        ([{"Type": 7.5}, {}, "x", SEND], "SEND", False),
        ([], "no events", False),
    ],
)
def test_of_all_events_the_one_that_says_most_counts(
    events: list[object], raw: str, *, is_final: bool
) -> None:
    reported = seen({"Insights": [{"Destination": EMAIL.to, "Events": events}]}, ID)

    assert (reported.raw, reported.is_final, reported.provider_id) == (raw, is_final, ID)


def test_an_event_of_insights_has_its_time() -> None:
    reported = seen({"Insights": [{"Events": [SEND, DELIVERY]}]}, ID)

    assert reported.provider_at == datetime(2025, 12, 1, 9, 0, 2, 250_000, tzinfo=UTC)


async def test_the_list_is_read_for_complaints_only(
    client: httpx.AsyncClient, fake: tuple[FakeSes, str]
) -> None:
    house, url = fake
    house.suppressed = {"a@example.test": "BOUNCE", "b@example.test": "COMPLAINT", "c@example.test": "BOUNCE"}

    found = [each async for each in adapter(client, url).listed(Channel.EMAIL)]

    assert [(each.address, each.reason) for each in found] == [("b@example.test", COMPLAINT)]
    assert found[0].at == datetime.fromtimestamp(ADDED_AT, UTC)


async def test_a_bounce_that_is_listed_all_the_same_is_left_out(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    rows = [
        {"EmailAddress": "a@example.test", "Reason": "BOUNCE", "LastUpdateTime": ADDED_AT},
        {"EmailAddress": "b@example.test", "Reason": "TOMORROW", "LastUpdateTime": ADDED_AT},
        {"Reason": "COMPLAINT", "LastUpdateTime": ADDED_AT},
    ]
    script.answer = answer(200, {"SuppressedDestinationSummaries": rows})

    assert [each async for each in adapter(client, script.url).listed(Channel.EMAIL)] == []


@pytest.mark.parametrize(
    ("reason", "written"),
    [
        (SuppressionReason.INVALID_RECIPIENT, "BOUNCE"),
        (SuppressionReason.COMPLAINT, "COMPLAINT"),
        (SuppressionReason.UNSUBSCRIBED, None),
        (SuppressionReason.STOPPED, None),
    ],
)
async def test_a_suppression_keeps_its_reason_as_far_as_the_list_knows_it(
    client: httpx.AsyncClient, fake: tuple[FakeSes, str], reason: SuppressionReason, written: str | None
) -> None:
    house, url = fake

    await adapter(client, url).suppress(Channel.EMAIL, "anna@münchen.example.test", reason)

    assert house.suppressed == ({"anna@xn--mnchen-3ya.example.test": written} if written else {})


async def test_a_suppression_is_taken_without_a_word(client: httpx.AsyncClient, script: Scripted) -> None:
    script.answer = answer(200)

    await adapter(client, script.url).suppress(Channel.EMAIL, EMAIL.to, COMPLAINT)

    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("http", "error"), [(400, ReadFailed), (404, ReadFailed), (429, ReadFailed), (403, Misconfigured)]
)
async def test_a_suppression_that_is_refused_is_told(
    client: httpx.AsyncClient, script: Scripted, http: int, error: type[Exception]
) -> None:
    script.answer = answer(http, {"__type": "?", "message": EMAIL.to})

    with pytest.raises(error) as caught:
        await adapter(client, script.url).suppress(Channel.EMAIL, EMAIL.to, COMPLAINT)
    assert EMAIL.to not in f"{caught.value}"


def account(**changes: object) -> Callable[[FakeSes], None]:
    return lambda house: house.account.update(changes)


def quota(most: float, sent: float) -> Callable[[FakeSes], None]:
    return account(SendQuota={"Max24HourSend": most, "SentLast24Hours": sent})


def verified(*identities: str) -> Callable[[FakeSes], None]:
    def change(house: FakeSes) -> None:
        house.identities = house.verified = set(identities)

    return change


def sets(known_sets: Mapping[str, bool]) -> Callable[[FakeSes], None]:
    return lambda house: setattr(house, "configuration_sets", dict(known_sets))


def unverified(house: FakeSes) -> None:
    house.verified = set()


VDM_OFF = account(VdmAttributes={"VdmEnabled": "DISABLED"})

Row = tuple[Callable[[FakeSes], None], bool, Level, str]
EXAMINED: dict[str, Row] = {
    "sandbox": (account(ProductionAccessEnabled=False), True, Level.PROBLEM, "sandbox"),
    "may not send": (account(SendingEnabled=False), True, Level.PROBLEM, "may not send"),
    "on probation": (account(EnforcementStatus="PROBATION"), True, Level.NOTE, "reviewing"),
    "quota used up": (quota(200.0, 200.0), True, Level.PROBLEM, "200 of 200 messages"),
    "quota nearly used up": (quota(200.0, 160.0), True, Level.PROBLEM, "160 of 200 messages"),
    "quota in hand": (quota(200.0, 159.0), True, Level.OK, "159 of 200 messages"),
    "no quota": (quota(-1.0, 9.0), True, Level.OK, "no daily quota"),
    "no word of a quota": (account(SendQuota=None), True, Level.UNCHECKED, "quota"),
    "not verified": (unverified, True, Level.PROBLEM, "domain example.com is not verified in eu-central-1"),
    "nothing verified": (verified(), True, Level.PROBLEM, "is not verified"),
    "an address verified": (verified("notices@example.com"), True, Level.OK, "by its address"),
    "insights on": (account(), True, Level.OK, "Deliverability Manager answers"),
    "insights off": (VDM_OFF, True, Level.PROBLEM, "STANDBY_SES_INSIGHTS"),
    "insights unused": (account(), False, Level.NOTE, "STANDBY_SES_INSIGHTS=1"),
    "events only": (VDM_OFF, False, Level.UNCHECKED, "whether events reach one of the topics"),
    "no such set": (sets({}), True, Level.PROBLEM, "STANDBY_SES_CONFIGURATION_SET"),
    "a set that may not send": (sets({"notices": False}), True, Level.PROBLEM, "configuration set"),
    "a set": (account(), True, Level.OK, "configuration set"),
}


@pytest.mark.parametrize("row", EXAMINED.values(), ids=EXAMINED.keys())
async def test_an_examination_finds(client: httpx.AsyncClient, fake: tuple[FakeSes, str], row: Row) -> None:
    house, url = fake
    change, insights, level, says = row
    change(house)

    found = await adapter(client, url, insights=insights).examine(Channel.EMAIL)

    assert [each.level for each in found if says in each.says] == [level]


async def test_a_domain_above_the_senders_is_as_good(
    client: httpx.AsyncClient, fake: tuple[FakeSes, str]
) -> None:
    _, url = fake
    sender = Sender("n@mail.news.example.com", "", "n@mail.news.example.com")

    found = await replace(adapter(client, url), sender=sender).examine(Channel.EMAIL)

    assert [each for each in found if each.level is Level.PROBLEM] == []


async def test_nobody_who_says_what_became_of_messages_is_a_finding(
    client: httpx.AsyncClient, fake: tuple[FakeSes, str]
) -> None:
    house, url = fake
    VDM_OFF(house)

    found = await replace(adapter(client, url), topic_arns=()).examine(Channel.EMAIL)

    assert [each.level for each in found if "STANDBY_SES_TOPIC_ARNS" in each.says] == [Level.NOTE]


@pytest.mark.parametrize(
    ("word", "details"),
    [("Delivery", "delivery"), ("DeliveryDelay", "deliveryDelay"), ("Rendering Failure", "failure")],
)
async def test_an_event_says_when_and_which(client: httpx.AsyncClient, word: str, details: str) -> None:
    (reported,) = adapter(client, "https://x.test").parse(published(word, details))

    assert (reported.event_id, reported.provider_id) == (MESSAGE_ID, ID)
    assert reported.provider_at == datetime(2026, 12, 1, 9, 59, 58, tzinfo=UTC)


async def test_an_event_without_a_time_has_its_messages(client: httpx.AsyncClient) -> None:
    (reported,) = adapter(client, "https://x.test").parse(published("Send"))

    assert reported.provider_at == datetime(2026, 12, 1, 9, 59, 50, tzinfo=UTC)


async def test_a_diagnosis_gives_its_code_and_not_its_words(client: httpx.AsyncClient) -> None:
    recipient = {
        "emailAddress": EMAIL.to,
        "status": "5.0.0",
        "diagnosticCode": f"550 5.1.1 {EMAIL.to} unknown",
    }
    bounce = {"bounceType": "Permanent", "bounceSubType": "General", "bouncedRecipients": [recipient]}

    (reported,) = adapter(client, "https://x.test").parse(published("Bounce", "bounce", bounce))

    assert (reported.code, reported.raw) == ("5.1.1", "Bounce Permanent General")


def asking(asked: list[str], status: int = 200) -> httpx.AsyncClient:
    def serve(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(status)

    return wire.new_client(httpx.MockTransport(serve))


async def test_a_subscription_to_our_topic_is_confirmed_once_believed() -> None:
    asked: list[str] = []
    async with asking(asked) as client:
        made = adapter(client, "https://x.test")
        await made.verify(subscription())

        assert made.parse(subscription()) == ()
    assert asked == [SUBSCRIBE_URL]


async def test_a_subscription_to_a_strangers_topic_is_not_confirmed() -> None:
    asked: list[str] = []
    foreign = envelope(
        "SubscriptionConfirmation",
        Message="?",
        Token="t",
        SubscribeURL=SUBSCRIBE_URL,
        TopicArn="arn:aws:sns:eu-central-1:999999999999:x",
    )
    async with asking(asked) as client:
        with pytest.raises(Forged):
            await adapter(client, "https://x.test").verify(enclosed(foreign))
    assert asked == []


async def test_a_confirmation_that_fails_is_asked_for_again() -> None:
    async with asking([], 500) as client:
        with pytest.raises(ReadFailed):
            await adapter(client, "https://x.test").verify(subscription())


async def test_without_a_topic_no_callback_can_be_believed(client: httpx.AsyncClient) -> None:
    with pytest.raises(Misconfigured, match="STANDBY_SES_TOPIC_ARNS"):
        await replace(adapter(client, "https://x.test"), topic_arns=()).verify(published("Send"))


SETTINGS = {
    "STANDBY_EMAIL_FROM": "Example <notices@example.com>",
    "STANDBY_AWS_REGION": "eu-west-1",
    "STANDBY_SES_INSIGHTS": "1",
    "STANDBY_SES_CONFIGURATION_SET": "notices",
    "STANDBY_SES_TOPIC_ARNS": "arn:aws:sns:eu-west-1:1:a, arn:aws:sns:eu-west-1:1:b",
}


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.delenv("AWS_PROFILE", raising=False)


@pytest.mark.usefixtures("credentials")
def test_the_settings_are_followed(client: httpx.AsyncClient) -> None:
    made = ses.build(Settings.read(SETTINGS), client)

    assert made.service.url == "https://email.eu-west-1.amazonaws.com"
    assert (made.configuration_set, made.insights) == ("notices", True)
    assert made.topic_arns == ("arn:aws:sns:eu-west-1:1:a", "arn:aws:sns:eu-west-1:1:b")


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("sender", ["", "grüße@example.com"], ids=["none", "not ASCII"])
def test_a_sender_that_ses_cannot_use_is_a_setting(client: httpx.AsyncClient, sender: str) -> None:
    with pytest.raises(Misconfigured, match="STANDBY_EMAIL_FROM"):
        ses.build(Settings.read({**SETTINGS, "STANDBY_EMAIL_FROM": sender}), client)


@pytest.fixture
async def moto(client: httpx.AsyncClient) -> AsyncIterator[Ses]:
    """SES as moto imitates it; its state is the process's, so it is cleared."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    await client.post(f"{url}/moto-api/reset")
    yield adapter(client, url)
    await client.post(f"{url}/moto-api/reset")
    server.stop()


async def test_another_imitation_of_ses_takes_what_is_sent(client: httpx.AsyncClient, moto: Ses) -> None:
    identity = await moto.service.request(
        "POST",
        "/v2/email/identities",
        b'{"EmailIdentity": "example.com"}',
        {"Content-Type": "application/json"},
    )
    await client.send(identity)

    reported = await moto.send(EMAIL)

    assert (reported.status, bool(reported.provider_id)) == (Status.ACCEPTED, True)


async def test_another_imitation_of_ses_refuses_a_sender_that_is_not_verified(moto: Ses) -> None:
    with pytest.raises(Misconfigured, match="STANDBY_EMAIL_FROM"):
        await moto.send(EMAIL)
