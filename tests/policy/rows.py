"""What a row about the plan is made of."""

from dataclasses import dataclass

from tests.policy.given import EMAIL, PAYOUT, RESET, SMS, at, notice, planned, sent
from workflows.policy.plan import Step
from workflows.policy.progress import Progress
from workflows.policy.terms import Policy
from workflows.policy.words import OnFailure, OnUnresolved, Status

RESET_OR_EXPIRE = RESET.model_copy(update={"on_unresolved": OnUnresolved.EXPIRE})
PAYOUT_OR_EXPIRE = PAYOUT.model_copy(update={"on_unresolved": OnUnresolved.EXPIRE})
PATIENT = RESET.model_copy(update={"on_failure": OnFailure.WAIT})
ALONE = PAYOUT.model_copy(update={"route": (EMAIL,)})


@dataclass(frozen=True)
class Row:
    """A notice at a moment, and what is done."""

    progress: Progress
    now: float
    step: Step
    policy: Policy = RESET


def asked(*, read_at: float, status: Status = Status.PENDING) -> Progress:
    """Return a notice whose email was last read at this time, and is undecided."""
    return notice(sent(EMAIL, status, last_read=at(read_at), reads=1), planned(SMS))


def payout(status: Status, **facts: object) -> Progress:
    """Return a payout notice whose email has this status."""
    return notice(sent(EMAIL, status, **facts), planned(SMS), policy=PAYOUT)
