"""How many parts a text message takes, and what forces the dearer alphabet.

The tables are the default alphabet and its extension of 3GPP TS 23.038 (sections 6.2.1 and 6.2.1.1);
the capacities follow from its 140 octets a part, less the 6-octet header of a concatenated message
(3GPP TS 23.040, section 9.2.3.24.1).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from string import ascii_letters, digits

_BASIC = frozenset(
    ascii_letters
    + digits
    + "\n\r !\"#$%&'()*+,-./:;<=>?@_"
    + "¡£¤¥§¿"
    + "ÄÅÆÇÉÑÖØÜßàäåæèéìñòöøùü"
    + "\N{GREEK CAPITAL LETTER GAMMA}\N{GREEK CAPITAL LETTER DELTA}\N{GREEK CAPITAL LETTER THETA}"
    + "\N{GREEK CAPITAL LETTER LAMDA}\N{GREEK CAPITAL LETTER XI}\N{GREEK CAPITAL LETTER PI}"
    + "\N{GREEK CAPITAL LETTER SIGMA}\N{GREEK CAPITAL LETTER PHI}\N{GREEK CAPITAL LETTER PSI}"
    + "\N{GREEK CAPITAL LETTER OMEGA}",
)
_EXTENSION = frozenset("\f[\\]^{|}~€")
"""Each is an escape and a character: two septets, which no part boundary may divide."""

_LAST_IN_ONE_UNIT = "\uffff"


class Encoding(StrEnum):
    """The alphabet that a text goes out in."""

    GSM_7 = "GSM-7"
    UCS_2 = "UCS-2"


@dataclass(frozen=True, slots=True)
class Segments:
    """What a text costs: a carrier bills every part."""

    count: int
    encoding: Encoding
    forcing: str | None = None
    """The first character that GSM-7 lacks; it makes every part hold 70 characters instead of 160."""


def segments(text: str) -> Segments:
    """Count the parts of a text, an empty one as one."""
    forcing = next((char for char in text if char not in _BASIC and char not in _EXTENSION), None)
    if forcing is None:
        septets = [2 if char in _EXTENSION else 1 for char in text]
        return Segments(_parts(septets, alone=160, joined=153), Encoding.GSM_7)
    units = [2 if char > _LAST_IN_ONE_UNIT else 1 for char in text]
    return Segments(_parts(units, alone=70, joined=67), Encoding.UCS_2, forcing)


def _parts(sizes: list[int], *, alone: int, joined: int) -> int:
    return 1 if sum(sizes) <= alone else _fill(sizes, joined)


def _fill(sizes: Iterable[int], capacity: int) -> int:
    count, room = 1, capacity
    for size in sizes:
        if size > room:
            count, room = count + 1, capacity
        room -= size
    return count
