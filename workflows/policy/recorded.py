"""A notice as the ledger has it, its words unchecked: what an older version wrote must be told, not refused.

This is also the published form of the record in `standby export`. It has no address, and no hash of one:
which suppressions are an address's own is for the ledger to say.
"""

from datetime import datetime

from pydantic import ConfigDict, Field, JsonValue

from workflows.policy.models import Payload

Terms = dict[str, JsonValue]
"""A policy as JSON."""


class Recorded(Payload):
    """A row; every instant is UTC."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", hide_input_in_errors=True, use_attribute_docstrings=True
    )


class RecordedNotice(Recorded):
    """The obligation."""

    key: str
    """`kind:event:recipient`, each part percent-encoded."""
    kind: str
    """The kind of notice."""
    event_id: str
    """The event that authorised it."""
    recipient_id: str
    """The caller's opaque id of the person."""
    chain: str
    """The first run of the workflow that owns the notice."""
    occurred_at: datetime | None = None
    """When the event happened, if the caller said so."""
    policy_digest: str
    """Names the terms that it was admitted under."""
    route: tuple[str, ...]
    """Its channels, in order."""
    phase: str
    """Where it is."""
    channel: str | None = None
    """The channel that it is on; once closed, the one whose evidence settled it."""
    outcome: str | None = None
    """How it closed; absent while it is open."""
    rule: str | None = None
    """The rule that closed it."""
    reason: str | None = None
    """Why it closed, where the rule does not say it all."""
    expires_at: datetime
    """When it stops being useful."""
    fallback_at: datetime | None = None
    """When silence stops being worth waiting for, if the caller said so."""
    last_evidence_at: datetime | None = None
    """When the last report came before it closed."""
    reads: int = 0
    """Reads of a provider that brought an answer."""
    created_at: datetime
    """When it was admitted."""
    closed_at: datetime | None = None
    """When it closed."""
    pruned_at: datetime | None = None
    """When its evidence was deleted, which leaves this row."""


class RecordedAttempt(Recorded):
    """One channel's single submission."""

    key: str
    """The notice key, the channel and a number."""
    channel: str
    """Its channel."""
    provider: str | None = None
    """Who was asked to send it."""
    provider_id: str | None = None
    """What the provider calls it."""
    state: str
    """Where it stands."""
    status: str | None = None
    """The strongest word that a provider gave."""
    is_final: bool = False
    """Whether that word was the provider's last."""
    dispatches: int = 0
    """How often it went to the wire; more than once only where that was proven to be safe."""
    first_dispatched_at: datetime | None = None
    """When it first went to the wire."""
    last_dispatched_at: datetime | None = None
    """When it last did."""
    settled_at: datetime | None = None
    """When its state became terminal."""
    note: str | None = None
    """Why the last dispatch was given back, or has no result."""
    has_address: bool = False
    """Whether the keyed hash of its address is on record, by which suppressions are known to be its own."""


class RecordedReport(Recorded):
    """One provider report, and what it did; in the order in which they were kept."""

    attempt_key: str
    """The attempt that it is about."""
    event_id: str
    """The same for every repetition of one report."""
    source: str
    """The answer to a send or to a poll, or a callback."""
    status: str
    """The provider's word, normalised."""
    is_final: bool
    """Whether the provider has stopped trying."""
    raw: str
    """The provider's own word."""
    code: str | None = None
    """Its code."""
    opt_out: str | None = None
    """The person's own choice, if it was one."""
    at: datetime
    """When it was learned."""
    provider_at: datetime | None = None
    """When it happened, by the provider's clock."""
    provider_id: str | None = None
    """What the provider calls the message."""
    verdict: str
    """Whether it moved the attempt."""
    reason: str
    """Why it did not."""


class RecordedDecision(Recorded):
    """One decision, all that it was made from, and what a check of fresh facts said to it."""

    run: str
    """The run of the workflow that decided."""
    number: int
    """Counts within the run."""
    rule: str
    """The rule that decided."""
    action: str
    """What was decided."""
    channel: str | None = None
    """For which channel."""
    at: datetime
    """When."""
    inputs: dict[str, JsonValue]
    """All that it was decided from, besides the terms and the clock."""
    answer: str | None = None
    """What the check said; absent where none was needed."""
    reason: str | None = None
    """Why it did not say yes."""
    answered_at: datetime
    """When it was said."""
    policy_digest: str
    """Names the terms that it was decided under."""


class RecordedSuppression(Recorded):
    """A reason why an address of this notice was not written to, at any time."""

    channel: str
    """The channel that it ends."""
    reason: str
    """An invalid address, or the person's own choice."""
    source_notice: str | None = None
    """The notice whose report said so, or who else did."""
    observed_at: datetime
    """When it was observed."""
    lifted_at: datetime | None = None
    """When a person lifted it."""


class RecordedControl(Recorded):
    """One setting of an operator's control, until the next of the same name."""

    name: str
    """What it turns on or off."""
    is_on: bool
    """Whether it is on."""
    percent: int
    """For which share of the notices."""
    changed_at: datetime
    """When it was set."""


class Record(Recorded):
    """Everything on record about one notice, oldest first."""

    notice: RecordedNotice
    """The obligation itself."""
    policies: dict[str, Terms] = Field(default_factory=dict)
    """The terms that its decisions name, by digest."""
    attempts: tuple[RecordedAttempt, ...] = ()
    """What was submitted."""
    observations: tuple[RecordedReport, ...] = ()
    """What providers reported."""
    decisions: tuple[RecordedDecision, ...] = ()
    """What was decided."""
    suppressions: tuple[RecordedSuppression, ...] = ()
    """What stood or stands in the way of its addresses, as far as an attempt put them on record."""
    controls: tuple[RecordedControl, ...] = ()
    """How operators set what may be dispatched, until it closed."""
