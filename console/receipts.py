"""What `standby send` says of each notice: a line for a person, or a JSON object for a program."""

import json
import sys
from dataclasses import dataclass

import typer

from activities.admission import DUPLICATE
from client.runs import Run
from workflows.policy import telling
from workflows.policy.models import Result
from workflows.policy.plan import Rule
from workflows.policy.words import Outcome


@dataclass(frozen=True, slots=True)
class Receipt:
    """One notice: whether this command began it and, where it was waited for, how it ended."""

    key: str
    is_new: bool
    end: Run | None = None

    def as_json(self) -> dict[str, object]:
        """Return the published form; keys are only ever added."""
        said: dict[str, object] = {"key": self.key, "started": self.is_new}
        if self.end is None:
            return said
        result = self.end.result
        told = result.model_dump(mode="json") if result else {}
        said |= {name: told.get(name) for name in ("outcome", "channel", "rule", "closed_at")}
        reason = self.end.failure or (result.reason if result else None)
        return said | ({"reason": reason} if reason else {})

    def as_line(self) -> str:
        """Return one line for a person."""
        line = f"{'started' if self.is_new else 'already there'}  {self.key}"
        return line if self.end is None else f"{line}  {_ended(self.end)}"


@dataclass(slots=True)
class Tally:
    """Counts while the work goes on, so that an interrupted command can say how far it came."""

    started: int = 0
    there: int = 0
    reached: int = 0
    unreached: int = 0

    @property
    def total(self) -> int:
        """Notices that are in the engine."""
        return self.started + self.there

    def count(self, *, is_new: bool) -> None:
        """Count a notice that is in the engine."""
        if is_new:
            self.started += 1
        else:
            self.there += 1

    def conclude(self, end: Run) -> None:
        """Count a notice that has closed."""
        if end.result is not None and end.result.outcome.reached:
            self.reached += 1
        else:
            self.unreached += 1

    def so_far(self, wanted: int) -> str:
        """Say how far it came, and that going on is safe."""
        return f"{self} of {wanted}; the same command again is safe and goes on from there"

    def __str__(self) -> str:
        return f"{self.started} started, {self.there} already there"


def show(receipt: Receipt, *, as_json: bool) -> None:
    """Write one line to stdout at once, for whoever reads along."""
    _say(json.dumps(receipt.as_json()) if as_json else receipt.as_line())


def summarise(tally: Tally, only: str | None) -> None:
    """Say what came of many; of a single one say where to look, if a person is there to."""
    if only is None:
        ended = (
            f"; {tally.reached} reached, {tally.unreached} not" if tally.reached or tally.unreached else ""
        )
        _say(f"{tally}{ended}")
    elif sys.stderr.isatty():
        typer.echo(f"follow it: standby show {only} (in the Temporal UI, its workflow id)", err=True)


def _say(line: str) -> None:
    # Not typer's echo, which goes past the progress bar that shares the terminal.
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _ended(end: Run) -> str:
    return _closed(end.result) if end.result else f"failed: {end.failure}"


def _closed(result: Result) -> str:
    by = f" on {result.channel}" if result.channel else ""
    why = telling.because(Rule(result.rule)) if result.rule in set(Rule) else result.rule
    return f"{result.outcome}{by}: {result.reason or why}{_advice(result)}"


def _advice(result: Result) -> str:
    """Say how to go on after a refusal; that of a duplicate says it itself."""
    if result.outcome is not Outcome.REFUSED or result.reason == DUPLICATE:
        return ""
    return "; a notice key is used once: correct it and give it another event_id"
