"""Search attributes: opaque ids and classified words, never what changes at every poll."""

from datetime import datetime

from temporalio.common import (
    SearchAttributeKey,
    SearchAttributePair,
    SearchAttributeUpdate,
    TypedSearchAttributes,
)

from workflows.policy.keys import notice_key, parts
from workflows.policy.words import Outcome, Phase

KIND = SearchAttributeKey.for_keyword("NoticeKind")
PHASE = SearchAttributeKey.for_keyword("NoticePhase")
OUTCOME = SearchAttributeKey.for_keyword("NoticeOutcome")
RECIPIENT = SearchAttributeKey.for_keyword("NoticeRecipient")
EXPIRES_AT: SearchAttributeKey[datetime] = SearchAttributeKey.for_datetime("NoticeExpiresAt")
FALLBACK_AT: SearchAttributeKey[datetime] = SearchAttributeKey.for_datetime("NoticeFallbackAt")

Update = SearchAttributeUpdate[str] | SearchAttributeUpdate[datetime]

Attribute = SearchAttributeKey[str] | SearchAttributeKey[datetime]

ALL: tuple[Attribute, ...] = (KIND, PHASE, OUTCOME, RECIPIENT, EXPIRES_AT, FALLBACK_AT)


def opened(notice_key: str, phase: Phase, expires_at: datetime | None) -> list[Update]:
    """Return what is set once, when the notice begins."""
    named = parts(notice_key)
    updates: list[Update] = [
        KIND.value_set(named.kind),
        RECIPIENT.value_set(named.recipient_id),
        PHASE.value_set(phase),
    ]
    return [*updates, EXPIRES_AT.value_set(expires_at)] if expires_at else updates


def verifying(kind: str, challenge_id: str, account_id: str) -> TypedSearchAttributes:
    """Return what a verification is found by: the kind and, as recipient, the account of its messages."""
    named = parts(notice_key(kind, challenge_id, account_id))
    return TypedSearchAttributes(
        [SearchAttributePair(KIND, named.kind), SearchAttributePair(RECIPIENT, named.recipient_id)]
    )


def moved(phase: Phase, fallback_at: datetime | None) -> list[Update]:
    """Return what is set when the phase changes."""
    fallback: Update = FALLBACK_AT.value_set(fallback_at) if fallback_at else FALLBACK_AT.value_unset()
    return [PHASE.value_set(phase), fallback]


def closed(outcome: Outcome) -> list[Update]:
    """Return what is set when the notice closes."""
    return [PHASE.value_set(Phase.CLOSED), OUTCOME.value_set(outcome), FALLBACK_AT.value_unset()]
