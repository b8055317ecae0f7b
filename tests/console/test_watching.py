"""What is open, at a glance: what calls for somebody first, and one line while the ledger is away."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from rich.console import Console, Group

from activities.store.errors import Unreachable
from activities.store.ledger import Ledger
from activities.store.open_work import OpenWork
from console.watched import away, render
from console.watching import glimpses
from tests.console.shell import REACHED, UNREACHABLE, Shell
from tests.store import facts
from tests.store.facts import NOW, after

WORK = OpenWork(
    at=NOW,
    notices={
        ("password_reset", "awaiting", "5m"): 3,
        ("password_reset", "awaiting", "past"): 1,
        ("class_cancelled", "queued", "1h"): 12,
    },
    oldest_due=after(seconds=-90),
    past_fallback=2,
    claimed_without_id=0,
    challenges={("signup_verification", "15m", "delivered"): 4},
    strays=0,
)


def drawn(group: Group) -> list[str]:
    """Return what stands on the screen, 80 columns wide, blanks run together."""
    out = Console(width=80, highlight=False)
    with out.capture() as captured:
        out.print(group)
    return [" ".join(line.split()) for line in captured.get().splitlines() if line.strip()]


def test_what_is_open_is_told_by_kind_phase_and_time_left() -> None:
    assert drawn(render(WORK)) == [
        "as of 12:00:00Z",
        "oldest due 11:58:30Z (90 s ago)",
        "past fallback 2",
        "claimed without id 0",
        "open notices: 16",
        "kind phase past 1m 5m 15m 1h more all",
        "class_cancelled queued - - - - 12 - 12",
        "password_reset awaiting 1 - 3 - - - 4",
        "open verifications: 4",
        "kind evidence past 1m 5m 15m 1h more all",
        "signup_verification delivered - - - 4 - - 4",
    ]


def test_where_nothing_is_open_it_says_so() -> None:
    said = drawn(render(OpenWork(NOW, {}, None, 0, 0, {}, 0)))

    assert "oldest due nothing is due" in said
    assert said[-2:] == ["open notices: 0", "open verifications: 0"]


def test_while_the_ledger_is_away_one_line_stands_over_what_was_seen_last() -> None:
    first, *rest = drawn(away("ledger: away", WORK))

    assert first == "ledger: away; it is tried again"
    assert rest == drawn(render(WORK))


async def test_a_ledger_that_comes_back_is_read_again(ledger: Ledger) -> None:
    tries = 0

    @asynccontextmanager
    async def opening() -> AsyncIterator[Ledger]:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise Unreachable("ledger: away")
        yield ledger

    seen = glimpses(opening, every=timedelta())
    first, second, third = [drawn(await anext(seen)) for _ in range(3)]
    await seen.aclose()  # type: ignore[attr-defined]

    assert first == ["ledger: away; it is tried again"]
    assert second[-2:] == third[-2:] == ["open notices: 0", "open verifications: 0"]


async def test_in_a_pipe_it_is_printed_once(shell: Shell, ledger: Ledger, own: dict[str, str]) -> None:
    await facts.admit(ledger)

    said = await shell.run("watch", **own)

    assert (said.code, said.err) == (REACHED, "")
    assert "open notices: 1" in said.out
    assert "password_reset" in said.out


async def test_without_a_ledger_it_is_one_line(alone: Shell) -> None:
    said = await alone.run("watch", "--once")

    assert (said.code, said.out, len(said.err.splitlines())) == (UNREACHABLE, "", 1)
