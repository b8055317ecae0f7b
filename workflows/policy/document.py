"""JSON as every program reads it: no key twice, no NaN, no number or depth that some reader cannot hold."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from workflows.policy import problems

_DEEPEST = 32
_DIGITS = 20
_INT64 = range(-(2**63), 2**63)
"""What the backends' readers can hold; a longer number is an id, and belongs into a string."""

Place = tuple[int | str, ...]


class DocumentError(problems.Mistakes):
    """Not JSON."""


class _Repeating(dict[str, object]):
    """An object of the document in which a key is given twice."""

    repeated: tuple[str, ...]


def read(text: str | bytes) -> object:
    """Return the value of a JSON document; raises DocumentError."""
    try:
        decoded = text if isinstance(text, str) else text.decode()
        return json.loads(decoded.removeprefix("\ufeff"), object_pairs_hook=_members, parse_int=_integer)
    except UnicodeDecodeError:
        raise DocumentError(["document: not UTF-8"]) from None
    except json.JSONDecodeError as error:
        # What follows a colon may repeat a character of the document.
        reason = error.msg.partition(": ")[0]
        raise DocumentError([f"line {error.lineno}, column {error.colno}: not JSON: {reason}"]) from None
    except RecursionError:
        raise DocumentError([f"document: nested deeper than {_DEEPEST} levels"]) from None


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) == len(pairs):
        return members
    counted = Counter(key for key, _ in pairs)
    repeating = _Repeating(members)
    repeating.repeated = tuple(key for key, times in counted.items() if times > 1)
    return repeating


def _integer(digits: str) -> int:
    """Keep an absurd number absurd, without the time that thousands of digits take."""
    return int(digits[: _DIGITS + 1])


def unfit(value: object, place: Place = ()) -> Iterator[str]:
    """Say what is no JSON that every program reads alike; pydantic says the rest."""
    if len(place) > _DEEPEST:
        yield f"{problems.dotted(place[:1])}: nested deeper than {_DEEPEST} levels"
        return
    match value:
        case dict():
            yield from _unfit_keys(value, place)
            for key, each in value.items():
                yield from unfit(each, (*place, key if isinstance(key, str) else "?"))
        case list() | tuple():
            for index, each in enumerate(value):
                yield from unfit(each, (*place, index))
        case _ if reason := _unfit_leaf(value):
            yield f"{problems.dotted(place)}: {reason}"


def _unfit_keys(value: dict[object, object], place: Place) -> Iterator[str]:
    for key in value.repeated if isinstance(value, _Repeating) else ():
        yield f"{problems.dotted((*place, key))}: given more than once"
    if not all(isinstance(key, str) and _is_text(key) for key in value):
        yield f"{problems.dotted((*place, '?'))}: a key that is not text"


def _unfit_leaf(value: object) -> str | None:
    match value:
        case None | bool() | datetime():
            return None
        case str():
            return None if _is_text(value) else "half of a surrogate pair is not text"
        case int():
            return None if value in _INT64 else "too long a number: write it as a string"
        case float():
            return None if math.isfinite(value) else "NaN and Infinity are not JSON"
        case _:
            return "not a JSON value"


def _is_text(text: str) -> bool:
    """Whether it can be written as UTF-8."""
    return not any("\ud800" <= each <= "\udfff" for each in text)
