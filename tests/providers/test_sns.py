"""What Amazon SNS alone does; moto checks the signature, for which SNS publishes no vectors of its own."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import httpx
import pytest
from botocore.credentials import Credentials
from botocore.session import Session
from moto.server import ThreadedMotoServer

from activities import accounts
from activities.providers.aws import Service
from activities.providers.base import Level, Listed, Message
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, ReadFailed, Rejected
from activities.providers.sns import Sns, build
from activities.providers.sns_words import tree
from activities.settings import Settings
from tests.providers.cases.sns import ID
from tests.providers.fakes.api import running
from tests.providers.fakes.sns import CREDENTIALS, OWNED, REGION, FakeSns, error, result
from tests.providers.scripted import Scripted, answer
from tests.providers.subject import NOW, SMS
from workflows.policy.words import Channel, Status, SuppressionReason

TAKEN = bytes(result("Publish", f"<MessageId>{ID}</MessageId>").body)
POLICY = '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sns:*", "Resource": "*"}]}'


def sns(
    client: httpx.AsyncClient, url: str, sender: str | None = OWNED[1], credentials: Credentials = CREDENTIALS
) -> Sns:
    return Sns(Service(client, url, REGION, "sns", credentials), sender, clock=lambda: NOW)


@pytest.fixture(scope="module")
def moto() -> Iterator[str]:
    """Serve moto, which checks signatures from here on."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    try:
        yield url
    finally:
        httpx.post(f"{url}/moto-api/reset-auth", content=b"inf")
        server.stop()


@pytest.fixture(scope="module")
def permitted(moto: str) -> Credentials:
    """Make a user of moto's IAM who may use SNS."""
    iam = Session().create_client(
        "iam", REGION, endpoint_url=moto, aws_access_key_id="any", aws_secret_access_key="any"
    )
    iam.create_user(UserName="standby")
    iam.put_user_policy(UserName="standby", PolicyName="texts", PolicyDocument=POLICY)
    key = iam.create_access_key(UserName="standby")["AccessKey"]
    iam.close()
    httpx.post(f"{moto}/moto-api/reset-auth", content=b"0").raise_for_status()
    return Credentials(key["AccessKeyId"], key["SecretAccessKey"])


@pytest.fixture
async def fake() -> AsyncIterator[tuple[FakeSns, str]]:
    made = FakeSns()
    async with running(made) as server:
        yield made, server.url
    assert made.violations == []


async def test_moto_takes_a_signed_text(moto: str, permitted: Credentials, client: httpx.AsyncClient) -> None:
    reported = await sns(client, moto, credentials=permitted).send(SMS)

    state = (await client.get(f"{moto}/moto-api/data.json")).json()["sns"]["SMS"]
    (sent,) = [each for each in state if each["message_id"] == reported.provider_id]
    assert (sent["phone_number"], sent["message"]) == (SMS.to, SMS.text)
    assert reported.status is Status.ACCEPTED


async def test_moto_refuses_another_secret(
    moto: str, permitted: Credentials, client: httpx.AsyncClient
) -> None:
    altered = Credentials(permitted.access_key, permitted.secret_key[:-1] + "~")
    with pytest.raises(Misconfigured, match="SignatureDoesNotMatch: check the AWS credentials"):
        await sns(client, moto, credentials=altered).send(SMS)


@pytest.mark.parametrize(
    ("message", "status"),
    [
        (replace(SMS, to="not a number"), Status.INVALID_RECIPIENT),
        (replace(SMS, text="x" * 1601), Status.REJECTED),
    ],
    ids=["no number", "a long text"],
)
async def test_moto_refuses_a_parameter(
    moto: str, permitted: Credentials, client: httpx.AsyncClient, message: Message, status: Status
) -> None:
    with pytest.raises(Rejected, match="InvalidParameter") as caught:
        await sns(client, moto, credentials=permitted).send(message)

    assert caught.value.reported.status is status


@pytest.mark.parametrize(
    ("sender", "attribute"),
    [
        ("+12065550100", "AWS.MM.SMS.OriginationNumber"),
        ("12065550100", "AWS.MM.SMS.OriginationNumber"),
        ("72345", "AWS.MM.SMS.OriginationNumber"),
        ("Standby", "AWS.SNS.SMS.SenderID"),
        ("3Standby", "AWS.SNS.SMS.SenderID"),
    ],
)
async def test_a_sender_goes_where_its_shape_belongs(
    fake: tuple[FakeSns, str], client: httpx.AsyncClient, sender: str, attribute: str
) -> None:
    made, url = fake
    await sns(client, url, sender).send(SMS)

    form = made.messages[0].draft.content
    assert isinstance(form, dict)
    assert form["MessageAttributes.entry.2.Name"] == attribute
    assert form["MessageAttributes.entry.2.Value.StringValue"] == sender


@pytest.mark.parametrize("sender", [None, *OWNED])
async def test_every_text_is_transactional(
    fake: tuple[FakeSns, str], client: httpx.AsyncClient, sender: str | None
) -> None:
    made, url = fake
    await sns(client, url, sender).send(SMS)

    form = made.messages[0].draft.content
    assert isinstance(form, dict)
    assert form["MessageAttributes.entry.1.Name"] == "AWS.SNS.SMS.SMSType"
    assert form["MessageAttributes.entry.1.Value.StringValue"] == "Transactional"


@pytest.mark.parametrize("sender", ["pool-a1b2c3", "arn:aws:x", "TwelveLetters", "1234", "Stand by"])
async def test_a_sender_that_sns_cannot_take_is_a_setting(client: httpx.AsyncClient, sender: str) -> None:
    with pytest.raises(Misconfigured, match="STANDBY_SMS_FROM"):
        build(Settings(sms_from=sender), client)


@pytest.mark.parametrize(
    ("own", "general", "sender"),
    [("+12065550100", "Standby", "+12065550100"), (None, "Standby", "Standby"), (None, None, None)],
)
async def test_the_accounts_own_sender_comes_first(
    client: httpx.AsyncClient,
    monkeypatch: pytest.MonkeyPatch,
    own: str | None,
    general: str | None,
    sender: str | None,
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASTANDBYTESTS0001")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret-of-tests")
    settings = Settings(sms_from=general, aws=accounts.Aws(region=REGION), sns=accounts.Sns(sms_from=own))

    made = build(settings, client)

    assert made.sender == sender
    assert made.service.url == f"https://sns.{REGION}.amazonaws.com"


BOMB = b'<!DOCTYPE p [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>' + TAKEN.replace(ID.encode(), b"&b;")


@pytest.mark.parametrize(
    "body",
    [
        BOMB,
        TAKEN.decode().encode("utf-16"),
        b'<?xml version="1.0" encoding="klingon"?>' + TAKEN[:-9],
        TAKEN[:-1],
        TAKEN[: TAKEN.index(b"</MessageId>")],
        b"<html><MessageId>m-1</MessageId></html>",
        b"<PublishResponse><MessageId/></PublishResponse>",
        b"<PublishResponse>" * 100_000,
        error("InvalidParameter", "as a success"),
    ],
    ids=["entities", "utf-16", "encoding", "cut", "half", "a page", "no id", "deep", "an error"],
)
async def test_what_is_not_an_answer_of_sns_is_no_acceptance(
    client: httpx.AsyncClient, script: Scripted, body: bytes
) -> None:
    script.answer = answer(200, body)
    with pytest.raises(Ambiguous):
        await sns(client, script.url).send(SMS)


@pytest.mark.parametrize(
    "body", [b"<html><Code>OptedOut</Code></html>", b'{"Code": "OptedOut"}', error("OptedOut", "?")[:-1]]
)
async def test_a_refusal_that_is_not_in_the_words_of_sns_is_not_believed(
    client: httpx.AsyncClient, script: Scripted, body: bytes
) -> None:
    script.answer = answer(400, body)
    with pytest.raises(NotSent):
        await sns(client, script.url).send(SMS)


def test_a_deep_answer_is_read_without_end_of_stack() -> None:
    deep = b"<PublishResponse>" * 50_000 + b"</PublishResponse>" * 50_000
    assert tree(deep, "Publish") is not None


async def test_a_text_to_somebody_who_opted_out_is_accepted_and_their_number_is_listed(
    fake: tuple[FakeSns, str], client: httpx.AsyncClient
) -> None:
    made, url = fake
    made.suppressed = {SMS.to: "opted out"}
    provider = sns(client, url)

    assert (await provider.send(SMS)).status is Status.ACCEPTED
    listed = [each async for each in provider.listed(Channel.SMS)]
    assert listed == [Listed(SMS.to, SuppressionReason.STOPPED, NOW)]


async def test_a_page_that_comes_again_ends_the_list_with_an_error(
    client: httpx.AsyncClient, script: Scripted
) -> None:
    inner = f"<phoneNumbers><member>{SMS.to}</member></phoneNumbers><nextToken>same</nextToken>"
    script.answer = answer(200, bytes(result("ListPhoneNumbersOptedOut", inner).body))

    with pytest.raises(ReadFailed, match="does not end"):
        _ = [each async for each in sns(client, script.url).listed(Channel.SMS)]


@pytest.mark.parametrize(
    ("sender", "level", "says"),
    [
        (OWNED[1], Level.OK, "is a number of the account"),
        ("12065550101", Level.OK, "is a number of the account"),
        ("+12065550199", Level.PROBLEM, "check STANDBY_SMS_FROM"),
        ("Standby", Level.UNCHECKED, "does not list sender ids"),
        (None, Level.NOTE, "AWS chooses the sender"),
    ],
)
async def test_the_sender_is_looked_for_among_the_numbers_of_the_account(
    fake: tuple[FakeSns, str], client: httpx.AsyncClient, sender: str | None, level: Level, says: str
) -> None:
    findings = await sns(client, fake[1], sender).examine(Channel.SMS)

    assert findings[2].level is level
    assert says in findings[2].says


async def test_an_account_in_the_sandbox_is_a_problem(
    fake: tuple[FakeSns, str], client: httpx.AsyncClient
) -> None:
    made, url = fake
    made.in_sandbox = True

    sandbox, limit, _, silence = await sns(client, url).examine(Channel.SMS)

    assert (sandbox.level, limit.level, silence.level) == (Level.PROBLEM, Level.NOTE, Level.NOTE)
    assert "200 USD a month" in limit.says


@pytest.mark.parametrize("limit", [None, "a lot"])
async def test_a_limit_that_is_not_told_is_not_checked(
    fake: tuple[FakeSns, str], client: httpx.AsyncClient, limit: str | None
) -> None:
    made, url = fake
    made.limit = limit

    assert (await sns(client, url).examine(Channel.SMS))[1].level is Level.UNCHECKED


@pytest.mark.parametrize(
    ("http", "body", "raised"),
    [
        (400, error("Throttling", "Rate exceeded"), ReadFailed),
        (500, error("InternalError", "?"), ReadFailed),
        (200, b"<html/>", ReadFailed),
        (400, error("IncompleteSignature", "?"), Misconfigured),
        (403, error("AuthorizationError", "?"), Misconfigured),
    ],
)
async def test_a_check_that_fails_says_why(
    client: httpx.AsyncClient, script: Scripted, http: int, body: bytes, raised: type[Exception]
) -> None:
    script.answer = answer(http, body)
    with pytest.raises(raised):
        await sns(client, script.url).examine(Channel.SMS)
