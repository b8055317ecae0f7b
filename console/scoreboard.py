"""The demonstration's table, and what in it is not as documented."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table
from temporalio.client import WorkflowHandle

from console.fates import Case, Ends
from workflows.notice import Notice
from workflows.policy.models import Result


@dataclass(slots=True)
class Row:
    """One notice of the demonstration, as far as it has come."""

    case: Case
    key: str
    handle: WorkflowHandle[Notice, Result]
    began: float
    """Monotonic seconds."""
    now: str = "starting"
    result: Result | None = None
    took: float = 0.0
    emails: int = 0
    texts: int = 0


def board(rows: Sequence[Row]) -> Table:
    """Draw every notice: what it met, and what became of it."""
    table = Table("kind", "fate", "outcome", "channel", "emails", "texts", "time", box=None, pad_edge=False)
    for row in rows:
        if row.result is None:
            table.add_row(row.case.kind, row.case.title, f"[dim]{row.now}[/dim]")
            continue
        mark = "green" if row.result.outcome.reached else "yellow"
        table.add_row(
            row.case.kind,
            row.case.title,
            f"[{mark}]{row.result.outcome}[/{mark}]",
            row.result.channel or "-",
            str(row.emails),
            str(row.texts),
            f"{row.took:.1f} s",
        )
    return table


def verdicts(rows: Sequence[Row]) -> list[str]:
    """Return one line for each notice that did not end as documented."""
    return [line for row in rows if (line := _verdict(row))]


def _verdict(row: Row) -> str | None:
    if row.result is None:
        return f"{row.key}: expected {_told(row.case.ends)}; it is still open: {row.now}"
    got = Ends(row.result.outcome, row.result.channel, row.emails, row.texts)
    if got == row.case.ends:
        return None
    return f"{row.key}: expected {_told(row.case.ends)}; got {_told(got)}"


def _told(ends: Ends) -> str:
    on = ends.channel or "no channel"
    return f"{ends.outcome} on {on}, {ends.emails} emails, {ends.texts} texts"
