"""Rows as values: what the ledger knows of a notice, its attempts, its evidence and its decisions."""

from datetime import datetime

from pydantic import Field

from workflows.policy.controls import Control, Switch
from workflows.policy.models import Payload
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.words import (
    AttemptState,
    Channel,
    Outcome,
    Phase,
    Source,
    Status,
    SuppressionReason,
    Verdict,
)


class NoticeRow(Payload):
    """One obligation; every instant is UTC."""

    key: str
    kind: str
    event_id: str
    recipient_id: str
    chain: str
    """The first run of the workflow that owns it."""
    occurred_at: datetime | None = None
    policy_digest: str
    route: tuple[Channel, ...]
    phase: Phase
    channel: Channel | None = None
    """The channel that it is on; once closed, the one whose evidence settled it."""
    outcome: Outcome | None = None
    rule: str | None = None
    reason: str | None = None
    expires_at: datetime
    fallback_at: datetime | None = None
    next_at: datetime | None = None
    """When something is due next, as far as the ledger was told."""
    last_evidence_at: datetime | None = None
    reads: int = 0
    """Reads that brought an answer."""
    created_at: datetime
    closed_at: datetime | None = None
    pruned_at: datetime | None = None
    """When its evidence was deleted; this row stays."""
    version: int = 0


class AttemptRow(Payload):
    """One channel's single submission."""

    key: str
    notice_key: str
    channel: Channel
    number: int
    provider: str | None = None
    provider_id: str | None = None
    address_hash: str | None = Field(default=None, repr=False)
    state: AttemptState
    status: Status | None = None
    """The strongest word so far."""
    is_final: bool = False
    dispatches: int = 0
    """How often it went to the wire; more than once only where that was proven to be safe."""
    first_dispatched_at: datetime | None = None
    last_dispatched_at: datetime | None = None
    settled_at: datetime | None = None
    note: str | None = None
    """Why the last dispatch was given back, or has no result."""
    version: int = 0


class ObservationRow(Payload):
    """One report, and what it did."""

    attempt_key: str
    event_id: str
    source: Source
    status: Status
    is_final: bool
    raw: str
    code: str | None = None
    opt_out: SuppressionReason | None = None
    at: datetime
    provider_at: datetime | None = None
    provider_id: str | None = None
    verdict: Verdict
    reason: str


class DecisionRow(Payload):
    """One decision, what it was made from, and what the check made of it."""

    run: str
    number: int
    rule: Rule
    action: str
    channel: Channel | None = None
    at: datetime
    inputs: Progress
    answer: str | None = None
    reason: str | None = None
    answered_at: datetime
    policy_digest: str


class ControlChange(Payload):
    """One setting of a control: who, when (UTC) and why."""

    name: Switch
    is_on: bool
    percent: int
    changed_at: datetime
    changed_by: str
    why: str

    @property
    def control(self) -> Control:
        """The setting itself."""
        return Control(on=self.is_on, percent=self.percent)


class Story(Payload):
    """Everything about one notice, oldest first."""

    key: str
    kind: str
    phase: Phase
    channel: Channel | None = None
    outcome: Outcome | None = None
    expires_at: datetime
    next_at: datetime | None = None
    attempts: tuple[AttemptRow, ...] = ()
    observations: tuple[ObservationRow, ...] = ()
    decisions: tuple[DecisionRow, ...] = ()
    notice: NoticeRow = Field(exclude=True, repr=False)
    """The whole row; the published JSON has the fields above."""
