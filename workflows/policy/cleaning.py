"""Foreign words made fit for any log, table and page: printable, short, and nobody's address."""

import re

LONGEST_WORD = 64
LONGEST_CODE = 32

_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")
_ADDRESS = re.compile(r"\S*@\S*")
_NUMBER = re.compile(r"\+?\d(?:[ .()-]{0,3}\d){6,}")


def cleaned(word: str, longest: int = LONGEST_WORD) -> str:
    """Cut a provider's word to printable ASCII; what looks like an address or a number is masked."""
    printable = _UNPRINTABLE.sub(" ", word)
    masked = _NUMBER.sub("<number>", _ADDRESS.sub("<address>", printable))
    return " ".join(masked.split())[:longest].rstrip()
