"""Suppressions as CSV: keyed hashes, which only the same address key recognises again.

Every row carries a word made from that key, so that rows of another are refused: their hashes would match
nobody, and look as if they did. No cell begins as a formula does, whatever a spreadsheet makes of the file.
"""

import csv
import io
import re
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TextIO

from activities.discreet import redact
from activities.keyring import Keyring
from activities.store.suppressions import Suppression
from console import given
from console.exits import Exit, Stop
from workflows.policy.hygiene import said
from workflows.policy.problems import Mistakes
from workflows.policy.words import Channel, SuppressionReason

STANDARD: Final = "-"
COLUMNS: Final = ("channel", "hash", "reason", "observed_at", "source", "key")

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_QUOTE: Final = "'"
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_LONGEST: Final = 600
_PRIVATE: Final = 0o600


class _Unfit(ValueError):  # noqa: N818 - becomes a line of its own
    """What is wrong with one cell; never what is in it."""


def key_check(keyring: Keyring) -> str:
    """Return the word by which a file tells under which address key its hashes were made."""
    return keyring.digest("suppression file", "address key")[:16]


def name_of(file: str, standard: str) -> str:
    """Name a file to a person."""
    return standard if file == STANDARD else file


async def write(file: str, rows: AsyncIterator[Suppression], check: str) -> int:
    """Write every row to a new file, or to stdout for `-`; return how many, raises Stop."""
    count = 0
    with _made(file) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        async for each in rows:
            writer.writerow([_harmless(cell) for cell in _cells(each, check)])
            count += 1
    return count


def read(file: str, check: str) -> tuple[Suppression, ...]:
    """Return every row of a file, or of stdin for `-`; raises Stop if a single one of them is wrong."""
    name = name_of(file, "stdin")
    lines = list(_lines(_text(file), name))
    if not lines or tuple(lines[0][1]) != COLUMNS:
        raise Stop(Exit.BAD_INPUT, f"{name}: the first line must read {','.join(COLUMNS)}", _NOTHING)
    rows: list[Suppression] = []
    wrong: list[str] = []
    for number, cells in lines[1:]:
        if len(cells) != len(COLUMNS):
            wrong.append(f"line {number}: has {len(cells)} columns, and must have {len(COLUMNS)}")
            continue
        row = dict(zip(COLUMNS, cells, strict=True))
        if row["key"] != check:
            raise Stop(Exit.BAD_INPUT, f"line {number}, key: {_FOREIGN}", _NOTHING)
        try:
            rows.append(_row(row))
        except Mistakes as error:
            wrong += [f"line {number}, {each}" for each in error.problems]
    if wrong:
        raise Stop(Exit.BAD_INPUT, *given.told(wrong), _NOTHING)
    return tuple(rows)


_NOTHING: Final = "nothing was imported"
_FOREIGN: Final = (
    "was made with another address key, under which every hash is another: import it where STANDBY_KEY_FILE"
    " has the same [address] key, or bring the addresses themselves by: standby suppressions add"
)


def _cells(each: Suppression, check: str) -> tuple[str, ...]:
    at = each.observed_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return each.channel, each.address_hash, each.reason, at, redact(each.source_notice or ""), check


def _harmless(cell: str) -> str:
    return f"{_QUOTE}{cell}" if cell.startswith((*_FORMULA, _QUOTE)) else cell


def _as_written(cell: str) -> str:
    return cell[1:] if cell[:1] == _QUOTE and cell[1:].startswith((*_FORMULA, _QUOTE)) else cell


def _channel(cell: str) -> Channel:
    if cell not in set(Channel):
        raise _Unfit(f"must be one of {', '.join(Channel)}")
    return Channel(cell)


def _hash(cell: str) -> str:
    if not _HASH.fullmatch(cell):
        raise _Unfit("must be 64 hexadecimal digits, the keyed hash of an address")
    return cell


def _reason(cell: str) -> SuppressionReason:
    if cell not in set(SuppressionReason):
        raise _Unfit(f"must be one of {', '.join(SuppressionReason)}")
    return SuppressionReason(cell)


def _time(cell: str) -> datetime:
    try:
        at = datetime.fromisoformat(cell)
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise _Unfit("must be a time with its zone, like 2026-01-31T18:00:00Z")
    return min(at.astimezone(UTC), datetime.now(UTC))


def _source(cell: str) -> str | None:
    text = _as_written(cell)
    if len(text) > _LONGEST or not text.isprintable():
        raise _Unfit(f"must be one line of at most {_LONGEST} characters")
    if redact(text) != text:
        raise _Unfit("holds an address, a number or a link")
    return text or None


_READ: Final[Mapping[str, Callable[[str], object]]] = {
    "channel": _channel,
    "hash": _hash,
    "reason": _reason,
    "observed_at": _time,
    "source": _source,
}


def _row(row: Mapping[str, str]) -> Suppression:
    """Read one row; raises Mistakes with the column of each."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for column, read_cell in _READ.items():
        try:
            values[column] = read_cell(row[column])
        except _Unfit as error:
            problems.append(f"{column}: {error}")
    if problems:
        raise Mistakes(problems)
    return Suppression(
        address_hash=values["hash"],
        channel=values["channel"],
        reason=said(values["channel"], values["reason"]),
        source_notice=values["source"],
        observed_at=values["observed_at"],
    )


def _lines(text: str, name: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield each row that is not empty, with the number of the line on which it ends."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error:
        raise Stop(Exit.BAD_INPUT, f"{name}: line {reader.line_num} is not CSV", _NOTHING) from None


def _text(file: str) -> str:
    name = name_of(file, "stdin")
    try:
        raw = sys.stdin.buffer.read() if file == STANDARD else Path(file).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise Stop(Exit.BAD_INPUT, f"{name}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Stop(Exit.BAD_INPUT, f"{name}: is not UTF-8", _NOTHING) from None


@contextmanager
def _made(file: str) -> Iterator[TextIO]:
    """Yield stdout, or a new file that only its owner can read, and that goes again if it is not finished."""
    if file == STANDARD:
        yield sys.stdout
        return
    path = Path(file)
    try:
        path.touch(_PRIVATE, exist_ok=False)
    except FileExistsError:
        raise Stop(Exit.BAD_INPUT, f"{file}: exists, and is not overwritten") from None
    except OSError as error:
        raise Stop(Exit.BAD_INPUT, f"{file}: cannot be written: {error.strerror}") from None
    try:
        with path.open("w", encoding="utf-8", newline="") as out:
            yield out
    except BaseException:
        path.unlink(missing_ok=True)
        raise
