"""A challenge on record as a verification opens it, and the notice that carries it."""

from itertools import count

from activities.challenge import Secrets, Seed, derive, digests, result_digest
from activities.keyring import Keyring
from activities.store.challenge_rows import ChallengeRow
from activities.store.challenges import Destinations
from activities.store.ledger import Ledger
from tests.activities.given import EXPIRY, KEYRING, NOW, SHIPPED, after
from workflows.policy import address
from workflows.policy.controls import Control
from workflows.policy.keys import delivery_event
from workflows.policy.models import NoticeRequest
from workflows.policy.words import Channel, Method

SIGNUP = SHIPPED.get("signup_verification")
TO = SIGNUP.sample.recipient

_NUMBERS = count(1)


async def opened(
    ledger: Ledger, method: Method = Method.BOTH, *, keyring: Keyring = KEYRING
) -> tuple[NoticeRequest, Secrets]:
    """Open a challenge that no other test knows; return its first message and what that must carry."""
    terms, seed = SIGNUP.policy.challenge, Seed.fresh(keyring)
    assert terms is not None
    made = derive(keyring, seed, digits=terms.code_digits)
    challenge_id = f"challenge-{next(_NUMBERS)}"
    kept = digests(keyring, challenge_id, made)
    row = ChallengeRow(
        id=challenge_id,
        account_id=f"account-{challenge_id}",
        kind=SIGNUP.name,
        purpose="signup",
        method=method,
        chain="chain-1",
        key_id=seed.key_id,
        nonce=seed.nonce,
        code_digits=terms.code_digits,
        wrong_codes=terms.wrong_codes,
        link_digest=kept.link,
        code_digest=kept.code,
        result_digest=result_digest(keyring, made.result),
        created_at=NOW,
        expires_at=EXPIRY,
    )
    await ledger.challenges.open(row, destinations(keyring), terms, at=NOW)
    return message(row.id), made


def destinations(keyring: Keyring = KEYRING) -> Destinations:
    """Return where the sample goes, as the ledger knows it."""
    hashed = {
        channel: keyring.address_hash(channel, address.canonical(channel, TO.address(channel) or ""))
        for channel in Channel
    }
    return Destinations(hashed[Channel.EMAIL], hashed[Channel.SMS])


async def asked_again(ledger: Ledger, challenge_id: str) -> NoticeRequest:
    """Ask for the second message of a challenge, as a person does."""
    terms = SIGNUP.policy.challenge
    assert terms is not None
    await ledger.challenges.ask(
        challenge_id, "update-1", terms, Control(), is_automatic=False, at=after(minutes=1)
    )
    return message(challenge_id, 2)


def message(challenge_id: str, number: int = 1, **changes: object) -> NoticeRequest:
    """Return the notice that is a message of a challenge."""
    recipient = TO.model_copy(update={"id": f"account-{challenge_id}"})
    event = {"event_id": delivery_event(challenge_id, number), "recipient": recipient}
    return NoticeRequest.model_validate(SIGNUP.sample.model_dump() | event | changes)
