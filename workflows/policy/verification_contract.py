"""The strict door of verifications: one JSON document, one wish to know that somebody holds an address.

As strict as that of notices (`workflows.policy.contract`): every mistake is one line that names its field and
repeats nothing. `python -m workflows.policy.verification_contract` prints the published JSON Schema.
"""

import sys
from collections.abc import Iterator
from types import MappingProxyType
from typing import Final

from workflows.policy import contract, problems, return_url
from workflows.policy.contract import Addresses, ContractError
from workflows.policy.keys import notice_key, parts
from workflows.policy.verification import VerificationRequest
from workflows.policy.words import Channel

_NAMES: Final = MappingProxyType({Channel.EMAIL: "to.email", Channel.SMS: "to.phone"})

_SHORTENED: Final = "~"
"""What no id has in a key but one that is not there as a whole."""
_ANY: Final = "any"


def parse(text: str | bytes) -> VerificationRequest:
    """Return the verification that a JSON document asks for; raises ContractError."""
    return validate(contract.read(text))


def validate(data: object) -> VerificationRequest:
    """Return the verification that a JSON value or a request asks for, its addresses normalised.

    Whether the deployment lets browsers return to the link is for `return_url.allowed` to say. Raises
    ContractError.
    """
    request = contract.strictly(VerificationRequest, data)
    written = Addresses(request.to.email, request.to.phone)
    normal, found = contract.normalised("to", written, _ids(request))
    wrong = (*found, *_unfit(request))
    if wrong:
        raise ContractError(wrong)
    return request.model_copy(update={"to": request.to.model_copy(update=normal)})


def schema() -> problems.Schema:
    """Return the contract as JSON Schema (draft 2020-12), as strict as this door."""
    return contract.strict_schema(VerificationRequest, "Verification")


def published() -> str:
    """Return the schema as it stands in `docs/verification.schema.json`."""
    return contract.printed(schema())


def _ids(request: VerificationRequest) -> dict[str, str]:
    """Return what is shown to operators, and so holds no address."""
    return {
        "account_id": request.account_id,
        "challenge_id": request.challenge_id or "",
        "purpose": request.purpose,
        "kind": request.kind,
    }


def _unfit(request: VerificationRequest) -> Iterator[str]:
    """Yield a line for each rule between fields that is broken, and for a link that leads astray."""
    if _SHORTENED in parts(notice_key(request.kind, _ANY, request.account_id)).recipient_id:
        # Whoever exchanges a result is told the account, and could not recognise this one.
        yield "account_id: too long: at most 160 characters when percent-encoded"
    if all(request.to.address(each) is None for each in Channel):
        yield "to: needs an email or a phone"
    route = request.route or ()
    if len(set(route)) != len(route):
        yield "route: names a channel more than once"
    for channel in dict.fromkeys(route):
        if request.to.address(channel) is None:
            yield f"route: names {channel}, and {_NAMES[channel]} is not given"
    if request.return_url is not None and (wrong := return_url.objection(request.return_url)):
        yield f"return_url: {wrong}"


if __name__ == "__main__":
    sys.stdout.write(published())
