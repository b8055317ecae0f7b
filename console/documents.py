"""What `standby send` is given, one JSON document or many as NDJSON: all is checked before any is used."""

import codecs
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from console.checking import Check
from console.exits import Exit, Stop
from workflows.policy import contract
from workflows.policy.models import NoticeRequest

STDIN: Final = "-"
MOST: Final = 20
"""Mistakes that are printed; the rest is counted."""

_ONE_A_LINE: Final = frozenset({".ndjson", ".jsonl"})


class Line(NamedTuple):
    """One line of NDJSON that is not blank."""

    number: int
    text: bytes


def read(source: str, check: Check = lambda _request: ()) -> tuple[NoticeRequest, ...]:
    """Return every notice of a file, or of stdin for `-`; raises Stop if a single one of them is wrong.

    `check` says what is wrong with a notice beyond its form.
    """
    name = "stdin" if source == STDIN else source
    content = _content(source).removeprefix(codecs.BOM_UTF8)
    lines = [Line(number, text) for number, text in enumerate(content.splitlines(), 1) if text.strip()]
    if not lines:
        raise Stop(Exit.BAD_INPUT, f"{name}: is empty; give one JSON document, or one a line (NDJSON)")
    if Path(source).suffix.lower() in _ONE_A_LINE or _looks_like_many(lines):
        return _many(lines, name, check)
    try:
        return (_checked(content, check),)
    except contract.ContractError as error:
        raise _refused(error.problems, name) from None


def _content(source: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
    except OSError as error:
        raise Stop(Exit.BAD_INPUT, f"{source}: cannot be read: {error.strerror}") from None


def _looks_like_many(lines: Sequence[Line]) -> bool:
    """Whether several lines begin an object of their own; in an indented document only the first does."""
    return sum(each.text.startswith(b"{") for each in lines) > 1


def _checked(text: bytes, check: Check) -> NoticeRequest:
    request = contract.parse(text)
    if problems := check(request):
        raise contract.ContractError(problems)
    return request


def _many(lines: Sequence[Line], name: str, check: Check) -> tuple[NoticeRequest, ...]:
    first: dict[str, tuple[int, NoticeRequest]] = {}
    requests: list[NoticeRequest] = []
    problems: list[str] = []
    for line in lines:
        try:
            request = _checked(line.text, check)
        except contract.ContractError as error:
            problems += _placed(line.number, error.problems)
            continue
        number, known = first.setdefault(request.key, (line.number, request))
        if known != request:
            problems.append(f"line {line.number}: the same notice as line {number}, with other content")
        requests.append(request)
    if problems:
        raise _refused(problems, name)
    return tuple(requests)


def _placed(number: int, problems: Sequence[str]) -> Iterator[str]:
    # A line of NDJSON is line 1 of its own document.
    return (f"line {number}: {each.removeprefix('line 1, ')}" for each in problems)


def _refused(problems: Sequence[str], name: str) -> Stop:
    more = len(problems) - MOST
    rest = (f"and {more} more",) if more > 0 else ()
    return Stop(Exit.BAD_INPUT, *problems[:MOST], *rest, f"{name}: nothing was started")
