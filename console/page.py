"""The story of one notice as a page for people: plain when piped, and readable in 80 columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Final

import typer
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from activities.providers.base import Callbacks
from activities.providers.registry import PROVIDERS
from activities.store.carrying import Bar
from activities.store.records import AttemptRow, ObservationRow
from client.story import Decided, Story
from console.spans import span
from workflows.policy import telling
from workflows.policy.keys import attempted
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.words import AttemptState, Phase, Verdict

_UNITS: Final = (
    (timedelta(days=2), timedelta(days=1), "days"),
    (timedelta(hours=2), timedelta(hours=1), "h"),
    (timedelta(minutes=2), timedelta(minutes=1), "min"),
    (timedelta(seconds=1), timedelta(seconds=1), "s"),
)
"""From this distance on, count in this unit."""


_BARS: Final[Mapping[str, str]] = MappingProxyType(
    {
        Bar.OVER: "its verification is over",
        Bar.SUPERSEDED: "a later message of the same verification was asked for",
        Bar.FOREIGN: "no verification asked for this message to this address",
    }
)
"""Why a message that would carry a challenge was barred, in words."""


def show(story: Story) -> None:
    """Print the page to stdout."""
    out = Console(highlight=False, emoji=False, markup=False)
    with out.capture() as captured:
        out.print(*render(story, datetime.now(UTC)), sep="\n")
    # Tables fill their columns up with blanks, which are a nuisance in a pipe.
    typer.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))


def render(story: Story, now: datetime) -> Iterator[RenderableType]:
    """Return the parts of the page; `now` (UTC) only says how far away an instant is."""
    clock = Clock(now, _beginning(story))
    yield Text(story.key, style="bold", overflow="fold")
    yield _headline(story)
    yield _times(story, clock)
    yield from _section("attempts", _attempts(story.attempts, clock))
    yield from _remarks(story.attempts)
    yield from _section("evidence", _observations(story.observations, clock))
    yield from _section("decisions", _decisions(story, clock))


@dataclass(frozen=True, slots=True)
class Clock:
    """Writes instants in UTC: the time of day, with the date where it is another day's."""

    now: datetime
    begun_at: datetime | None = None
    """When the story begins."""

    def at(self, instant: datetime | None) -> str:
        """Write an instant."""
        if instant is None:
            return "-"
        utc = instant.astimezone(UTC)
        day = "" if utc.date() == self.now.astimezone(UTC).date() else f"{utc:%Y-%m-%d} "
        return f"{day}{telling.clock(utc)}"

    def since(self, instant: datetime) -> str:
        """Write how long after the beginning an instant is; nothing of the beginning itself."""
        gap = instant - (self.begun_at or instant)
        return f"+{span(gap)}" if gap >= timedelta(seconds=1) else ""

    def both(self, instant: datetime) -> str:
        """Write an instant, and how far away it is."""
        return f"{self.at(instant)} ({away(instant - self.now)})"


def _beginning(story: Story) -> datetime | None:
    seen, decided = [each.at for each in story.observations], [each.at for each in story.decisions]
    return min(seen + decided, default=None)


def away(distance: timedelta) -> str:
    """Return a distance in its largest unit: "in 12 s", "3 min ago"."""
    size = abs(distance)
    for least, unit, name in _UNITS:
        if size >= least:
            count = f"{size // unit} {name}"
            return f"in {count}" if distance > timedelta() else f"{count} ago"
    return "now"


def _headline(story: Story) -> Text:
    on = f" on {story.channel}" if story.channel else ""
    if story.outcome is None:
        over = (f", and {story.ended}", "yellow") if story.ended else ""
        return Text.assemble(f"{story.phase}{on}", over)
    style = "green" if story.outcome.reached else "yellow"
    why = story.reason or _because(story.rule)
    return Text.assemble((f"closed: {story.outcome}{on}", style), f" ({why})")


def _times(story: Story, clock: Clock) -> Table:
    rows = _grid()
    if story.closed_at:
        rows.add_row("closed", clock.both(story.closed_at))
    if story.told_by:
        rows.add_row("told by", story.told_by)
    if story.pruned_at:
        rows.add_row("pruned", f"{clock.both(story.pruned_at)}: its evidence was pruned, and this line stays")
    if story.expires_at:
        rows.add_row("expires", clock.both(story.expires_at))
    if story.phase is Phase.CLOSED:
        return rows
    when = clock.both(story.next_at) if story.next_at else "nothing" if story.ended else "not known"
    match story.phase:
        case Phase.CLAIMED if story.next_step and not story.ended:
            rows.add_row("now", story.next_step)
        case _:
            rows.add_row("next", f"{when}: {story.next_step}" if story.next_step else when)
    return rows


def _section(title: str, rows: Table) -> Iterator[RenderableType]:
    yield Text(f"\n{title}", style="bold")
    yield rows if rows.row_count else Text("none")


def _attempts(attempts: Sequence[AttemptRow], clock: Clock) -> Table:
    rows = _grid("channel", "state", "word", "tried", "sent", "provider")
    for each in attempts:
        word = f"{each.status or '-'}{', final' if each.is_final else ''}"
        sent = clock.at(each.last_dispatched_at) if _may_have_left(each) else "-"
        rows.add_row(each.channel, each.state, word, str(each.dispatches), sent, each.provider or "-")
    return rows


def _may_have_left(attempt: AttemptRow) -> bool:
    """Whether a dispatch was not given back: one that failed without a word from a provider never left."""
    match attempt.state:
        case AttemptState.PLANNED:
            return False
        case AttemptState.FAILED:
            return attempt.status is not None
        case _:
            return True


def _remarks(attempts: Sequence[AttemptRow]) -> Iterator[Text]:
    """Tell what is too long for a cell; a provider's id stays whole, to be copied."""
    for each in attempts:
        if each.provider_id:
            yield Text(f"{each.channel} is {each.provider_id} at {each.provider}", style="dim")
        if each.note:
            yield Text(f"{each.channel}: {each.note}", style="dim")
        if _is_mute(each):
            told = f"{each.channel}: {each.provider} cannot be asked: its acceptance is all there is"
            yield Text(told, style="dim")


def _is_mute(attempt: AttemptRow) -> bool:
    """Whether its provider never tells more than that it took the message."""
    module = PROVIDERS.get(attempt.provider or "")
    can = module.CAPABILITIES.get(attempt.channel) if module else None
    return can is not None and not can.reads and can.callbacks is Callbacks.NONE


def _observations(observations: Sequence[ObservationRow], clock: Clock) -> Table:
    rows = _grid(columns=3)
    for each in observations:
        said = ", ".join(
            part for part in (f'"{each.raw}"' if each.raw else "", each.code, each.opt_out) if part
        )
        text = Text(f"{attempted(each.attempt_key).channel} {each.source}: {each.status}")
        text.append(f"{', final' if each.is_final else ''}{f' ({said})' if said else ''}")
        if each.verdict is not Verdict.APPLIED:
            text.append(f" {each.verdict}: {each.reason}", style="yellow")
        rows.add_row(clock.at(each.at), clock.since(each.at), text)
    return rows


def _decisions(story: Story, clock: Clock) -> Table:
    rows = _grid(columns=3)
    for each in story.decisions:
        what = f"{each.action.replace('_', ' ')}{f' {each.channel}' if each.channel else ''}"
        text = Text(f"{what}: {_why(each, story)}")
        if each.answer:
            text.append(f"; the check said {each.answer}")
        if each.reason:
            text.append(f", {each.reason}")
        rows.add_row(clock.at(each.at), clock.since(each.at), text)
    return rows


def _why(decision: Decided, story: Story) -> str:
    """Say by which rule it was decided; what is known better of a closing, or of channels, comes with it."""
    because = _because(decision.rule)
    match decision.rule:
        case Rule.WITHDRAWN if story.reason:
            return story.reason
        case Rule.NO_CHANNEL if decision.inputs and (out := _ruled_out(decision.inputs)):
            return f"{because} ({out})"
        case _:
            return because


def _ruled_out(progress: Progress) -> str:
    """Say why channels cannot be used: once where it is the same for all."""
    out = {each.channel: each.ruled_out for each in progress.attempts if each.ruled_out}
    words = {channel: _BARS.get(reason, reason.replace("_", " ")) for channel, reason in out.items()}
    if len(words) == len(progress.attempts) and len(set(words.values())) == 1:
        return next(iter(words.values()))
    return ", ".join(f"{channel}: {why}" for channel, why in words.items())


def _grid(*headings: str, columns: int = 2) -> Table:
    """Return a table without lines, in which nothing is cut off."""
    rows = Table(box=None, pad_edge=False, show_header=bool(headings), header_style="dim")
    for heading in headings or ("",) * columns:
        rows.add_column(heading, overflow="fold")
    return rows


def _because(rule: str | None) -> str:
    if rule in set(Rule):
        return telling.because(Rule(rule))
    return (rule or "no rule on record").replace("_", " ")
