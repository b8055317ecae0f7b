"""What a provider's own error code proves about a send, as values: an adapter's table holds these.

What `check` lets pass is left to `answers.accepted`, for which the HTTP status decides.
"""

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple, TypeVar

from activities.providers.answers import Answer
from activities.providers.base import Reported
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, ProviderError, Rejected
from workflows.policy.cleaning import LONGEST_CODE, cleaned
from workflows.policy.words import Status, SuppressionReason

Code = TypeVar("Code", str, int)


class Proof(Enum):
    """What is known of the message."""

    NOT_SENT = auto()
    REJECTED = auto()
    AMBIGUOUS = auto()
    """It may have been accepted; a repetition under the same key is answered as the provider documents."""
    UNREPEATABLE = auto()
    """It may have been accepted, and the key can bring no other answer."""
    MISCONFIGURED = auto()


class Meaning(NamedTuple):
    """What one code means."""

    proof: Proof
    status: Status = Status.REJECTED
    opt_out: SuppressionReason | None = None
    remedy: str = ""
    """What somebody must do about a setting; no personal data."""


LATER = Meaning(Proof.NOT_SENT)
"""Not accepted, and worth another try."""
UNSURE = Meaning(Proof.AMBIGUOUS)
UNREPEATABLE = Meaning(Proof.UNREPEATABLE)
REFUSED = Meaning(Proof.REJECTED)
"""Not this message, or not to this address; it says nothing against the address."""
INVALID = Meaning(Proof.REJECTED, Status.INVALID_RECIPIENT)
"""A fault of that very address."""
UNREACHABLE = Meaning(Proof.REJECTED, Status.TEMPORARY_FAILURE)
"""Refused now, for a reason that may pass."""
STOPPED = Meaning(Proof.REJECTED, opt_out=SuppressionReason.STOPPED)
UNSUBSCRIBED = Meaning(Proof.REJECTED, opt_out=SuppressionReason.UNSUBSCRIBED)


def wrong(remedy: str) -> Meaning:
    """Mean a setting that somebody must change."""
    return Meaning(Proof.MISCONFIGURED, remedy=remedy)


def check(answer: Answer, codes: Mapping[Code, Meaning], code: Code | None) -> None:
    """Raise what a refusal with this code proves; an acceptance, or a code without a row, passes."""
    meaning = None if answer.is_success or code is None else codes.get(code)
    if meaning is not None and (meaning.proof is not Proof.REJECTED or answer.is_refusal):
        raise error(meaning, answer, str(code))


def error(meaning: Meaning, answer: Answer, code: str) -> ProviderError | Misconfigured:
    """Return what to raise for a code; its text is the code's, never the provider's."""
    code = cleaned(code, LONGEST_CODE)
    words = f"{answer.words}, {code}"
    match meaning.proof:
        case Proof.NOT_SENT:
            return NotSent(words, retry_after=answer.retry_after())
        case Proof.AMBIGUOUS:
            return Ambiguous(words, retry_after=answer.retry_after())
        case Proof.UNREPEATABLE:
            return Ambiguous(words, repeatable=False)
        case Proof.MISCONFIGURED:
            return Misconfigured(f"{words}: {meaning.remedy}")
        case Proof.REJECTED:
            reported = Reported(meaning.status, is_final=True, raw=code, code=code, opt_out=meaning.opt_out)
            return Rejected(words, reported)
