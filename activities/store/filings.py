"""What a transaction changed, told to whoever asked for it: as it was before, and as it is since."""

from dataclasses import dataclass

from activities.store.records import AttemptRow, NoticeRow
from workflows.policy.models import Observation
from workflows.policy.state import Transition
from workflows.policy.words import AttemptState, Outcome, Phase, Status, SuppressionReason, Verdict


@dataclass(frozen=True, slots=True)
class Filing:
    """One report that was kept, and what it did."""

    seen: Observation
    did: Transition
    notice: NoticeRow
    """As it was before, and so the attempt."""
    attempt: AttemptRow
    phase: Phase
    """Since, as are the next two."""
    status: Status | None
    reads: int
    suppressed: SuppressionReason | None = None
    """Set where the report was the first to say that the address must not be written to."""

    @property
    def moved(self) -> bool:
        """Whether the notice or the attempt stands elsewhere than before."""
        now = (self.phase, self.did.state, self.status)
        return now != (self.notice.phase, self.attempt.state, self.attempt.status)


@dataclass(frozen=True, slots=True)
class Kept:
    """What became of a report, and of those that its receipt brought in."""

    state: AttemptState
    """After all of them."""
    verdict: Verdict
    reason: str
    filings: tuple[Filing, ...] = ()
    """None for a report that was on record before."""


@dataclass(frozen=True, slots=True)
class Lapsed:
    """An attempt as it was before its notice closed, and the state that this gave it."""

    attempt: AttemptRow
    state: AttemptState


@dataclass(frozen=True, slots=True)
class Ending:
    """The outcome that stands."""

    outcome: Outcome
    notice: NoticeRow | None = None
    """As it was before; None where it had closed already."""
    lapsed: tuple[Lapsed, ...] = ()
