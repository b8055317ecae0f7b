"""Verifications as the tests of the ledger know them; a digest here is as good as any."""

import hashlib
from datetime import datetime

from activities.store.challenge_rows import ChallengeRow, DeliveryRow
from activities.store.challenges import Destinations, Duplicate
from activities.store.ledger import Ledger
from activities.store.notices import Terms
from tests.store.facts import DIGEST, EMAIL_HASH, NOW, POLICY, SMS_HASH, after
from workflows.policy.controls import Control
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.resend import Denied
from workflows.policy.terms import ChallengeTerms
from workflows.policy.verification import KIND, Presented
from workflows.policy.words import Channel, Method

ID = "challenge-1"
ACCOUNT = "account-1"
EXPIRES = after(minutes=10)
TERMS = ChallengeTerms()
BOTH = Destinations(EMAIL_HASH, SMS_HASH)


def digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode()).hexdigest()


def link(challenge_id: str = ID) -> Presented:
    return Presented(link=digest("link", challenge_id))


def code(challenge_id: str = ID) -> Presented:
    return Presented(code=digest("code", challenge_id))


def wrong(number: int = 0) -> Presented:
    return Presented(code=digest("wrong", str(number)))


def elsewhere(name: str) -> Destinations:
    """Return destinations that no other name has."""
    return Destinations(digest("email", name), digest("phone", name))


def challenge(
    challenge_id: str = ID,
    *,
    account: str = ACCOUNT,
    method: Method = Method.BOTH,
    chain: str = "run-1",
    wrong_codes: int = 5,
    at: datetime = NOW,
) -> ChallengeRow:
    return ChallengeRow(
        id=challenge_id,
        account_id=account,
        kind=KIND,
        purpose="signup",
        method=method,
        chain=chain,
        nonce=digest("nonce", challenge_id, chain),
        code_digits=6,
        wrong_codes=wrong_codes,
        link_digest=None if method is Method.CODE else digest("link", challenge_id),
        code_digest=None if method is Method.LINK else digest("code", challenge_id),
        result_digest=digest("result", challenge_id),
        created_at=at,
        expires_at=max(EXPIRES, at + (EXPIRES - NOW)),
    )


async def opened(
    ledger: Ledger,
    new: ChallengeRow | None = None,
    *,
    to: Destinations = BOTH,
    terms: ChallengeTerms = TERMS,
    at: datetime = NOW,
) -> ChallengeRow | Denied | Duplicate:
    return await ledger.challenges.open(new or challenge(at=at), to, terms, at=at)


async def asked(
    ledger: Ledger,
    asked_id: str = "update-1",
    *,
    challenge_id: str = ID,
    terms: ChallengeTerms = TERMS,
    control: Control | None = None,
    is_automatic: bool = False,
    at: datetime = after(minutes=1),  # noqa: B008 - a constant
) -> DeliveryRow | Denied:
    return await ledger.challenges.ask(
        challenge_id, asked_id, terms, control or Control(), is_automatic=is_automatic, at=at
    )


async def claimed(ledger: Ledger, challenge_id: str = ID) -> str:
    """Admit the notice of a challenge's first message, claim its text, and return the attempt's key."""
    request = NoticeRequest(kind=KIND, event_id=challenge_id, recipient=Recipient(id=ACCOUNT))
    await ledger.notices.admit(request, Terms(POLICY, DIGEST, EXPIRES, "run-2"), at=NOW)
    key = attempt_key(request.key, Channel.SMS)
    await ledger.attempts.claim(key, provider="sandbox", address_hash=SMS_HASH, at=NOW)
    return key
