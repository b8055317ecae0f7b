"""What AWS End User Messaging alone does; it signs nothing itself, and publishes no vectors."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import httpx
import pytest

from activities import accounts
from activities.providers import labels, wire
from activities.providers.aws import Service
from activities.providers.aws_sms import AwsSms, build
from activities.providers.base import Level
from activities.providers.errors import Forged, Misconfigured, ReadFailed, Rejected
from activities.settings import Settings
from tests.providers.cases.aws_sms import ID, told
from tests.providers.fakes.api import running
from tests.providers.fakes.aws_sms import ARN, NUMBER, POOL, FakeAwsSms, error
from tests.providers.fakes.sns import CREDENTIALS, REGION
from tests.providers.scripted import Scripted, answer, scripted
from tests.providers.sns_signing import MESSAGE_ID, SUBSCRIBE_URL, TOPIC, known, notification, subscription
from tests.providers.subject import NOW, SMS
from workflows.policy.keys import attempt_digest
from workflows.policy.words import Channel, SuppressionReason


def aws_sms(
    client: httpx.AsyncClient,
    url: str,
    sender: str | None = NUMBER,
    *,
    configuration_set: str | None = "notices",
    topic: str = TOPIC,
    opt_out_list: str = "Default",
    now: datetime = NOW,
) -> AwsSms:
    return AwsSms(
        Service(client, url, REGION, "sms-voice", CREDENTIALS),
        known(client),
        sender,
        configuration_set,
        opt_out_list,
        (topic,),
        clock=lambda: now,
    )


@pytest.fixture
async def fake() -> AsyncIterator[tuple[FakeAwsSms, str]]:
    made = FakeAwsSms()
    async with running(made) as server:
        yield made, server.url
    assert made.violations == []


async def test_a_text_is_transactional_and_names_its_configuration_set(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient
) -> None:
    made, url = fake
    await aws_sms(client, url).send(SMS)

    assert made.messages[0].draft.content == {
        "DestinationPhoneNumber": SMS.to,
        "OriginationIdentity": NUMBER,
        "MessageBody": SMS.text,
        "MessageType": "TRANSACTIONAL",
        "ConfigurationSetName": "notices",
        "Context": {"standby": SMS.key},
    }


async def test_without_sender_and_configuration_set_neither_is_named(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient
) -> None:
    made, url = fake
    await aws_sms(client, url, None, configuration_set=None).send(SMS)

    content = made.messages[0].draft.content
    assert isinstance(content, dict)
    assert content.keys().isdisjoint({"OriginationIdentity", "ConfigurationSetName"})


@pytest.mark.parametrize(
    ("length", "whole"), [(800, True), (801, False)], ids=["as long as it may be", "too long"]
)
async def test_a_key_that_is_too_long_for_the_context_comes_back_as_its_digest(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient, length: int, *, whole: bool
) -> None:
    made, url = fake
    key = f"kind:{'e' * (length - len('kind::u-1:sms:1'))}:u-1:sms:1"
    provider = aws_sms(client, url)
    await provider.send(replace(SMS, key=key))

    (said,) = provider.parse(told("TEXT_SENT", key=key))
    expected = (key, None) if whole else (None, attempt_digest(key))
    assert (said.attempt_key, said.attempt_digest) == expected
    assert made.messages[0].draft.key == labels.header(key, 800)


async def test_an_event_says_when_and_of_which_text(client: httpx.AsyncClient) -> None:
    (said,) = aws_sms(client, "https://api.example.test").parse(told("TEXT_DELIVERED"))

    assert said.provider_at == datetime(2026, 12, 1, 9, 59, 58, tzinfo=UTC)
    assert (said.provider_id, said.event_id, said.raw) == (ID, MESSAGE_ID, "TEXT_DELIVERED")


@pytest.mark.parametrize("version", ["1", "2"])
async def test_one_altered_byte_of_an_event_or_its_signature_is_noticed(
    client: httpx.AsyncClient, version: str
) -> None:
    provider = aws_sms(client, "https://api.example.test")
    event = notification({"eventType": "TEXT_DELIVERED", "messageId": ID}, version=version)
    await provider.verify(event)
    envelope = json.loads(event.body)
    for name in ("Message", "MessageId", "Timestamp", "TopicArn", "Signature"):
        written = envelope[name]
        changed = written[:9] + chr(ord(written[9]) ^ 1) + written[10:]
        body = json.dumps(envelope | {name: changed}).encode()
        with pytest.raises(Forged):
            await provider.verify(replace(event, body=body))


@pytest.mark.parametrize("by", [timedelta(minutes=66), timedelta(minutes=-6)], ids=["later", "earlier"])
async def test_an_event_of_another_time_is_not_believed(client: httpx.AsyncClient, by: timedelta) -> None:
    with pytest.raises(Forged):
        await aws_sms(client, "https://api.example.test", now=NOW + by).verify(told("TEXT_SENT"))


async def test_an_event_of_another_topic_is_not_believed(client: httpx.AsyncClient) -> None:
    with pytest.raises(Forged):
        await aws_sms(client, "https://api.example.test", topic=f"{TOPIC}-2").verify(told("TEXT_SENT"))


async def test_a_subscription_is_confirmed_where_it_says() -> None:
    asked: list[httpx.Request] = []

    def confirm(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(200, text="<ConfirmSubscriptionResponse/>")

    async with wire.new_client(httpx.MockTransport(confirm)) as client:
        provider = aws_sms(client, "https://api.example.test")
        await provider.verify(subscription())
        assert provider.parse(subscription()) == ()

    assert [str(each.url) for each in asked] == [SUBSCRIBE_URL]


@pytest.mark.parametrize("published", ["", "{", "7", '["TEXT_SENT"]', "plain text"])
async def test_an_event_that_cannot_be_read_is_not_believed(
    client: httpx.AsyncClient, published: str
) -> None:
    with pytest.raises(Forged):
        aws_sms(client, "https://api.example.test").parse(notification(published))


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"eventType": 7, "messageId": ID},
        {"eventType": "TEXT_SENT"},
        {"eventType": "REGISTRATION_COMPLETE", "messageId": ID},
    ],
)
async def test_what_is_no_event_of_a_text_tells_of_nothing(
    client: httpx.AsyncClient, event: dict[str, object]
) -> None:
    assert aws_sms(client, "https://api.example.test").parse(notification(event)) == ()


CHOICES = [each for each in SuppressionReason if each is not SuppressionReason.INVALID_RECIPIENT]


@pytest.mark.parametrize("reason", CHOICES)
async def test_a_choice_is_put_on_the_list_and_the_next_text_is_refused_as_unwanted(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient, reason: SuppressionReason
) -> None:
    provider = aws_sms(client, fake[1])
    await provider.suppress(Channel.SMS, SMS.to, reason)

    with pytest.raises(Rejected) as caught:
        await provider.send(SMS)
    assert caught.value.reported.opt_out is SuppressionReason.STOPPED


async def test_a_number_that_is_only_invalid_is_not_said_to_have_opted_out(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient
) -> None:
    made, url = fake
    await aws_sms(client, url).suppress(Channel.SMS, SMS.to, SuppressionReason.INVALID_RECIPIENT)

    assert made.suppressed == {}


async def test_a_listed_number_says_since_when(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient
) -> None:
    made, url = fake
    made.suppressed = {SMS.to: "opted out"}

    (listed,) = [each async for each in aws_sms(client, url).listed(Channel.SMS)]

    assert (listed.address, listed.reason) == (SMS.to, SuppressionReason.STOPPED)
    assert listed.at == datetime.fromtimestamp(1764579600.25, UTC)


@pytest.mark.parametrize("name", ["Default", "notices"])
async def test_the_list_is_the_one_that_is_set(
    client: httpx.AsyncClient, script: Scripted, name: str
) -> None:
    script.answer = answer(200, {"OptedOutNumbers": []})
    provider = aws_sms(client, script.url, opt_out_list=name)
    await provider.suppress(Channel.SMS, SMS.to, SuppressionReason.STOPPED)

    assert [each async for each in provider.listed(Channel.SMS)] == []
    assert [json.loads(each.body)["OptOutListName"] for each in script.requests] == [name, name]


async def test_a_page_that_comes_again_ends_the_list_with_an_error(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    row = {"OptedOutNumber": SMS.to, "OptedOutTimestamp": 1764579600}
    script.answer = answer(200, {"OptedOutNumbers": [row], "NextToken": "same"})

    with pytest.raises(ReadFailed, match="does not end"):
        _ = [each async for each in aws_sms(client, script.url).listed(Channel.SMS)]


@pytest.mark.parametrize(
    ("sender", "level", "says"),
    [
        (NUMBER, Level.OK, "is the account's"),
        (NUMBER.lstrip("+"), Level.OK, "is the account's"),
        ("phone-1234567890abcdef", Level.OK, "is the account's"),
        (f"{ARN}phone-number/phone-1234567890abcdef", Level.OK, "is the account's"),
        ("Standby", Level.OK, "is the account's"),
        (f"{ARN}sender-id/Standby/DE", Level.OK, "is the account's"),
        (POOL, Level.OK, "is the account's"),
        (f"{ARN}pool/{POOL}", Level.OK, "is the account's"),
        ("+12065550177", Level.PROBLEM, "check STANDBY_SMS_FROM"),
        ("Elsewhere", Level.PROBLEM, "check STANDBY_SMS_FROM"),
        ("pool-0", Level.PROBLEM, "check STANDBY_SMS_FROM"),
        ("arn:aws:sms-voice:eu-west-1:210987654321:pool/pool-0", Level.UNCHECKED, "may be shared"),
        ("rcs-1234567890abcdef", Level.UNCHECKED, "of a kind that is not listed"),
        (None, Level.NOTE, "AWS chooses the sender"),
    ],
)
async def test_the_sender_is_looked_for_where_its_shape_belongs(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient, sender: str | None, level: Level, says: str
) -> None:
    finding = (await aws_sms(client, fake[1], sender).examine(Channel.SMS))[2]

    assert finding.level is level
    assert says in finding.says


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"Status": "PENDING"}, "is not active"),
        ({"MessageType": "PROMOTIONAL"}, "is for promotional texts"),
        ({"OptOutListName": "marketing"}, "STANDBY_AWS_SMS_OPT_OUT_LIST"),
    ],
)
async def test_a_number_that_does_not_fit_is_a_problem(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient, change: dict[str, str], says: str
) -> None:
    made, url = fake
    made.rows["DescribePhoneNumbers"][-1] |= change

    finding = (await aws_sms(client, url).examine(Channel.SMS))[2]

    assert finding.level is Level.PROBLEM
    assert says in finding.says


async def test_an_account_in_the_sandbox_is_a_problem(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient
) -> None:
    made, url = fake
    made.rows["DescribeAccountAttributes"] = [{"Name": "ACCOUNT_TIER", "Value": "SANDBOX"}]

    assert (await aws_sms(client, url).examine(Channel.SMS))[0].level is Level.PROBLEM


async def test_the_limit_of_texts_is_told_and_not_that_of_calls(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient
) -> None:
    made, url = fake
    told_limit = (await aws_sms(client, url).examine(Channel.SMS))[1]
    made.rows["DescribeSpendLimits"].pop()
    untold = (await aws_sms(client, url).examine(Channel.SMS))[1]

    assert (told_limit.level, untold.level) == (Level.NOTE, Level.UNCHECKED)
    assert "500 USD" in told_limit.says


@pytest.mark.parametrize(
    ("configuration_set", "topic", "level"),
    [
        ("notices", TOPIC, Level.OK),
        ("notices", f"{TOPIC}-2", Level.PROBLEM),
        (None, TOPIC, Level.NOTE),
    ],
)
async def test_events_must_go_to_a_topic_of_ours(
    fake: tuple[FakeAwsSms, str],
    client: httpx.AsyncClient,
    configuration_set: str | None,
    topic: str,
    level: Level,
) -> None:
    provider = aws_sms(client, fake[1], configuration_set=configuration_set, topic=topic)
    assert (await provider.examine(Channel.SMS))[3].level is level


async def test_a_destination_that_is_off_tells_nobody(
    fake: tuple[FakeAwsSms, str], client: httpx.AsyncClient
) -> None:
    made, url = fake
    (found,) = made.rows["DescribeConfigurationSets"]
    found["EventDestinations"] = [{"Enabled": False, "SnsDestination": {"TopicArn": TOPIC}}]

    assert (await aws_sms(client, url).examine(Channel.SMS))[3].level is Level.PROBLEM


@pytest.mark.parametrize(
    ("http", "body", "raised"),
    [
        (400, error("ThrottlingException"), ReadFailed),
        (400, error("ValidationException", Reason="INVALID_NEXT_TOKEN"), ReadFailed),
        (404, error("UnheardOfException"), ReadFailed),
        (500, error("InternalServerException"), ReadFailed),
        (400, error("UnrecognizedClientException"), Misconfigured),
        (400, error("ResourceNotFoundException", ResourceType="opt-out-list"), Misconfigured),
        (400, error("AccessDeniedException", Reason="ACCOUNT_DISABLED"), Misconfigured),
    ],
)
async def test_a_list_that_cannot_be_read_says_why(
    client: httpx.AsyncClient, http: int, body: dict[str, object], raised: type[Exception]
) -> None:
    async with scripted(answer(http, body)) as script:
        with pytest.raises(raised):
            _ = [each async for each in aws_sms(client, script.url).listed(Channel.SMS)]


async def test_the_settings_describe_it(client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASTANDBYTESTS0001")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-tests")
    account = accounts.AwsSms(configuration_set="notices", opt_out_list="stops", topic_arns=(TOPIC,))
    made = build(Settings(sms_from="Standby", aws=accounts.Aws(region=REGION), aws_sms=account), client)

    assert (made.sender, made.configuration_set, made.opt_out_list) == ("Standby", "notices", "stops")
    assert made.topic_arns == (TOPIC,)
    assert made.service.url == f"https://sms-voice.{REGION}.amazonaws.com"
