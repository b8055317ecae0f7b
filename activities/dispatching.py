"""One dispatch: claim, wire, outcome; never twice for one attempt key.

The claim is committed under the unique attempt key before the wire, and it is written as `ambiguous`: a
worker that dies has filed its own case correctly. A run that finds a claim returns its outcome if it has
one. If it has none, only a provider that honours the key is asked again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from logging import ERROR, WARNING
from typing import NoReturn

from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities import reports
from activities.catalogue import Catalogue
from activities.clock import EngineClock
from activities.gate import Gate
from activities.logs import event
from activities.providers.base import Message, Provider, Reported
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.registry import Providers
from activities.providers.wire import SEND_BUDGET
from activities.store.attempts import AttemptRow, Closed, Fresh, Settled, Standing
from activities.telemetry import provider_call
from workflows import calls
from workflows.policy import schedule
from workflows.policy.eligibility import Answer
from workflows.policy.words import AttemptState, Channel, Source

WIRE_BY = timedelta(seconds=15)
"""A run that needs longer to get to the wire may have been given up: it must not reach it any more."""

ARRIVES_IN = WIRE_BY + SEND_BUDGET
"""The longest from here until a provider has all of a message."""

FIX_FIRST = timedelta(seconds=30)
"""Pause before a provider that refuses our credentials is asked again."""


Counts = Callable[[], Awaitable[bool]]


async def unasked() -> bool:
    """Where no engine runs the dispatch, nobody can have given it up."""
    return True


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """Sends attempts through the providers of a deployment."""

    gate: Gate
    catalogue: Catalogue
    providers: Providers

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
        provider = self._provider(row, call)
        return await self._claim(_Run(call, provider, self._compose(call), clock, counts))

    def _provider(self, row: AttemptRow | None, call: calls.Send) -> Provider:
        try:
            return self.providers.serving(call.channel, call.watch.provider)
        except Misconfigured as error:
            # That nobody can be asked now says nothing about an earlier dispatch.
            name = (Ambiguous if _left(row) else Misconfigured).__name__
            raise ApplicationError(str(error), type=name, next_retry_delay=FIX_FIRST) from None

    async def _claim(self, run: "_Run") -> calls.Receipt:
        key, now = run.call.attempt_key, run.clock.now()
        attempts = self.gate.ledger.attempts
        hashed = self.gate.hashed(run.call.channel, run.message.to)
        claim = await attempts.claim(key, provider=run.provider.name, address_hash=hashed, at=now)
        match claim:
            case Fresh():
                return await self._transmit(run, claim)
            case Settled(row=row):
                return self._known(row, run.clock)
            case Standing() if run.may_repeat(claim) and await attempts.repeat(key, at=now):
                return await self._transmit(run, claim)
            case Standing():
                return calls.Receipt(
                    dispatch=calls.Dispatch.AMBIGUOUS, provider=claim.provider, at=claim.last_dispatched_at
                )
            case Closed():
                clearance = calls.Clearance(answer=Answer.NO, reason="closed", at=now)
                return calls.Receipt(dispatch=calls.Dispatch.BARRED, clearance=clearance, at=now)

    async def _transmit(self, run: "_Run", claim: Fresh | Standing) -> calls.Receipt:
        """Cross the wire once; no connection to the ledger is held meanwhile."""
        if not await run.counts() or run.clock.elapsed > WIRE_BY or run.clock.now() >= run.call.expires_at:
            await self._not_sent(run, claim, NotSent("too late to begin"))
        try:
            reported = await self._cross(run)
        except Rejected as rejection:
            if not isinstance(claim, Fresh):
                # Nor does it disprove the first acceptance.
                return await self._doubt(run, Ambiguous(str(rejection), repeatable=False))
            reported = rejection.reported
        except (NotSent, Misconfigured) as error:
            await self._not_sent(run, claim, error)
        except Ambiguous as error:
            return await self._doubt(run, error)
        return await self._conclude(run, reported)

    @staticmethod
    async def _cross(run: "_Run") -> Reported:
        message, name = run.message, run.provider.name
        left = run.call.expires_at - run.clock.now()
        with provider_call("send", attempt_key=message.key, provider=name, channel=message.channel) as traced:
            try:
                # A connection that comes too late must not carry the message.
                async with asyncio.timeout(left.total_seconds()):
                    reported = await run.provider.send(message)
            except TimeoutError:
                raise Ambiguous("expired on the wire") from None
            traced.answered(reported.status)
            return reported

    async def _conclude(self, run: "_Run", reported: Reported) -> calls.Receipt:
        now = run.clock.now()
        seen = reports.observation(
            reported, run.call.attempt_key, Source.SEND, at=now, event_id=f"send:{run.call.channel}"
        )
        polls = schedule.poll_times(run.call.watch, now, run.call.expires_at, run.call.attempt_key)
        await self.gate.ledger.evidence.observe(seen, at=now, next_at=polls[0] if polls else None)
        return calls.Receipt(
            dispatch=calls.Dispatch.SUBMITTED,
            provider=run.provider.name,
            provider_id=reported.provider_id,
            observation=seen,
            readable=self._reads(run.provider.name, run.call.channel),
            at=now,
        )

    async def _not_sent(
        self, run: "_Run", claim: Fresh | Standing, error: NotSent | Misconfigured
    ) -> NoReturn:
        """Give the claim back if nothing can have been accepted; the engine tries again."""
        key, words = run.call.attempt_key, str(error)
        # The refusal of a repeat says nothing about the dispatch before it.
        released = isinstance(claim, Fresh) and await self.gate.ledger.attempts.release(
            key, claim, note=words
        )
        delay = error.retry_after if isinstance(error, NotSent) else FIX_FIRST
        wrong = isinstance(error, Misconfigured)
        event(
            "misconfigured" if wrong else "not sent",
            level=ERROR if wrong else WARNING,
            attempt_key=key,
            provider=run.provider.name,
            why=words,
        )
        raise ApplicationError(
            words,
            type=type(error).__name__ if released else Ambiguous.__name__,
            next_retry_delay=delay,
            category=ApplicationErrorCategory.UNSPECIFIED if wrong else ApplicationErrorCategory.BENIGN,
        ) from None

    async def _doubt(self, run: "_Run", error: Ambiguous) -> calls.Receipt:
        key, words = run.call.attempt_key, str(error)
        await self.gate.ledger.attempts.doubt(key, note=words)
        event("ambiguous", level=WARNING, attempt_key=key, provider=run.provider.name, why=words)
        if error.repeatable and run.provider.capabilities(run.call.channel).idempotent_for is not None:
            raise ApplicationError(
                words,
                type=Ambiguous.__name__,
                next_retry_delay=error.retry_after,
                category=ApplicationErrorCategory.BENIGN,
            ) from None
        return calls.Receipt(
            dispatch=calls.Dispatch.AMBIGUOUS, provider=run.provider.name, at=run.clock.now()
        )

    def _compose(self, call: calls.Send) -> Message:
        """Render the message; bodies and links exist only inside this activity."""
        rendered = self.catalogue.get(call.request.kind).render(call.channel, call.request.fields)
        return Message(
            key=call.attempt_key,
            channel=call.channel,
            to=call.request.recipient.address(call.channel) or "",
            subject=rendered.subject,
            text=rendered.text,
            html=rendered.html,
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


@dataclass(frozen=True, slots=True)
class _Run:
    """One run of a dispatch."""

    call: calls.Send
    provider: Provider
    message: Message
    clock: EngineClock
    counts: Counts

    def may_repeat(self, claim: Standing) -> bool:
        """Whether the provider that was asked first will still honour the key when it is asked again."""
        window = self.provider.capabilities(self.call.channel).idempotent_for
        if window is None or claim.provider != self.provider.name:
            return False
        return self.clock.now() + ARRIVES_IN < claim.first_dispatched_at + window


def _left(row: AttemptRow | None) -> bool:
    """Whether an earlier dispatch may have been accepted."""
    return row is not None and row.state is AttemptState.AMBIGUOUS
