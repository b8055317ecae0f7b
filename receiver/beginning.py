"""The document that asks for a verification, read by everything that is known of it without a worker."""

from collections.abc import Iterator
from typing import NamedTuple
from uuid import uuid4

from activities.catalogue import UnknownKind
from activities.opening import NO_CHALLENGE, NO_RETURN
from receiver.notices import mistaken, parsed
from receiver.parts import Parts
from workflows.policy import return_url, verification_contract
from workflows.policy.contract import ContractError
from workflows.policy.verification import VerificationRequest


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
