"""Puts the obligation on record before anything is done for it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory
from typing_extensions import override

from activities.catalogue import Catalogue, UnknownKind
from activities.clock import EngineClock
from activities.fields import FieldError
from activities.kind import ONLY_BY_VERIFICATION
from activities.metrics import OTHER_KIND
from activities.store.ledger import Ledger
from activities.store.notices import Admitted, Terms
from activities.supplying import Supply
from activities.transitions import UNCOUNTED, Transitions
from workflows import calls
from workflows.policy import address
from workflows.policy.address import AddressError
from workflows.policy.lifetime import LifetimeError, expiry
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.terms import Policy
from workflows.policy.words import Channel, Method

DUPLICATE = "duplicate: a notice with this key is on record already; a notice key is used once, for ever"
DEPLOYED_BY = 8
"""Tries, over a minute and a half, after which nobody will know a kind."""

NO_ADDRESS = "recipient: has no address for any channel of this kind's route"


class _Carried(NamedTuple):
    """What a notice carries: as which message of its challenge, and by which method."""

    number: int = 1
    method: Method | None = None


_NO_CHALLENGE: Final = _Carried()


@dataclass(frozen=True, slots=True)
class LedgerAdmission(calls.Admitting):
    """Validates, resolves the terms, proves that every template renders, and writes the notice."""

    catalogue: Catalogue
    ledger: Ledger
    supply: Supply
    transitions: Transitions = UNCOUNTED

    @override
    @activity.defn(name="admit")
    async def admit(self, call: calls.Admit) -> calls.Admission:
        answer = await self._judge(call)
        if answer.refusal is not None:
            self._count(call.request, answer.refusal)
        return answer

    def _count(self, request: NoticeRequest, refusal: str) -> None:
        is_duplicate = refusal == DUPLICATE
        kind = request.kind if is_duplicate or request.kind in self.catalogue.kinds else OTHER_KIND
        self.transitions.meters.refused.add(kind, "duplicate" if is_duplicate else "invalid")

    async def _judge(self, call: calls.Admit) -> calls.Admission:
        # The first admission holds, whatever the kind's files say since.
        standing = await self.ledger.notices.terms(call.request.key)
        if standing is not None:
            return await self._again(call, standing)
        now = EngineClock().now()
        try:
            kind = self.catalogue.get(call.request.kind)
            carried = await self._carried(call.request, kind.policy)
            if carried is None:
                return calls.Admission(refusal=ONLY_BY_VERIFICATION)
            expires_at = expiry(call.request, kind.policy, now)
            ruled_out = _without_address(kind.policy, call.request.recipient)
            reachable = [each for each in kind.policy.route if each not in ruled_out]
            kind.prove(call.request.fields, reachable, self.supply.stand_ins(carried.method))
        except UnknownKind as error:
            return calls.Admission(refusal=left_to_others(error))
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
        if admitted is Admitted.FRESH:
            self.transitions.admitted(call.request.key, at=now)
        return await self._again(call, await self.ledger.notices.terms(call.request.key) or terms)

    async def _again(self, call: calls.Admit, standing: Terms) -> calls.Admission:
        """Answer for a notice on record: a retry and an operator's reset go on, anyone else is too late."""
        if standing.chain != call.chain:
            return calls.Admission(refusal=DUPLICATE)
        carried = await self._carried(call.request, standing.policy)
        return calls.Admission(
            policy=standing.policy,
            policy_digest=standing.digest,
            expires_at=standing.expires_at,
            ruled_out=_without_address(standing.policy, call.request.recipient),
            number=(carried or _NO_CHALLENGE).number,
        )

    async def _carried(self, request: NoticeRequest, policy: Policy) -> _Carried | None:
        """Return what a notice carries; None where it should carry a challenge, and there is none for it.

        One that is over has its notice all the same: nothing is sent for it, and that is on record.
        """
        if policy.challenge is None:
            return _NO_CHALLENGE
        found = await self.supply.carried(request)
        return None if found is None else _Carried(found.message.number, found.challenge.method)


def left_to_others(error: UnknownKind) -> str:
    """Return the refusal of a kind that no worker knew for a while; raises ApplicationError before.

    A refusal is for ever, and during a deployment a worker of yesterday meets kinds of today.
    """
    if activity.info().attempt < DEPLOYED_BY:
        raise ApplicationError(str(error), type="UnknownKind", category=ApplicationErrorCategory.BENIGN)
    return str(error)


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
