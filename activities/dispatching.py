"""One dispatch: claim, wire, outcome; never twice for one attempt key.

The claim is committed under the unique attempt key before the wire, and it is written as `ambiguous`: a
worker that dies has filed its own case correctly. A run that finds a claim returns its outcome if it has
one. If it has none, only a provider that honours the key is asked again.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from temporalio.exceptions import ApplicationError

from activities import reports
from activities.catalogue import Catalogue
from activities.clock import EngineClock
from activities.crossing import FIX_FIRST, KEEP_PAUSE, Counts, Crossing
from activities.gate import Gate
from activities.instruments import NONE
from activities.observing import Observer
from activities.providers.base import Message
from activities.providers.errors import Ambiguous, Misconfigured
from activities.providers.provider import Provider
from activities.providers.registry import Providers
from activities.store.attempts import AttemptRow, Barred, Closed, Fresh, Settled, Standing
from activities.store.carrying import Bar
from activities.supplying import Supply
from activities.transitions import UNCOUNTED, Transitions
from workflows import calls
from workflows.policy import address
from workflows.policy.eligibility import Answer
from workflows.policy.words import AttemptState, Channel


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
    transitions: Transitions = UNCOUNTED

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
            return await self._barred(call, row, clearance)
        try:
            message = await self._compose(call, clock.now())
            provider = self._provider(call, clearance)
        except Misconfigured as error:
            self._count(call, call.watch.provider, "misconfigured")
            raise _fix_first(row, error) from None
        if isinstance(message, Bar):
            return await self._barred(call, row, _no(message, clock.now()))
        ledger, told = self.gate.ledger, self.transitions
        return await self._claim(Crossing(call, provider, message, clock, counts, ledger, self.pause, told))

    def _count(self, call: calls.Send, provider: str | None, result: str) -> None:
        self.transitions.meters.dispatches.add(call.channel, provider or NONE, result)

    def _provider(self, call: calls.Send, clearance: calls.Clearance) -> Provider:
        if clearance.observed:
            return self.observer
        return self.providers.serving(call.channel, call.watch.provider)

    async def _claim(self, run: Crossing) -> calls.Receipt:
        key, now = run.call.attempt_key, run.clock.now()
        attempts = self.gate.ledger.attempts
        hashed = self.gate.hashed(run.call.channel, run.message.to)
        carries = self.catalogue.get(run.call.request.kind).policy.challenge is not None
        claim = await attempts.claim(
            key, provider=run.provider.name, address_hash=hashed, at=now, carries=carries
        )
        match claim:
            case Fresh():
                self.transitions.claimed(key, claim, rule=run.call.rule, at=now)
                return await run.make(claim)
            case Settled(row=row):
                return self._known(row, run.clock)
            case Standing() if run.may_repeat(claim) and await attempts.repeat(key, at=now):
                return await run.make(claim)
            case Standing():
                await self._doubt(run.call, claim.provider, now)
                return calls.Receipt(
                    dispatch=calls.Dispatch.AMBIGUOUS, provider=claim.provider, at=claim.last_dispatched_at
                )
            case Closed():
                return await self._barred(run.call, None, _no("closed", now))
            case Barred(bar=bar):
                return await self._barred(run.call, None, _no(bar, now))

    async def _doubt(self, call: calls.Send, provider: str | None, now: datetime) -> None:
        """Put on record that a dispatch has no result, where whoever made it could not: it is told once."""
        key = call.attempt_key
        was = await self.gate.ledger.attempts.doubt(key)
        self.transitions.doubted(key, was, rule=call.rule, at=now)
        if was is not None:
            self._count(call, provider, calls.Dispatch.AMBIGUOUS)

    async def _compose(self, call: calls.Send, now: datetime) -> Message | Bar:
        """Render the message; bodies, links and secrets exist only inside this activity.

        Returns why not where it may not carry a challenge. Raises Misconfigured where there is no link.
        """
        kind = self.catalogue.get(call.request.kind)
        fields = await self.supply.fields(call, kind.policy, now)
        if isinstance(fields, Bar):
            return fields
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

    async def _barred(
        self, call: calls.Send, row: AttemptRow | None, clearance: calls.Clearance
    ) -> calls.Receipt:
        """What is barred now may have left earlier."""
        if row is None or not _left(row):
            self._count(call, call.watch.provider, calls.Dispatch.BARRED)
            return calls.Receipt(dispatch=calls.Dispatch.BARRED, clearance=clearance, at=clearance.at)
        await self._doubt(call, row.provider, clearance.at)
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


def _no(reason: str, at: datetime) -> calls.Clearance:
    return calls.Clearance(answer=Answer.NO, reason=reason, at=at)


def _fix_first(row: AttemptRow | None, error: Misconfigured) -> ApplicationError:
    """Say that somebody must change a setting; that says nothing about an earlier dispatch."""
    name = (Ambiguous if _left(row) else Misconfigured).__name__
    return ApplicationError(str(error), type=name, next_retry_delay=FIX_FIRST)


def _left(row: AttemptRow | None) -> bool:
    """Whether an earlier dispatch may have been accepted."""
    return row is not None and row.state is AttemptState.AMBIGUOUS
