"""Asks providers what became of the attempts of a notice that has closed; what they say is filed as evidence.

As a callback does that comes after the close: it is kept, marked late, and changes no state.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from activities import reports
from activities.observing import OBSERVER
from activities.providers.base import Capabilities, Reported
from activities.providers.errors import Misconfigured, ReadFailed
from activities.providers.fields import event_id
from activities.providers.provider import Prepares
from activities.providers.registry import PROVIDERS, Providers
from activities.store.ledger import Ledger
from activities.store.records import AttemptRow, ObservationRow, Story
from workflows.policy.controls import allows
from workflows.policy.models import Observation
from workflows.policy.retrying import Asked, Past, Sent, Word
from workflows.policy.terms import Policy
from workflows.policy.words import Source

_NOTHING: Final[Mapping[str, Asked]] = MappingProxyType({})


def past(story: Story, policy: Policy | None, asked: Mapping[str, Asked] = _NOTHING) -> Past:
    """Return what is on record of a notice, as far as a retry is concerned."""
    return Past(
        key=story.key,
        outcome=story.outcome,
        attempts=tuple(_sent(each, story.observations) for each in story.attempts),
        reason=story.notice.reason,
        carries_challenge=policy is not None and policy.challenge is not None,
        pruned=story.notice.pruned_at is not None,
        asked=asked,
    )


@dataclass(frozen=True, slots=True)
class Reconciler:
    """Asks, and files."""

    ledger: Ledger
    providers: Providers

    async def ask(self, sent: Sent) -> Asked:
        """Ask once about one attempt; raises StoreError where the answer cannot be filed."""
        row = await self.ledger.attempts.find(sent.key)
        if row is None or not _can_be_asked(row):
            return Asked.UNASKABLE
        if not allows((await self.ledger.controls.read()).reconcile, row.notice_key):
            return Asked.HELD
        try:
            return await self._ask(row)
        except Misconfigured:
            return Asked.NOT_FROM_HERE
        except ReadFailed:
            return Asked.FAILED

    async def _ask(self, row: AttemptRow) -> Asked:
        """Ask as a worker does, and file what is said; raises ReadFailed or Misconfigured."""
        provider = self.providers.named(row.provider or "")
        if not _answers(provider.capabilities(row.channel), row):
            return Asked.UNASKABLE
        if isinstance(provider, Prepares):
            await provider.prepare()
        reported = await provider.look_up(row.channel, row.key, row.provider_id)
        if reported is None:
            return Asked.NOTHING
        await self.ledger.evidence.observe(_observation(reported, row), at=datetime.now(UTC))
        return Asked.ANSWERED


def _can_be_asked(row: AttemptRow) -> bool:
    """Whether its provider can be asked at all, however it is set up."""
    adapter = PROVIDERS.get(row.provider or "")
    can = adapter.CAPABILITIES.get(row.channel) if adapter else None
    return can is not None and _answers(can, row)


def _answers(can: Capabilities, row: AttemptRow) -> bool:
    return can.reads_by_key or (can.reads_by_id and row.provider_id is not None)


def _observation(reported: Reported, row: AttemptRow) -> Observation:
    """Return an answer as evidence: the same answer another time is the same report."""
    words = (reported.status, reported.raw, reported.code or "", f"{reported.provider_at}")
    named = f"reconciled:{event_id(*words, str(reported.is_final))}"
    return reports.observation(reported, row.key, Source.POLL, at=datetime.now(UTC), event_id=named)


def _sent(row: AttemptRow, observations: tuple[ObservationRow, ...]) -> Sent:
    return Sent(
        key=row.key,
        channel=row.channel,
        state=row.state,
        provider=row.provider,
        words=tuple(Word(each.status, each.is_final) for each in observations if each.attempt_key == row.key),
        observed=row.provider == OBSERVER,
    )
