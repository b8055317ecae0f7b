"""Envelopes as Amazon SNS signs them, by a key and a certificate that are made here."""

import base64
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID

from activities.providers.base import Callback
from activities.providers.sns_messages import Certificates
from tests.providers.subject import NOW

TOPIC: Final = "arn:aws:sns:eu-central-1:123456789012:standby-events"
CERTIFICATE_URL: Final = (
    "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-7ff5318490ec183fbaddaa2a969abfda.pem"
)
SUBSCRIBE_URL: Final = (
    f"https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f37"
)
MESSAGE_ID: Final = "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324"
FIRST: Final = "Successfully validated SNS topic for Amazon SES event publishing."

KEY: Final = rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _certificate() -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(KEY.public_key())
        .serial_number(1)
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=365))
        .sign(KEY, hashes.SHA256())
    )
    return made.public_bytes(serialization.Encoding.PEM)


CERTIFICATE: Final = _certificate()
"""What is served at CERTIFICATE_URL."""


def known(client: httpx.AsyncClient) -> Certificates:
    """Know the certificate already, so that nobody is asked."""
    return Certificates(client, {CERTIFICATE_URL: KEY.public_key()})


def notification(event: Mapping[str, object] | str, *, at: datetime = NOW, version: str = "2") -> Callback:
    """Publish an event: an object, or a text as it is."""
    text = event if isinstance(event, str) else json.dumps(event)
    return enclosed(envelope("Notification", at, version, Message=text))


def subscription(kind: str = "SubscriptionConfirmation", *, at: datetime = NOW) -> Callback:
    """Ask for a confirmation."""
    asked = {"Message": "You have chosen to subscribe.", "Token": "2336412f37", "SubscribeURL": SUBSCRIBE_URL}
    return enclosed(envelope(kind, at, **asked))


def envelope(kind: str, at: datetime = NOW, version: str = "2", **fields: str) -> dict[str, str]:
    """Write an envelope and sign it; `fields` replace what stands in every one, before it is signed."""
    moment = at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"
    written = {"Type": kind, "MessageId": MESSAGE_ID, "TopicArn": TOPIC, "Timestamp": moment} | fields
    signed = "".join(f"{name}\n{written[name]}\n" for name in sorted(written))
    digest = hashes.SHA1() if version == "1" else hashes.SHA256()  # noqa: S303 - what SNS signs version 1 with
    signature = base64.b64encode(KEY.sign(signed.encode(), padding.PKCS1v15(), digest)).decode()
    return written | {
        "SignatureVersion": version,
        "Signature": signature,
        "SigningCertURL": CERTIFICATE_URL,
    }


def enclosed(fields: Mapping[str, object], **headers: str) -> Callback:
    """Post an envelope, with the headers that SNS sends; underscores in their names become hyphens."""
    sent = {
        "x-amz-sns-message-type": str(fields["Type"]),
        "x-amz-sns-message-id": str(fields["MessageId"]),
        "x-amz-sns-topic-arn": str(fields["TopicArn"]),
        "content-type": "text/plain; charset=UTF-8",
    }
    beside = {name.replace("_", "-"): value for name, value in headers.items()}
    return Callback(json.dumps(fields).encode(), sent | beside)
