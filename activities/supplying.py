"""What the deployment supplies to templates: the secrets of a challenge, and where email ends.

Secrets exist inside the send activity only. Wherever templates are proved before, stand-ins of the same
length take their place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final

from activities import unsubscribing
from activities.challenge import LINK, Secrets, Seed, derive
from activities.keyring import Keyring
from activities.providers.errors import Misconfigured
from activities.store.carrying import Bar, Bearer, Carried
from activities.store.challenge_rows import ChallengeRow
from activities.store.ledger import Ledger
from workflows import calls
from workflows.policy import address
from workflows.policy.keys import parts
from workflows.policy.models import Fields, NoticeRequest
from workflows.policy.terms import Policy
from workflows.policy.words import Channel, Method

VERIFY_URL: Final = "verify_url"
CODE: Final = "code"
SECRETS: Final = frozenset({VERIFY_URL, CODE})
"""The fields that a challenge brings; a caller's own of these names are not heard."""
UNSUBSCRIBE_URL: Final = "unsubscribe_url"

_NOT_SET: Final = "STANDBY_PUBLIC_URL is not set, and the links of verifications begin with it"
_KEY_GONE: Final = "the key file no longer has the key of this challenge: put it back"
_SOMEWHERE: Final = "https://verify.example"
_LETTER: Final = "x"
_DIGITS: Final = "73190642"
"""A code that no template holds by itself, as some would a row of zeros."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StandIns:
    """What proves templates before there is anything to supply; none of it is ever sent."""

    public_url: str | None = None
    method: Method | None = None
    """Of the challenge, where the kind carries one."""

    def beside(self, given: Fields, policy: Policy, channel: Channel) -> Fields:
        """Return the fields of a request with a stand-in for each that would be supplied."""
        end = _end(policy, channel, self.public_url, _LETTER * unsubscribing.LENGTH)
        return _joined(given, policy, self.secrets(policy), end)

    def secrets(self, policy: Policy) -> Mapping[str, str]:
        """Return the stand-ins of a challenge's secrets: what its message must carry."""
        if policy.challenge is None or self.method is None:
            return _NOTHING
        link = f"{self.public_url or _SOMEWHERE}/v/{_LETTER * LINK}"
        return _of_method(self.method, link, _DIGITS[: policy.challenge.code_digits])


@dataclass(frozen=True, slots=True)
class Supply:
    """Supplies one dispatch, at the moment of effect."""

    ledger: Ledger
    keyring: Keyring
    public_url: str | None
    """Where people reach this deployment's pages."""

    def stand_ins(self, method: Method | None = None) -> StandIns:
        """Return what proves a kind's templates on this deployment."""
        return StandIns(self.public_url, method)

    async def carried(self, request: NoticeRequest) -> Carried | None:
        """Return the message of a challenge that a notice is: to the addresses that it was asked for.

        Raises AddressError for an address that is none, StoreError where the ledger cannot be read.
        """
        return await self.ledger.challenges.carried(self._bearer(request))

    async def fields(self, call: calls.Send, policy: Policy, now: datetime) -> Fields | Bar:
        """Return the request's fields with what is supplied, or why its challenge is not sent.

        Raises Misconfigured where no link can be made or a key is gone, StoreError where the ledger cannot be
        read.
        """
        secrets = _NOTHING
        if policy.challenge is not None:
            carried = await self.carried(call.request)
            bar = Bar.FOREIGN if carried is None else carried.bar(now)
            if carried is None or bar is not None:
                return bar or Bar.FOREIGN
            secrets = self._secrets(carried.challenge)
        return _joined(call.request.fields, policy, secrets, self._end(call, policy))

    def _bearer(self, request: NoticeRequest) -> Bearer:
        given = {channel: request.recipient.address(channel) for channel in Channel}
        hashes = {
            channel: self.keyring.address_hash(channel, address.canonical(channel, written))
            for channel, written in given.items()
            if written is not None
        }
        return Bearer(request.key, parts(request.key).event_id, hashes)

    def _secrets(self, row: ChallengeRow) -> Mapping[str, str]:
        if self.public_url is None and row.method is not Method.CODE:
            raise Misconfigured(_NOT_SET)
        made = self._derived(row)
        return _of_method(row.method, f"{self.public_url}/v/{made.link}", made.code)

    def _derived(self, row: ChallengeRow) -> Secrets:
        try:
            return derive(self.keyring, Seed(row.key_id, row.nonce), digits=row.code_digits)
        except KeyError:
            raise Misconfigured(_KEY_GONE) from None

    def _end(self, call: calls.Send, policy: Policy) -> Mapping[str, str]:
        written = call.request.recipient.email
        if written is None:
            return _NOTHING
        hashed = self.keyring.address_hash(Channel.EMAIL, address.canonical(Channel.EMAIL, written))
        return _end(policy, call.channel, self.public_url, unsubscribing.token(self.keyring, hashed))


def _joined(given: Fields, policy: Policy, secrets: Mapping[str, str], end: Mapping[str, str]) -> Fields:
    """Return all fields: an end of the caller's own is kept, a secret of the caller's own never is."""
    own = SECRETS if policy.challenge is not None else frozenset()
    return {**end, **{name: value for name, value in given.items() if name not in own}, **secrets}


def _of_method(method: Method, verify_url: str, code: str) -> Mapping[str, str]:
    """Return what a person is given; the rest is absent, so that a template can ask for it by a section."""
    match method:
        case Method.LINK:
            return {VERIFY_URL: verify_url}
        case Method.CODE:
            return {CODE: code}
        case Method.BOTH:
            return {VERIFY_URL: verify_url, CODE: code}


def _end(policy: Policy, channel: Channel, public_url: str | None, token: str) -> Mapping[str, str]:
    """Return where email ends that is not essential."""
    if policy.essential or channel is not Channel.EMAIL or public_url is None:
        return _NOTHING
    return {UNSUBSCRIBE_URL: f"{public_url}/unsubscribe/{token}"}
