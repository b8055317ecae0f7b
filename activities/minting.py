"""A new challenge, and what its secrets are told for: nothing here leaves the process but digests.

A key that this worker has not got is an error that the engine tries again, perhaps on another worker.
"""

from dataclasses import dataclass
from datetime import datetime

from temporalio.exceptions import ApplicationError

from activities.challenge import Secrets, Seed, derive, digests, result_digest
from activities.keyring import Keyring
from activities.opening import Wanted
from activities.store.challenge_rows import ChallengeRow
from activities.store.challenges import Destinations
from workflows.challenge_calls import Open
from workflows.policy import address
from workflows.policy.keys import notice_key, parts
from workflows.policy.words import Channel, Method


@dataclass(frozen=True, slots=True)
class Mint:
    """Makes challenges with the keys of a deployment; raises ApplicationError of type UnknownKey."""

    keyring: Keyring

    def challenge(self, call: Open, wanted: Wanted, now: datetime) -> ChallengeRow:
        """Make a challenge; of its secrets only what the method uses can be presented."""
        request, terms = wanted.request, wanted.terms
        seed = Seed.fresh(self.keyring)
        made = self._secrets(seed, terms.code_digits)
        kept = digests(self.keyring, call.challenge_id, made)
        key = parts(notice_key(request.kind, call.challenge_id, request.account_id))
        return ChallengeRow(
            id=call.challenge_id,
            account_id=key.recipient_id,
            kind=key.kind,
            purpose=request.purpose,
            method=request.method,
            chain=call.chain,
            key_id=seed.key_id,
            nonce=seed.nonce,
            code_digits=terms.code_digits,
            wrong_codes=terms.wrong_codes,
            link_digest=None if request.method is Method.CODE else kept.link,
            code_digest=None if request.method is Method.LINK else kept.code,
            result_digest=result_digest(self.keyring, made.result),
            created_at=now,
            expires_at=wanted.expires_at,
        )

    def result(self, row: ChallengeRow) -> str:
        """Return the opaque word that stands for a consumption."""
        return self._secrets(Seed(row.key_id, row.nonce), row.code_digits).result

    def destinations(self, wanted: Wanted) -> Destinations:
        """Return the keyed hashes of where the challenge goes."""
        hashed = {}
        for channel in Channel:
            written = wanted.request.to.address(channel)
            if written is not None:
                canonical = address.canonical(channel, written)
                hashed[channel] = self.keyring.address_hash(channel, canonical)
        return Destinations(hashed.get(Channel.EMAIL), hashed.get(Channel.SMS))

    def _secrets(self, seed: Seed, digits: int) -> Secrets:
        try:
            return derive(self.keyring, seed, digits=digits)
        except KeyError:
            message = f'no key "{seed.key_id}" in this key file, which made a challenge: add it and restart'
            raise ApplicationError(message, type="UnknownKey") from None
