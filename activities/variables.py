"""How the text of one variable is read: a flag, the origin of an API, a secret, a sender."""

import re
import time
from email.utils import parseaddr
from pathlib import Path
from typing import Annotated, Final, Self

import httpx
from pydantic import AfterValidator, BeforeValidator, GetCoreSchemaHandler, StringConstraints
from pydantic_core import CoreSchema, core_schema

from workflows.policy import address, return_url

_FLAGS: Final = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_ORIGIN: Final = re.compile(r"https?://[^\s/?#@]+/?")
_LINK: Final = re.compile(r"(https?://[^\s/?#@]+)(/[^\s?#]*)?")
_BIND: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[0-9.]+):[0-9]{1,5}")
_WORD: Final = re.compile(r"[!-~]+")
_LONGEST_SENDER: Final = 200
_LAST_PORT: Final = 65_535
_SENDER: Final = re.compile(r'[^<>,\s]+|(?:[^<>,"@]*|"[^"]*")<[^<>\s]+>')
_LONGEST_SECRET: Final = 16_384
_SETTLED: Final = 1.0
"""Seconds after which a file is no longer being written."""


def _flag(value: object) -> object:
    if isinstance(value, str):
        if value.lower() not in _FLAGS:
            raise ValueError("must be 1 or 0")
        return _FLAGS[value.lower()]
    return value


def _origin(value: str) -> str:
    if not _ORIGIN.fullmatch(value) or not _is_reachable(value):
        raise ValueError("must be like http://127.0.0.1:8025, without a path")
    return value.rstrip("/")


def _is_reachable(value: str) -> bool:
    """Say whether an HTTP client could make anything of it."""
    try:
        url = httpx.URL(value)
        return bool(url.host) and value.isprintable() and (url.port is None or 0 < url.port <= _LAST_PORT)
    except (httpx.InvalidURL, ValueError):
        return False


def _email_sender(value: str) -> str:
    _, written = parseaddr(value)
    try:
        address.email(written)
    except address.AddressError:
        written = ""
    if not written or not value.isprintable() or not _SENDER.fullmatch(value):
        raise ValueError("must be like notices@example.com or Example <notices@example.com>")
    return value


def _sms_sender(value: str) -> str:
    if not value.isascii() or not value.isprintable() or len(value) > _LONGEST_SENDER:
        raise ValueError("must be a number (+14155550100), a short code, a sender id, or the id of a pool")
    return value


def _words(value: object) -> object:
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


Flag = Annotated[bool, BeforeValidator(_flag)]
Origin = Annotated[str, AfterValidator(_origin)]
"""Scheme and host of an API, without a path."""
EmailSender = Annotated[str, AfterValidator(_email_sender)]
"""An address, or a name and an address in angle brackets."""
SmsSender = Annotated[str, AfterValidator(_sms_sender)]
Words = Annotated[tuple[str, ...], BeforeValidator(_words)]
"""Several words, separated by commas or blanks."""


def _links(value: tuple[str, ...]) -> tuple[str, ...]:
    for each in value:
        origin = _LINK.fullmatch(each)
        if origin is None or not _is_reachable(origin[1]) or return_url.objection(each):
            raise ValueError("must be like https://shop.example/welcome, several separated by blanks")
    return value


def _bind(value: str) -> str:
    if not _BIND.fullmatch(value) or not 0 < int(value.rpartition(":")[2]) <= _LAST_PORT:
        raise ValueError("must be like 127.0.0.1:9464")
    return value


Bind = Annotated[str, AfterValidator(_bind)]
"""An address and a port to listen on."""

BuildId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
"""A version of the code, such as a commit: letters, digits, dots and dashes."""

Links = Annotated[tuple[str, ...], BeforeValidator(_words), AfterValidator(_links)]
"""Beginnings of links: an origin, and a path or none; no query."""


class Credential:
    """A secret: its value, or the file that holds it, which is read at every use.

    So a secret that is rotated where it is mounted holds from the next call on. While the file cannot be
    read, holds nothing that can be a secret, or is a moment old and may be half written, the last one that
    could be read stays in force.
    """

    __slots__ = ("_file", "_value")

    def __init__(self, value: str, file: Path | None = None) -> None:
        """Raises ValueError for what no header could carry."""
        if not _WORD.fullmatch(value):
            raise ValueError("must be one word of printable ASCII")
        self._value = value
        self._file = file

    @classmethod
    def kept_in(cls, file: Path) -> Self:
        """Take a secret from a file; raises OSError or ValueError where it has none."""
        return cls(_secret(file), file)

    def reveal(self) -> str:
        """Return the secret that holds now."""
        if self._file is not None:
            try:
                age = time.time() - self._file.stat().st_mtime
                found = _secret(self._file) if not 0 <= age < _SETTLED else self._value
            except (OSError, ValueError):
                return self._value
            if _WORD.fullmatch(found):
                self._value = found
        return self._value

    def __repr__(self) -> str:
        return "Credential(…)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Credential) and self.reveal() == other.reveal()

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Take a credential as it is, or a text or a path to make one from."""
        return core_schema.no_info_plain_validator_function(cls._made)

    @classmethod
    def _made(cls, given: object) -> Self:
        match given:
            case cls():
                return given
            case str():
                return cls(given)
            case Path():
                return cls.kept_in(given)
            case _:
                raise ValueError("must be one word of printable ASCII")


def _secret(file: Path) -> str:
    """Read a file that can hold a secret; raises OSError or ValueError for any other."""
    if not file.is_file() or file.stat().st_size > _LONGEST_SECRET:
        raise OSError("no file of a secret's size")
    secret = file.read_text().strip()
    if not secret:
        raise ValueError("is empty: it must hold the secret, one word of printable ASCII")
    return secret
