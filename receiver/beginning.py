"""The document that asks for a verification, read by everything that is known of it without a worker."""

from collections.abc import Iterator
from typing import NamedTuple
from uuid import uuid4

from activities.catalogue import UnknownKind
from activities.keyring import Keyring
from activities.opening import NO_CHALLENGE, NO_RETURN
from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from receiver.notices import mistaken, parsed
from receiver.parts import Parts
from workflows.policy import address, keys, return_url, verification_contract
from workflows.policy.address import AddressError
from workflows.policy.contract import ContractError
from workflows.policy.verification import VerificationRequest
from workflows.policy.words import Channel


class Wanted(NamedTuple):
    """A verification to begin, and its id."""

    id: str
    request: VerificationRequest


def read(raw: bytes, parts: Parts) -> Wanted:
    """Read a document, and name the verification where it does not; raises Problem with every mistake."""
    try:
        request = verification_contract.validate(parsed(raw))
    except ContractError as error:
        raise mistaken(error.problems) from None
    if found := tuple(_mistakes(request, parts)):
        raise mistaken(found)
    challenge_id = request.challenge_id or uuid4().hex
    return Wanted(challenge_id, request.model_copy(update={"challenge_id": challenge_id}))


def differing(
    wanted: Wanted, on_record: tuple[ChallengeRow, DeliveryRow], keyring: Keyring
) -> tuple[str, ...]:
    """Name the fields that are not those of the verification that has this id, as far as it is on record.

    A channel that no message takes has no address there, and so differs from nothing.
    """
    row, first = on_record
    asked, key = wanted.request, keys.parts(_key(wanted))
    same = {
        "account_id": key.recipient_id == row.account_id,
        "kind": key.kind == row.kind,
        "purpose": asked.purpose == row.purpose,
        "method": asked.method is row.method,
        "to.email": first.email_hash in {None, _hash(asked, Channel.EMAIL, keyring)},
        "to.phone": first.phone_hash in {None, _hash(asked, Channel.SMS, keyring)},
    }
    return tuple(name for name, is_same in same.items() if not is_same)


def _key(wanted: Wanted) -> str:
    return keys.notice_key(wanted.request.kind, wanted.id, wanted.request.account_id)


def _hash(request: VerificationRequest, channel: Channel, keyring: Keyring) -> str | None:
    written = request.to.address(channel)
    try:
        return written and keyring.address_hash(channel, address.canonical(channel, written))
    except AddressError:
        return None


def _mistakes(request: VerificationRequest, parts: Parts) -> Iterator[str]:
    """Say what this deployment does not let begin."""
    url = request.return_url
    if url is not None and not return_url.allowed(url, parts.settings.return_urls):
        yield NO_RETURN
    try:
        kind = parts.catalogue.get(request.kind)
    except UnknownKind as error:
        yield str(error)
        return
    if kind.policy.challenge is None:
        yield NO_CHALLENGE
