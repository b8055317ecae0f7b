"""Knows who may receive what, now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from temporalio import activity
from typing_extensions import override

from activities import reports
from activities.clock import EngineClock
from activities.gate import Gate
from activities.instruments import NONE
from activities.metrics import NOTHING, Meters
from activities.sharing import Sharing
from activities.store.attempts import AttemptRow
from workflows import calls
from workflows.policy.eligibility import Answer, ask_again
from workflows.policy.keys import parts
from workflows.policy.models import Observation
from workflows.policy.words import AttemptState

SAID: Final = frozenset({AttemptState.SUBMITTED, AttemptState.CONFIRMED, AttemptState.FAILED})
"""States that a report has brought about."""


@dataclass(frozen=True, slots=True)
class LedgerEligibility(calls.Eligibility):
    """Answers from the ledger, and puts each answer on record beside its decision."""

    gate: Gate
    sharing: Sharing
    meters: Meters = NOTHING

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
        rows = await self.gate.ledger.attempts.of_notice(call.notice_key) if call.is_fallback else ()
        if stands.is_new:
            self.meters.checks.add(call.channel, answer, stands.reason or NONE)
            if call.is_fallback and answer is Answer.YES:
                self._count_escalation(call, rows, stands.at)
        news = _news(call, rows)
        return calls.Clearance(
            answer=answer, reason=stands.reason, at=stands.at, ask_again_at=again, news=news
        )

    def _count_escalation(self, call: calls.Check, rows: Sequence[AttemptRow], at: datetime) -> None:
        """Count a fallback that may go out; one that was dispatched before was counted then."""
        if any(each.channel is call.channel and each.dispatches for each in rows):
            return
        self.meters.escalations.add(parts(call.notice_key).kind, call.channel, call.decision.rule)
        if call.due_at is not None:
            self.meters.fallback_lateness.record(at - call.due_at, call.channel)

    @override
    @activity.defn(name="suppress")
    async def suppress(self, call: calls.Suppress) -> None:
        is_new = await self.gate.ledger.suppressions.put(
            self.gate.hashed(call.channel, call.address),
            call.channel,
            call.reason,
            source_notice=call.notice_key,
            observed_at=call.observed_at,
        )
        if is_new:
            self.meters.suppressions.add(call.channel, call.reason)
        if not await self.gate.only_observes(call.notice_key):
            await self.sharing.tell(call.channel, call.address, call.reason)


def _news(call: calls.Check, rows: Sequence[AttemptRow]) -> tuple[Observation, ...]:
    """Return what is on record of other channels, also what came while no engine was there to take it."""
    told = [each for each in rows if each.channel is not call.channel and each.state in SAID]
    return tuple(reports.known(each, at=call.decision.at) for each in told)
