"""What can be decided: the steps of a notice, and the rules that choose them, by name."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from workflows.policy.words import Channel, Outcome


class Rule(StrEnum):
    """Why a step was chosen; the ledger, the UI and the console print these words."""

    SETTLED = "settled"
    """The evidence that the kind asks for is there."""
    CLOSING_READ = "closing_read"
    """A later channel went out while this one was undecided: it is read once before closing."""
    WITHDRAWN = "withdrawn"
    """The caller no longer needs the notice."""
    EXPIRED = "expired"
    """The notice has stopped being useful."""
    FIRST = "first"
    """Nothing was sent yet."""
    NEXT = "next"
    """The channel before it cannot be used."""
    HELD = "held"
    """An operator's control holds the dispatch."""
    NO_CHANNEL = "no_channel"
    """No channel of the route can be used."""
    FAILED = "failed"
    """The channel has failed for good."""
    UNRESOLVED = "unresolved"
    """The fallback deadline has passed without evidence."""
    NOT_SENT = "not_sent"
    """The channel could not be dispatched by its deadline."""
    DEADLINE_READ = "deadline_read"
    """The deadline has come: the provider is asked once more."""
    POLL = "poll"
    """A planned poll is due."""
    SILENCE = "silence"
    """Nothing is due yet: silence is not failure."""
    CUTOFF = "cutoff"
    """Learning more could not change an action."""


class Horizon(StrEnum):
    """What a wait is for."""

    POLL = "the next poll"
    DEADLINE = "the fallback deadline"
    CUTOFF = "the cutoff"
    EXPIRY = "expiry"
    CONTROL = "an operator's control"
    RETRY = "another try"


@dataclass(frozen=True, slots=True)
class Send:
    """Check eligibility on fresh facts, then dispatch; give up at `until` (UTC)."""

    rule: Rule
    channel: Channel
    until: datetime


@dataclass(frozen=True, slots=True)
class LookUp:
    """Ask what became of an attempt; an answer after `until` (UTC) would be of no use."""

    rule: Rule
    channel: Channel
    until: datetime


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing before `until` (UTC), unless something is reported."""

    rule: Rule
    until: datetime
    what: Horizon = Horizon.EXPIRY


@dataclass(frozen=True, slots=True)
class Close:
    """Write the outcome; `channel` is the one whose evidence settled it."""

    rule: Rule
    outcome: Outcome
    channel: Channel | None = None


Step = Send | LookUp | Wait | Close
