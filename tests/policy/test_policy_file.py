"""A policy file: every mistake is one line with file, key and what is allowed."""

from datetime import timedelta

import pytest

from tests.policy.given import PAYOUT, RESET
from workflows.policy.policy_file import PolicyError, digest, read, scaled
from workflows.policy.terms import ChallengeTerms, Policy, Watch

SOURCE = "notices/x/policy.toml"

GOOD = """\
route = ["email", "sms"]
settles_on = "accepted"
on_unresolved = "escalate"
expires_after = "10m"

[email]
polls = ["15s", "45s", "105s"]

[sms]
polls = []
"""
TERMS = RESET.model_copy(update={"sms": Watch(polls=())})

DURATION = 'a duration like "90s", "3m", "1h30m" or "2d", up to 366d'
WATCH = "polls, backoff, provider"
TOO_LITTLE = "min_useful: must be less than half of expires_after, where there is a fallback"
KEYS = (
    "route, settles_on, on_unresolved, on_failure, essential, expires_after, cutoff_before_expiry,"
    " min_useful, fallback_after, fallback_before_expiry, email, sms, challenge"
)
LIMIT = "the keys count, per"
CHALLENGE = (
    "code_digits, wrong_codes, resends, cooldown, resend_over_ambiguous, automatic_resend_after,"
    " per_account, per_destination, countries"
)
CARRIED = (
    GOOD
    + """
[challenge]
countries = ["US", "CA"]
"""
)


def mistakes(text: str) -> tuple[str, ...]:
    """Return the lines about a file."""
    with pytest.raises(PolicyError) as caught:
        read(text, SOURCE)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def test_a_good_file_gives_its_terms() -> None:
    assert read(GOOD, SOURCE) == TERMS


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('"accepted"', '"acepted"', "settles_on: unknown word; allowed: accepted, delivered"),
        ('"sms"]', '"fax"]', "route.1: unknown word; allowed: email, sms"),
        ('["email", "sms"]', '"email"', "route: wrong type; allowed: a list of: email, sms"),
        ('["email", "sms"]', "[]", "route: empty; allowed: a list of: email, sms"),
        (', "sms"]', ', "email"]', "route: names a channel more than once; allowed: a list of: email, sms"),
        ('on_unresolved = "escalate"\n', "", "on_unresolved: required; allowed: escalate, expire"),
        ('"10m"', "600", f"expires_after: not a duration; allowed: {DURATION}"),
        ('"10m"', '"10 minutes"', f"expires_after: not a duration; allowed: {DURATION}"),
        ('"10m"', '"0s"', f"expires_after: out of range; allowed: {DURATION}"),
        ('"10m"', '"2m"', f"{TOO_LITTLE}; allowed: {DURATION}"),
        ('"45s"', '"45"', f"email.polls.1: not a duration; allowed: {DURATION}"),
        ('"45s"', '"5s"', f"email.polls: must ascend, each once; allowed: a list of: {DURATION}"),
        ('polls = ["', 'pols = ["', f"email.pols: unknown key, did you mean polls?; allowed: {WATCH}"),
        ("settles_on =", 'quiet = "x"\nsettles_on =', f"quiet: unknown key; allowed: {KEYS}"),
        ("[email]", "[email]\nbackoff = {first = '1s', cap = '9s'}",
         f"email: give polls or backoff, not both; allowed: the keys {WATCH}"),
        ("[sms]", "[email.backoff]\nfist = '1s'\n\n[sms]",
         f"email: give polls or backoff, not both; allowed: the keys {WATCH}"),
        ('polls = ["', "backoff = {first = '1s', cap = '9s', limit = 0}\n#",
         "email.backoff.limit: out of range; allowed: a number from 1 to 50"),
        ('polls = ["', "backoff = {first = '1s', cap = '9s', jitter = nan}\n#",
         "email.backoff.jitter: out of range; allowed: a number from 0.0 to 0.5"),
        ('polls = ["', "backoff = {first = '1s'}\n#", f"email.backoff.cap: required; allowed: {DURATION}"),
        ("settles_on =", 'essential = "yes"\nsettles_on =', "essential: wrong type; allowed: true or false"),
        ("[email]", "[email]\nprovider = 3", "email.provider: wrong type; allowed: text"),
        ('"105s"', '"10m"', "email.polls.2: must be earlier than expires_after"),
        ('"105s"', '"20m", "30m"', "email.polls.2: must be earlier than expires_after"),
        ('polls = ["', "backoff = {first = '10m', cap = '1h'}\n#",
         "email.backoff.first: must be earlier than expires_after"),
        ("[sms]\npolls = []", "",
         "sms: give polls or backoff; polls = [] never asks what became of a message"),
        (', "sms"]', "]", "sms: is not in route; add it there, or remove the table"),
        ("settles_on =", '"a\\nb" = 1\nsettles_on =', f"?: unknown key; allowed: {KEYS}"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_file_key_and_what_is_allowed(old: str, new: str, line: str) -> None:
    assert GOOD.count(old) == 1
    assert mistakes(GOOD.replace(old, new)) == (f"{SOURCE}: {line}",)


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("countries =", "code_digts = 8\ncountries =",
         f"challenge.code_digts: unknown key, did you mean code_digits?; allowed: {CHALLENGE}"),
        ("countries =", "code_digits = 5\ncountries =",
         "challenge.code_digits: out of range; allowed: a number from 6 to 8"),
        ("countries =", "code_digits = 9\ncountries =",
         "challenge.code_digits: out of range; allowed: a number from 6 to 8"),
        ("countries =", 'code_digits = "6"\ncountries =',
         "challenge.code_digits: wrong type; allowed: a number from 6 to 8"),
        ("countries =", "wrong_codes = 6\ncountries =",
         "challenge.wrong_codes: out of range; allowed: a number from 1 to 5"),
        ("countries =", "wrong_codes = 0\ncountries =",
         "challenge.wrong_codes: out of range; allowed: a number from 1 to 5"),
        ("countries =", "resends = 21\ncountries =",
         "challenge.resends: out of range; allowed: a number from 0 to 20"),
        ("countries =", "cooldown = 30\ncountries =",
         f"challenge.cooldown: not a duration; allowed: {DURATION}"),
        ("countries =", 'cooldown = "0s"\ncountries =',
         f"challenge.cooldown: out of range; allowed: {DURATION}"),
        ("countries =", "automatic_resend_after = 60\ncountries =",
         f"challenge.automatic_resend_after: not a duration; allowed: {DURATION}"),
        ("countries =", 'resend_over_ambiguous = "no"\ncountries =',
         "challenge.resend_over_ambiguous: wrong type; allowed: true or false"),
        ("countries =", "per_account = {count = 5, per = 3600}\ncountries =",
         f"challenge.per_account.per: not a duration; allowed: {DURATION}"),
        ("countries =", "per_destination = {count = 5}\ncountries =",
         f"challenge.per_destination.per: required; allowed: {DURATION}"),
        ("countries =", 'per_account = {count = 0, per = "1h"}\ncountries =',
         "challenge.per_account.count: out of range; allowed: a number from 1 to 10000"),
        ("countries =", "per_account = 5\ncountries =",
         f"challenge.per_account: wrong type; allowed: {LIMIT}"),
        ('"US"', '"us"', "challenge.countries.0: unfit; allowed: text that matches ^[A-Z]{2}$"),
        ('"US"', '"USA"', "challenge.countries.0: unfit; allowed: text that matches ^[A-Z]{2}$"),
        ('countries = ["US", "CA"]\n', "",
         'challenge.countries: name the countries that texts may go to, like ["US", "CA"]'),
        ('["US", "CA"]', "[]",
         'challenge.countries: name the countries that texts may go to, like ["US", "CA"]'),
    ],
)  # fmt: skip
def test_a_mistake_about_a_challenge_is_told_alike(old: str, new: str, line: str) -> None:
    assert CARRIED.count(old) == 1
    assert mistakes(CARRIED.replace(old, new)) == (f"{SOURCE}: {line}",)


def test_a_challenge_has_terms_where_a_file_names_none_and_no_countries_where_no_texts_go() -> None:
    carried = read(CARRIED, SOURCE)
    assert carried.challenge == ChallengeTerms(countries=("US", "CA"))
    by_email = GOOD.replace(', "sms"]', "]").replace("\n[sms]\npolls = []\n", "\n[challenge]\n")
    assert read(by_email, SOURCE).challenge == ChallengeTerms()
    assert read(GOOD, SOURCE).challenge is None


def test_several_mistakes_are_told_at_once() -> None:
    text = GOOD.replace('"accepted"', '"x"').replace('"escalate"', '"y"').replace('"45s"', '"z"')
    assert [each.split(":")[1].strip() for each in mistakes(text)] == [
        "settles_on",
        "on_unresolved",
        "email.polls.1",
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param(GOOD + "sms =", "line 11: not TOML: Invalid value", id="unfinished"),
        pytest.param(
            "a = 1\na = 2\n", "line 2, column 6: not TOML: Cannot overwrite a value", id="a key twice"
        ),
        pytest.param("a = 'x\n", "line 1: not TOML: ", id="unterminated"),
        pytest.param("a = " + "9" * 5000, "not TOML that anybody would write", id="endless number"),
        pytest.param("a = " + "[" * 5000, "not TOML that anybody would write", id="endless nesting"),
    ],
)
def test_what_is_no_toml_is_one_line_with_its_place(text: str, line: str) -> None:
    (told,) = mistakes(text)
    assert told.startswith(f"{SOURCE}: {line}")
    assert "\n" not in told


def test_the_digest_changes_with_any_term() -> None:
    others = [
        RESET.model_copy(update={"essential": True}),
        RESET.model_copy(update={"min_useful": timedelta(seconds=59)}),
        scaled(RESET, 0.5),
        PAYOUT,
    ]
    assert len({digest(each) for each in (RESET, *others)}) == 5


def test_the_digest_is_the_same_wherever_the_terms_come_from() -> None:
    assert digest(read(GOOD, SOURCE)) == digest(Policy.model_validate_json(TERMS.model_dump_json()))
    assert len(digest(RESET)) == 16


def test_an_open_notice_keeps_terms_that_no_file_may_give_any_more() -> None:
    late = RESET.model_copy(update={"email": Watch(polls=(timedelta(minutes=11),)), "sms": Watch()})
    assert Policy.model_validate_json(late.model_dump_json()) == late


def test_scaling_multiplies_every_duration_and_nothing_else() -> None:
    policy = read(GOOD.replace("polls = []", "backoff = {first = '10s', cap = '60s', factor = 3}"), SOURCE)
    quick = scaled(policy, 0.1)
    assert quick.expires_after == timedelta(minutes=1)
    assert quick.cutoff_before_expiry == timedelta(seconds=3)
    assert quick.min_useful == timedelta(seconds=6)
    assert quick.fallback_after is None
    assert quick.email.polls == (timedelta(seconds=1.5), timedelta(seconds=4.5), timedelta(seconds=10.5))
    assert quick.sms.backoff is not None
    assert (quick.sms.backoff.first, quick.sms.backoff.factor) == (timedelta(seconds=1), 3)
    assert (quick.route, quick.settles_on) == (policy.route, policy.settles_on)
    assert scaled(policy, 1) == policy
