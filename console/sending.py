"""`standby send`: starts notices, each once, and can wait for what becomes of them."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Final, NamedTuple, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from temporalio.client import Client

from activities.tracing import joined, plugins
from client.runs import concluded
from client.starting import Started, begin
from console import documents, receipts
from console.checking import check_of
from console.deployment import Deployment
from console.exits import Exit, Stop, ending
from console.receipts import Receipt, Tally
from workflows.policy.models import NoticeRequest

ABREAST: Final = 20
"""Notices in hand at once: more would not make the engine faster."""

TRACE: Final = ("TRACEPARENT", "TRACESTATE")
"""W3C trace context, as OpenTelemetry writes it into the environment of a child process."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Manner:
    """How a person wants it."""

    wait: bool
    as_json: bool


class Begun(NamedTuple):
    """A notice that is in the engine."""

    key: str
    started: Started


def send(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="A JSON document, or many as NDJSON; - reads stdin.")
    ],
    *,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each notice has closed.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object a notice, and nothing else.")
    ] = False,
) -> None:
    """Start notices; running it again is safe, since each is told once.

    Everything is checked before anything is started: also by the kinds, where their folder is at hand. Exit
    codes: 0 started or already there, 2 bad input, 3 engine unreachable, 4 closed without reaching anyone
    (with --wait).

    Example: standby send notices/password_reset/sample.json --wait --json
    """
    deployment = Deployment.here()
    settings = deployment.settings
    check = check_of(settings.notices, datetime.now(UTC), settings.public_url)
    requests = documents.read(file, check)
    tally = Tally()
    try:
        code = asyncio.run(_send(deployment, requests, Manner(wait, as_json), tally))
    except KeyboardInterrupt:
        raise Stop(Exit.INTERRUPTED, f"interrupted: {tally.so_far(len(requests))}") from None
    except Exception as error:
        if not tally.total:
            raise
        end = ending(error)
        raise Stop(end.code, *end.lines, f"stopped: {tally.so_far(len(requests))}") from None
    raise typer.Exit(code)


async def _send(
    deployment: Deployment, requests: Sequence[NoticeRequest], manner: Manner, tally: Tally
) -> Exit:
    client = await deployment.engine(plugins=plugins())
    # A script hands its trace on by the environment: nothing else of a command could carry it.
    with joined({name.lower(): value for name, value in deployment.environ.items() if name in TRACE}):
        begun = await _start(client, deployment.settings.task_queue, requests, manner, tally)
    if manner.wait:
        await _follow(begun, manner, tally)
    if not manner.as_json:
        receipts.summarise(tally, begun[0].key if len(begun) == 1 else None)
    return Exit.NOT_REACHED if tally.unreached else Exit.OK


async def _start(
    client: Client, task_queue: str, requests: Sequence[NoticeRequest], manner: Manner, tally: Tally
) -> list[Begun]:
    begun: list[Begun] = []

    async def one(request: NoticeRequest) -> None:
        started = await begin(client, request, task_queue=task_queue)
        tally.count(is_new=started.is_new)
        begun.append(Begun(request.key, started))
        if not manner.wait:
            receipts.show(Receipt(request.key, started.is_new), as_json=manner.as_json)

    await _abreast(requests, one, "starting")
    return begun


async def _follow(begun: Sequence[Begun], manner: Manner, tally: Tally) -> None:
    async def one(notice: Begun) -> None:
        end = await concluded(notice.started.handle)
        tally.conclude(end)
        receipts.show(Receipt(notice.key, notice.started.is_new, end), as_json=manner.as_json)

    await _abreast(begun, one, "waiting")


async def _abreast(items: Sequence[T], do: Callable[[T], Awaitable[None]], doing: str) -> None:
    """Do something to every item, a bounded number at a time; the first error stops all."""
    with _progress(shown=len(items) > 1) as progress:
        task = progress.add_task(doing, total=len(items))
        waiting = iter(items)

        async def hand() -> None:
            for item in waiting:
                await do(item)
                progress.advance(task)

        async with asyncio.TaskGroup() as group:
            for _ in range(min(ABREAST, len(items))):
                group.create_task(hand())


def _progress(*, shown: bool) -> Progress:
    """Return a bar on stderr, and none where that is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(
        *columns,
        console=Console(stderr=True),
        disable=not (shown and sys.stderr.isatty()),
        transient=True,
        # Lines for a pipe stay out of the bar's hands; those for the same terminal go above it.
        redirect_stdout=sys.stdout.isatty(),
    )
