"""One admitted notice in hand: its terms, its progress, and the reports that are yet to be filed."""

from dataclasses import dataclass
from datetime import datetime

from workflows.policy import plan, state, telling
from workflows.policy.evidence import Evidence
from workflows.policy.keys import attempted
from workflows.policy.models import NoticeRequest, Observation, Result
from workflows.policy.progress import Attempt, Progress
from workflows.policy.state import Transition
from workflows.policy.terms import Policy
from workflows.policy.words import AttemptState, Channel, Phase, Status, Verdict


@dataclass(frozen=True, slots=True)
class Heard:
    """A report, and what it did to its attempt."""

    seen: Observation
    did: Transition

    @property
    def channel(self) -> Channel:
        """The channel that it is about."""
        return attempted(self.seen.attempt_key).channel


@dataclass(frozen=True, slots=True)
class Decided:
    """A step, and all that it was decided from."""

    step: plan.Step
    at: datetime
    progress: Progress


class Case:
    """Applies reports to the progress, each once, and asks the plan what to do."""

    def __init__(self, request: NoticeRequest, policy: Policy, digest: str, progress: Progress) -> None:
        self.request = request
        self.policy = policy
        self.digest = digest
        self.progress = progress
        self.dispatching = False
        self.decided: Decided | None = None
        self.result: Result | None = None
        self.decisions = 0
        self._known: set[tuple[str, str]] = set()
        self._unfiled: list[Heard] = []

    def next(self, now: datetime) -> plan.Step:
        """Decide, and remember what was decided from what."""
        step = plan.next(self.progress, self.policy, now)
        self.decided = Decided(step, now, self.progress)
        return step

    def wakes_at(self, now: datetime) -> datetime | None:
        """Return when something is due next if nothing is reported; None if something is due now."""
        step = plan.next(self.progress, self.policy, now)
        return step.until if isinstance(step, plan.Wait) else None

    def is_fallback(self, channel: Channel) -> bool:
        """Whether a channel is used in place of another."""
        return channel is not self.policy.route[0]

    def still(self, step: plan.Send, now: datetime) -> bool:
        """Whether a dispatch decided earlier would be decided now."""
        return self.renewed(step, now) is not None

    def renewed(self, step: plan.Send, now: datetime) -> plan.Send | None:
        """Return a dispatch that was decided earlier as it would be decided now; None where it would not be.

        What bounds it may be another: the check before it can last past the fallback deadline.
        """
        match plan.next(self.progress, self.policy, now):
            case plan.Send(channel=channel) as decided if channel is step.channel:
                return decided
            case _:
                return None

    def withdraw(self) -> None:
        """The caller no longer needs the notice."""
        self.progress = self.progress.model_copy(update={"withdrawn": True})

    def amend(self, channel: Channel, **changes: object) -> None:
        """Change facts of one attempt that no report brings."""
        self.progress = self.progress.amend(channel, **changes)

    def rule_out(self, reasons: dict[Channel, str]) -> None:
        """Note which channels cannot be used for this recipient."""
        for channel, reason in reasons.items():
            self.amend(channel, ruled_out=reason)

    def learn(self, seen: Observation) -> Heard | None:
        """Apply one report; None for one that is known already or belongs to another notice."""
        mine = [each for each in self.progress.attempts if each.key == seen.attempt_key]
        if not mine or (seen.attempt_key, seen.event_id) in self._known:
            return None
        self._known.add((seen.attempt_key, seen.event_id))
        attempt, did = mine[0].observe(seen)
        if self.result is not None:
            return Heard(seen, Transition(mine[0].state, Verdict.LATE, "the notice had closed"))
        self.progress = self.progress.replace(attempt)
        return Heard(seen, did)

    def note_read(self, step: plan.LookUp, asked_at: datetime) -> Attempt:
        """Count a read from the moment of asking, so that polls due while it lasts are still done."""
        attempt = self.progress.on(step.channel)
        closing = attempt.closing_read or step.rule is plan.Rule.CLOSING_READ
        self.amend(step.channel, reads=attempt.reads + 1, last_read=asked_at, closing_read=closing)
        return self.progress.on(step.channel)

    def hear(self, seen: Observation) -> None:
        """Apply a callback's report and keep it for the ledger."""
        heard = self.learn(seen)
        if heard is not None:
            self._unfiled.append(heard)

    def unfiled(self) -> tuple[Heard, ...]:
        """Hand over the reports that the ledger has not seen yet."""
        handed, self._unfiled = tuple(self._unfiled), []
        return handed

    def doubt(self, channel: Channel, since: datetime) -> None:
        """The result of a dispatch never came; a report that did come knows better."""
        if self.progress.on(channel).state is AttemptState.PLANNED:
            self.amend(channel, state=AttemptState.AMBIGUOUS, since=since)

    def clear(self, channel: Channel) -> None:
        """The ledger has no claim of a doubtful dispatch: it never went to the wire."""
        if self.progress.on(channel).state is AttemptState.AMBIGUOUS:
            self.amend(channel, state=AttemptState.PLANNED, since=None, not_sent=True)

    def adopt(self, channel: Channel, state: AttemptState | None) -> None:
        """Take the ledger's word that an attempt was delivered, where reports reached it in another order."""
        if state is AttemptState.CONFIRMED and self.result is None:
            self.amend(channel, state=state, status=Status.DELIVERED, is_final=True)

    def close(self, step: plan.Close, now: datetime) -> Result:
        """Give every open attempt its terminal state, and name the outcome."""
        for each in self.progress.attempts:
            settled = each.channel is step.channel
            self.amend(each.channel, state=state.lapse(each.state, settled=settled))
        self.result = Result(
            key=self.progress.key,
            outcome=step.outcome,
            channel=step.channel,
            rule=step.rule,
            closed_at=now,
        )
        return self.result

    @property
    def phase(self) -> Phase:
        """Where the notice is."""
        if self.result is not None:
            return Phase.CLOSED
        if self.dispatching:
            return Phase.CLAIMED
        return Phase.AWAITING if self.progress.front else Phase.QUEUED

    @property
    def channel(self) -> Channel | None:
        """The channel that the notice is on."""
        if self.dispatching and self.decided and isinstance(self.decided.step, plan.Send):
            return self.decided.step.channel
        at = self.progress.front or self.progress.spare
        return at.channel if at else None

    def evidence(self, now: datetime) -> Evidence:
        """Tell the story so far."""
        next_at, next_step = self._coming(now)
        return Evidence(
            key=self.progress.key,
            kind=self.request.kind,
            phase=self.phase,
            channel=self.result.channel if self.result else self.channel,
            outcome=self.result.outcome if self.result else None,
            expires_at=self.progress.expires_at,
            fallback_at=plan.fallback_at(self.progress, self.policy, now),
            next_at=next_at,
            next_step=next_step,
            attempts=self.progress.attempts,
            decisions=self.decisions,
            withdrawn=self.progress.withdrawn,
        )

    def _coming(self, now: datetime) -> tuple[datetime | None, str]:
        """Return until when things stay as they are, unless something is reported, and what comes then."""
        if self.result is not None:
            return None, ""
        if self.dispatching and self.decided and isinstance(self.decided.step, plan.Send):
            return self.decided.step.until, telling.dispatch(self.decided.step)
        step = plan.next(self.progress, self.policy, now)
        until = step.until if isinstance(step, plan.Wait) else now
        return until, telling.upcoming(step, self.progress, self.policy)
