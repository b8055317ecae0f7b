"""One structured event for each change that the ledger has just taken, and what is counted with it.

Who finds a change on record already has nothing to say, so that a retried activity says nothing twice.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from logging import INFO
from typing import Final

from activities.instruments import NONE
from activities.logs import event
from activities.metrics import NOTHING, Meters
from activities.store.attempts import Fresh
from activities.store.challenges import Trial
from activities.store.filings import Ending, Filing, Kept
from activities.tracing import mark
from workflows.policy.keys import attempted, parts
from workflows.policy.models import Result
from workflows.policy.words import AttemptState, ChallengeState, Phase, Source, Status

NAME: Final = "transition"


@dataclass(frozen=True, slots=True)
class Change:
    """Where a notice, and one of its attempts, stood and stand."""

    notice: str
    was: Phase | None
    now: Phase
    attempt: str | None = None
    state: AttemptState | None = None
    status: Status | None = None
    reads: int | None = None
    rule: str | None = None

    def say(self, at: datetime) -> None:
        """Log it, with the engine's time; keys are opaque, and all else is words."""
        facts = {
            "notice": self.notice,
            "attempt": self.attempt,
            "from": self.was,
            "to": self.now,
            "state": self.state,
            "status": self.status,
            "reads": self.reads,
            "rule": self.rule,
        }
        known = {name: fact for name, fact in facts.items() if fact is not None}
        event(NAME, level=INFO, **known, at=_written(at))
        mark(phase=self.now.value)


@dataclass(frozen=True, slots=True)
class Transitions:
    """Tells of changes; every instant is UTC."""

    meters: Meters = NOTHING

    def admitted(self, key: str, *, at: datetime) -> None:
        """A notice is on record."""
        self.meters.started.add(parts(key).kind)
        Change(key, None, Phase.QUEUED).say(at)

    def claimed(self, key: str, claim: Fresh, *, rule: str | None, at: datetime) -> None:
        """An attempt is about to go to the wire."""
        notice, state = attempted(key).notice_key, AttemptState.AMBIGUOUS
        Change(notice, claim.was, Phase.CLAIMED, key, state, rule=rule).say(at)

    def given_back(self, key: str, *, rule: str | None, at: datetime) -> None:
        """A claim was given back: it is proven that nothing was accepted."""
        notice, state = attempted(key).notice_key, AttemptState.PLANNED
        Change(notice, Phase.CLAIMED, Phase.CLAIMED, key, state, rule=rule).say(at)

    def doubted(self, key: str, was: Phase | None, *, rule: str | None, at: datetime) -> None:
        """The result of a dispatch never came; `was` is None where that was known."""
        if was is not None:
            notice, state = attempted(key).notice_key, AttemptState.AMBIGUOUS
            Change(notice, was, Phase.AWAITING, key, state, rule=rule).say(at)

    def filed(self, kept: Kept, *, at: datetime, rule: str | None = None) -> None:
        """Reports were kept; `rule` is the one by which we asked."""
        for each in kept.filings:
            self._count(each)
            if each.moved:
                called_back = each.seen.source is Source.CALLBACK
                Change(
                    each.notice.key,
                    each.notice.phase,
                    each.phase,
                    each.attempt.key,
                    each.did.state,
                    each.seen.status,
                    each.reads,
                    None if called_back else rule,
                ).say(at)

    def closed(self, ending: Ending, result: Result, *, at: datetime) -> None:
        """A notice has closed, unless it had before."""
        was = ending.notice
        if was is None:
            return
        channel = result.channel or NONE
        self.meters.closed.add(was.kind, ending.outcome, channel, result.rule)
        self.meters.life.record(at - was.created_at, was.kind, ending.outcome)
        for each in ending.lapsed:
            row = each.attempt
            Change(was.key, was.phase, Phase.CLOSED, row.key, each.state, row.status).say(at)
        Change(was.key, was.phase, Phase.CLOSED, reads=was.reads, rule=result.rule).say(at)

    def _count(self, filing: Filing) -> None:
        seen, row = filing.seen, filing.attempt
        told = (seen.source, seen.status, filing.did.verdict)
        self.meters.reports.add(row.channel, row.provider or NONE, *told)
        if filing.suppressed is not None:
            self.meters.suppressions.add(row.channel, filing.suppressed)


UNCOUNTED: Final = Transitions()
"""For a process whose metrics nobody reads."""


def tried(meters: Meters, kind: str, trial: Trial) -> None:
    """Count a try at a challenge's secret, if it has changed the challenge."""
    if not trial.is_new:
        return
    if not trial.consumed:
        meters.wrong_codes.add(kind)
    if trial.state is not ChallengeState.ACTIVE:
        meters.challenges.add(kind, trial.state)


def _written(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
