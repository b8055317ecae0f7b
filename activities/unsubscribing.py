"""The token of an unsubscribe link: it names an address by its keyed hash, and nobody else can make one.

Nothing is kept for it: the hash and a proof of it are all that it holds. Both come from the key that never
changes, so that the link of an old email still ends what it was sent for.
"""

import base64
import hmac
import re
from typing import Final

from activities.keyring import Keyring

LENGTH: Final = 64
"""Characters of a token."""

_HASH: Final = 32
"""Bytes of an address hash."""
_PROOF: Final = 16
"""Bytes of the proof, the first of an HMAC-SHA-256; hash and proof fill base64 without padding."""
_SHAPE: Final = re.compile(rf"[A-Za-z0-9_-]{{{LENGTH}}}")
"""Checked first: the decoder skips what it does not know, and two texts would be one token."""


def token(keyring: Keyring, address_hash: str) -> str:
    """Return the token for an address, by its hash (hex) as the ledger knows it."""
    raw = bytes.fromhex(address_hash) + _proof(keyring, address_hash)
    return base64.urlsafe_b64encode(raw).decode()


def address_hash(keyring: Keyring, token: str) -> str | None:
    """Return the hash of a token, compared in constant time; None for whatever this deployment never made."""
    if not _SHAPE.fullmatch(token):
        return None
    raw = base64.urlsafe_b64decode(token)
    named = raw[:_HASH].hex()
    return named if hmac.compare_digest(raw[_HASH:], _proof(keyring, named)) else None


def _proof(keyring: Keyring, address_hash: str) -> bytes:
    return bytes.fromhex(keyring.digest("unsubscribe", address_hash))[:_PROOF]
