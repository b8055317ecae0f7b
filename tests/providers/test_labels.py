"""Our key where a provider's alphabet or length refuses it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.providers import labels
from activities.providers.labels import Label
from workflows.policy.keys import attempt_digest, attempt_key, notice_key
from workflows.policy.words import Channel

IDS = st.text(min_size=1, max_size=300).filter(
    lambda text: not any("\ud800" <= each <= "\udfff" for each in text)
)
KEYS = st.builds(attempt_key, st.builds(notice_key, IDS, IDS, IDS), st.sampled_from(Channel))


@given(key=KEYS, longest=st.integers(min_value=66, max_value=300))
def test_a_label_fits_and_leads_back_to_its_attempt(key: str, longest: int) -> None:
    label = labels.label(key, longest)

    assert re.fullmatch(r"[A-Za-z0-9_-]+", label)
    assert len(label) <= longest
    assert labels.read(label) in {Label(key=key), Label(digest=attempt_digest(key))}


@given(key=KEYS, longest=st.integers(min_value=66, max_value=300))
def test_a_header_fits_and_leads_back_to_its_attempt(key: str, longest: int) -> None:
    header = labels.header(key, longest)

    assert header.isascii()
    assert len(header) <= longest
    assert labels.read(header) in {Label(key=key), Label(digest=attempt_digest(key))}


@given(first=KEYS, second=KEYS)
def test_two_attempts_never_share_a_label(first: str, second: str) -> None:
    assert (labels.label(first) == labels.label(second)) == (first == second)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "x",
        "k-",
        "k-!",
        "k-AAAA",
        "k-AAAAA",
        "d-",
        "d-" + "g" * 64,
        "d-" + "a" * 63,
        "anna@example.test",
        "kind:event:user:pigeon:1",
        "k-" + "_" * 400,
    ],
)
def test_what_is_no_label_of_ours_names_nothing(text: str | None) -> None:
    assert labels.read(text) == Label()


@given(text=st.text(max_size=80))
def test_no_text_whatever_breaks_a_reading(text: str) -> None:
    for each in (text, f"k-{text}", f"d-{text}"):
        assert isinstance(labels.read(each), Label)
