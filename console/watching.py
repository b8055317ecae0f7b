"""`standby watch`: what is open now, by kind, phase and time left; live at a terminal, once in a pipe."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, suppress
from datetime import UTC, datetime, timedelta
from typing import Annotated, Final

import typer
from rich.console import Console, Group
from rich.live import Live

from activities.hosting import open_ledger
from activities.observing import OBSERVER
from activities.store.errors import StoreError
from activities.store.ledger import Ledger
from activities.store.open_work import OpenWork
from console import tables
from console.deployment import Deployment
from console.watched import away, render

EVERY: Final = timedelta(seconds=2)

Opening = Callable[[], AbstractAsyncContextManager[Ledger]]


def watch(
    *, once: Annotated[bool, typer.Option("--once", help="Print it once; so it is in a pipe.")] = False
) -> None:
    """Show what is open by kind, phase and time left, every 2 seconds, until Ctrl-C.

    Under "past" stands what should have closed, and under the others what has at most so long left. It also
    says what is late, and how many verifications are open. It only reads the ledger.

    Example: standby watch --once
    """
    deployment = Deployment.here()

    def opening() -> AbstractAsyncContextManager[Ledger]:
        return open_ledger(deployment.settings)

    if once or not sys.stdout.isatty():
        tables.show(render(asyncio.run(_read(opening))))
        return
    with suppress(KeyboardInterrupt):
        asyncio.run(_follow(glimpses(opening)))


async def glimpses(opening: Opening, every: timedelta = EVERY) -> AsyncIterator[Group]:
    """Yield what is open, again and again; a ledger that is away is one line over what was last seen."""
    last: OpenWork | None = None
    while True:
        try:
            async with opening() as ledger:
                while True:
                    last = await _work(ledger)
                    yield render(last)
                    await asyncio.sleep(every.total_seconds())
        except StoreError as error:
            yield away(str(error), last)
            await asyncio.sleep(every.total_seconds())


async def _follow(seen: AsyncIterator[Group]) -> None:
    out = Console(highlight=False, emoji=False, markup=False)
    with Live(console=out, auto_refresh=False) as live:
        async for each in seen:
            live.update(each, refresh=True)


async def _read(opening: Opening) -> OpenWork:
    async with opening() as ledger:
        return await _work(ledger)


async def _work(ledger: Ledger) -> OpenWork:
    return await ledger.open_work(OBSERVER, at=datetime.now(UTC))
