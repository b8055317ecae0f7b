"""The transition table of an attempt: every pair is listed, and what is refused says why.

A row is an attempt's state, a column a normalised status with its finality (True: the provider has
stopped trying). The order of arrival never matters to safety: providers report late, twice and out of
order, a callback may precede the receipt of its own send, and a terminal state never moves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from workflows.policy.words import AttemptState, Status, Verdict

TERMINAL = frozenset({AttemptState.CONFIRMED, AttemptState.FAILED, AttemptState.UNKNOWN})
OPEN = frozenset({AttemptState.AMBIGUOUS, AttemptState.SUBMITTED})
"""Dispatched, and still waiting for evidence."""


@dataclass(frozen=True, slots=True)
class Transition:
    """What a report does to its attempt: where it stands afterwards, and how the report is filed."""

    state: AttemptState
    verdict: Verdict
    reason: str = ""


def _to(state: AttemptState) -> Transition:
    return Transition(state, Verdict.APPLIED)


def _repeats(state: AttemptState) -> Transition:
    return Transition(state, Verdict.REPEATED, "it says what is known already")


def _refused(state: AttemptState, reason: str) -> Transition:
    return Transition(state, Verdict.REFUSED, reason)


_UNDER_WAY = _to(AttemptState.SUBMITTED)
_DONE = _to(AttemptState.CONFIRMED)
_OVER = _to(AttemptState.FAILED)

_STANDS = _refused(AttemptState.CONFIRMED, "delivery is not undone; the report may still concern the address")
_FAILED = _refused(AttemptState.FAILED, "the attempt has failed for good, and the route has moved on")
_CLOSED = Transition(AttemptState.UNKNOWN, Verdict.LATE, "the evidence window had closed")

Row = Mapping[tuple[Status, bool], Transition]

_EVIDENCE: Row = MappingProxyType(
    {
        (Status.PENDING, False): _UNDER_WAY,
        (Status.PENDING, True): _UNDER_WAY,
        (Status.ACCEPTED, False): _UNDER_WAY,
        # Acceptance may be a provider's last word: that ends the reading, not the waiting.
        (Status.ACCEPTED, True): _UNDER_WAY,
        (Status.DELIVERED, False): _DONE,
        (Status.DELIVERED, True): _DONE,
        # Greylisting comes before a normal delivery; only a provider that gave up has failed.
        (Status.TEMPORARY_FAILURE, False): _UNDER_WAY,
        (Status.TEMPORARY_FAILURE, True): _OVER,
        (Status.INVALID_RECIPIENT, False): _UNDER_WAY,
        (Status.INVALID_RECIPIENT, True): _OVER,
        (Status.REJECTED, False): _UNDER_WAY,
        (Status.REJECTED, True): _OVER,
        # A word that nobody knows still proves that the provider has the message.
        (Status.UNRECOGNIZED, False): _UNDER_WAY,
        (Status.UNRECOGNIZED, True): _UNDER_WAY,
    },
)

TABLE: Mapping[AttemptState, Row] = MappingProxyType(
    {
        # A callback may come before the receipt of its own send.
        AttemptState.PLANNED: _EVIDENCE,
        AttemptState.AMBIGUOUS: _EVIDENCE,
        AttemptState.SUBMITTED: _EVIDENCE,
        AttemptState.CONFIRMED: MappingProxyType(
            {
                (Status.PENDING, False): _STANDS,
                (Status.PENDING, True): _STANDS,
                (Status.ACCEPTED, False): _STANDS,
                (Status.ACCEPTED, True): _STANDS,
                (Status.DELIVERED, False): _repeats(AttemptState.CONFIRMED),
                (Status.DELIVERED, True): _repeats(AttemptState.CONFIRMED),
                (Status.TEMPORARY_FAILURE, False): _STANDS,
                (Status.TEMPORARY_FAILURE, True): _STANDS,
                # Asynchronous bounces follow a delivery: the state stays and hygiene acts.
                (Status.INVALID_RECIPIENT, False): _STANDS,
                (Status.INVALID_RECIPIENT, True): _STANDS,
                (Status.REJECTED, False): _STANDS,
                (Status.REJECTED, True): _STANDS,
                (Status.UNRECOGNIZED, False): _STANDS,
                (Status.UNRECOGNIZED, True): _STANDS,
            },
        ),
        AttemptState.FAILED: MappingProxyType(
            {
                (Status.PENDING, False): _FAILED,
                (Status.PENDING, True): _FAILED,
                (Status.ACCEPTED, False): _FAILED,
                (Status.ACCEPTED, True): _FAILED,
                (Status.DELIVERED, False): _FAILED,
                (Status.DELIVERED, True): _FAILED,
                (Status.TEMPORARY_FAILURE, False): _FAILED,
                (Status.TEMPORARY_FAILURE, True): _repeats(AttemptState.FAILED),
                (Status.INVALID_RECIPIENT, False): _FAILED,
                (Status.INVALID_RECIPIENT, True): _repeats(AttemptState.FAILED),
                (Status.REJECTED, False): _FAILED,
                (Status.REJECTED, True): _repeats(AttemptState.FAILED),
                (Status.UNRECOGNIZED, False): _FAILED,
                (Status.UNRECOGNIZED, True): _FAILED,
            },
        ),
        AttemptState.UNKNOWN: MappingProxyType(
            {(status, final): _CLOSED for status in Status for final in (False, True)},
        ),
    },
)

_RANK: Mapping[Status, int] = MappingProxyType(
    {
        Status.UNRECOGNIZED: 0,
        Status.PENDING: 1,
        # The later of these two is the news: a kind may wait for acceptance after a temporary failure.
        Status.ACCEPTED: 2,
        Status.TEMPORARY_FAILURE: 2,
        Status.DELIVERED: 3,
        Status.REJECTED: 4,
        Status.INVALID_RECIPIENT: 4,
    },
)


def transition(state: AttemptState, status: Status, *, is_final: bool) -> Transition:
    """Look up what a report does to an attempt in this state."""
    return TABLE[state][status, is_final]


def stronger(known: Status | None, new: Status) -> Status:
    """Return which of two words is the better evidence; the new one where they weigh the same."""
    return new if known is None or _RANK[new] >= _RANK[known] else known


def prevailing(
    known: tuple[Status | None, bool], new: tuple[Status, bool], state: AttemptState
) -> tuple[Status, bool]:
    """Return the word that stands for an attempt, with its own finality, after a report moved it to `state`.

    The report that ends an attempt has the last word: what stands agrees with the state.
    """
    status, _ = known
    if status is None or state in TERMINAL or stronger(status, new[0]) is new[0]:
        return new
    return status, known[1]


def lapse(state: AttemptState, *, settled: bool) -> AttemptState:
    """Return where an attempt stands once its notice has closed: open ones become terminal.

    `settled` says that this attempt's evidence is what the kind asked for.
    """
    if state not in OPEN:
        return state
    return AttemptState.CONFIRMED if settled else AttemptState.UNKNOWN
