"""One crossing of the wire: what became of it is on record before anyone is told.

No connection to the ledger is held while the provider is asked.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from logging import ERROR, WARNING
from typing import NoReturn

from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from activities import reports
from activities.clock import EngineClock
from activities.logs import event
from activities.providers.base import Message, Reported
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.provider import Provider
from activities.providers.wire import SEND_BUDGET
from activities.store.attempts import Fresh, Standing
from activities.store.errors import StoreError
from activities.store.filings import Kept
from activities.store.ledger import Ledger
from activities.telemetry import Called, provider_call
from activities.transitions import UNCOUNTED, Transitions
from workflows import calls
from workflows.policy import schedule
from workflows.policy.models import Observation
from workflows.policy.words import Source

WIRE_BY = timedelta(seconds=15)
"""A run that needs longer to get to the wire may have been given up: it must not reach it any more."""

ARRIVES_IN = WIRE_BY + SEND_BUDGET
"""The longest from here until a provider has all of a message."""

KEEP_TRIES = 10
"""How often an outcome is written that cannot be written at first."""

KEEP_PAUSE = timedelta(seconds=1)

FIX_FIRST = timedelta(seconds=30)
"""Pause before a provider that refuses our credentials is asked again."""

Counts = Callable[[], Awaitable[bool]]
"""Asks whether the engine still counts on this run."""


@dataclass(frozen=True, slots=True)
class Crossing:
    """One run of a dispatch that is cleared to send."""

    call: calls.Send
    provider: Provider
    message: Message
    clock: EngineClock
    counts: Counts
    ledger: Ledger
    pause: timedelta = KEEP_PAUSE
    """Between tries to write an outcome."""
    transitions: Transitions = UNCOUNTED

    def may_repeat(self, claim: Standing) -> bool:
        """Whether the provider that was asked first will still honour the key when it is asked again."""
        window = self.provider.capabilities(self.call.channel).idempotent_for
        if window is None or claim.provider != self.provider.name:
            return False
        return self.clock.now() + ARRIVES_IN < claim.first_dispatched_at + window

    async def make(self, claim: Fresh | Standing) -> calls.Receipt:
        """Cross the wire once, under a claim; raises ApplicationError as `Dispatcher.send` does."""
        if (
            not await self.counts()
            or self.clock.elapsed > WIRE_BY
            or self.clock.now() >= self.call.expires_at
        ):
            await self._not_sent(claim, NotSent("too late to begin"))
        try:
            reported = await self._cross()
        except Rejected as rejection:
            if not isinstance(claim, Fresh):
                # Nor does it disprove the first acceptance.
                return await self._doubt(Ambiguous(str(rejection), repeatable=False))
            reported = rejection.reported
        except (NotSent, Misconfigured) as error:
            await self._not_sent(claim, error)
        except Ambiguous as error:
            return await self._doubt(error)
        return await self._conclude(reported)

    async def _cross(self) -> Reported:
        message, name = self.message, self.provider.name
        left = self.call.expires_at - self.clock.now()
        called = Called("send", message.key, name, message.channel)
        with provider_call(called, self.transitions.meters) as traced:
            try:
                # A connection that comes too late must not carry the message.
                async with asyncio.timeout(left.total_seconds()):
                    reported = await self.provider.send(message)
            except TimeoutError:
                raise Ambiguous("expired on the wire") from None
            traced.answered(reported.status)
            # An id is on record and in logs, and an address is in neither.
            is_address = message.to in (reported.provider_id or "")
            return replace(reported, provider_id=None) if is_address else reported

    async def _conclude(self, reported: Reported) -> calls.Receipt:
        now = self.clock.now()
        seen = reports.observation(
            reported, self.call.attempt_key, Source.SEND, at=now, event_id=f"send:{self.call.channel}"
        )
        polls = schedule.poll_times(self.call.watch, now, self.call.expires_at, self.call.attempt_key)
        kept = await self._keep(seen, polls[0] if polls else None)
        self._count(calls.Dispatch.SUBMITTED)
        self.transitions.filed(kept, at=now, rule=self.call.rule)
        return calls.Receipt(
            dispatch=calls.Dispatch.SUBMITTED,
            provider=self.provider.name,
            provider_id=reported.provider_id,
            observation=seen,
            readable=self._reads(),
            at=now,
        )

    async def _keep(self, seen: Observation, next_at: datetime | None) -> Kept:
        """Write what the provider said, though the ledger be away for a moment: nobody could ask again."""
        for _ in range(KEEP_TRIES - 1):
            try:
                return await self.ledger.evidence.observe(seen, at=seen.at, next_at=next_at)
            except StoreError:
                await asyncio.sleep(self.pause.total_seconds())
        return await self.ledger.evidence.observe(seen, at=seen.at, next_at=next_at)

    def _count(self, result: str) -> None:
        self.transitions.meters.dispatches.add(self.call.channel, self.provider.name, result)

    async def _not_sent(self, claim: Fresh | Standing, error: NotSent | Misconfigured) -> NoReturn:
        """Give the claim back if nothing can have been accepted; the engine tries again."""
        key, words = self.call.attempt_key, str(error)
        # The refusal of a repeat says nothing about the dispatch before it.
        released = isinstance(claim, Fresh) and await self.ledger.attempts.release(key, claim, note=words)
        if released:
            self.transitions.given_back(key, rule=self.call.rule, at=self.clock.now())
        delay = error.retry_after if isinstance(error, NotSent) else FIX_FIRST
        wrong = isinstance(error, Misconfigured)
        self._count("misconfigured" if wrong else "not_sent")
        event(
            "misconfigured" if wrong else "not sent",
            level=ERROR if wrong else WARNING,
            attempt_key=key,
            provider=self.provider.name,
            why=words,
        )
        raise ApplicationError(
            words,
            type=type(error).__name__ if released else Ambiguous.__name__,
            next_retry_delay=delay,
            category=ApplicationErrorCategory.UNSPECIFIED if wrong else ApplicationErrorCategory.BENIGN,
        ) from None

    async def _doubt(self, error: Ambiguous) -> calls.Receipt:
        key, words = self.call.attempt_key, str(error)
        was = await self.ledger.attempts.doubt(key, note=words)
        self._count(calls.Dispatch.AMBIGUOUS)
        self.transitions.doubted(key, was, rule=self.call.rule, at=self.clock.now())
        event("ambiguous", level=WARNING, attempt_key=key, provider=self.provider.name, why=words)
        if error.repeatable and self.provider.capabilities(self.call.channel).idempotent_for is not None:
            raise ApplicationError(
                words,
                type=Ambiguous.__name__,
                next_retry_delay=error.retry_after,
                category=ApplicationErrorCategory.BENIGN,
            ) from None
        return calls.Receipt(
            dispatch=calls.Dispatch.AMBIGUOUS, provider=self.provider.name, at=self.clock.now()
        )

    def _reads(self) -> bool:
        """Whether this provider can be asked about the attempt later."""
        can = self.provider.capabilities(self.call.channel)
        return can.reads_by_id or can.reads_by_key
