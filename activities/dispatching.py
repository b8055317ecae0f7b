"""One dispatch: claim, wire, outcome; never twice for one attempt key.

The claim is committed under the unique attempt key before the wire, and it is written as `ambiguous`: a
worker that dies has filed its own case correctly. A run that finds a claim returns its outcome if it has
one. If it has none, only a provider that honours the key is asked again.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from temporalio.exceptions import ApplicationError

from activities import reports
from activities.catalogue import Catalogue
from activities.clock import EngineClock
from activities.crossing import FIX_FIRST, KEEP_PAUSE, Counts, Crossing
from activities.gate import Gate
from activities.observing import Observer
from activities.providers.base import Message
from activities.providers.errors import Ambiguous, Misconfigured
from activities.providers.provider import Provider
from activities.providers.registry import Providers
from activities.store.attempts import AttemptRow, Closed, Fresh, Settled, Standing
from activities.supplying import Supply
from workflows import calls
from workflows.policy import address
from workflows.policy.eligibility import Answer
from workflows.policy.words import AttemptState, Channel

CHALLENGE_OVER: Final = "challenge_over"
"""Why nothing is sent any more that would carry a challenge."""


async def unasked() -> bool:
    """Where no engine runs the dispatch, nobody can have given it up."""
    return True


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Sends attempts through the providers of a deployment."""

    gate: Gate
    catalogue: Catalogue
    providers: Providers
    supply: Supply
    pause: timedelta = KEEP_PAUSE
    """Between tries to write an outcome."""
    observer: Provider = field(default_factory=Observer)
    """Stands in for all of them where an operator only wants to see what would be sent."""

    async def send(self, call: calls.Send, clock: EngineClock, counts: Counts = unasked) -> calls.Receipt:
        """Dispatch an attempt, or return what is known of it; `counts` says whether this run still does.

        Raises ApplicationError of type NotSent or Misconfigured where nothing was accepted, and of type
        Ambiguous where the provider honours the key; the engine retries all three.
        """
        row = await self.gate.ledger.attempts.find(call.attempt_key)
        if row is not None and row.state not in {AttemptState.PLANNED, AttemptState.AMBIGUOUS}:
            return self._known(row, clock)
        clearance = await self.gate.ask(call, clock.now())
        if clearance.answer is not Answer.YES:
            return self._barred(row, clearance)
        try:
            message = await self._compose(call, clock.now())
            provider = self._provider(call, clearance)
        except Misconfigured as error:
            raise _fix_first(row, error) from None
        if message is None:
            over = calls.Clearance(answer=Answer.NO, reason=CHALLENGE_OVER, at=clock.now())
            return self._barred(row, over)
        return await self._claim(
            Crossing(call, provider, message, clock, counts, self.gate.ledger, self.pause)
        )

    def _provider(self, call: calls.Send, clearance: calls.Clearance) -> Provider:
        if clearance.observed:
            return self.observer
        return self.providers.serving(call.channel, call.watch.provider)

    async def _claim(self, run: Crossing) -> calls.Receipt:
        key, now = run.call.attempt_key, run.clock.now()
        attempts = self.gate.ledger.attempts
        hashed = self.gate.hashed(run.call.channel, run.message.to)
        claim = await attempts.claim(key, provider=run.provider.name, address_hash=hashed, at=now)
        match claim:
            case Fresh():
                return await run.make(claim)
            case Settled(row=row):
                return self._known(row, run.clock)
            case Standing() if run.may_repeat(claim) and await attempts.repeat(key, at=now):
                return await run.make(claim)
            case Standing():
                return calls.Receipt(
                    dispatch=calls.Dispatch.AMBIGUOUS, provider=claim.provider, at=claim.last_dispatched_at
                )
            case Closed():
                clearance = calls.Clearance(answer=Answer.NO, reason="closed", at=now)
                return calls.Receipt(dispatch=calls.Dispatch.BARRED, clearance=clearance, at=now)

    async def _compose(self, call: calls.Send, now: datetime) -> Message | None:
        """Render the message; bodies, links and secrets exist only inside this activity.

        None where the challenge that it would carry is over. Raises Misconfigured where there is no link.
        """
        kind = self.catalogue.get(call.request.kind)
        fields = await self.supply.fields(call, kind.policy, now)
        if fields is None:
            return None
        rendered = kind.render(call.channel, fields)
        return Message(
            key=call.attempt_key,
            channel=call.channel,
            to=address.written(call.channel, call.request.recipient.address(call.channel) or ""),
            subject=rendered.subject,
            text=rendered.text,
            html=rendered.html,
            unsubscribe_url=rendered.unsubscribe_url,
        )

    @staticmethod
    def _barred(row: AttemptRow | None, clearance: calls.Clearance) -> calls.Receipt:
        """What is barred now may have left earlier."""
        if row is None or not _left(row):
            return calls.Receipt(dispatch=calls.Dispatch.BARRED, clearance=clearance, at=clearance.at)
        return calls.Receipt(
            dispatch=calls.Dispatch.AMBIGUOUS,
            provider=row.provider,
            clearance=clearance,
            at=row.last_dispatched_at or clearance.at,
        )

    def _known(self, row: AttemptRow, clock: EngineClock) -> calls.Receipt:
        """Return the receipt of a dispatch that is on record."""
        seen = reports.known(row, at=clock.now())
        return calls.Receipt(
            dispatch=calls.Dispatch.SUBMITTED,
            provider=row.provider,
            provider_id=row.provider_id,
            observation=seen,
            readable=self._reads(row.provider, row.channel),
            at=seen.at,
        )

    def _reads(self, name: str | None, channel: Channel) -> bool:
        """Whether the provider that took an attempt can be asked about it."""
        try:
            can = self.providers.named(name or "").capabilities(channel)
        except Misconfigured:
            return False
        return can.reads_by_id or can.reads_by_key


def _fix_first(row: AttemptRow | None, error: Misconfigured) -> ApplicationError:
    """Say that somebody must change a setting; that says nothing about an earlier dispatch."""
    name = (Ambiguous if _left(row) else Misconfigured).__name__
    return ApplicationError(str(error), type=name, next_retry_delay=FIX_FIRST)


def _left(row: AttemptRow | None) -> bool:
    """Whether an earlier dispatch may have been accepted."""
    return row is not None and row.state is AttemptState.AMBIGUOUS
