import os
from types import MappingProxyType

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import GCM
from temporalio.api.common.v1 import Payload
from temporalio.exceptions import ApplicationError

from activities.codec import Seal
from activities.converter import DiscreetPayloadConverter
from activities.keyring import Keyring

SAMPLE_KEY = b"test-key-test-key-test-key-test!"
SAMPLE_ID = "test-key-id"
SAMPLE = bytes.fromhex(
    "000102030405060708090a0bf92b89da276861d2657395a2a3f7f7d1e8a45622938592d067ebfa42"
    "7ee906d72dea664a2c944a1eafc06d1b02d490003f6dee67564d1ead81"
)
"""`{"id":"user-1"}` as json/plain, sealed by Node's Web Crypto with the samples' steps and key."""


def ring(current: str | None, **keys: bytes) -> Keyring:
    return Keyring(current, MappingProxyType(keys), b"a" * 32)


def json(text: str) -> Payload:
    return Payload(metadata={"encoding": b"json/plain"}, data=text.encode())


def sealed_elsewhere(payload: Payload, key: bytes, name: str = "one") -> Payload:
    """Seal with other code than the codec's."""
    nonce = os.urandom(12)
    encryptor = Cipher(AES(key), GCM(nonce)).encryptor()
    body = encryptor.update(payload.SerializeToString()) + encryptor.finalize()
    metadata = {"encoding": b"binary/encrypted", "encryption-key-id": name.encode()}
    return Payload(metadata=metadata, data=nonce + body + encryptor.tag)


def opened_elsewhere(payload: Payload, key: bytes) -> Payload:
    """Open with other code than the codec's."""
    nonce, body, tag = payload.data[:12], payload.data[12:-16], payload.data[-16:]
    decryptor = Cipher(AES(key), GCM(nonce, tag)).decryptor()
    return Payload.FromString(decryptor.update(body) + decryptor.finalize())


ONE, TWO = b"1" * 32, b"2" * 32
MODEL = json('{"email":"anna@example.test"}')


async def test_a_payload_sealed_by_the_public_samples_is_opened() -> None:
    metadata = {"encoding": b"binary/encrypted", "encryption-key-id": SAMPLE_ID.encode()}
    codec = Seal(ring(SAMPLE_ID, **{SAMPLE_ID: SAMPLE_KEY}))
    assert await codec.decode([Payload(metadata=metadata, data=SAMPLE)]) == [json('{"id":"user-1"}')]


async def test_the_public_samples_open_what_we_seal() -> None:
    [sealed] = await Seal(ring("one", one=ONE)).encode([MODEL])
    assert dict(sealed.metadata) == {"encoding": b"binary/encrypted", "encryption-key-id": b"one"}
    assert b"anna" not in sealed.SerializeToString()
    assert opened_elsewhere(sealed, ONE) == MODEL


@pytest.mark.parametrize(
    "payload",
    [
        json('"until the fallback deadline"'),
        json('""'),
        json(' "spaced by another SDK"'),
        Payload(metadata={"encoding": b"binary/null"}),
        Payload(
            metadata={
                "encoding": b"json/protobuf",
                "messageType": b"temporal.api.sdk.v1.WorkflowMetadata",
            },
            data=b'{"currentDetails":"awaiting"}',
        ),
    ],
)
async def test_text_for_the_ui_and_nothing_at_all_stay_readable(payload: Payload) -> None:
    assert await Seal(ring("one", one=ONE)).encode([payload]) == [payload]


@pytest.mark.parametrize(
    "payload",
    [
        Payload(metadata={"encoding": b"json/protobuf", "messageType": b"any.Other"}, data=b"{}"),
        MODEL,
        json("{}"),
        json('["anna@example.test"]'),
        json("4915112345678"),
        json("true"),
        json("null"),
        Payload(metadata={"encoding": b"binary/plain"}, data=b'"anna@example.test"'),
        Payload(metadata={"encoding": b"json/protobuf"}, data=b'"anna@example.test"'),
        Payload(data=b'"anna@example.test"'),
    ],
)
async def test_everything_else_is_sealed_and_comes_back_whole(payload: Payload) -> None:
    codec = Seal(ring("one", one=ONE))
    [sealed] = await codec.encode([payload])
    assert sealed.metadata["encoding"] == b"binary/encrypted"
    assert await codec.decode([sealed]) == [payload]


async def test_the_same_payload_is_never_sealed_twice_alike() -> None:
    first, second = await Seal(ring("one", one=ONE)).encode([MODEL, MODEL])
    assert first.data != second.data


async def test_after_a_rotation_the_new_key_seals_and_the_old_one_still_opens() -> None:
    [old] = await Seal(ring("one", one=ONE)).encode([MODEL])
    rotated = Seal(ring("two", one=ONE, two=TWO))
    [new] = await rotated.encode([MODEL])
    assert new.metadata["encryption-key-id"] == b"two"
    assert await rotated.decode([old, new]) == [MODEL, MODEL]


async def test_what_arrives_unsealed_passes() -> None:
    assert await Seal(ring("one", one=ONE)).decode([MODEL]) == [MODEL]


async def test_an_unknown_key_is_named_and_may_be_tried_again_by_a_worker_that_has_it() -> None:
    with pytest.raises(ApplicationError, match='no key "three" in this key file') as caught:
        await Seal(ring("one", one=ONE)).decode([sealed_elsewhere(MODEL, TWO, "three")])
    assert (caught.value.type, caught.value.non_retryable) == ("UnknownKey", False)


async def test_without_keys_a_sealed_payload_is_an_unknown_key_and_nothing_is_sealed() -> None:
    codec = Seal(Keyring.plaintext())
    assert await codec.encode([MODEL]) == [MODEL]
    with pytest.raises(ApplicationError, match='no key "one"'):
        await codec.decode([sealed_elsewhere(MODEL, ONE)])


@pytest.mark.parametrize(
    "broken",
    [
        sealed_elsewhere(MODEL, TWO),
        Payload(metadata={"encoding": b"binary/encrypted", "encryption-key-id": b"one"}, data=b""),
        Payload(metadata={"encoding": b"binary/encrypted", "encryption-key-id": b"one"}, data=b"x" * 40),
    ],
)
async def test_what_its_own_key_cannot_open_stays_sealed_and_fails_for_good_where_it_is_read(
    broken: Payload,
) -> None:
    # Not where it is decoded: there it would end a notice for the sake of a stray signal.
    [left] = await Seal(ring("one", one=ONE)).decode([broken])
    assert left == broken

    with pytest.raises(ApplicationError, match='key "one" does not open') as caught:
        DiscreetPayloadConverter().from_payloads([left])
    assert (caught.value.type, caught.value.non_retryable) == ("DamagedPayload", True)
