"""Puts the obligation on record before anything is done for it."""

from dataclasses import dataclass
from datetime import datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from typing_extensions import override

from activities.catalogue import Catalogue, UnknownKind
from activities.clock import EngineClock
from activities.fields import FieldError
from activities.store.ledger import Ledger
from activities.store.notices import Admitted, Terms
from workflows import calls
from workflows.policy import address
from workflows.policy.address import AddressError
from workflows.policy.lifetime import LifetimeError, expiry
from workflows.policy.models import Recipient
from workflows.policy.terms import Policy
from workflows.policy.words import Channel

DUPLICATE = "duplicate: a notice with this key is on record already; a notice key is used once, for ever"
DEPLOYED_BY = 8
"""Tries, over a minute and a half, after which nobody will know a kind."""

NO_ADDRESS = "recipient: has no address for any channel of this kind's route"


@dataclass(frozen=True, slots=True)
class LedgerAdmission(calls.Admitting):
    """Validates, resolves the terms, proves that every template renders, and writes the notice."""

    catalogue: Catalogue
    ledger: Ledger

    @override
    @activity.defn(name="admit")
    async def admit(self, call: calls.Admit) -> calls.Admission:
        # The first admission holds, whatever the kind's files say since.
        standing = await self.ledger.notices.terms(call.request.key)
        if standing is not None:
            return _again(call, standing)
        now = EngineClock().now()
        try:
            kind = self.catalogue.get(call.request.kind)
            expires_at = expiry(call.request, kind.policy, now)
            ruled_out = _without_address(kind.policy, call.request.recipient)
            reachable = [each for each in kind.policy.route if each not in ruled_out]
            kind.prove(call.request.fields, reachable)
        except UnknownKind as error:
            return _unknown(error)
        except (LifetimeError, AddressError, FieldError) as error:
            return calls.Admission(refusal=str(error))
        if not reachable:
            return calls.Admission(refusal=NO_ADDRESS)
        terms = Terms(kind.policy, kind.digest, expires_at, call.chain)
        return await self._put_on_record(call, terms, now)

    async def _put_on_record(self, call: calls.Admit, terms: Terms, now: datetime) -> calls.Admission:
        admitted = await self.ledger.notices.admit(call.request, terms, at=now)
        if admitted is Admitted.DUPLICATE:
            return calls.Admission(refusal=DUPLICATE)
        return _again(call, await self.ledger.notices.terms(call.request.key) or terms)


def _unknown(error: UnknownKind) -> calls.Admission:
    """Refuse a kind that no worker knew for a while; raises ApplicationError before, for another to try.

    A refusal is for ever, and during a deployment a worker of yesterday meets kinds of today.
    """
    if activity.info().attempt < DEPLOYED_BY:
        raise ApplicationError(str(error), type="UnknownKind", category=ApplicationErrorCategory.BENIGN)
    return calls.Admission(refusal=str(error))


def _again(call: calls.Admit, standing: Terms) -> calls.Admission:
    """Answer for a notice on record: a retry and an operator's reset go on, anyone else is too late."""
    if standing.chain != call.chain:
        return calls.Admission(refusal=DUPLICATE)
    return calls.Admission(
        policy=standing.policy,
        policy_digest=standing.digest,
        expires_at=standing.expires_at,
        ruled_out=_without_address(standing.policy, call.request.recipient),
    )


def _without_address(policy: Policy, recipient: Recipient) -> dict[Channel, str]:
    """Return the channels that this recipient has no address for; raises AddressError for a malformed one."""
    missing = {}
    for channel in policy.route:
        written = recipient.address(channel)
        if written is None:
            missing[channel] = "no_address"
        else:
            address.canonical(channel, written)
    return missing
