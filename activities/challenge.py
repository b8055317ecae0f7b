"""The secrets of a challenge: derived from a server key and a nonce whenever they are needed, and never kept.

What is kept is a keyed digest of each, under a key that is never rotated, so that a secret finds its
challenge. A rotation of the payload keys leaves open challenges valid: each names the key it was made with.
"""

import base64
import hmac
import secrets
from dataclasses import dataclass, field
from typing import Final, Self

from activities.keyring import Keyring
from workflows.policy.verification import Presented

NONCE: Final = 32
"""Random bytes of a challenge."""

LINK: Final = 43
"""Characters of a link's secret: 256 bits in URL-safe base64."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What a challenge's secrets are derived from, together with a key that is not on record."""

    key_id: str | None
    nonce: str = field(repr=False)
    """In hex."""

    @classmethod
    def fresh(cls, keyring: Keyring) -> Self:
        """Make a new one, under the key that is current."""
        return cls(keyring.current, secrets.token_hex(NONCE))


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a person is sent, and what they bring back."""

    link: str = field(repr=False)
    code: str = field(repr=False)
    result: str = field(repr=False)
    """An opaque word for the browser's way back: a backend exchanges it."""


def derive(keyring: Keyring, seed: Seed, *, digits: int) -> Secrets:
    """Return the secrets of a seed, the same every time (HMAC-SHA-256).

    Raises KeyError where the key file no longer has the key.
    """
    key = keyring.derived("challenge", seed.key_id)
    number = int.from_bytes(_mac(key, "code", seed))
    return Secrets(
        link=_text(_mac(key, "link", seed)),
        code=f"{number % 10**digits:0{digits}d}",
        result=_text(_mac(key, "result", seed)),
    )


def digests(keyring: Keyring, challenge_id: str, made: Secrets) -> Presented:
    """Return what is kept of a challenge's secrets."""
    return Presented(link=link_digest(keyring, made.link), code=code_digest(keyring, challenge_id, made.code))


def link_digest(keyring: Keyring, token: str) -> str:
    """Return the digest under which a link's secret is known."""
    return keyring.digest("link", token)


def code_digest(keyring: Keyring, challenge_id: str, code: str) -> str:
    """Return the digest of a code; it is short, and so counts within its challenge only."""
    return keyring.digest("code", f"{challenge_id}\0{code}")


def result_digest(keyring: Keyring, result: str) -> str:
    """Return the digest under which the word of a consumption is known."""
    return keyring.digest("result", result)


def _mac(key: bytes, what: str, seed: Seed) -> bytes:
    return hmac.digest(key, f"{what}\0{seed.nonce}".encode(), "sha256")


def _text(mac: bytes) -> str:
    return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()
