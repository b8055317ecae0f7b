"""The keys: several to seal payloads, one of them current, and one to hash addresses, which never changes.

A process reads its file once, at the start. A key is rotated in two steps, each with the new file for every
process and a restart: first it is added, so that all can open what will be sealed with it, then it is used.
Old keys stay in the file for as long as a history sealed under them may be read.
"""

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import stat
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Self

from activities.discreet import PublicError
from workflows.policy.words import Channel

SIZE = 32
"""Bytes of every key: AES-256, and as many for HMAC-SHA256."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_MADE_BY = "make one with: standby key new"
_DEVELOPMENT = hashlib.sha256(b"standby: development only, this is no secret").digest()
"""Hashes addresses where nothing is sealed: anyone can compute it, so it hides nothing."""


class KeyringError(PublicError):
    """A key file that cannot be used; one line that names the file and says what to do."""


@dataclass(frozen=True, slots=True)
class Keyring:
    """Seals and hashes; a key is never in its repr."""

    current: str | None
    """Id of the key that seals from now on; None where nothing is sealed."""
    payload: Mapping[str, bytes] = field(repr=False)
    address: bytes = field(repr=False)

    @classmethod
    def create(cls, path: Path) -> Self:
        """Write a new file that only its owner can read; raises KeyringError where one exists."""
        name = _new_id()
        made = cls(name, MappingProxyType({name: _new_key()}), _new_key())
        _reserve(path)
        _write(path, made)
        return made

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file; raises KeyringError with one line that says what is wrong with it."""
        try:
            return cls._parse(_read(path))
        except _Invalid as error:
            raise KeyringError(f"key file {path}: {error}") from None

    @classmethod
    def add(cls, path: Path) -> str:
        """Add a key to a file, which only opens, and return its id; raises KeyringError as `load` does."""
        old, name = cls.load(path), _new_id()
        _write(path, replace(old, payload=MappingProxyType({**old.payload, name: _new_key()})))
        return name

    @classmethod
    def use(cls, path: Path, name: str | None = None) -> Self:
        """Make a key of a file the current one: the last that was added, unless one is named.

        Raises KeyringError where the file has no such key.
        """
        old = cls.load(path)
        if name is not None and name not in old.payload:
            raise KeyringError(f"key file {path}: has no key {name!r}; it has {', '.join(old.payload)}")
        made = replace(old, current=name or [*old.payload][-1])
        _write(path, made)
        return made

    @classmethod
    def rotate(cls, path: Path) -> Self:
        """Add a key to a file and make it current; raises KeyringError as `load` does."""
        return cls.use(path, cls.add(path))

    @classmethod
    def plaintext(cls) -> Self:
        """Return the keyring of `STANDBY_PLAINTEXT=1`: nothing is sealed, and hashes hide nothing."""
        return cls(None, MappingProxyType({}), _DEVELOPMENT)

    def address_hash(self, channel: Channel, canonical: str) -> str:
        """Return the keyed hash (hex) under which the ledger knows an address of one channel.

        The address must be canonical (`workflows.policy.address`): two spellings are two hashes.
        """
        return hmac.new(self.address, f"{channel.value}:{canonical}".encode(), hashlib.sha256).hexdigest()

    def derived(self, purpose: str, key_id: str | None) -> bytes:
        """Return a key for one purpose, made from a payload key, so that it is rotated with it.

        Raises KeyError for an id that this file does not have; None stands for a keyring that seals nothing.
        """
        root = _DEVELOPMENT if key_id is None else self.payload[key_id]
        return hmac.new(root, f"standby:{purpose}".encode(), hashlib.sha256).digest()

    def digest(self, purpose: str, value: str) -> str:
        """Return the keyed digest (hex) of a secret, under the key that never changes: to look it up by."""
        return hmac.new(self.address, f"{purpose}\0{value}".encode(), hashlib.sha256).hexdigest()

    @classmethod
    def _parse(cls, table: Mapping[str, object]) -> Self:
        payload = {name: _key(f"payload.{name}", value) for name, value in _part(table, "payload").items()}
        for name in payload:
            if not _ID.fullmatch(name):
                raise _Invalid("payload: a key id is made of letters, digits, dots and dashes, at most 64")
        current = table.get("current")
        if not isinstance(current, str) or current not in payload:
            raise _Invalid(f"current: must be one of {', '.join(payload) or 'the ids under [payload]'}")
        return cls(
            current, MappingProxyType(payload), _key("address.key", _part(table, "address").get("key"))
        )


class _Invalid(Exception):  # noqa: N818 - becomes a KeyringError, which names the file
    """What is wrong with the content of a file."""


def _new_id() -> str:
    """Return a date for people and a random end: two files made on one day must not share an id."""
    return f"{datetime.now(UTC):%Y-%m-%d}-{secrets.token_hex(2)}"


def _new_key() -> bytes:
    return secrets.token_bytes(SIZE)


def _part(table: Mapping[str, object], name: str) -> dict[str, object]:
    part = table.get(name)
    if not isinstance(part, dict):
        raise _Invalid(f"[{name}] is missing; {_MADE_BY} FILE")
    return part


def _key(name: str, value: object) -> bytes:
    """Decode one key; the message names it and its length, never what it is."""
    try:
        key = base64.b64decode(value if isinstance(value, str) else "", validate=True)
    except (binascii.Error, ValueError):
        raise _Invalid(f"{name}: is not base64") from None
    if len(key) != SIZE:
        raise _Invalid(f"{name}: must be {SIZE} bytes in base64, is {len(key)}")
    return key


def _read(path: Path) -> dict[str, object]:
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_mode & stat.S_IRWXO:
                raise _Invalid(f"other users can reach it; do: chmod 600 {path}")
            return tomllib.load(file)
    except FileNotFoundError:
        raise _Invalid(f"does not exist; {_MADE_BY} {path}") from None
    except OSError as error:
        raise _Invalid(f"cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise _Invalid("is not TOML; restore it from a backup, its keys cannot be made again") from None


def _reserve(path: Path) -> None:
    """Take the name, so that of two who create the same file one fails."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise KeyringError(f"key file {path}: exists; to add a key do: standby key rotate {path}") from None
    except OSError as error:
        raise KeyringError(f"key file {path}: cannot be made: {error.strerror}") from None


def _write(path: Path, keyring: Keyring) -> None:
    """Put the whole file in place at once, or leave the old one."""
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(_toml(keyring))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise KeyringError(f"key file {path}: cannot be written: {error.strerror}") from None
    finally:
        with suppress(OSError):
            partial.unlink()


def _toml(keyring: Keyring) -> str:
    keys = "".join(f'"{name}" = "{_text(key)}"\n' for name, key in keyring.payload.items())
    return (
        f'current = "{keyring.current}"\n\n[payload]\n{keys}\n[address]\nkey = "{_text(keyring.address)}"\n'
    )


def _text(key: bytes) -> str:
    return base64.b64encode(key).decode()
