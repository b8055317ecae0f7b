"""`standby demo`: real notices to real outcomes on a real engine, with durations scaled down."""

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from rich.console import Console
from rich.live import Live
from temporalio.service import RPCError

from activities.logs import configure
from activities.settings import LogFormat, LogLevel
from client.starting import start
from console.engine import EngineAt, free_port
from console.fates import CASES, Case
from console.scoreboard import Row, board, verdicts
from console.stack import Stack, Wanted, running
from workflows.notice import Notice
from workflows.policy.words import AttemptState, Phase

SCALE = 1 / 20
"""Ten minutes become thirty seconds, in policies and in the sandbox alike."""

PATIENCE = timedelta(seconds=50)
_GLANCE = timedelta(seconds=1)


async def demonstrate(out: Console, environ: Mapping[str, str]) -> bool:
    """Send, watch, and compare; True only if every notice ended as documented.

    Raises PublicError with what to do where a part does not start.
    """
    configure(LogFormat.TEXT, LogLevel.ERROR)
    with tempfile.TemporaryDirectory(prefix="standby-demo-") as folder:
        wanted = Wanted(Path(folder), EngineAt(free_port(), free_port()), scale=SCALE, environ=environ)
        async with running(wanted) as stack:
            out.print(f"Temporal UI {stack.engine.ui}", highlight=False, soft_wrap=True)
            out.print(f"Inbox       {stack.sandbox.url}", highlight=False, soft_wrap=True)
            rows = [await _begin(stack, number, case) for number, case in enumerate(CASES, 1)]
            await _watch(rows, out)
            # Starting a notice again returns the one that ran, and sends nothing.
            await (await _begin(stack, 1, CASES[0])).handle.result()
            await _count(stack, rows)
    out.print(board(rows))
    wrong = verdicts(rows)
    for line in wrong:
        out.print(line, style="red", highlight=False)
    if not wrong:
        out.print(
            f"All {len(rows)} notices ended as documented; the first, started again, sent nothing more."
        )
    return not wrong


async def _begin(stack: Stack, number: int, case: Case) -> Row:
    request = case.request(number, stack.catalogue, datetime.now(UTC))
    return Row(case, request.key, await start(stack.client, request), time.monotonic())


async def _watch(rows: Sequence[Row], out: Console) -> None:
    """Follow every notice to its end, or until patience does."""
    with Live(board(rows), console=out, refresh_per_second=4, transient=True) as live:
        endings = [asyncio.ensure_future(_follow(row)) for row in rows]
        looking = asyncio.ensure_future(_glance(rows, live))
        _, late = await asyncio.wait(endings, timeout=PATIENCE.total_seconds())
        for each in (*late, looking):
            each.cancel()
        await asyncio.gather(*late, looking, return_exceptions=True)


async def _follow(row: Row) -> None:
    row.result = await row.handle.result()
    row.took = time.monotonic() - row.began


async def _glance(rows: Sequence[Row], live: Live) -> None:
    """Ask the open ones how they are, now and then."""
    while True:
        for row in [each for each in rows if each.result is None]:
            try:
                told = await row.handle.query(Notice.evidence, rpc_timeout=timedelta(seconds=2))
            except RPCError:
                continue  # it closed meanwhile, or is busy: the next glance tells
            row.now = f"{told.phase} {told.channel or ''}".strip()
            awaits_email = told.attempts and told.attempts[0].state is AttemptState.SUBMITTED
            if row.case.withdrawn and told.phase is Phase.AWAITING and awaits_email:
                await row.handle.signal(Notice.withdraw)
        live.update(board(rows))
        await asyncio.sleep(_GLANCE.total_seconds())


async def _count(stack: Stack, rows: Sequence[Row]) -> None:
    """Count what the provider accepted, by its own record."""
    async with httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(f"{stack.sandbox.url}/inbox.json")
    accepted = Counter((each["key"].rsplit(":", 2)[0], each["channel"]) for each in answer.json())
    for row in rows:
        row.emails, row.texts = accepted[row.key, "email"], accepted[row.key, "sms"]
