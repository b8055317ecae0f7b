"""`standby explain`: every decision on record computed again by today's code, same or different and where."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Final

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from client.explaining import Explained, Terms, explain, open_records
from console import challenge
from console.deployment import Deployment
from console.exits import Exit, Stop
from console.page import Clock
from workflows.policy import telling
from workflows.policy.compared import Compared, Item
from workflows.policy.keys import attempted, key_of
from workflows.policy.recorded import Record

Key = Annotated[str, typer.Argument(metavar="KEY", help="The notice key, kind:event:recipient.")]

_SECTIONS: Final = ((Item.DECISION, Item.CHECK), (Item.REPORT, Item.ATTEMPT))


def explain_again(
    key: Key,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as one JSON object.")] = False,
) -> None:
    """Compute each decision, check, report and attempt of a notice again, from the ledger alone.

    Each by today's code, under the terms that are on record: same, or different and where. Exit codes: 0
    all is the same, 1 something differs, 2 no such notice.

    Example: standby explain password_reset:sample-reset-1:user-1001
    """
    deployment = Deployment.here()
    record = asyncio.run(record_of(deployment, checked(key)))
    if record is None:
        raise unrecorded(key)
    if record.notice.pruned_at is not None:
        raise _pruned(key, record.notice.pruned_at)
    explained = explain(record, deployment.settings)
    if as_json:
        typer.echo(explained.model_dump_json(indent=2))
    else:
        _show(explained)
    if not explained.same:
        raise typer.Exit(Exit.FAILED)


async def record_of(deployment: Deployment, key: str) -> Record | None:
    """Return all that is on record about a notice; None where there is nothing."""
    async with open_records(deployment.settings) as records:
        return await records.of(key)


def checked(key: str) -> str:
    """Return the notice key, also of one of its attempts; raises Stop for what is none."""
    if key.startswith(challenge.PREFIX):
        raise Stop(Exit.BAD_INPUT, f"KEY: is a verification; its messages are listed by: standby show {key}")
    with suppress(ValueError):
        return attempted(key).notice_key
    try:
        return key_of(key)
    except ValueError as error:
        raise Stop(Exit.BAD_INPUT, f"KEY: {error}") from None


def unrecorded(key: str) -> Stop:
    """Return the ending for a notice that the ledger does not have."""
    return Stop(Exit.BAD_INPUT, f"{key}: is not in the ledger; what the engine knows: standby show {key}")


def _pruned(key: str, at: datetime) -> Stop:
    when = telling.moment(at)
    return Stop(Exit.FAILED, f"{key}: its evidence was pruned at {when}: nothing is left to be computed")


def _show(explained: Explained) -> None:
    out = Console(highlight=False, emoji=False, markup=False)
    with out.capture() as captured:
        out.print(*_render(explained, Clock(datetime.now(UTC))), sep="\n")
    # Tables fill their columns up with blanks, which are a nuisance in a pipe.
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _render(explained: Explained, clock: Clock) -> Iterator[RenderableType]:
    yield Text(explained.key, style="bold", overflow="fold")
    yield _headline(explained.items)
    yield Text(_policy(explained.policy), overflow="fold")
    for section in _SECTIONS:
        shown = [each for each in explained.items if each.item in section and _is_told(each)]
        if shown:
            yield _table(shown, clock)


def _headline(items: Sequence[Compared]) -> Text:
    differing = [each for each in items if not each.same]
    counted = _counts(items)
    if not differing:
        return Text(f"all the same, computed again by today's code: {counted}", style="green")
    return Text(f"{len(differing)} of these differ by today's code: {counted}", style="yellow")


def _counts(items: Sequence[Compared]) -> str:
    counts = {item: sum(each.item is item for each in items) for item in Item}
    return ", ".join(f"{count} {item}{'' if count == 1 else 's'}" for item, count in counts.items())


def _policy(terms: Terms) -> str:
    match terms:
        case Terms(note=str(note)):
            return f"terms {terms.recorded}; {note}"
        case Terms(today=terms.recorded):
            return f"terms {terms.recorded}, which are the kind's today"
        case _:
            fields = ", ".join(terms.changed) or "what its digest is made from"
            return f"terms {terms.recorded}; the kind's are {terms.today} today, changed in: {fields}"


def _is_told(each: Compared) -> bool:
    """Whether a line of its own is of use: reports that are the same are counted only."""
    return not each.same or each.item is not Item.REPORT


def _table(items: Sequence[Compared], clock: Clock) -> Table:
    rows = Table(box=None, pad_edge=False, show_header=False)
    rows.add_column(no_wrap=True)
    rows.add_column(overflow="fold")
    for each in items:
        rows.add_row(clock.at(each.at), _line(each))
    return rows


def _line(each: Compared) -> Text:
    on = f"{each.channel} " if each.item is not Item.DECISION and each.channel else ""
    recorded = f" {each.recorded}" if each.same else ""
    line = Text(f"{on}{each.item}{recorded}: ")
    line.append(each.verdict, style="green" if each.same else "yellow")
    if each.not_on_record:
        line.append(f" (not on record, and believed: {', '.join(each.not_on_record)})", style="dim")
    return line
