from collections.abc import Mapping

import pytest

from tests.policy.given import EMAIL, KEY, SMS
from workflows.policy.keys import attempt_key
from workflows.policy.retrying import Allowed, Ask, Asked, Past, Refused, Sent, Word, rule
from workflows.policy.words import AttemptState, Channel, Outcome, Status

PENDING = Word(Status.PENDING, is_final=False)
ACCEPTED = Word(Status.ACCEPTED, is_final=True)
DELIVERED = Word(Status.DELIVERED, is_final=True)
BOUNCED = Word(Status.INVALID_RECIPIENT, is_final=True)
GAVE_UP = Word(Status.TEMPORARY_FAILURE, is_final=True)
DEFERRED = Word(Status.TEMPORARY_FAILURE, is_final=False)
REJECTED = Word(Status.REJECTED, is_final=True)

CONFIRMED, FAILED, UNKNOWN = AttemptState.CONFIRMED, AttemptState.FAILED, AttemptState.UNKNOWN


def sent(state: AttemptState, *words: Word, channel: Channel = EMAIL, **facts: bool) -> Sent:
    return Sent(attempt_key(KEY, channel), channel, state, "sandbox", words, **facts)


def past(outcome: Outcome | None, *attempts: Sent, **facts: object) -> Past:
    return Past(KEY, outcome, attempts, **facts)  # type: ignore[arg-type]


REFUSALS = {
    "open": (past(None), f"it is not closed: standby show {KEY}"),
    "a verification's": (past(Outcome.UNKNOWN, carries_challenge=True), "a message of a verification"),
    "refused": (past(Outcome.REFUSED, reason="fields.name: missing"), "refused (fields.name: missing)"),
    "accepted": (past(Outcome.ACCEPTED, sent(CONFIRMED, ACCEPTED)), "the email was accepted, which its kind"),
    "delivered": (past(Outcome.DELIVERED, sent(CONFIRMED, DELIVERED)), "the email was delivered"),
    "settled without its attempt": (past(Outcome.ACCEPTED), "it closed as accepted"),
    "expired": (past(Outcome.EXPIRED, sent(UNKNOWN)), "it expired"),
    "withdrawn": (past(Outcome.WITHDRAWN, sent(UNKNOWN)), "its caller withdrew it"),
    "late word": (past(Outcome.UNKNOWN, sent(UNKNOWN, PENDING, DELIVERED)), "the email was delivered"),
    "late word of an expired one": (past(Outcome.EXPIRED, sent(UNKNOWN, DELIVERED)), "was delivered"),
    "bounced after a delivery": (past(Outcome.UNKNOWN, sent(UNKNOWN, DELIVERED, BOUNCED)), "delivered"),
    "delivered after a failure": (past(Outcome.EXHAUSTED, sent(FAILED, BOUNCED, DELIVERED)), "delivered"),
    "one of two": (
        past(Outcome.UNKNOWN, sent(FAILED, BOUNCED), sent(CONFIRMED, channel=SMS)),
        "the text was accepted",
    ),
    "pruned": (past(Outcome.UNKNOWN, pruned=True), "its evidence was pruned"),
    "pruned after it arrived": (past(Outcome.DELIVERED, pruned=True), "it closed as delivered"),
    "observed": (past(Outcome.UNKNOWN, sent(UNKNOWN, PENDING, observed=True)), "only observed"),
}


@pytest.mark.parametrize(("of", "why"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_notice_that_may_have_arrived_or_is_not_wanted_is_not_tried_again(of: Past, why: str) -> None:
    ruling = rule(of)
    assert isinstance(ruling, Refused)
    assert why in ruling.why
    assert "\n" not in ruling.why


@pytest.mark.parametrize(
    "attempts",
    [
        (),
        (sent(AttemptState.PLANNED),),
        (sent(FAILED),),
        (sent(FAILED, REJECTED),),
        (sent(UNKNOWN, PENDING, BOUNCED),),
        (sent(UNKNOWN, GAVE_UP),),
        (sent(UNKNOWN, ACCEPTED, REJECTED),),
        (sent(FAILED, BOUNCED), sent(UNKNOWN, REJECTED, channel=SMS)),
    ],
)
def test_where_nothing_can_arrive_any_more_it_is_tried_again(attempts: tuple[Sent, ...]) -> None:
    assert rule(past(Outcome.EXHAUSTED, *attempts)) == Allowed()


@pytest.mark.parametrize(
    "open_one",
    [
        sent(UNKNOWN),
        sent(UNKNOWN, PENDING),
        sent(UNKNOWN, ACCEPTED),
        sent(UNKNOWN, DEFERRED),
        sent(UNKNOWN, Word(Status.REJECTED, is_final=False)),
        sent(AttemptState.SUBMITTED, PENDING),
        sent(AttemptState.AMBIGUOUS),
    ],
)
def test_a_provider_is_asked_about_what_may_still_arrive(open_one: Sent) -> None:
    settled = sent(FAILED, BOUNCED, channel=SMS)
    assert rule(past(Outcome.UNKNOWN, open_one, settled)) == Ask((open_one,))


WHY: Mapping[Asked, str] = {
    Asked.ANSWERED: "sandbox says pending of the email, which may arrive yet: try again later",
    Asked.NOTHING: "proves nothing: it cannot be reconciled",
    Asked.UNASKABLE: "cannot be asked about the email: it cannot be reconciled",
    Asked.NOT_FROM_HERE: "from here: set what it needs",
    Asked.FAILED: "could not be asked about the email: try again",
    Asked.HELD: "the control reconcile keeps sandbox from being asked",
}


@pytest.mark.parametrize("asked", Asked)
def test_asking_in_vain_is_a_refusal_that_says_what_is_missing(asked: Asked) -> None:
    ruling = rule(past(Outcome.UNKNOWN, sent(UNKNOWN, PENDING), asked={sent(UNKNOWN).key: asked}))
    assert isinstance(ruling, Refused)
    assert WHY[asked] in ruling.why


def test_an_answer_that_is_final_and_no_delivery_allows_the_retry() -> None:
    asked = {sent(UNKNOWN).key: Asked.ANSWERED}
    assert rule(past(Outcome.UNKNOWN, sent(UNKNOWN, PENDING, BOUNCED), asked=asked)) == Allowed()


def test_an_answer_about_one_of_two_leaves_the_other_to_be_asked() -> None:
    text = sent(UNKNOWN, channel=SMS)
    asked = {sent(UNKNOWN).key: Asked.FAILED}
    assert rule(past(Outcome.UNKNOWN, sent(UNKNOWN), text, asked=asked)) == Ask((text,))
