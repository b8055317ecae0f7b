"""Four facts at a glance, each with its own time, and nobody's address among them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy.drawn import lengths
from tests.policy.given import START, at
from tests.policy.test_telling import table
from workflows.policy import verification_telling as telling
from workflows.policy.keys import delivery_event, notice_key
from workflows.policy.verification import Facts, Told
from workflows.policy.words import ChallengeState, Outcome

ID = "challenge-1"


def key(number: int) -> str:
    return notice_key("signup_verification", delivery_event(ID, number), "account-1")


FIRST = Told(number=1, notice_key=key(1), asked_at=at(1), outcome=Outcome.WITHDRAWN)
SECOND = Told(number=2, notice_key=key(2), asked_at=at(61))
FACTS = Facts(
    challenge_id=ID,
    state=ChallengeState.CONSUMED,
    created_at=START,
    expires_at=at(600),
    messages=(FIRST, SECOND),
    consumed_at=at(90),
)


def test_the_details_tell_each_fact_with_its_own_time() -> None:
    details = telling.details(FACTS)

    assert details.startswith("**consumed** · nothing further is sent\n")
    assert table(details) == [
        ["fact", "when (UTC)"],
        ["challenge created", "2026-03-01 12:00:00Z"],
        ["message 1 asked for", "2026-03-01 12:00:01Z"],
        ["message 1 transport", f"closed: withdrawn · `{key(1)}`"],
        ["message 2 asked for", "2026-03-01 12:01:01Z"],
        ["message 2 transport", f"open · `{key(2)}`"],
        ["challenge consumed", "2026-03-01 12:01:30Z"],
        ["expires", "2026-03-01 12:10:00Z"],
    ]


@pytest.mark.parametrize(
    ("facts", "head"),
    [
        ({"state": ChallengeState.ACTIVE, "expires_at": None}, "next: the challenge is put on record"),
        ({"state": ChallengeState.ACTIVE}, "next: until 12:10:00Z the link or code may be presented"),
        ({"state": ChallengeState.DEAD}, "nothing further is sent"),
        ({"state": ChallengeState.REFUSED, "reason": "limited: account"}, "limited: account"),
    ],
)
def test_the_details_begin_with_where_it_stands_and_what_is_next(facts: dict[str, object], head: str) -> None:
    changed = FACTS.model_copy(update=facts)

    assert telling.details(changed).splitlines()[0] == f"**{changed.state}** · {head}"


def test_what_has_not_happened_has_no_time() -> None:
    details = telling.details(Facts(challenge_id=ID, state=ChallengeState.ACTIVE))

    assert table(details)[1:] == [["challenge created", "-"], ["challenge consumed", "-"], ["expires", "-"]]


@pytest.mark.parametrize("outcome", Outcome)
def test_no_fate_of_a_message_reads_as_a_consumption(outcome: Outcome) -> None:
    told = FIRST.model_copy(update={"outcome": outcome})
    facts = FACTS.model_copy(
        update={"state": ChallengeState.ACTIVE, "messages": (told,), "consumed_at": None}
    )

    rows = dict(table(telling.details(facts)))

    assert rows["message 1 transport"].startswith(f"closed: {outcome} ")
    assert rows["challenge consumed"] == "-"


def test_a_timer_and_the_title_say_what_is_waited_for_and_for_whom() -> None:
    assert telling.pause(at(600)) == "until 12:10:00Z, unless it is consumed"
    assert telling.title("account-1", "signup") == "verification of account-1: signup"


INSTANTS = st.none() | lengths(0, 4000).map(lambda offset: START + offset)
MESSAGES = st.integers(0, 20).flatmap(
    lambda count: st.tuples(
        *(
            st.builds(
                Told,
                number=st.just(number),
                notice_key=st.just(key(number)),
                asked_at=lengths(0, 4000).map(lambda offset: START + offset),
                outcome=st.none() | st.sampled_from(Outcome),
            )
            for number in range(1, count + 1)
        )
    )
)


@given(
    state=st.sampled_from(ChallengeState),
    created_at=INSTANTS,
    expires_at=INSTANTS,
    messages=MESSAGES,
    consumed_at=INSTANTS,
)
def test_the_table_stands_whatever_has_happened(**known: object) -> None:
    facts = Facts.model_validate({"challenge_id": ID} | known)

    assert len(table(telling.details(facts))) == 4 + 2 * len(facts.messages)
