"""Keeps the evidence."""

from dataclasses import dataclass

from temporalio import activity
from typing_extensions import override

from activities.clock import EngineClock
from activities.store.ledger import Ledger
from activities.transitions import UNCOUNTED, Transitions
from workflows import calls


@dataclass(frozen=True, slots=True)
class LedgerChronicle(calls.Chronicle):
    """Writes reports and outcomes to the ledger; each once."""

    ledger: Ledger
    transitions: Transitions = UNCOUNTED

    @override
    @activity.defn(name="record")
    async def record(self, call: calls.Record) -> calls.Filed:
        now = EngineClock().now()
        kept = await self.ledger.evidence.observe(call.observation, at=now)
        self.transitions.filed(kept, at=now)
        return calls.Filed(state=kept.state)

    @override
    @activity.defn(name="close")
    async def close(self, call: calls.Close) -> calls.Closed:
        now = EngineClock().now()
        if call.decision is not None:
            run = activity.info().workflow_run_id or ""
            await self.ledger.decisions.put(run, call.decision, answer=None, reason=None, at=now)
        ending = await self.ledger.notices.close(call.result, call.attempts, at=now)
        self.transitions.closed(ending, call.result, at=now)
        return calls.Closed(outcome=ending.outcome)
