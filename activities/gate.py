"""Fresh facts for an eligibility decision: read from the ledger at the moment of asking."""

from dataclasses import dataclass
from datetime import datetime

from activities.keyring import Keyring
from activities.observing import OBSERVER
from activities.store.ledger import Ledger
from workflows import calls
from workflows.policy import address
from workflows.policy.controls import allows
from workflows.policy.eligibility import Answer, Facts, ask_again, judge
from workflows.policy.words import Channel


@dataclass(frozen=True, slots=True)
class Gate:
    """Judges whether one address may receive now."""

    ledger: Ledger
    keyring: Keyring

    async def ask(self, call: calls.Check | calls.Send, now: datetime) -> calls.Clearance:
        """Read the facts and judge; raises StoreError where the ledger cannot be read, which means no."""
        recipient = call.recipient if isinstance(call, calls.Check) else call.request.recipient
        key = call.notice_key if isinstance(call, calls.Check) else call.request.key
        written = recipient.address(call.channel)
        hashed = self.hashed(call.channel, written) if written is not None else None
        controls = await self.ledger.controls.read()
        facts = Facts(
            notice_key=key,
            channel=call.channel,
            now=now,
            expires_at=call.expires_at,
            has_address=hashed is not None,
            sms_consent=recipient.sms_consent,
            essential=call.essential,
            is_fallback=call.is_fallback,
            suppressed_for=await self.ledger.suppressions.active(hashed, call.channel)
            if hashed
            else frozenset(),
            dispatch=controls.dispatch,
            fallback=controls.fallback,
        )
        answer, reason = judge(facts)
        again = ask_again(now, call.expires_at) if answer is Answer.HELD else None
        observed = answer is Answer.YES and (
            allows(controls.observe, key) or (call.is_fallback and await self._was_observed(key))
        )
        return calls.Clearance(answer=answer, reason=reason, at=now, ask_again_at=again, observed=observed)

    async def only_observes(self, key: str) -> bool:
        """Whether nothing takes effect outside the ledger for a notice: an operator only wants to see it."""
        return allows((await self.ledger.controls.read()).observe, key) or await self._was_observed(key)

    async def _was_observed(self, key: str) -> bool:
        """Whether a message before this one was only observed: nothing follows in earnest what never left."""
        rows = await self.ledger.attempts.of_notice(key)
        return any(each.provider == OBSERVER for each in rows)

    def hashed(self, channel: Channel, written: str) -> str:
        """Return the keyed hash under which the ledger knows an address."""
        return self.keyring.address_hash(channel, address.canonical(channel, written))
