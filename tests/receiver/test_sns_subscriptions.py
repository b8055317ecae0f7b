"""A subscription of SNS is confirmed over HTTP for a topic of ours only, once, and nowhere but at SNS."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import httpx
import pytest

from activities.providers import wire
from activities.providers.base import Callback
from activities.providers.registry import Providers
from activities.store.ledger import Ledger
from tests.providers.sns_signing import (
    CERTIFICATE,
    CERTIFICATE_URL,
    SUBSCRIBE_URL,
    TOPIC,
    enclosed,
    envelope,
    subscription,
)
from tests.receiver.deployed import SETTINGS, Engine, calling, is_problem, parts

STRANGE = "arn:aws:sns:eu-central-1:999999999999:theirs"
BY_SES = {
    "STANDBY_EMAIL": "ses",
    "STANDBY_EMAIL_FROM": "notices@example.com",
    "STANDBY_AWS_REGION": "eu-central-1",
    "STANDBY_SES_TOPIC_ARNS": TOPIC,
}
BY_AWS_SMS = {
    "STANDBY_SMS": "aws_sms",
    "STANDBY_AWS_REGION": "eu-central-1",
    "STANDBY_AWS_SMS_TOPIC_ARNS": TOPIC,
}
BOTH = pytest.mark.parametrize(("name", "chosen"), [("ses", BY_SES), ("aws_sms", BY_AWS_SMS)])


@dataclass
class Sns:
    """SNS as it is asked: it has one certificate, and confirms unless it is down."""

    is_down: bool = False
    asked: list[str] = field(default_factory=list)

    def serve(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(str(request.url))
        if str(request.url) == CERTIFICATE_URL:
            return httpx.Response(200, content=CERTIFICATE)
        return httpx.Response(500 if self.is_down else 200)


def asks_to_confirm(**fields: str) -> Callback:
    """Ask for a confirmation, signed as SNS does, with some of its fields as another would have them."""
    said = {"Message": "You have chosen to subscribe.", "Token": "t", "SubscribeURL": SUBSCRIBE_URL}
    return enclosed(envelope("SubscriptionConfirmation", datetime.now(UTC), **{**said, **fields}))


@asynccontextmanager
async def deployed(ledger: Ledger, sns: Sns, chosen: dict[str, str]) -> AsyncIterator[httpx.AsyncClient]:
    """Deploy the adapters as the settings describe them; nobody but SNS can be asked."""
    settings = {**SETTINGS, **chosen}
    async with wire.new_client(httpx.MockTransport(sns.serve)) as outward:
        made = parts(ledger, Engine(), settings=settings)
        async with calling(replace(made, providers=Providers(made.settings, outward))) as client:
            yield client


async def post(client: httpx.AsyncClient, name: str, callback: Callback) -> httpx.Response:
    return await client.post(f"/callbacks/{name}", content=callback.body, headers=dict(callback.headers))


@BOTH
async def test_a_subscription_to_a_topic_of_ours_is_confirmed_once(
    ledger: Ledger, name: str, chosen: dict[str, str]
) -> None:
    sns = Sns()
    async with deployed(ledger, sns, chosen) as client:
        answer = await post(client, name, subscription(at=datetime.now(UTC)))
    assert answer.status_code == 200
    assert sns.asked == [CERTIFICATE_URL, SUBSCRIBE_URL]
    assert await ledger.strays.count() == {}


@BOTH
async def test_a_subscription_to_a_strangers_topic_is_refused_and_nobody_is_asked(
    ledger: Ledger, name: str, chosen: dict[str, str]
) -> None:
    sns = Sns()
    async with deployed(ledger, sns, chosen) as client:
        answer = await post(client, name, asks_to_confirm(TopicArn=STRANGE))
    assert is_problem(answer, 403)
    assert sns.asked == []


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/?Action=ConfirmSubscription&Token=t",
        "https://sns.eu-central-1.amazonaws.com.evil.example/?Action=ConfirmSubscription",
        "https://sns.eu-central-1.amazonaws.com@evil.example/?Action=ConfirmSubscription",
        "https://sns.eu-central-1.amazonaws.com:8443/?Action=ConfirmSubscription",
        "http://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription",
        "http://169.254.169.254/?Action=ConfirmSubscription",
        "https://sns.eu-central-1.amazonaws.com/elsewhere?Action=ConfirmSubscription",
    ],
)
async def test_it_is_confirmed_nowhere_but_at_sns_whatever_is_signed(ledger: Ledger, url: str) -> None:
    sns = Sns()
    async with deployed(ledger, sns, BY_SES) as client:
        answer = await post(client, "ses", asks_to_confirm(SubscribeURL=url))
    assert is_problem(answer, 403)
    assert sns.asked == [CERTIFICATE_URL]


@pytest.mark.parametrize("name", ["Token", "SubscribeURL", "TopicArn"])
async def test_what_was_altered_on_its_way_is_not_confirmed(ledger: Ledger, name: str) -> None:
    altered = {"Token": "t2", "SubscribeURL": f"{SUBSCRIBE_URL}0", "TopicArn": TOPIC}
    signed = envelope(
        "SubscriptionConfirmation",
        datetime.now(UTC),
        Message="?",
        Token="t",
        SubscribeURL=SUBSCRIBE_URL,
        TopicArn=STRANGE,
    )
    sns = Sns()
    async with deployed(ledger, sns, BY_SES) as client:
        answer = await post(client, "ses", enclosed({**signed, "TopicArn": TOPIC, name: altered[name]}))
    assert is_problem(answer, 403)
    assert SUBSCRIBE_URL not in sns.asked


async def test_a_confirmation_that_fails_is_brought_again_and_then_succeeds(ledger: Ledger) -> None:
    sns, asking = Sns(is_down=True), subscription(at=datetime.now(UTC))
    async with deployed(ledger, sns, BY_SES) as client:
        assert is_problem(await post(client, "ses", asking), 503)
        sns.is_down = False
        assert (await post(client, "ses", asking)).status_code == 200
    assert sns.asked == [CERTIFICATE_URL, SUBSCRIBE_URL, SUBSCRIBE_URL]
