"""What a workflow may ask of the world: abstract activities, and the one payload in and out of each.

The implementations live in `activities/`; a workflow never imports them.
"""

from abc import ABC, abstractmethod
from enum import StrEnum

from pydantic import AwareDatetime, Field
from temporalio import activity

from workflows.policy.eligibility import Answer
from workflows.policy.models import NoticeRequest, Observation, Payload, Recipient, Result
from workflows.policy.plan import Rule
from workflows.policy.progress import Attempt, Progress
from workflows.policy.terms import Policy, Watch
from workflows.policy.words import AttemptState, Channel, Outcome, SuppressionReason


class Decision(Payload):
    """One decision and all that it was made from, so that it can be computed again."""

    number: int
    """Counts within one run, from 1."""
    rule: Rule
    action: str
    """`send`, `look_up` or `close`."""
    channel: Channel | None = None
    at: AwareDatetime
    progress: Progress
    policy_digest: str


class Admit(Payload):
    """Ask whether a notice may begin."""

    request: NoticeRequest
    chain: str
    """The first run of this workflow: an operator's reset keeps it, a new start does not."""


class Admission(Payload):
    """The answer: the terms that hold for this notice from now on, or why there is no notice."""

    refusal: str | None = None
    """One line that names the field; never what was in it."""
    policy: Policy | None = None
    policy_digest: str = ""
    expires_at: AwareDatetime | None = None
    ruled_out: dict[Channel, str] = Field(default_factory=dict)
    """Channels of the route that this recipient has no address for."""
    number: int = 1
    """Of every attempt: more than 1 only for a resend that a person asked for."""


class Check(Payload):
    """Ask, on fresh facts, whether this address may receive now; decision and answer go on record."""

    notice_key: str
    recipient: Recipient
    channel: Channel
    is_fallback: bool
    essential: bool
    expires_at: AwareDatetime
    decision: Decision
    due_at: AwareDatetime | None = None
    """When the dispatch was due by plan; None where nothing but a report, or a person, set the time."""


class Clearance(Payload):
    """The answer to a check, and when it was given (engine time)."""

    answer: Answer
    reason: str | None = None
    """A classified word: `suppressed`, `no_consent`, `no_address`, `dispatch_off`, …"""
    at: AwareDatetime
    ask_again_at: AwareDatetime | None = None
    news: tuple[Observation, ...] = ()
    """Before a fallback, what the ledger has of other channels: not every report finds its workflow."""
    observed: bool = False
    """Yes, but an operator only wants to see it: nothing leaves."""


class Send(Payload):
    """Dispatch one attempt, at most once; nothing leaves at or after `expires_at`."""

    attempt_key: str
    request: NoticeRequest
    channel: Channel
    is_fallback: bool
    essential: bool
    watch: Watch
    expires_at: AwareDatetime
    rule: Rule | None = None
    """Why, for the record of what became of it."""


class Dispatch(StrEnum):
    """What became of a dispatch."""

    SUBMITTED = "submitted"
    """The provider answered: the observation says what."""
    AMBIGUOUS = "ambiguous"
    """It may have left, and may not be repeated."""
    BARRED = "barred"
    """The facts changed between the check and the wire: nothing left."""


class Receipt(Payload):
    """The result of a dispatch."""

    dispatch: Dispatch
    provider: str | None = None
    provider_id: str | None = None
    observation: Observation | None = None
    clearance: Clearance | None = None
    """Set where the dispatch was barred."""
    readable: bool = True
    """Whether this provider, or the ledger, can be asked about the attempt later."""
    at: AwareDatetime


class LookUp(Payload):
    """Ask what became of an attempt; the ledger knows its provider and id."""

    attempt_key: str
    number: int
    """Counts the reads of this attempt, from 1: a retried activity records one observation."""
    decision: Decision | None = None
    """None where the ledger alone is asked."""
    next_at: AwareDatetime | None = None
    """When the next look at this notice is planned, for the ledger's row."""
    due_at: AwareDatetime | None = None
    """When this one was due by plan."""


class Report(Payload):
    """What a look-up found; no observation means that nobody could say anything new."""

    observation: Observation | None = None
    readable: bool = True
    unclaimed: bool = False
    """The ledger has no claim: whatever became of the dispatch, it did not go to the wire."""
    state: AttemptState | None = None
    """Where the ledger has the attempt now: reports may have reached it in another order."""
    at: AwareDatetime


class Record(Payload):
    """Keep a reported observation; the ledger applies the same table to it as the workflow did."""

    observation: Observation


class Filed(Payload):
    """Where the ledger has an attempt after a report; its word holds where reports raced."""

    state: AttemptState


class Suppress(Payload):
    """Stop writing to an address, for a classified reason."""

    notice_key: str
    channel: Channel
    address: str = Field(repr=False)
    reason: SuppressionReason
    observed_at: AwareDatetime


class Close(Payload):
    """Write the outcome, and a terminal state for every attempt."""

    result: Result
    attempts: tuple[Attempt, ...]
    decision: Decision | None = None


class Closed(Payload):
    """The outcome that stands in the ledger: after an operator's reset, the first one."""

    outcome: Outcome


class Admitting(ABC):
    """Puts the obligation on record before anything is done for it."""

    @activity.defn(name="admit")
    @abstractmethod
    async def admit(self, call: Admit) -> Admission:
        """Validate, resolve the terms, prove that every template renders, and write the notice."""


class Eligibility(ABC):
    """Knows who may receive what, now."""

    @activity.defn(name="check")
    @abstractmethod
    async def check(self, call: Check) -> Clearance:
        """Decide on fresh facts and put the decision on record; an error means no."""

    @activity.defn(name="suppress")
    @abstractmethod
    async def suppress(self, call: Suppress) -> None:
        """Stop writing to an address; doing it twice changes nothing."""


class Delivery(ABC):
    """Talks to providers."""

    @activity.defn(name="send")
    @abstractmethod
    async def send(self, call: Send) -> Receipt:
        """Claim the attempt, dispatch it, and write what came of it; never twice for one key."""

    @activity.defn(name="look_up")
    @abstractmethod
    async def look_up(self, call: LookUp) -> Report:
        """Ask the ledger, then the provider, what became of an attempt."""


class Chronicle(ABC):
    """Keeps the evidence."""

    @activity.defn(name="record")
    @abstractmethod
    async def record(self, call: Record) -> Filed:
        """Keep one reported observation; the same one twice is kept once."""

    @activity.defn(name="close")
    @abstractmethod
    async def close(self, call: Close) -> Closed:
        """Write the outcome and the last state of every attempt; the first outcome stands."""
