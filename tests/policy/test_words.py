"""The vocabulary is shared with people, ledgers and other programs: a word once published stays."""

from enum import StrEnum

import pytest

from workflows.policy import words
from workflows.policy.words import Outcome, Status

PUBLISHED = {
    words.Channel: "email sms",
    words.Status: "pending accepted delivered temporary_failure invalid_recipient rejected unrecognized",
    words.AttemptState: "planned ambiguous submitted confirmed failed unknown",
    words.Phase: "queued claimed awaiting closed",
    words.Outcome: "accepted delivered unknown exhausted expired withdrawn refused",
    words.SettlesOn: "accepted delivered",
    words.OnUnresolved: "escalate expire",
}


@pytest.mark.parametrize("vocabulary", PUBLISHED)
def test_the_words_are_those_of_the_design(vocabulary: type[StrEnum]) -> None:
    assert list(vocabulary) == PUBLISHED[vocabulary].split()


@pytest.mark.parametrize("outcome", Outcome)
def test_only_evidence_counts_as_reached(outcome: Outcome) -> None:
    assert outcome.reached == (outcome in {Outcome.ACCEPTED, Outcome.DELIVERED})


def test_what_a_kind_settles_on_is_a_status_and_an_outcome() -> None:
    assert set(words.SettlesOn) <= set(Status) & set(Outcome)
