"""Identity: readable, and never the same for two notices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.policy.keys import attempt_key, attempted, key_of, notice_key, workflow_id
from workflows.policy.words import Channel

IDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)
# Few characters, and all of them with a meaning in a key, so that near misses are common.
TRICKY = st.text(":%~/ a3Aé", min_size=1, max_size=6)
TRIPLES = st.tuples(TRICKY, TRICKY, TRICKY)


@given(TRIPLES, TRIPLES)
def test_no_two_triples_share_a_key(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert (notice_key(*one) == notice_key(*other)) == (one == other)


@given(IDS, IDS, IDS)
def test_any_non_empty_id_is_accepted(kind: str, event_id: str, recipient_id: str) -> None:
    key = notice_key(kind, event_id, recipient_id)
    assert key.isascii()
    assert key.isprintable()
    assert key.count(":") == 2
    assert len(attempt_key(key, Channel.EMAIL)) < 1000


@given(IDS, IDS, IDS, st.sampled_from(Channel), st.integers(1, 9999))
def test_a_key_goes_there_and_back(a: str, b: str, c: str, channel: Channel, number: int) -> None:
    key = notice_key(a, b, c)
    assert key_of(workflow_id(key)) == key
    assert attempted(attempt_key(key, channel, number)) == (key, channel, number)


@pytest.mark.parametrize(
    ("triple", "key"),
    [
        pytest.param(
            ("password_reset", "r-81", "u_7"), "password_reset:r-81:u_7", id="plain ids stay as they are"
        ),
        pytest.param(("k", "a@b+c", "u.1"), "k:a@b+c:u.1", id="so do addresses and dots"),
        pytest.param(("k", "a:b", "c"), "k:a%3Ab:c", id="the separator is encoded"),
        pytest.param(("k", "a b", "c/d"), "k:a%20b:c%2Fd", id="space and slash are encoded"),
        pytest.param(("k", "%7E", "~"), "k:%257E:%7E", id="the escape and the mark of a digest are encoded"),
    ],
)
def test_a_key_can_be_read(triple: tuple[str, str, str], key: str) -> None:
    assert notice_key(*triple) == key


def test_ids_that_differ_only_after_the_cut_have_different_keys() -> None:
    long = "x" * 900
    first, second = notice_key("k", long + "1", "r"), notice_key("k", long + "2", "r")
    assert first != second
    assert first.startswith("k:xxxxxxxx")
    assert len(first) < 200


def test_a_shortened_id_is_not_the_id_that_looks_like_it() -> None:
    shortened = notice_key("k", "x" * 900, "r").split(":")[1]
    assert notice_key("k", shortened, "r") != notice_key("k", "x" * 900, "r")


@pytest.mark.parametrize("triple", [("", "e", "r"), ("k", "", "r"), ("k", "e", "")])
def test_an_empty_part_is_refused(triple: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="non-empty"):
        notice_key(*triple)


@pytest.mark.parametrize("key", ["", "a:b", "a:b:c:d", "a b:c:d", ":b:c", "a:b:c\n"])
def test_what_is_no_notice_key_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ValueError, match="not a notice key") as caught:
        key_of(key)
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize(
    "key",
    ["a:b:c", "a:b:c:email", "a:b:c:fax:1", "a:b:c:email:0", "a:b:c:email:²", "b:c:email:1", "a:b:c:sms:-1"],
)
def test_what_is_no_attempt_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="key"):
        attempted(key)
