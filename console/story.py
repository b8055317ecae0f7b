"""The story of one notice, without personal data: the ledger's record, and the engine's present."""

from datetime import datetime
from typing import Final, Self
from urllib.parse import unquote

from pydantic import Field

from activities.store import records
from activities.store.records import AttemptRow, ObservationRow
from console.runs import Run
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
                return self.noting(_GONE, next_at=None)
            case Run(evidence=Evidence() as evidence):
                return self.model_copy(update={name: getattr(evidence, name) for name in _PRESENT})
            case Run(result=Result() as result):
                return self._closed(result)
            case Run(failure=str(why)):
                return self.noting(
                    f"its run has ended without a result: {why}; nothing more happens", next_at=None
                )
            case _:
                return self.noting(run.note or "")

    def as_json(self) -> str:
        """Return the published form."""
        return self.model_dump_json(indent=2, exclude=_INTERNAL)

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
_GONE: Final = "the engine knows no run of it: nothing more happens by itself"
