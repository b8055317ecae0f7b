"""Envelopes of SNS: what is believed, what is not, and whom that is asked of.

AWS publishes no envelope with a true signature (its examples begin with `EXAMPLE`): the key is ours.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import httpx
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from activities.providers import sns_messages, wire
from activities.providers.base import Callback
from activities.providers.errors import Forged, Misconfigured, ReadFailed
from activities.providers.sns_messages import Certificates
from tests.providers.sns_signing import (
    CERTIFICATE,
    CERTIFICATE_URL,
    FIRST,
    KEY,
    MESSAGE_ID,
    SUBSCRIBE_URL,
    TOPIC,
    enclosed,
    envelope,
    known,
    notification,
    subscription,
)
from tests.providers.subject import NOW

EVENT = {"eventType": "Delivery"}
OTHER_TOPIC = "arn:aws:sns:eu-central-1:999999999999:somebody-elses"

Say = Callable[[httpx.Request], httpx.Response]


async def verified(callback: Callback, certificates: Certificates, now: datetime = NOW) -> None:
    await sns_messages.verify(callback, (TOPIC,), certificates, now)


def saying(says: Say) -> httpx.AsyncClient:
    return wire.new_client(httpx.MockTransport(says))


def changed(**fields: object) -> Callback:
    """Change a signed envelope, and leave its signature."""
    return enclosed(envelope("Notification", Message=json.dumps(EVENT)) | fields)


@pytest.mark.parametrize(
    "callback",
    [
        notification(EVENT),
        notification(EVENT, version="1"),
        notification({"text": "Grüße, 王芳 👋\n\"'\\"}),
        notification(FIRST),
        subscription(),
        subscription("UnsubscribeConfirmation"),
        enclosed(envelope("Notification", Message="{}", Subject="A subject")),
        enclosed(envelope("Notification", Message="{}", Subject="")),
        changed(UnsubscribeURL="https://sns.eu-central-1.amazonaws.com/?Action=Unsubscribe"),
        changed(Subject=None),
    ],
    ids=["2", "1", "unicode", "text", "subscription", "end", "subject", "empty subject", "unsigned", "null"],
)
async def test_what_sns_signed_is_believed(callback: Callback, client: httpx.AsyncClient) -> None:
    await verified(callback, known(client))


@pytest.mark.parametrize(
    "callback",
    [
        changed(Message='{"eventType": "Bounce"}'),
        changed(Subject="added"),
        changed(TopicArn=OTHER_TOPIC),
        changed(MessageId="another"),
        changed(Type="SubscriptionConfirmation"),
        changed(Type="Letter"),
        changed(Timestamp="2026-12-01T09:59:59.000Z"),
        changed(Timestamp="yesterday"),
        changed(SignatureVersion="1"),
        changed(SignatureVersion="3"),
        changed(Signature=""),
        changed(Signature="no base64"),
        changed(Signature=None),
        changed(Message=7),
        changed(Message="\ud800"),
        Callback(b"{}", {}),
        Callback(b"[]", {}),
        Callback(b"\xff", {}),
    ],
)
async def test_what_sns_did_not_sign_is_forged(callback: Callback, client: httpx.AsyncClient) -> None:
    with pytest.raises(Forged):
        await verified(callback, known(client))


async def test_a_well_signed_envelope_of_a_strangers_topic_is_forged(client: httpx.AsyncClient) -> None:
    callback = enclosed(envelope("Notification", Message="{}", TopicArn=OTHER_TOPIC))
    with pytest.raises(Forged, match="topic"):
        await verified(callback, known(client))


async def test_no_topic_at_all_is_a_setting(client: httpx.AsyncClient) -> None:
    with pytest.raises(Misconfigured, match="STANDBY_SES_TOPIC_ARNS"):
        await sns_messages.verify(notification(EVENT), (), known(client), NOW)


@pytest.mark.parametrize("header", [None, "another"])
async def test_the_header_must_name_the_same_message(client: httpx.AsyncClient, header: str | None) -> None:
    callback = notification(EVENT)
    rest = {name: value for name, value in callback.headers.items() if name != "x-amz-sns-message-id"}
    told = rest if header is None else rest | {"x-amz-sns-message-id": header}
    with pytest.raises(Forged, match="header"):
        await verified(replace(callback, headers=told), known(client))


@pytest.mark.parametrize("age", [timedelta(minutes=64), timedelta(minutes=-4)])
async def test_an_envelope_is_believed_for_as_long_as_sns_repeats_it(
    client: httpx.AsyncClient, age: timedelta
) -> None:
    await verified(notification(EVENT), known(client), NOW + age)


@pytest.mark.parametrize("age", [timedelta(minutes=66), timedelta(minutes=-6)])
async def test_an_envelope_of_another_time_is_forged(client: httpx.AsyncClient, age: timedelta) -> None:
    with pytest.raises(Forged, match="timestamp"):
        await verified(notification(EVENT), known(client), NOW + age)


@pytest.mark.parametrize(
    "url",
    [
        "https://sns.eu-central-1.amazonaws.com.evil.example/SimpleNotificationService-1.pem",
        "https://evil.example/sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem",
        "https://sns.eu-central-1.amazonaws.com@evil.example/SimpleNotificationService-1.pem",
        "https://evil.example#.sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem",
        "https://sns.eu-central-1.amazonaws.com:8443/SimpleNotificationService-1.pem",
        "https://s3.eu-central-1.amazonaws.com/bucket/SimpleNotificationService-1.pem",
        "https://sns.amazonaws.com.evil.example/SimpleNotificationService-1.pem",
        "https://sns.eu-central-1.amazonaws.com/../x.pem",
        "https://sns.eu-central-1.amazonaws.com/?Action=Publish&x=.pem",
        "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem\n",
        "http://sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem",
        "",
    ],
)
async def test_a_certificate_is_fetched_from_sns_only(url: str) -> None:
    def nobody(_request: httpx.Request) -> httpx.Response:
        raise AssertionError("asked a stranger")

    async with saying(nobody) as client:
        with pytest.raises(Forged):
            await verified(changed(SigningCertURL=url), Certificates(client))


@pytest.mark.parametrize(
    "url", [CERTIFICATE_URL, "https://sns.cn-north-1.amazonaws.com.cn/SimpleNotificationService-1.pem"]
)
async def test_a_certificate_is_fetched_once(url: str) -> None:
    asked: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, content=CERTIFICATE)

    async with saying(serve) as client:
        certificates = Certificates(client)
        for _ in range(3):
            await verified(changed(SigningCertURL=url), certificates)

    assert asked == [url]


async def test_a_bounded_number_of_certificates_is_kept() -> None:
    asked: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, content=CERTIFICATE)

    urls = [f"https://sns.eu-central-1.amazonaws.com/{n}.pem" for n in range(Certificates.MOST + 1)]
    async with saying(serve) as client:
        certificates = Certificates(client)
        for url in [*urls, urls[-1], urls[0]]:
            await certificates.key(url)

    assert asked == [*urls, urls[0]]


@pytest.mark.parametrize(
    "response",
    [
        httpx.Response(200, content=b"<html>"),
        httpx.Response(200, content=b""),
        httpx.Response(200, content=CERTIFICATE[:-60]),
        httpx.Response(404, content=CERTIFICATE),
        httpx.Response(302, headers={"Location": "https://evil.example/x.pem"}),
        httpx.Response(503),
    ],
    ids=["HTML", "nothing", "cut", "404", "moved", "503"],
)
async def test_a_certificate_that_is_not_had_proves_nothing_and_is_asked_for_again(
    response: httpx.Response,
) -> None:
    answers = [response, httpx.Response(200, content=CERTIFICATE)]

    async with saying(lambda _request: answers.pop(0)) as client:
        certificates = Certificates(client)
        with pytest.raises(ReadFailed):
            await verified(notification(EVENT), certificates)
        await verified(notification(EVENT), certificates)


async def test_a_signature_by_another_key_is_forged(client: httpx.AsyncClient) -> None:
    fields = envelope("Notification", Message="{}")
    other = base64.b64encode(KEY.sign(b"another text", padding.PKCS1v15(), hashes.SHA256())).decode()
    with pytest.raises(Forged):
        await verified(enclosed(fields | {"Signature": other}), known(client))


def test_a_notification_holds_one_object() -> None:
    assert sns_messages.message(notification(EVENT)) == EVENT
    assert sns_messages.event_id(notification(EVENT)) == MESSAGE_ID


@pytest.mark.parametrize(
    "callback", [subscription(), subscription("UnsubscribeConfirmation"), notification(FIRST)]
)
def test_what_tells_of_no_event_holds_none(callback: Callback) -> None:
    assert sns_messages.message(callback) is None


@pytest.mark.parametrize(
    "callback",
    [
        notification("hello"),
        notification("[]"),
        notification("7"),
        notification("[" * 100_000),
        changed(Type="Letter"),
        changed(Type=None),
        changed(Message=None),
        Callback(b"{", {}),
    ],
)
def test_a_notification_that_cannot_be_read_is_forged(callback: Callback) -> None:
    with pytest.raises(Forged):
        sns_messages.message(callback)


@pytest.mark.parametrize("kind", ["SubscriptionConfirmation", "UnsubscribeConfirmation", "Notification"])
async def test_only_a_subscription_is_confirmed(kind: str) -> None:
    asked: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, content=b"<ConfirmSubscriptionResponse/>")

    async with saying(serve) as client:
        await sns_messages.confirm(subscription(kind), client)

    assert asked == ([SUBSCRIBE_URL] if kind == "SubscriptionConfirmation" else [])


async def test_a_confirmation_that_fails_is_asked_for_again() -> None:
    async with saying(lambda _request: httpx.Response(500)) as client:
        with pytest.raises(ReadFailed):
            await sns_messages.confirm(subscription(), client)


@pytest.mark.parametrize(
    "url",
    ["https://evil.example/?Action=ConfirmSubscription", "https://sns.eu-central-1.amazonaws.com/x", ""],
)
async def test_nobody_but_sns_is_asked_to_confirm(url: str, client: httpx.AsyncClient) -> None:
    fields = envelope("SubscriptionConfirmation", Message="?", Token="t", SubscribeURL=url)
    with pytest.raises(Forged):
        await sns_messages.confirm(enclosed(fields), client)
