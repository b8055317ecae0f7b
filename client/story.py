"""The story of one notice, without personal data: the ledger's record, and the engine's present."""

from datetime import datetime
from typing import Final, Self
from urllib.parse import unquote

from pydantic import Field

from activities.store import records
from activities.store.challenge_rows import ChallengeStory
from activities.store.records import AttemptRow, ObservationRow
from client.runs import Run
from workflows.policy.eligibility import Answer
from workflows.policy.evidence import Evidence
from workflows.policy.models import Payload, Result
from workflows.policy.progress import Progress
from workflows.policy.steps import Horizon, Rule
from workflows.policy.words import ChallengeState, Channel, Outcome, Phase

_INTERNAL: Final = {"attempts": {"__all__": {"address_hash", "notice_key", "version"}}}
"""Columns that are the ledger's own business."""


class Decided(Payload):
    """One decision: what was chosen, by which rule, and what the check of fresh facts said to it."""

    number: int
    rule: str
    action: str
    channel: Channel | None = None
    at: datetime
    answer: str | None = None
    reason: str | None = None
    answered_at: datetime | None = None
    policy_digest: str | None = None
    inputs: Progress | None = None
    """All that it was decided from, besides the policy and the clock."""
    run: str | None = None


class Story(Payload):
    """The published form of `standby show --json` (UTC), and beside it what only a page for people shows."""

    key: str
    kind: str
    phase: Phase
    channel: Channel | None = None
    outcome: Outcome | None = None
    expires_at: datetime | None = None
    next_at: datetime | None = None
    attempts: tuple[AttemptRow, ...] = ()
    observations: tuple[ObservationRow, ...] = ()
    decisions: tuple[Decided, ...] = ()
    pruned_at: datetime | None = None
    """When its evidence was deleted, long after it closed."""
    told_by: str | None = Field(default=None, exclude=True)
    """Whose word it is: the ledger outlives the engine's memory."""
    next_step: str = Field(default="", exclude=True)
    rule: str | None = Field(default=None, exclude=True)
    reason: str | None = Field(default=None, exclude=True)
    closed_at: datetime | None = Field(default=None, exclude=True)
    ended: str | None = Field(default=None, exclude=True)
    """Why nothing more happens to a notice that has not closed."""
    notes: tuple[str, ...] = Field(default=(), exclude=True)
    """What could not be found out, and what is wrong."""

    @classmethod
    def recorded(cls, record: records.Story) -> Self:
        """Tell what is on record."""
        told = cls(
            **{name: getattr(record, name) for name in _SHARED},
            decisions=tuple(Decided(**each.model_dump()) for each in record.decisions),
            rule=record.notice.rule,
            reason=record.notice.reason,
            closed_at=record.notice.closed_at,
            pruned_at=record.notice.pruned_at,
        )
        return told.model_copy(update={"next_step": told.awaited})

    @classmethod
    def unrecorded(cls, key: str) -> Self:
        """Tell of a notice that no worker has put on record yet."""
        return cls(key=key, kind=unquote(key.partition(":")[0]), phase=Phase.QUEUED)

    def noting(self, note: str, **changes: object) -> Self:
        """Return the story with a note, and what follows from it."""
        return self.model_copy(update={**changes, "notes": (*self.notes, note)})

    def continued(self, run: Run | None) -> Self:
        """Return the story with what the engine knows of an open notice."""
        match run:
            case None:
                return self._over(_GONE)
            case Run(evidence=Evidence() as evidence):
                now = self.model_copy(update={name: getattr(evidence, name) for name in _PRESENT})
                return now.model_copy(update={"next_step": f"{now.awaited}{now.tries}"})
            case Run(result=Result() as result):
                return self._closed(result)
            case Run(failure=str(why)):
                return self._over(f"its run has ended without a result: {why}")
            case _:
                return self.noting(run.note or "")

    def within(self, verification: ChallengeStory | None) -> Self:
        """Return the story of a message of a verification, which withdraws its messages by itself."""
        if verification is None or self.rule != Rule.WITHDRAWN or self.closed_at is None:
            return self
        number = next((each.number for each in verification.deliveries if each.notice_key == self.key), None)
        later = [each.asked_at for each in verification.deliveries if number and each.number > number]
        if any(at <= self.closed_at for at in later):
            return self.model_copy(update={"reason": _REPLACED})
        why = _OVER.get(verification.state) if number else None
        return self.model_copy(update={"reason": why}) if why else self

    def as_json(self) -> str:
        """Return the published form."""
        return self.model_dump_json(indent=2, exclude=_INTERNAL)

    @property
    def held_by(self) -> str | None:
        """The control that holds its dispatch, by the last check on record; None where none does."""
        answered = [each for each in self.decisions if each.answer]
        if self.phase is Phase.CLOSED or not answered or answered[-1].answer != Answer.HELD:
            return None
        return (answered[-1].reason or "").removesuffix(_OFF)

    @property
    def awaited(self) -> str:
        """What is next; where a control holds it, which one, and where it is seen."""
        if self.held_by is None:
            return self.next_step
        step = "ask again" if Horizon.CONTROL in self.next_step else self.next_step
        return f"{step}{step and '; '}held by the control {self.held_by}, see: standby controls"

    @property
    def tries(self) -> str:
        """Tell how a send that is under way has gone so far, by the ledger; empty where none is."""
        rows = [each for each in self.attempts if each.channel is self.channel and each.dispatches]
        if self.phase is not Phase.CLAIMED or not rows:
            return ""
        row = rows[-1]
        count = "once" if row.dispatches == 1 else f"{row.dispatches} times"
        return f"; so far {count}{f', the last: {row.note}' if row.note else ''}"

    def _over(self, why: str) -> Self:
        return self.noting(f"{why}; nothing more happens by itself", next_at=None, next_step="", ended=why)

    def _closed(self, result: Result) -> Self:
        """Take a closing from the engine: a refused notice is on no other record."""
        closing = Decided(
            number=len(self.decisions) + 1,
            rule=result.rule,
            action="close",
            channel=result.channel,
            at=result.closed_at,
            reason=result.reason,
        )
        changes = {
            name: getattr(result, name) for name in ("outcome", "channel", "rule", "reason", "closed_at")
        }
        changes |= {"phase": Phase.CLOSED, "next_at": None, "decisions": (*self.decisions, closing)}
        return self.model_copy(update=changes)


_SHARED: Final = (
    *("key", "kind", "phase", "channel", "outcome", "expires_at", "next_at"),
    *("attempts", "observations"),
)
_PRESENT: Final = ("phase", "channel", "outcome", "expires_at", "next_at", "next_step")
_OFF: Final = "_off"
"""How a check names the control that holds a dispatch: with this at its end."""
_REPLACED: Final = "a later message of the same verification replaced it"
_OVER: Final = {
    ChallengeState.CONSUMED: "its verification was consumed",
    ChallengeState.EXPIRED: "its verification has expired",
    ChallengeState.DEAD: "its verification ended by too many wrong codes",
    ChallengeState.WITHDRAWN: "the caller withdrew its verification",
}
_GONE: Final = "the engine knows no run of it"
