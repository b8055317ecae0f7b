"""Signatures of what leaves the deployment: who can make them, who can check them, and over which bytes."""

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from pydantic import JsonValue

from activities.keyring import Keyring
from activities.signing import Checker, Signer, SigningError, canonical

VALUE: JsonValue = {"b": [1, 2.5, None], "a": {"è": "\u2028", "": True}}


@pytest.fixture
def keyring(tmp_path: Path) -> Keyring:
    return Keyring.create(tmp_path / "keys.toml")


def test_what_was_signed_is_proven_by_the_public_key(keyring: Keyring) -> None:
    signer = Signer.current(keyring)
    public = Checker.read(signer.public.pem.encode())
    assert public.signed(VALUE, signer.sign(VALUE))


@pytest.mark.parametrize("signature", ["", "00", "not hex", "ab" * 64])
def test_another_signature_proves_nothing(keyring: Keyring, signature: str) -> None:
    assert not Signer.current(keyring).public.signed(VALUE, signature)


@pytest.mark.parametrize("other", [{"b": [1, 2.5, None]}, [VALUE], {**VALUE, "a": {"è": "", "": True}}])  # type: ignore[dict-item]
def test_another_value_is_not_signed(keyring: Keyring, other: JsonValue) -> None:
    signer = Signer.current(keyring)
    assert not signer.public.signed(other, signer.sign(VALUE))


def test_a_key_that_was_rotated_away_still_proves_what_it_signed(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    old = Signer.current(Keyring.create(file))
    rotated = Keyring.rotate(file)
    assert Signer.of(rotated, old.key_id).public.signed(VALUE, old.sign(VALUE))
    assert not Signer.current(rotated).public.signed(VALUE, old.sign(VALUE))


def test_a_key_that_the_file_does_not_have_is_named(keyring: Keyring) -> None:
    with pytest.raises(SigningError, match=f"no key 'other'; it has {keyring.current}"):
        Signer.of(keyring, "other")


def test_a_deployment_that_seals_does_not_believe_the_development_key(keyring: Keyring) -> None:
    with pytest.raises(SigningError, match="anybody can compute"):
        Signer.of(keyring, None)


def test_where_nothing_is_sealed_the_development_key_signs() -> None:
    signer = Signer.current(Keyring.plaintext())
    assert signer.key_id is None
    assert Signer.of(Keyring.plaintext(), None).public.signed(VALUE, signer.sign(VALUE))


def test_no_key_is_in_a_repr(keyring: Keyring) -> None:
    assert "private" not in repr(Signer.current(keyring)).lower()


def test_a_public_key_of_another_kind_is_refused() -> None:
    other = ec.generate_private_key(ec.SECP256R1()).public_key()
    pem = other.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    with pytest.raises(SigningError, match="of another kind than Ed25519"):
        Checker.read(pem)


@pytest.mark.parametrize(
    "pem", [b"", b"not a key", b"-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n"]
)
def test_what_is_no_public_key_is_refused(pem: bytes) -> None:
    with pytest.raises(SigningError, match="no public key in PEM"):
        Checker.read(pem)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ('è\u2028\x1f\n"\\/\x7f', '"è\u2028\\u001f\\n\\"\\\\/\x7f"'),
        # RFC 8785, 3.2.3: keys are sorted by their UTF-16 code units.
        (dict.fromkeys(("\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\x80", "\u00f6"), 0), None),
        (2.0, "2"),
        (0.1, "0.1"),
        (-0.0, "0"),
        (1e-5, "0.00001"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (333333333.3333333, "333333333.3333333"),
    ],
)
def test_json_is_written_as_there_is_one_way_to(value: JsonValue, written: str | None) -> None:
    ordered = '{"\\r":0,"1":0,"\x80":0,"\u00f6":0,"\u20ac":0,"\U0001f600":0,"\ufb33":0}'
    text = canonical(value).decode()
    assert text == (written or ordered)
    assert json.loads(text) == value
