"""The token of an unsubscribe link: made here, read here, and by nobody else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.keyring import Keyring
from activities.unsubscribing import LENGTH, address_hash, token
from tests.activities.given import EMAIL, KEYRING

HASHED = KEYRING.address_hash(EMAIL, "anna@example.test")
TOKEN = token(KEYRING, HASHED)
OTHER = Keyring(None, {}, b"o" * 32)


def test_a_token_names_its_address_by_the_hash_that_the_ledger_knows() -> None:
    assert address_hash(KEYRING, TOKEN) == HASHED


def test_a_token_is_the_same_every_time_and_another_for_another_address() -> None:
    assert token(KEYRING, HASHED) == TOKEN
    assert token(KEYRING, "0" * 64) != TOKEN


def test_a_token_outlives_every_rotation_of_the_payload_keys() -> None:
    rotated = Keyring("new", {"new": b"n" * 32}, KEYRING.address)
    assert address_hash(rotated, TOKEN) == HASHED


def test_a_token_of_another_deployment_names_nothing() -> None:
    assert address_hash(KEYRING, token(OTHER, HASHED)) is None


@pytest.mark.parametrize("at", range(LENGTH))
def test_a_token_with_any_one_character_changed_names_nothing(at: int) -> None:
    other = "A" if TOKEN[at] != "A" else "B"
    assert address_hash(KEYRING, f"{TOKEN[:at]}{other}{TOKEN[at + 1 :]}") is None


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        TOKEN[:-1],
        f"{TOKEN}=",
        f"{TOKEN}\n",
        f"{TOKEN}A",
        f"{TOKEN[:8]}!{TOKEN[8:]}",
        f"é{TOKEN[1:]}",
        "٣" * 64,
    ],
)
def test_what_only_resembles_a_token_names_nothing(garbage: str) -> None:
    assert address_hash(KEYRING, garbage) is None


@given(st.text(max_size=2 * LENGTH))
def test_no_text_whatever_raises(text: str) -> None:
    assert address_hash(KEYRING, text) is None


def test_a_token_fits_into_an_address_as_it_is() -> None:
    assert len(TOKEN) == LENGTH
    assert set(TOKEN) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
