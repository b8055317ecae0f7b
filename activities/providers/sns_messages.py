"""What Amazon SNS posts to whoever subscribed to a topic: whether to believe it, and what is in it.

SES and AWS End User Messaging publish their events to SNS, each as a text within SNS's own envelope.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from activities.providers import signatures, wire
from activities.providers.answers import Json
from activities.providers.base import Callback
from activities.providers.errors import Forged, Misconfigured, ReadFailed
from activities.providers.fields import decoded, instant, posted
from activities.providers.signatures import TOLERANCE

OLDEST: Final = timedelta(hours=1) + TOLERANCE
"""The age up to which an envelope is believed.

Its timestamp is of its publication, and stays the same however often it is repeated. AWS ends the repetition
to an HTTPS address after 3,600 seconds, a limit that no delivery policy can raise; the rest is for clocks.
"""

NOTIFICATION: Final = "Notification"
SUBSCRIPTION: Final = "SubscriptionConfirmation"

_CONFIRMED = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
_SIGNED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        NOTIFICATION: ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
        SUBSCRIPTION: _CONFIRMED,
        "UnsubscribeConfirmation": _CONFIRMED,
    }
)
"""What is signed, in this order, by the type of the envelope."""

_OPTIONAL = "Subject"

_DIGESTS: Mapping[str, hashes.HashAlgorithm] = MappingProxyType(
    {
        "1": hashes.SHA1(),  # noqa: S303 - what topics are created with, until somebody sets version 2
        "2": hashes.SHA256(),
    }
)

_HOST = r"https://sns\.[a-z0-9-]{3,40}\.amazonaws\.com(?:\.cn)?"
_CERTIFICATE = re.compile(rf"{_HOST}/[A-Za-z0-9_-]{{1,100}}\.pem")
_CONFIRMATION = re.compile(rf"{_HOST}/\?[!-~]{{1,2000}}")
_FIRST = "Successfully validated SNS topic"
"""How the text begins that AWS publishes when a topic is chosen for events."""

_UNREADABLE = "the callback cannot be read"


class Certificates:
    """The public keys that SNS signs with, each fetched from its address once."""

    MOST: Final = 16
    """Kept at most: a region changes its certificate about once a year."""

    def __init__(self, client: httpx.AsyncClient, known: Mapping[str, RSAPublicKey] | None = None) -> None:
        self._client = client
        self._known = dict(known or {})

    async def key(self, url: str) -> RSAPublicKey:
        """Return the key at an address of SNS; raises Forged for another, ReadFailed where it is not had."""
        if not _CERTIFICATE.fullmatch(url):
            raise Forged("the certificate is not of SNS")
        if url not in self._known:
            found = await self._fetched(url)
            while len(self._known) >= self.MOST:
                del self._known[next(iter(self._known))]
            self._known[url] = found
        return self._known[url]

    async def _fetched(self, url: str) -> RSAPublicKey:
        answer = await wire.fetch(self._client, self._client.build_request("GET", url))
        if not answer.is_success:
            raise ReadFailed(f"{answer.words} for the certificate of SNS", retry_after=answer.retry_after())
        try:
            # TLS to a host of AWS vouches for it, as in AWS's own validators.
            key = x509.load_pem_x509_certificate(answer.body).public_key()
        except ValueError:
            key = None
        if not isinstance(key, RSAPublicKey):
            raise ReadFailed("the certificate of SNS cannot be read")
        return key


async def verify(
    callback: Callback, topic_arns: tuple[str, ...], certificates: Certificates, now: datetime
) -> None:
    """Raise Forged unless SNS sent this, lately, for one of these topics.

    Anybody can have SNS post a well-signed envelope of a topic of their own: the list of topics is what
    makes an envelope ours. Raises ReadFailed where the certificate could not be had, Misconfigured where
    no topic is listed.
    """
    if not topic_arns:
        raise Misconfigured(
            "no SNS topic is believed: set STANDBY_SES_TOPIC_ARNS or STANDBY_AWS_SMS_TOPIC_ARNS"
        )
    envelope = posted(callback.body)
    if _text(envelope, "TopicArn") not in topic_arns:
        raise Forged("the topic is not one of ours")
    if callback.headers.get("x-amz-sns-message-id") != _text(envelope, "MessageId"):
        raise Forged("the header names another message")
    signatures.fresh(instant(_text(envelope, "Timestamp")), now, oldest=OLDEST)
    digest = _DIGESTS.get(_text(envelope, "SignatureVersion"))
    if digest is None:
        raise Forged("the version of the signature is not known")
    signed = _signed(envelope)
    key = await certificates.key(_text(envelope, "SigningCertURL"))
    signatures.pkcs1(key, signed, _text(envelope, "Signature"), digest)


async def confirm(callback: Callback, client: httpx.AsyncClient) -> None:
    """Confirm the subscription that a verified callback asks about, if it does; twice changes nothing.

    Only the callback brings the address at which it is confirmed. Raises ReadFailed where that fails: SNS
    then asks again.
    """
    envelope = posted(callback.body)
    if _kind(envelope) != SUBSCRIPTION:
        return
    url = _text(envelope, "SubscribeURL")
    if not _CONFIRMATION.fullmatch(url):
        raise Forged("the confirmation is not of SNS")
    answer = await wire.fetch(client, client.build_request("GET", url))
    if not answer.is_success:
        raise ReadFailed(f"{answer.words} for the confirmation of a subscription")


def message(callback: Callback) -> Json | None:
    """Return what was published; None for what tells of no event.

    Those are confirmations, and the plain text that AWS publishes first. Raises Forged for the unreadable.
    """
    envelope = posted(callback.body)
    published = _text(envelope, "Message")
    if _kind(envelope) != NOTIFICATION or published.startswith(_FIRST):
        return None
    found = decoded(_bytes(published))
    if not isinstance(found, dict):
        raise Forged(_UNREADABLE)
    return found


def event_id(callback: Callback) -> str:
    """Return what an envelope keeps however often it is repeated."""
    return _text(posted(callback.body), "MessageId")


def _signed(envelope: Json) -> bytes:
    names = (
        name for name in _SIGNED[_kind(envelope)] if name != _OPTIONAL or envelope.get(_OPTIONAL) is not None
    )
    return b"".join(_bytes(f"{name}\n{_text(envelope, name)}\n") for name in names)


def _kind(envelope: Json) -> str:
    kind = _text(envelope, "Type")
    if kind not in _SIGNED:
        raise Forged(_UNREADABLE)
    return kind


def _text(envelope: Json, name: str) -> str:
    """Return a field as it was signed: even an empty one."""
    found = envelope.get(name)
    if not isinstance(found, str):
        raise Forged(_UNREADABLE)
    return found


def _bytes(text: str) -> bytes:
    """Encode a text; half a character, which JSON can escape, becomes what no signature matches."""
    return text.encode(errors="replace")
