"""The signatures that callbacks carry: each check takes constant time, and raises Forged.

Which bytes a provider signs is the adapter's to know; how a signature is checked stands here.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from activities.providers.base import Callback
from activities.providers.errors import Forged, Misconfigured
from activities.providers.fields import unix

Clock = Callable[[], datetime]

TOLERANCE: Final = timedelta(minutes=5)
"""How far the clocks of two hosts may differ: a timestamp may be ahead by this, and older by this at least.

Where a repetition keeps the timestamp of the first try, or nobody says that it does not, an adapter has an
`OLDEST` of its own: what was refused as stale after an outage would be lost.
"""

SHORTEST_KEY: Final = 16
"""Bytes of a webhook's secret, below which anybody could guess it."""

_MISMATCH: Final = "the signature does not match"


def host_now() -> datetime:
    """Read the host's clock (UTC): a callback arrives where there is no engine time."""
    return datetime.now(UTC)


def same(expected: str, *given: str) -> None:
    """Demand that one of the given texts is the expected one."""
    matches = [hmac.compare_digest(expected.encode(), each.encode(errors="replace")) for each in given]
    if not any(matches):
        raise Forged(_MISMATCH)


def hmac_hex(key: str, signed: bytes, *given: str) -> None:
    """Demand a hex HMAC-SHA256."""
    same(hmac.new(key.encode(), signed, hashlib.sha256).hexdigest(), *given)


def hmac_base64(key: str | bytes, signed: bytes, *given: str, digest: str = "sha256") -> None:
    """Demand a base64 HMAC (`sha256` or `sha1`)."""
    secret = key.encode() if isinstance(key, str) else key
    same(base64.b64encode(hmac.new(secret, signed, digest).digest()).decode(), *given)


def svix(secret: str, callback: Callback, now: datetime) -> None:
    """Demand a signature by the scheme of Svix, over `id.timestamp.body`, and a time that is not far off."""
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        raise Misconfigured("the secret of the webhook is not whsec_ and base64") from None
    if len(key) < SHORTEST_KEY:
        raise Misconfigured("the secret of the webhook is too short to be one")
    event_id, timestamp = (callback.headers.get(f"svix-{each}", "") for each in ("id", "timestamp"))
    versions = callback.headers.get("svix-signature", "").split()
    given = [each.removeprefix("v1,") for each in versions if each.startswith("v1,")]
    hmac_base64(key, f"{event_id}.{timestamp}.".encode(errors="replace") + callback.body, *given)
    stamped(timestamp, now)


def ecdsa(public_key: str, signed: bytes, given: str) -> None:
    """Demand a base64 DER ECDSA signature over SHA-256, by a base64 public key."""
    key = _public(public_key)
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise Misconfigured("the public key of the webhook is not of an elliptic curve")
    try:
        key.verify(_decoded(given), signed, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        raise Forged(_MISMATCH) from None


def ed25519(public_key: str, signed: bytes, given: str) -> None:
    """Demand a base64 Ed25519 signature, by a base64 public key."""
    try:
        key = Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key, validate=True))
    except ValueError:
        raise Misconfigured("the public key of the webhook is not Ed25519 in base64") from None
    try:
        key.verify(_decoded(given), signed)
    except InvalidSignature:
        raise Forged(_MISMATCH) from None


def pkcs1(key: rsa.RSAPublicKey, signed: bytes, given: str, digest: hashes.HashAlgorithm) -> None:
    """Demand a base64 RSA signature (PKCS#1 v1.5)."""
    try:
        key.verify(_decoded(given), signed, padding.PKCS1v15(), digest)
    except InvalidSignature:
        raise Forged(_MISMATCH) from None


def fresh(sent_at: datetime | None, now: datetime, *, oldest: timedelta = TOLERANCE) -> None:
    """Demand a time that is not far from now: a captured callback cannot be brought again for ever."""
    if sent_at is None or not -TOLERANCE <= now - sent_at <= oldest:
        raise Forged("the timestamp is too far from now")


def stamped(timestamp: str, now: datetime, *, per_second: int = 1, oldest: timedelta = TOLERANCE) -> None:
    """Demand a Unix timestamp, in digits, that is not far from now."""
    is_count = timestamp.isascii() and timestamp.isdigit()
    fresh(unix(timestamp, per_second=per_second) if is_count else None, now, oldest=oldest)


def _public(key: str) -> object:
    try:
        return serialization.load_der_public_key(base64.b64decode(key, validate=True))
    except (ValueError, UnsupportedAlgorithm):
        raise Misconfigured("the public key of the webhook is not in base64") from None


def _decoded(given: str) -> bytes:
    try:
        found = base64.b64decode(given, validate=True)
    except (binascii.Error, ValueError):
        raise Forged(_MISMATCH) from None
    # The last letter may carry bits that decode to nothing: one signature is written in one way.
    if base64.b64encode(found).decode() != given:
        raise Forged(_MISMATCH)
    return found
