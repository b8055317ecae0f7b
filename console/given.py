"""What people give to a command, checked; an error names the option and never repeats what was given.

Addresses come on standard input, or are asked for and not shown: an argument would stay in the shell's
history and stand in the list of processes.
"""

import getpass
import sys
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

import typer
from pydantic import TypeAdapter, ValidationError

from activities.discreet import redact
from activities.keyring import Keyring
from console.exits import Exit, Stop
from workflows.policy import address
from workflows.policy.terms import Duration
from workflows.policy.words import Channel

MOST: Final = 20
"""Mistakes that are told; the rest is counted."""

_DURATION: Final[TypeAdapter[timedelta]] = TypeAdapter(Duration)
_WHEN: Final = 'must be a time with its zone, like 2026-01-31T18:00:00Z, or a span like "10m" or "2d"'
_LONGEST: Final = 200
_NO_ARGUMENT: Final = (
    "an address is never an argument: it would stay in your shell's history and stand in the list of"
    " processes; give it on standard input, one a line, or when you are asked for it"
)

Word = TypeVar("Word", bound=StrEnum)


class Address(NamedTuple):
    """One address as the ledger knows it; of what was given only the number of its line is kept."""

    line: int
    channel: Channel
    hashed: str

    @property
    def label(self) -> str:
        """Name it to a person, who may look for it in a list."""
        return f"{self.channel} {shortened(self.hashed)}"


def shortened(hashed: str) -> str:
    """Return as much of a hash as tells it from others."""
    return f"{hashed[:12]}…"


def word(option: str, text: str, words: type[Word]) -> Word:
    """Read one of a few words."""
    try:
        return words(text)
    except ValueError:
        raise Stop(Exit.BAD_INPUT, f"{option}: must be one of {', '.join(words)}") from None


def line(option: str, text: str) -> str:
    """Read one line that is kept for ever, and so must hold nothing personal."""
    written = text.strip()
    if not written or len(written) > _LONGEST or not written.isprintable():
        raise Stop(Exit.BAD_INPUT, f"{option}: must be one line of 1 to {_LONGEST} characters")
    if redact(written) != written:
        raise Stop(Exit.BAD_INPUT, f"{option}: holds an address, a number or a link, and is kept for ever")
    return written


def past(option: str, text: str, now: datetime) -> datetime:
    """Read a moment: a time, or how long ago it was (`now` is UTC)."""
    return _moment(option, text, now, -1)


def ahead(option: str, text: str, now: datetime) -> datetime:
    """Read a moment: a time, or how far ahead it is (`now` is UTC)."""
    return _moment(option, text, now, 1)


def account() -> str:
    """Return the name of the account here; in a container there may be none."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise Stop(Exit.BAD_INPUT, "--by: say who you are, for your account here has no name") from None


def no_argument(context: typer.Context) -> None:
    """Refuse whatever was given beside the options."""
    if context.args:
        raise Stop(Exit.BAD_INPUT, _NO_ARGUMENT)


def addresses(keyring: Keyring, channel: Channel | None = None) -> tuple[Address, ...]:
    """Read addresses, of one channel or of any; raises Stop if a single one of them is none."""
    found: list[Address] = []
    wrong: list[str] = []
    for number, text in enumerate(_lines(), 1):
        if not text.strip():
            continue
        try:
            found.append(_hashed(keyring, number, channel or _looks_like(text), text.strip()))
        except address.AddressError as error:
            wrong.append(f"line {number}: {error}")
    if wrong:
        raise Stop(Exit.BAD_INPUT, *told(wrong), "nothing was done")
    if not found:
        raise Stop(Exit.BAD_INPUT, "no address was given on standard input")
    return tuple(found)


def told(mistakes: list[str]) -> list[str]:
    """Return as many mistakes as somebody reads, and how many there are beyond."""
    more = len(mistakes) - MOST
    return [*mistakes[:MOST], f"and {more} more"] if more > 0 else mistakes


def _lines() -> list[str]:
    if not sys.stdin.isatty():
        return sys.stdin.read().splitlines()
    try:
        return [getpass.getpass("address (it is not shown): ")]
    except EOFError:
        return []


def _looks_like(text: str) -> Channel:
    return Channel.EMAIL if "@" in text else Channel.SMS


def _hashed(keyring: Keyring, number: int, channel: Channel, text: str) -> Address:
    return Address(number, channel, keyring.address_hash(channel, address.canonical(channel, text)))


def _moment(option: str, text: str, now: datetime, direction: int) -> datetime:
    try:
        return now + direction * _DURATION.validate_python(text)
    except ValidationError:
        pass
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise Stop(Exit.BAD_INPUT, f"{option}: {_WHEN}")
    return at
