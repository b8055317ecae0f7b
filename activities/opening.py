"""Whether a verification may begin, and the messages that go out for it; nothing is written here.

Every refusal is one line that names the field, and repeats nothing of what was in it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from activities.catalogue import Catalogue
from activities.fields import FieldError
from activities.settings import Settings
from activities.store.challenge_rows import DeliveryRow
from activities.supplying import StandIns
from workflows.challenge_calls import Open
from workflows.policy import address, return_url, verification_contract
from workflows.policy.address import AddressError
from workflows.policy.contract import ContractError
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.terms import ChallengeTerms, Policy
from workflows.policy.verification import Destination, VerificationRequest
from workflows.policy.words import Channel, Method

NO_CHALLENGE: Final = "kind: carries no challenge; choose one whose policy has [challenge]"
NO_LINKS: Final = "method: STANDBY_PUBLIC_URL is not set, and links begin with it; ask for a code"
NO_RETURN: Final = "return_url: is not below any of the links in STANDBY_RETURN_URLS"
NO_TEXTS: Final = "to.phone: texts do not go to this country"
OTHER_ORDER: Final = "route: is not in the order of this kind; choose a kind of that order"
PASSED: Final = "expires_at: has passed"


class RefusedError(ValueError):
    """A verification that may not begin; the message is one line that names the field."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A verification that may begin, as far as its limits allow."""

    request: VerificationRequest
    """With normal addresses, of the channels in use only."""
    terms: ChallengeTerms
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class Door:
    """Knows what this deployment lets begin."""

    catalogue: Catalogue
    settings: Settings

    def judge(self, call: Open, now: datetime) -> Wanted:
        """Return what begins; raises RefusedError, or UnknownKind."""
        request = _read(call)
        kind = self.catalogue.get(request.kind)
        terms, expires_at = kind.policy.challenge, _expiry(request, kind.policy, now)
        if terms is None:
            raise RefusedError(NO_CHALLENGE)
        self._demand_links(request)
        channels = _channels(request, kind.policy.route, terms)
        try:
            kind.prove(request.fields, channels, StandIns(self.settings.public_url, request.method))
        except FieldError as error:
            raise RefusedError(str(error)) from None
        to = Destination(
            email=request.to.email if Channel.EMAIL in channels else None,
            phone=request.to.phone if Channel.SMS in channels else None,
        )
        _demand_canonical(to)
        return Wanted(request.model_copy(update={"to": to}), terms, expires_at)

    def _demand_links(self, request: VerificationRequest) -> None:
        if request.method is not Method.CODE and self.settings.public_url is None:
            raise RefusedError(NO_LINKS)
        back = request.return_url
        if back is not None and not return_url.allowed(back, self.settings.return_urls):
            raise RefusedError(NO_RETURN)


def still_open(
    first: DeliveryRow, request: VerificationRequest, terms: ChallengeTerms
) -> VerificationRequest | None:
    """Return a request without a number in a country that was closed since; None where nothing is left."""
    if first.phone_hash is None or _goes(request, terms):
        return request
    to = request.to.model_copy(update={"phone": None})
    return None if first.email_hash is None else request.model_copy(update={"to": to})


def message(request: VerificationRequest, sent: DeliveryRow, expires_at: datetime) -> NoticeRequest:
    """Return the notice of one message: to where it was counted, and without a secret."""
    return NoticeRequest(
        kind=request.kind,
        event_id=sent.event_id,
        recipient=Recipient(
            id=request.account_id,
            email=request.to.email if sent.email_hash else None,
            phone=request.to.phone if sent.phone_hash else None,
            sms_consent=True,  # whoever asks for a text agrees to it
        ),
        fields=request.fields,
        expires_at=expires_at,
    )


def _demand_canonical(to: Destination) -> None:
    """Refuse an address that has no canonical form, under which the ledger could count it."""
    for channel in Channel:
        written = to.address(channel)
        try:
            if written is not None:
                address.canonical(channel, written)
        except AddressError as error:
            raise RefusedError(f"to.{error}") from None


def _goes(request: VerificationRequest, terms: ChallengeTerms) -> bool:
    """Whether texts go to the number's country; they do not where nobody can say which it is."""
    return address.country(request.to.phone or "") in terms.countries


def _read(call: Open) -> VerificationRequest:
    """Read a request by the rules of its door: whoever started the workflow may have come by no door."""
    try:
        return verification_contract.validate(
            call.request.model_copy(update={"challenge_id": call.challenge_id})
        )
    except ContractError as error:
        raise RefusedError("; ".join(error.problems)) from None


def _expiry(request: VerificationRequest, policy: Policy, now: datetime) -> datetime:
    """Return the earlier of the request's word and the policy's."""
    if request.expires_at <= now:
        raise RefusedError(PASSED)
    return min(request.expires_at, now + policy.expires_after) if policy.expires_after else request.expires_at


def _channels(
    request: VerificationRequest, order: tuple[Channel, ...], terms: ChallengeTerms
) -> tuple[Channel, ...]:
    """Return the channels that messages may take, in order; raises RefusedError where none is left."""
    route = request.route or order
    for channel in route:
        if channel not in order:
            raise RefusedError(f"route: {channel} is not in the route of this kind")
    if route != tuple(each for each in order if each in route):
        raise RefusedError(OTHER_ORDER)
    given = [each for each in route if request.to.address(each) is not None]
    if not given:
        raise RefusedError(f"to: has no address for {' or '.join(order)}, the route of this kind")
    kept = tuple(each for each in given if each is Channel.EMAIL or _goes(request, terms))
    if not kept:
        raise RefusedError(NO_TEXTS)
    return kept
