"""What a field may hold, by where it goes; an error names the field and never repeats its value."""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from types import MappingProxyType
from typing import Final, NamedTuple

from pydantic import JsonValue

from activities.templates import Part

LONGEST: Final[Mapping[Part, int]] = MappingProxyType(
    {Part.SUBJECT: 200, Part.HTML: 4_000, Part.TEXT: 4_000, Part.SMS: 320},
)
"""Characters of one field."""
LONGEST_LINK: Final = 2_000
"""Characters of a link; some clients cut what is longer."""

_NO_END = (
    "and this kind is not essential: its email must offer an end; set STANDBY_PUBLIC_URL to have it supplied"
)

_LAYOUT = "\n\t"
"""The control characters that a body may hold; a subject is a header, and holds none."""
_BREAKING = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories: control, lone surrogate, line separator, paragraph separator."""
_OVERRIDES = "\u202d\u202e"
"""They show what follows in another order than it is stored in: a disguise for names and hosts."""

_CHARACTERS = re.compile(r"[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]*")
"""Those of RFC 3986; browsers read a backslash or a space by rules of their own."""
_LINK = re.compile(r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?(?:[/?#].*)?", re.IGNORECASE)


class FieldError(ValueError):
    """A field that a template needs is missing or unfit; the message is one line and names it."""


class Use(NamedTuple):
    """A place of a template that a field is wanted for."""

    part: Part
    name: str
    """As the template has it."""
    path: str
    """Where the fields should have it."""


class MissingFieldError(FieldError):
    """Fields that are not there; `uses` has one place for each, since the template may be what is wrong."""

    def __init__(self, uses: Iterable[Use]) -> None:
        self.uses = tuple(uses)
        super().__init__("; ".join(f"{use.path}: missing" for use in self.uses))


def unsubscribe_url(fields: Mapping[str, JsonValue]) -> str:
    """Return where one click ends email that is not essential (RFC 8058); raises FieldError without one."""
    path = "fields.unsubscribe_url"
    if "unsubscribe_url" not in fields:
        raise FieldError(f"{path}: missing, {_NO_END}")
    return _checked_link(path, _text(path, fields["unsubscribe_url"]))


def written(path: str, value: JsonValue, part: Part) -> str:
    """Return a field as text, not yet escaped; raises FieldError for what may not stand in this part."""
    text = _text(path, value)
    if path.endswith("_url"):
        return _checked_link(path, text)
    if len(text) > LONGEST[part]:
        raise FieldError(f"{path}: too long, {part} holds at most {LONGEST[part]:,} characters of it")
    unfit = next((char for char in text if _is_unfit(char, part)), None)
    if unfit is not None:
        raise FieldError(f"{path}: must not hold the character U+{ord(unfit):04X} in {part}")
    return text


def _text(path: str, value: JsonValue) -> str:
    match value:
        case str():
            return value
        case bool() | None:
            raise FieldError(f"{path}: must be text or a number, not true, false or null")
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return str(value)
        case float():
            raise FieldError(f"{path}: must be a finite number")
        case list():
            raise FieldError(f"{path}: must be text or a number, not a list")
        case dict():
            raise FieldError(f"{path}: must be text or a number, not an object")


def _is_unfit(char: str, part: Part) -> bool:
    if char in _LAYOUT:
        return part is Part.SUBJECT
    return char in _OVERRIDES or unicodedata.category(char) in _BREAKING


def _checked_link(path: str, text: str) -> str:
    problem = _objection(text)
    if problem:
        raise FieldError(f"{path}: {problem}")
    return text


def _objection(link: str) -> str | None:
    """Say why a text is not a link that a notice may carry."""
    if len(link) > LONGEST_LINK:
        return f"too long, a link has at most {LONGEST_LINK:,} characters"
    if not _CHARACTERS.fullmatch(link):
        return "must be a link in ASCII without spaces: percent-encode the rest"
    if re.match(r"[^/?#]*//[^/?#]*@", link):
        return "must not name a user before the host"
    whole = _LINK.fullmatch(link)
    if whole is None:
        return "must be a whole link: https://host/…"
    scheme, host = whole[1].lower(), whole[2].lower()
    return None if scheme == "https" or _is_loopback(host) else "must be https (http is for loopback hosts)"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
