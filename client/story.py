"""The story of one notice, without personal data: the ledger's record, and the engine's present."""

from datetime import datetime
from typing import Final, Self
from urllib.parse import unquote

from pydantic import Field

from activities.store import records
from activities.store.records import AttemptRow, ObservationRow
from client.runs import Run
from workflows.policy.evidence import Evidence
from workflows.policy.models import Payload, Result
from workflows.policy.progress import Progress
from workflows.policy.words import Channel, Outcome, Phase

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
        return cls(
            **{name: getattr(record, name) for name in _SHARED},
            decisions=tuple(Decided(**each.model_dump()) for each in record.decisions),
            rule=record.notice.rule,
            reason=record.notice.reason,
            closed_at=record.notice.closed_at,
        )

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
                return now.model_copy(update={"next_step": f"{now.next_step}{now.tries}"})
            case Run(result=Result() as result):
                return self._closed(result)
            case Run(failure=str(why)):
                return self._over(f"its run has ended without a result: {why}")
            case _:
                return self.noting(run.note or "")

    def as_json(self) -> str:
        """Return the published form."""
        return self.model_dump_json(indent=2, exclude=_INTERNAL)

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
        return self.noting(f"{why}; nothing more happens by itself", next_at=None, ended=why)

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
_GONE: Final = "the engine knows no run of it"
