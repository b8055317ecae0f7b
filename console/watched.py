"""How open work looks: what calls for somebody first, then how much there is and how long it has."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from activities.store.open_work import Left, OpenWork, Transport
from console import tables
from console.page import Clock
from workflows.policy.words import Phase

_NUMBERS: Final = frozenset({*Left, "all"})
_URGENT: Final[Mapping[str, str]] = {Left.PAST: "bold red", Left.MINUTE: "yellow"}
_ORDER: Final[tuple[str, ...]] = (*Phase, *Transport)
_NO_ROW: Final = "-"

Counted = Mapping[tuple[str, str], Mapping[str, int]]
"""How many have how long left, by kind and by what else tells them apart."""


def render(work: OpenWork) -> Group:
    """Return all that is open at one moment; it reads no clock."""
    return Group(*_parts(work))


def away(why: str, last: OpenWork | None) -> Group:
    """Return the line of a ledger that is away, over what was last seen of it."""
    line = Text(f"{why}; it is tried again", style="yellow")
    return Group(line, *((Text(), *_parts(last)) if last else ()))


def _parts(work: OpenWork) -> Iterator[RenderableType]:
    yield _headline(work)
    yield Text()
    yield from _section("open notices", "phase", _notices(work))
    yield Text()
    yield from _section("open verifications", "evidence", _challenges(work))


def _headline(work: OpenWork) -> Table:
    clock = Clock(work.at)
    rows = Table(box=None, pad_edge=False, show_header=False)
    for _ in range(2):
        rows.add_column(overflow="fold")
    due = work.oldest_due
    rows.add_row("as of", clock.at(work.at))
    rows.add_row("oldest due", Text(clock.both(due), style="yellow") if due else "nothing is due")
    rows.add_row("past fallback", _alarming(work.past_fallback))
    rows.add_row("claimed without id", _alarming(work.claimed_without_id))
    return rows


def _section(title: str, by: str, counted: Counted) -> Iterator[RenderableType]:
    total = sum(sum(each.values()) for each in counted.values())
    yield Text(f"{title}: {total}", style="bold")
    if total:
        yield _table(by, counted)


def _table(by: str, counted: Counted) -> Table:
    made = tables.table("kind", by, *Left, "all", numbers=_NUMBERS)
    for (kind, word), left in counted.items():
        cells = (_cell(each, left.get(each, 0)) for each in Left)
        made.add_row(kind, word, *cells, str(sum(left.values())))
    return made


def _notices(work: OpenWork) -> Counted:
    return _gathered((kind, phase, left, number) for (kind, phase, left), number in work.notices.items())


def _challenges(work: OpenWork) -> Counted:
    return _gathered((kind, best, left, number) for (kind, left, best), number in work.challenges.items())


def _gathered(found: Iterable[tuple[str, str, str, int]]) -> Counted:
    """Bring together what differs in the time left only: by kind, and from the least word to the best."""
    counted: dict[tuple[str, str], dict[str, int]] = {}
    for kind, word, left, number in sorted(found, key=lambda each: (each[0], _ORDER.index(each[1]))):
        counted.setdefault((kind, word), {})[left] = number
    return counted


def _cell(left: Left, number: int) -> Text:
    return Text(str(number) if number else _NO_ROW, style=_URGENT.get(left, "") if number else "dim")


def _alarming(number: int) -> Text:
    return Text(str(number), style="yellow" if number else "")
