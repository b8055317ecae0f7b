"""Seals what crosses the engine, in the format of Temporal's own encryption samples for its SDKs.

A sealed payload has the encoding `binary/encrypted`, the key's id under `encryption-key-id`, and as data a
nonce of 12 bytes followed by the AES-GCM ciphertext of the whole payload: the public Python, TypeScript and
Go samples seal for us and open what we sealed.
"""

import os
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from google.protobuf.message import DecodeError
from temporalio.api.common.v1 import Payload
from temporalio.converter import PayloadCodec
from temporalio.exceptions import ApplicationError
from typing_extensions import override

from activities.keyring import Keyring

SEALED: Final = b"binary/encrypted"
KEY_ID: Final = "encryption-key-id"
_NONCE = 12
_METADATA: Final = b"temporal.api.sdk.v1.WorkflowMetadata"
"""The answer to the UI's question for a workflow's current details."""


class Seal(PayloadCodec):
    """Seals under the current key, and opens under any key of the ring."""

    def __init__(self, keyring: Keyring) -> None:
        self._current = keyring.current
        self._ciphers = {name: AESGCM(key) for name, key in keyring.payload.items()}

    @override
    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [payload if _is_public(payload) else self._seal(payload) for payload in payloads]

    @override
    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        """Open what is sealed; what arrives unsealed, from a backend without a key, passes."""
        return [self._open(payload) if is_sealed(payload) else payload for payload in payloads]

    def _seal(self, payload: Payload) -> Payload:
        if self._current is None:
            return payload
        nonce = os.urandom(_NONCE)
        sealed = self._ciphers[self._current].encrypt(nonce, payload.SerializeToString(), None)
        return Payload(metadata={"encoding": SEALED, KEY_ID: self._current.encode()}, data=nonce + sealed)

    def _open(self, payload: Payload) -> Payload:
        name = payload.metadata.get(KEY_ID, b"").decode(errors="replace")
        cipher = self._ciphers.get(name)
        if cipher is None:
            raise unknown_key(name)
        try:
            return Payload.FromString(cipher.decrypt(payload.data[:_NONCE], payload.data[_NONCE:], None))
        except (InvalidTag, DecodeError, ValueError):
            # Left sealed: an error in here would end the notice, even where a stray signal is all that is
            # damaged. The converter refuses it where it is wanted.
            return payload


def unknown_key(name: str) -> ApplicationError:
    """Return the error of a key that this worker has not got.

    It may be tried again: another worker may have the key, and this one gets it with the next key file. A
    final failure would let one worker with an old key file end every notice that it touches.
    """
    message = f'no key "{name}" in this key file, under which a payload is sealed: add it and restart'
    return ApplicationError(message, type="UnknownKey")


def damaged(payload: Payload) -> ApplicationError:
    """Return the error of a payload that its own key cannot open: no later try can."""
    name = payload.metadata.get(KEY_ID, b"").decode(errors="replace")
    message = f'key "{name}" does not open a payload sealed under that name: its sender has another key'
    return ApplicationError(message, type="DamagedPayload", non_retryable=True)


def is_sealed(payload: Payload) -> bool:
    """Whether only a key makes it readable."""
    return payload.metadata.get("encoding") == SEALED


def _is_public(payload: Payload) -> bool:
    """Whether a payload stays readable: nothing at all, or text for the UI.

    Summaries and details reach a codec like any input, as bare strings; current details come inside the
    SDK's own message. Everything else that we send is a model.
    """
    match payload.metadata.get("encoding"):
        case b"binary/null":
            return True
        case b"json/plain":
            return payload.data.lstrip().startswith(b'"')
        case b"json/protobuf":
            return payload.metadata.get("messageType") == _METADATA
        case encoding:
            return encoding == SEALED
