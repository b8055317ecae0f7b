"""What became of an attempt: the ledger is asked first, then the provider that took it."""

from dataclasses import dataclass
from datetime import datetime

from temporalio import activity
from temporalio.exceptions import ApplicationError

from activities import reports
from activities.clock import EngineClock
from activities.instruments import NONE
from activities.observing import OBSERVER
from activities.providers.errors import Misconfigured, ReadFailed
from activities.providers.provider import Provider
from activities.providers.registry import Providers
from activities.store.attempts import AttemptRow
from activities.store.ledger import Ledger
from activities.telemetry import Called, provider_call
from activities.transitions import UNCOUNTED, Transitions
from workflows import calls
from workflows.policy.controls import allows
from workflows.policy.keys import attempted
from workflows.policy.state import TERMINAL
from workflows.policy.words import AttemptState, Source


@dataclass(frozen=True, slots=True)
class Reader:
    """Looks attempts up, and puts what it sees on record."""

    ledger: Ledger
    providers: Providers
    transitions: Transitions = UNCOUNTED

    async def look_up(self, call: calls.LookUp, clock: EngineClock) -> calls.Report:
        """Ask once; raises ApplicationError where no answer could be had."""
        if call.decision is not None:
            run = activity.info().workflow_run_id or ""
            now = clock.now()
            put = await self.ledger.decisions.put(run, call.decision, answer=None, reason=None, at=now)
            if put.is_new and call.due_at is not None:
                channel = attempted(call.attempt_key).channel
                self.transitions.meters.poll_lateness.record(now - call.due_at, channel)
        row = await self.ledger.attempts.find(call.attempt_key)
        if row is None or row.state is AttemptState.PLANNED:
            return calls.Report(unclaimed=True, at=clock.now())
        if row.state in TERMINAL or call.decision is None:
            return _on_record(row, clock.now())
        if not allows((await self.ledger.controls.read()).reconcile, row.notice_key):
            return calls.Report(at=clock.now())
        return await self._ask(call, row, clock)

    async def _ask(self, call: calls.LookUp, row: AttemptRow, clock: EngineClock) -> calls.Report:
        channel = attempted(call.attempt_key).channel
        try:
            # What was only observed went to nobody: nobody is asked.
            asked = row.provider if row.provider != OBSERVER else None
            provider = self.providers.named(asked) if asked else None
            if provider is None or not _answers(provider, row):
                # The worker that has an ambiguous dispatch may still conclude it in the ledger.
                readable = row.state is AttemptState.AMBIGUOUS
                return _on_record(row, clock.now()).model_copy(update={"readable": readable})
            called = Called("look_up", call.attempt_key, provider.name, channel)
            with provider_call(called, self.transitions.meters) as traced:
                reported = await provider.look_up(channel, call.attempt_key, row.provider_id)
                if reported is not None:
                    traced.answered(reported.status)
        except (ReadFailed, Misconfigured) as error:
            self._count(row, "failed")
            raise ApplicationError(str(error), type=type(error).__name__) from None
        if reported is None:
            self._count(row, "nothing")
            await self.ledger.notices.set_next(row.notice_key, call.next_at)
            return calls.Report(at=clock.now())
        seen = reports.observation(
            reported, call.attempt_key, Source.POLL, at=clock.now(), event_id=self._event_id(call)
        )
        now = clock.now()
        kept = await self.ledger.evidence.observe(seen, at=now, next_at=call.next_at)
        if kept.filings:
            self._count(row, "answered")
        self.transitions.filed(kept, at=now, rule=call.decision.rule if call.decision else None)
        return calls.Report(observation=seen, state=kept.state, at=clock.now())

    def _count(self, row: AttemptRow, result: str) -> None:
        self.transitions.meters.reads.add(row.channel, row.provider or NONE, result)

    @staticmethod
    def _event_id(call: calls.LookUp) -> str:
        """A retried read is one observation; an operator's reset reads anew."""
        return f"poll:{call.number}:{activity.info().workflow_run_id}"


def _on_record(row: AttemptRow, now: datetime) -> calls.Report:
    """Return what the ledger says of an attempt."""
    if row.state is AttemptState.AMBIGUOUS:
        return calls.Report(state=row.state, at=now)
    return calls.Report(observation=reports.known(row, at=now), state=row.state, at=now)


def _answers(provider: Provider, row: AttemptRow) -> bool:
    can = provider.capabilities(attempted(row.key).channel)
    return can.reads_by_key or (can.reads_by_id and row.provider_id is not None)
