"""The secrets of a challenge: the same whenever they are derived, and known afterwards by digests only."""

import re
from collections.abc import Callable
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from activities.challenge import (
    LINK,
    Secrets,
    Seed,
    code_digest,
    derive,
    digests,
    link_digest,
    result_digest,
)
from activities.keyring import Keyring

RING = Keyring("k1", MappingProxyType({"k1": b"1" * 32}), b"a" * 32)
ROTATED = Keyring("k2", MappingProxyType({"k1": b"1" * 32, "k2": b"2" * 32}), b"a" * 32)
STRANGER = Keyring("k1", MappingProxyType({"k1": b"x" * 32}), b"b" * 32)
SEED = Seed("k1", "00ff" * 16)
NONCES = st.binary(min_size=32, max_size=32).map(bytes.hex)


def made(ring: Keyring = RING, seed: Seed = SEED, digits: int = 6) -> Secrets:
    return derive(ring, seed, digits=digits)


def test_the_same_seed_gives_the_same_secrets_before_and_after_a_rotation() -> None:
    assert made() == made() == made(ROTATED)


def test_what_is_derived_never_changes_between_versions() -> None:
    """A release that derived others would leave every open challenge without its secrets."""
    assert made() == Secrets(
        link="K6qJXwjgf3YXEw3UW2ps-KXo1LoTtg2JmlaVvQKbcmc",
        code="038267",
        result="apwIKjatx_x27dT7GnuvtCu-soyDxULEAa3MlpPLQZs",
    )
    assert made(Keyring.plaintext(), Seed(None, "00" * 32)).code == "289647"


@pytest.mark.parametrize(
    "other",
    [
        made(seed=Seed("k1", "00fe" * 16)),
        made(ROTATED, Seed("k2", SEED.nonce)),
        made(STRANGER),
        made(Keyring.plaintext(), Seed(None, SEED.nonce)),
    ],
    ids=["nonce", "key", "key file", "no key"],
)
def test_another_nonce_or_key_gives_other_secrets(other: Secrets) -> None:
    assert not {made().link, made().result} & {other.link, other.result}
    assert made().code != other.code


def test_no_secret_tells_another_of_the_same_challenge() -> None:
    assert made().link != made().result


@given(NONCES, st.integers(6, 8))
def test_a_link_has_256_bits_and_a_code_all_its_digits(nonce: str, digits: int) -> None:
    secrets = made(seed=Seed("k1", nonce), digits=digits)
    assert re.fullmatch(rf"[A-Za-z0-9_-]{{{LINK}}}", secrets.link)
    assert re.fullmatch(rf"[A-Za-z0-9_-]{{{LINK}}}", secrets.result)
    assert re.fullmatch(rf"[0-9]{{{digits}}}", secrets.code)


def test_codes_begin_with_every_digit() -> None:
    """A code that is shorter than its digits keeps its zeros."""
    firsts = {made(seed=Seed("k1", f"{number:064x}")).code[0] for number in range(200)}
    assert firsts == set("0123456789")


def test_a_fresh_seed_is_new_and_names_the_key_that_is_current() -> None:
    seeds = [Seed.fresh(ROTATED) for _ in range(5)]
    assert {each.key_id for each in seeds} == {"k2"}
    assert len({each.nonce for each in seeds}) == 5
    assert all(re.fullmatch(r"[0-9a-f]{64}", each.nonce) for each in seeds)
    assert Seed.fresh(Keyring.plaintext()).key_id is None


def test_a_key_that_is_gone_is_an_error_and_no_other_secret() -> None:
    with pytest.raises(KeyError):
        made(RING, Seed("k2", SEED.nonce))


def test_no_secret_and_no_nonce_is_in_a_repr() -> None:
    shown = f"{made()!r} {SEED!r}"
    assert not any(each in shown for each in (made().link, made().code, made().result, SEED.nonce))


DIGESTS: dict[str, Callable[[Keyring], str]] = {
    "link": lambda ring: link_digest(ring, "s"),
    "code": lambda ring: code_digest(ring, "challenge-1", "s"),
    "result": lambda ring: result_digest(ring, "s"),
}


@pytest.mark.parametrize("digest", DIGESTS.values(), ids=DIGESTS)
def test_a_digest_is_keyed_and_outlives_a_rotation(digest: Callable[[Keyring], str]) -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", digest(RING))
    assert digest(RING) == digest(ROTATED)
    assert digest(RING) not in {digest(STRANGER), digest(Keyring.plaintext())}


def test_a_digest_is_for_one_purpose_only() -> None:
    assert len({digest(RING) for digest in DIGESTS.values()} | {RING.digest("", "s")}) == 4


def test_a_code_counts_within_its_challenge_only() -> None:
    assert code_digest(RING, "challenge-1", "123456") != code_digest(RING, "challenge-2", "123456")
    assert code_digest(RING, "challenge-1", "23456") != code_digest(RING, "challenge-12", "3456")


def test_what_is_kept_of_a_challenge_is_the_digest_of_what_is_brought_back() -> None:
    kept = digests(RING, "challenge-1", made())
    assert kept.link == link_digest(RING, made().link)
    assert kept.code == code_digest(RING, "challenge-1", made().code)
    assert made().link not in kept.model_dump_json()
    assert made().code not in kept.model_dump_json()


def test_a_derived_key_is_for_one_purpose_and_is_rotated_with_its_root() -> None:
    keys = [
        RING.derived("challenge", "k1"),
        RING.derived("other", "k1"),
        ROTATED.derived("challenge", "k2"),
        STRANGER.derived("challenge", "k1"),
        RING.derived("challenge", None),
    ]
    assert len(set(keys)) == len(keys)
    assert {len(each) for each in keys} == {32}
    assert RING.derived("challenge", "k1") == ROTATED.derived("challenge", "k1")
    assert RING.payload["k1"] not in keys
