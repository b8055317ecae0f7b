"""Our attempt key where a provider's alphabet or length refuses it: mapped there and back, or by a digest.

A label begins with `k-` (the key itself, in URL-safe base64) or with `d-` (the SHA-256 of a key that is too
long for that, by which the ledger finds the attempt). Both are letters, digits, `_` and `-`. The same key
always has the same label, so a provider that honours keys honours labels.
"""

import base64
import binascii
import re
from typing import Final, NamedTuple

from workflows.policy.keys import attempt_digest, attempted

LONGEST: Final = 255
"""Fits every provider that says how long a key may be."""

_KEY, _DIGEST = "k-", "d-"
_SHAPE: Final = re.compile(r"d-[0-9a-f]{64}|k-[A-Za-z0-9_-]+")


class Label(NamedTuple):
    """What a label says of its attempt."""

    key: str | None = None
    digest: str | None = None


def label(key: str, longest: int = LONGEST) -> str:
    """Return the key in letters, digits, `_` and `-`, never longer than `longest` (at least 66)."""
    whole = _KEY + base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")
    return whole if len(whole) <= longest else _DIGEST + attempt_digest(key)


def header(key: str, longest: int = LONGEST) -> str:
    """Return the key as it is, for a header or a field that takes any printable ASCII, else its digest."""
    return key if len(key) <= longest else _DIGEST + attempt_digest(key)


def read(text: str | None) -> Label:
    """Read what `label` or `header` wrote; a text that is neither names nothing."""
    if text is None:
        return Label()
    if not _SHAPE.fullmatch(text):
        return Label(key=_known(text))
    if text.startswith(_DIGEST):
        return Label(digest=text.removeprefix(_DIGEST))
    encoded = text.removeprefix(_KEY)
    try:
        return Label(key=_known(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()))
    except (binascii.Error, ValueError):
        return Label()


def _known(key: str) -> str | None:
    """Return a key of ours; None for what cannot be one."""
    if not (key.isascii() and key.isprintable()):
        return None
    try:
        attempted(key)
    except ValueError:
        return None
    return key
