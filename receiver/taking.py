"""What becomes of a report that a provider called back: engine or ledger has it, or nobody says 2xx.

=======================================  ===================================================================
whose it is, as the ledger has it        what is done
=======================================  ===================================================================
of an attempt that this provider took    signalled to the notice; where that has closed or no engine answers,
                                         put on record
the same, and on record already          nothing
of nobody, or not yet                    kept aside, with a count: a receipt that comes later adopts it
=======================================  ===================================================================

A provider is believed about its own attempts only: who knows the secret of one cannot speak for another.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError

from activities import reports
from activities.observing import OBSERVER
from activities.providers.base import Reported
from activities.providers.fields import event_id
from activities.store.errors import StoreError
from activities.store.ledger import Ledger
from activities.transitions import UNCOUNTED, Transitions
from client.runs import handle_of
from workflows.notice import Notice
from workflows.policy.keys import attempted
from workflows.policy.models import Observation
from workflows.policy.words import Source

ENGINE: Final = timedelta(seconds=2)
"""How long the engine may take for a signal: the provider waits for us, and the ledger is there as well."""

ABREAST: Final = 16
"""Reports in hand at once in one process: a batch is one request, and may hold a thousand."""

_LONGEST_KEY: Final = 1000


class Taken(StrEnum):
    """Where a report is now."""

    SIGNALLED = "signalled"
    RECORDED = "recorded"
    KNOWN = "known"
    ASIDE = "aside"


@dataclass(frozen=True, slots=True)
class Taker:
    """Takes reports that were verified; raises StoreError for what is neither with engine nor ledger."""

    ledger: Ledger
    client: Client
    patience: timedelta = ENGINE
    room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(ABREAST))
    served: frozenset[str] = frozenset()
    """The providers that serve a channel: what was only observed was sent by one of them, under our key."""
    transitions: Transitions = UNCOUNTED

    async def take_all(
        self, provider: str, reported: Sequence[Reported], *, at: datetime
    ) -> tuple[Taken, ...]:
        """Take a batch: every event is tried, also where one failed; then the first error is raised.

        The whole batch may be brought again: what was taken is known by then. `at` (UTC) is its reception.
        """
        events = {
            (each.attempt_key, each.attempt_digest, each.provider_id, named(each)): each for each in reported
        }
        tries = [self._in_turn(provider, each, at) for each in events.values()]
        results = await asyncio.gather(*tries, return_exceptions=True)
        errors = [each for each in results if isinstance(each, BaseException)]
        # What nobody foresaw is worth more attention than a ledger that is away.
        for error in sorted(errors, key=lambda each: isinstance(each, StoreError)):
            raise error
        return tuple(each for each in results if isinstance(each, Taken))

    async def take(self, provider: str, reported: Reported, *, at: datetime) -> Taken:
        """Take one report."""
        key = await self._whose(provider, reported)
        if key is not None:
            return await self._put(key, reported, at)
        await self._aside(provider, reported, at)
        # Its receipt may have come in between, and have looked for it too early.
        key = await self._whose(provider, reported)
        return Taken.ASIDE if key is None else await self._put(key, reported, at)

    async def _in_turn(self, provider: str, reported: Reported, at: datetime) -> Taken:
        async with self.room:
            return await self.take(provider, reported, at=at)

    async def _whose(self, provider: str, reported: Reported) -> str | None:
        """Return the attempt that a provider means, if it took that attempt itself."""
        if (key := _attempt_key(reported.attempt_key)) is not None:
            row = await self.ledger.attempts.find(key)
            if row is not None and row.provider in self._names(provider):
                return row.key
        return await self.ledger.attempts.whose(
            *self._names(provider), digest=reported.attempt_digest, provider_id=reported.provider_id
        )

    def _names(self, provider: str) -> frozenset[str]:
        """Return what attempts that a provider can speak of say about who took them."""
        return frozenset({provider, OBSERVER} if provider in self.served else {provider})

    async def _put(self, key: str, reported: Reported, at: datetime) -> Taken:
        seen = reports.observation(reported, key, Source.CALLBACK, at=at, event_id=named(reported))
        if await self.ledger.evidence.known(key, seen.event_id):
            return Taken.KNOWN
        # A run that is refused hears reports too, and keeps none: what has closed is told to the ledger.
        is_open = not await self.ledger.notices.is_closed(attempted(key).notice_key)
        if is_open and await self._signalled(seen):
            return Taken.SIGNALLED
        kept = await self.ledger.evidence.observe(seen, at=at)
        self.transitions.filed(kept, at=at)
        return Taken.RECORDED

    async def _signalled(self, seen: Observation) -> bool:
        """Tell the notice; False where it has closed, or where no engine took it in time."""
        handle = handle_of(self.client, attempted(seen.attempt_key).notice_key)
        try:
            async with asyncio.timeout(self.patience.total_seconds()):
                await handle.signal(Notice.observe, seen)
        except (RPCError, TimeoutError):
            return False
        return True

    async def _aside(self, provider: str, reported: Reported, at: datetime) -> None:
        await self.ledger.strays.put(
            provider, reported, provider_id=reported.provider_id, event_id=named(reported), at=at
        )


def named(reported: Reported) -> str:
    """Return the id of an event, also of one that its adapter gave none."""
    message = reported.provider_id or ""
    words = (message, reported.status, reported.raw, reported.code or "", f"{reported.provider_at}")
    return reported.event_id or event_id(*words)


def _attempt_key(key: str | None) -> str | None:
    """Return what can be an attempt key: anybody may have written it."""
    if key is None or len(key) > _LONGEST_KEY or not (key.isascii() and key.isprintable()):
        return None
    try:
        attempted(key)
    except ValueError:
        return None
    return key
