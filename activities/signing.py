"""Signs what leaves the deployment to be read by strangers, and checks it: Ed25519 over canonical JSON.

The signing key is made from a payload key, so that whoever has the key file can sign and check, and it is
rotated with it; its id is the payload key's. An auditor needs the public key only.
"""

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, Self

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key
from pydantic import JsonValue

from activities.discreet import PublicError
from activities.keyring import Keyring

ALGORITHM: Final = "Ed25519"
_PURPOSE: Final = "export"

_TINY: Final = 1e-6
"""Below this, numbers are written with an exponent."""


class SigningError(PublicError):
    """A key that cannot be used; one line that says what to do."""


@dataclass(frozen=True, slots=True)
class Signer:
    """The signing key of a deployment, under one of its key ids."""

    key_id: str | None
    """None: the development key, which anybody can compute."""
    _private: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def of(cls, keyring: Keyring, key_id: str | None) -> Self:
        """Return the signer of a key id; raises SigningError where the key file does not have it.

        A deployment that seals has no development key: what that has signed proves nothing.
        """
        if key_id is None and keyring.current is not None:
            raise SigningError("it is signed with the development key, which anybody can compute")
        try:
            seed = keyring.derived(_PURPOSE, key_id)
        except KeyError:
            known = ", ".join(keyring.payload) or "none but the development key"
            raise SigningError(f"this key file has no key {key_id!r}; it has {known}") from None
        return cls(key_id, Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def current(cls, keyring: Keyring) -> Self:
        """Return the signer of the key that is current."""
        return cls.of(keyring, keyring.current)

    @property
    def public(self) -> "Checker":
        """What everybody may have."""
        return Checker(self._private.public_key())

    def sign(self, value: JsonValue) -> str:
        """Return the signature (hex) of a JSON value."""
        return self._private.sign(canonical(value)).hex()


@dataclass(frozen=True, slots=True)
class Checker:
    """A public key."""

    _public: Ed25519PublicKey

    @classmethod
    def read(cls, pem: bytes) -> Self:
        """Read a public key in PEM; raises SigningError where it is none of Ed25519."""
        try:
            key = load_pem_public_key(pem)
        except (ValueError, UnsupportedAlgorithm):
            raise SigningError("is no public key in PEM; get it by: standby export --public-key") from None
        if not isinstance(key, Ed25519PublicKey):
            raise SigningError(f"is a public key of another kind than {ALGORITHM}")
        return cls(key)

    @property
    def pem(self) -> str:
        """The key as a file holds it."""
        return self._public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()

    def signed(self, value: JsonValue, signature: str) -> bool:
        """Whether a signature (hex) is of this value and by this key."""
        try:
            self._public.verify(bytes.fromhex(signature), canonical(value))
        except (InvalidSignature, ValueError):
            return False
        return True


def canonical(value: JsonValue) -> bytes:
    """Return JSON as there is one way to write it (RFC 8785): keys sorted, no white space, UTF-8."""
    return _written(value).encode()


def _written(value: JsonValue) -> str:
    match value:
        case dict():
            # By UTF-16 code units, as JavaScript sorts.
            names = sorted(value, key=lambda name: name.encode("utf-16-be"))
            return f"{{{','.join(f'{_quoted(name)}:{_written(value[name])}' for name in names)}}}"
        case list():
            return f"[{','.join(map(_written, value))}]"
        case float():
            return _number(value)
        case _:
            return _quoted(value)


def _quoted(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _number(value: float) -> str:
    """Write a number as JavaScript does: the shortest digits that are read back as the same."""
    if value.is_integer():
        return str(int(value))
    if abs(value) >= _TINY:
        return format(Decimal(repr(value)), "f")
    digits, _, exponent = repr(value).partition("e")
    return f"{digits}e{int(exponent)}"
