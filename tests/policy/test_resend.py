"""Whether another message may go out: every rule at its edge, and what no facts can change."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.drawn import lengths
from tests.policy.given import START, at
from workflows.policy.controls import Control, cohort
from workflows.policy.resend import Asked, Denied, judge, reach
from workflows.policy.terms import ChallengeTerms, Limit
from workflows.policy.verification import Denial
from workflows.policy.words import ChallengeState

KEY = "signup_verification:challenge-1:account-1"
PLACE = cohort(KEY)
OFF = Control(on=False)
TERMS = ChallengeTerms(
    resends=2,
    cooldown=timedelta(seconds=30),
    per_account=Limit(count=3, per=timedelta(hours=1)),
    per_destination=Limit(count=2, per=timedelta(minutes=10)),
)
SENT = Asked(
    notice_key=KEY,
    now=at(60),
    expires_at=at(600),
    state=ChallengeState.ACTIVE,
    sent=1,
    last_at=START,
    ambiguous=False,
    of_account=(START,),
    of_destination=(START,),
    resend=Control(),
)
"""A minute after the first message, when another one may go out."""
FIRST = replace(SENT, now=START, sent=0, last_at=None, of_account=(), of_destination=())


def ago(*seconds: int) -> tuple[datetime, ...]:
    """Return moments before now, the earliest first."""
    return tuple(SENT.now - timedelta(seconds=each) for each in sorted(seconds, reverse=True))


def test_another_message_goes_out_where_nothing_stands_in_its_way() -> None:
    assert judge(SENT, TERMS) is None


@pytest.mark.parametrize(
    ("changes", "denied"),
    [
        pytest.param({"state": ChallengeState.CONSUMED}, (Denial.OVER, None), id="consumed"),
        pytest.param({"state": ChallengeState.EXPIRED}, (Denial.OVER, None), id="expired"),
        pytest.param({"state": ChallengeState.DEAD}, (Denial.OVER, None), id="dead"),
        pytest.param({"state": ChallengeState.WITHDRAWN}, (Denial.OVER, None), id="withdrawn"),
        pytest.param({"state": ChallengeState.REFUSED}, (Denial.OVER, None), id="refused"),
        pytest.param({"now": at(600)}, (Denial.OVER, None), id="at the very moment of expiry"),
        pytest.param({"now": at(599.999)}, None, id="just before it"),
        pytest.param({"resend": OFF}, (Denial.SWITCHED_OFF, None), id="switched off"),
        pytest.param({"resend": Control(percent=PLACE)}, (Denial.SWITCHED_OFF, None), id="another cohort"),
        pytest.param({"resend": Control(percent=PLACE + 1)}, None, id="its cohort"),
        pytest.param({"sent": 2}, None, id="the last that the maximum leaves"),
        pytest.param({"sent": 3}, (Denial.MAXIMUM, None), id="one more than the maximum"),
        pytest.param({"last_at": at(30)}, None, id="when the cooldown is over"),
        pytest.param({"last_at": at(31)}, (Denial.COOLDOWN, at(61)), id="a second too early"),
        pytest.param({"ambiguous": True}, (Denial.AMBIGUOUS, None), id="one may still arrive"),
        pytest.param({"of_account": ago(3600, 2, 1)}, None, id="the account's hour has just passed"),
        pytest.param({"of_account": ago(3599, 2, 1)}, (Denial.ACCOUNT, at(61)), id="the account's hour"),
        pytest.param({"of_account": ago(90, 80, 70, 60)}, (Denial.ACCOUNT, at(3580)), id="over its limit"),
        pytest.param({"of_destination": ago(600, 1)}, None, id="the destination's minutes have passed"),
        pytest.param({"of_destination": ago(599, 1)}, (Denial.DESTINATION, at(61)), id="they have not"),
    ],
)
def test_every_rule_objects_at_its_edge(changes: dict[str, object], denied: Denied | None) -> None:
    assert judge(replace(SENT, **changes), TERMS) == denied  # type: ignore[arg-type]


def test_an_operator_can_let_messages_go_out_while_one_may_still_arrive() -> None:
    terms = TERMS.model_copy(update={"resend_over_ambiguous": True})

    assert judge(replace(SENT, ambiguous=True), terms) is None


def test_a_policy_can_allow_no_resend_at_all() -> None:
    terms = TERMS.model_copy(update={"resends": 0})

    assert (judge(FIRST, terms), judge(SENT, terms)) == (None, (Denial.MAXIMUM, None))


@pytest.mark.parametrize(
    ("changes", "denied"),
    [
        pytest.param({"resend": OFF}, None, id="the control of resends is not about it"),
        pytest.param({"of_account": ago(62, 61, 60)}, (Denial.ACCOUNT, at(3598)), id="the account's limit"),
        pytest.param({"of_destination": ago(62, 61)}, (Denial.DESTINATION, at(598)), id="the destination's"),
        pytest.param({"expires_at": START}, (Denial.OVER, None), id="it would come too late"),
    ],
)
def test_a_first_message_is_under_the_limits_and_under_no_control(
    changes: dict[str, object], denied: Denied | None
) -> None:
    assert judge(replace(FIRST, **changes), TERMS) == denied  # type: ignore[arg-type]


def test_whoever_asks_is_told_the_first_objection_in_order() -> None:
    facts = replace(
        SENT,
        state=ChallengeState.DEAD,
        resend=OFF,
        sent=3,
        last_at=SENT.now,
        ambiguous=True,
        of_account=ago(3, 2, 1),
        of_destination=ago(2, 1),
    )
    cures: list[dict[str, object]] = [
        {"state": ChallengeState.ACTIVE},
        {"resend": Control()},
        {"sent": 2},
        {"last_at": START},
        {"ambiguous": False},
        {"of_account": ()},
        {"of_destination": ()},
    ]

    told = []
    for cure in cures:
        told.append(reason(judge(facts, TERMS)))
        facts = replace(facts, **cure)  # type: ignore[arg-type]

    assert told == [each for each in Denial if each is not Denial.UNKNOWN_KIND]
    assert judge(facts, TERMS) is None


def test_the_limits_reach_as_far_back_as_the_longer_of_them() -> None:
    swapped = TERMS.model_copy(
        update={"per_account": TERMS.per_destination, "per_destination": TERMS.per_account}
    )

    assert reach(TERMS) == reach(swapped) == timedelta(hours=1)


def reason(denied: Denied | None) -> Denial | None:
    return denied[0] if denied else None


INSTANTS = lengths(0, 4000).map(lambda offset: START + offset)
TIMES = st.lists(INSTANTS, max_size=8).map(lambda drawn: tuple(sorted(drawn)))
CONTROLS = st.builds(Control, on=st.booleans(), percent=st.integers(0, 100))
LIMITS = st.builds(Limit, count=st.integers(1, 6), per=lengths(1, 3600))
TERMS_OF_ALL_KINDS = st.builds(
    ChallengeTerms,
    resends=st.integers(0, 4),
    cooldown=lengths(1, 300),
    resend_over_ambiguous=st.booleans(),
    per_account=LIMITS,
    per_destination=LIMITS,
)
FACTS = st.builds(
    Asked,
    notice_key=st.uuids().map(lambda each: f"signup_verification:{each}:account-1"),
    now=INSTANTS,
    expires_at=INSTANTS,
    state=st.sampled_from([ChallengeState.ACTIVE] * 4 + list(ChallengeState)),
    sent=st.integers(0, 6),
    last_at=st.none() | INSTANTS,
    ambiguous=st.booleans(),
    of_account=TIMES,
    of_destination=TIMES,
    resend=CONTROLS,
)


@given(facts=FACTS, terms=TERMS_OF_ALL_KINDS)
def test_a_moment_to_ask_again_lies_ahead_and_the_same_rule_no_longer_objects_then(
    facts: Asked, terms: ChallengeTerms
) -> None:
    why, again_at = judge(facts, terms) or (None, None)

    if again_at is not None:
        assert facts.now < again_at
        assert reason(judge(replace(facts, now=again_at), terms)) is not why
        just_before = again_at - timedelta(microseconds=1)
        assert reason(judge(replace(facts, now=just_before), terms)) in {why, Denial.OVER}


@given(facts=FACTS, terms=TERMS_OF_ALL_KINDS, later=lengths(0, 4000))
def test_waiting_helps_until_the_challenge_is_over(
    facts: Asked, terms: ChallengeTerms, later: timedelta
) -> None:
    if judge(facts, terms) is None:
        assert reason(judge(replace(facts, now=facts.now + later), terms)) in {None, Denial.OVER}


@given(facts=FACTS, terms=TERMS_OF_ALL_KINDS, more=TIMES)
def test_whatever_else_was_sent_never_lets_a_message_go_out(
    facts: Asked, terms: ChallengeTerms, more: tuple[datetime, ...]
) -> None:
    if judge(facts, terms) is not None:
        busier = replace(
            facts,
            sent=max(facts.sent, 1) + len(more),
            of_account=tuple(sorted(facts.of_account + more)),
            of_destination=tuple(sorted(facts.of_destination + more)),
        )
        assert judge(busier, terms) is not None


@given(facts=FACTS, terms=TERMS_OF_ALL_KINDS, higher=st.integers(0, 100))
def test_raising_the_share_of_a_control_only_lets_more_through(
    facts: Asked, terms: ChallengeTerms, higher: int
) -> None:
    if judge(facts, terms) is None:
        raised = facts.resend.model_copy(update={"percent": max(higher, facts.resend.percent)})
        assert judge(replace(facts, resend=raised), terms) is None


@given(facts=FACTS, terms=TERMS_OF_ALL_KINDS)
def test_more_lenient_terms_deny_nothing_that_the_stricter_ones_let_through(
    facts: Asked, terms: ChallengeTerms
) -> None:
    lenient = terms.model_copy(
        update={
            "resends": terms.resends + 1,
            "cooldown": terms.cooldown / 2,
            "resend_over_ambiguous": True,
            "per_account": terms.per_account.model_copy(update={"count": terms.per_account.count + 1}),
            "per_destination": terms.per_destination.model_copy(update={"per": timedelta(seconds=1)}),
        }
    )

    if judge(facts, terms) is None:
        assert judge(facts, lenient) is None


@given(facts=FACTS, terms=TERMS_OF_ALL_KINDS)
def test_nothing_goes_out_for_a_challenge_that_is_over(facts: Asked, terms: ChallengeTerms) -> None:
    if facts.state is not ChallengeState.ACTIVE or facts.now >= facts.expires_at:
        assert judge(facts, terms) == (Denial.OVER, None)


@given(facts=FACTS, terms=TERMS_OF_ALL_KINDS)
def test_a_limit_is_never_exceeded_within_any_stretch(facts: Asked, terms: ChallengeTerms) -> None:
    if judge(facts, terms) is None:
        for times, limit in (
            (facts.of_account, terms.per_account),
            (facts.of_destination, terms.per_destination),
        ):
            assert sum(each > facts.now - limit.per for each in times) < limit.count
