"""Puts the obligation on record before anything is done for it."""

from dataclasses import dataclass
from datetime import datetime

from temporalio import activity
from typing_extensions import override

from activities.catalogue import Catalogue, Kind, UnknownKind
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
NO_ADDRESS = "recipient: has no address for any channel of this kind's route"


@dataclass(frozen=True, slots=True)
class LedgerAdmission(calls.Admitting):
    """Validates, resolves the terms, proves that every template renders, and writes the notice."""

    catalogue: Catalogue
    ledger: Ledger

    @override
    @activity.defn(name="admit")
    async def admit(self, call: calls.Admit) -> calls.Admission:
        now = EngineClock().now()
        try:
            kind = self.catalogue.get(call.request.kind)
            expires_at = expiry(call.request, kind.policy, now)
            ruled_out = _without_address(kind.policy, call.request.recipient)
            reachable = [each for each in kind.policy.route if each not in ruled_out]
            kind.prove(call.request.fields, reachable)
        except (UnknownKind, LifetimeError, AddressError, FieldError) as error:
            return calls.Admission(refusal=str(error))
        if not reachable:
            return calls.Admission(refusal=NO_ADDRESS)
        return await self._admit(call, kind, expires_at, now)

    async def _admit(
        self, call: calls.Admit, kind: Kind, expires_at: datetime, now: datetime
    ) -> calls.Admission:
        request, notices = call.request, self.ledger.notices
        admitted = await notices.admit(
            request, call.chain, kind.policy, kind.digest, expires_at=expires_at, at=now
        )
        if admitted is Admitted.DUPLICATE:
            return calls.Admission(refusal=DUPLICATE)
        # The first admission holds, whatever the kind's files say since.
        terms = await notices.terms(request.key) or Terms(kind.policy, kind.digest, expires_at)
        return calls.Admission(
            policy=terms.policy,
            policy_digest=terms.digest,
            expires_at=terms.expires_at,
            ruled_out=_without_address(terms.policy, request.recipient),
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
