"""Knows who may receive what, now."""

from dataclasses import dataclass
from typing import Final

from temporalio import activity
from typing_extensions import override

from activities import reports
from activities.clock import EngineClock
from activities.gate import Gate
from activities.sharing import Sharing
from workflows import calls
from workflows.policy.eligibility import Answer, ask_again
from workflows.policy.models import Observation
from workflows.policy.words import AttemptState

SAID: Final = frozenset({AttemptState.SUBMITTED, AttemptState.CONFIRMED, AttemptState.FAILED})
"""States that a report has brought about."""


@dataclass(frozen=True, slots=True)
class LedgerEligibility(calls.Eligibility):
    """Answers from the ledger, and puts each answer on record beside its decision."""

    gate: Gate
    sharing: Sharing

    @override
    @activity.defn(name="check")
    async def check(self, call: calls.Check) -> calls.Clearance:
        clearance = await self.gate.ask(call, EngineClock().now())
        stands = await self.gate.ledger.decisions.put(
            activity.info().workflow_run_id or "",
            call.decision,
            answer=clearance.answer,
            reason=clearance.reason,
            at=clearance.at,
        )
        # A retry whose first answer was lost acts on the answer that is on record.
        answer = Answer(stands.answer) if stands.answer else clearance.answer
        again = ask_again(stands.at, call.expires_at) if answer is Answer.HELD else None
        news = await self._news(call) if call.is_fallback else ()
        return calls.Clearance(
            answer=answer, reason=stands.reason, at=stands.at, ask_again_at=again, news=news
        )

    async def _news(self, call: calls.Check) -> tuple[Observation, ...]:
        """Return what is on record of other channels, also what came while no engine was there to take it."""
        rows = await self.gate.ledger.attempts.of_notice(call.notice_key)
        told = [each for each in rows if each.channel is not call.channel and each.state in SAID]
        return tuple(reports.known(each, at=call.decision.at) for each in told)

    @override
    @activity.defn(name="suppress")
    async def suppress(self, call: calls.Suppress) -> None:
        await self.gate.ledger.suppressions.put(
            self.gate.hashed(call.channel, call.address),
            call.channel,
            call.reason,
            source_notice=call.notice_key,
            observed_at=call.observed_at,
        )
        await self.sharing.tell(call.channel, call.address, call.reason)
