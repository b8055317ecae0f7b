"""Plivo: texts that carry our key in the address of their callbacks only; `sent` may be the last word."""

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from http import HTTPStatus
from types import MappingProxyType
from urllib.parse import parse_qsl, urlsplit

import httpx

from activities.providers import answers, configured, labels, refusals, signatures, wire
from activities.providers.answers import Answer, Json
from activities.providers.base import (
    Callback,
    Callbacks,
    Capabilities,
    Finding,
    Level,
    Message,
    Reported,
    can_be_kept,
)
from activities.providers.configured import ATTEMPT
from activities.providers.errors import Ambiguous, Forged
from activities.providers.fields import event_id, form, instant, pairs, segment, text
from activities.providers.plivo_words import REFUSALS, UNAUTHORIZED, reported
from activities.providers.refusals import INVALID
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.words import Channel, Status

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.SMS: Capabilities(reads_by_id=True, callbacks=Callbacks.SIGNED, has_suppressions=True),
    }
)

POOL = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
"""The id of a Powerpack, a pool of numbers."""

NUMBER = re.compile(r"\+?[1-9][0-9]{6,14}")

SIGNATURES = ("x-plivo-signature-ma-v3", "x-plivo-signature-v3")
"""By the token of the main account, and by that of the account that sent; each may hold several."""


@dataclass(frozen=True, slots=True)
class Plivo:
    """One account at Plivo."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    auth_id: str
    auth_token: Credential
    sender: str
    callback_url: str | None = None
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "plivo"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on: callbacks only where there is an address to call."""
        at_most = CAPABILITIES[channel]
        return at_most if self.callback_url else replace(at_most, callbacks=Callbacks.NONE)

    async def send(self, message: Message) -> Reported:
        """Submit once; a repetition would be a second text."""
        content = {
            "powerpack_uuid" if POOL.fullmatch(self.sender) else "src": self.sender,
            "dst": message.to,
            "text": message.text,
            "type": "sms",
        }
        if self.callback_url:
            content |= {"url": configured.labelled(self.callback_url, message.key), "method": "POST"}
        request = self.client.build_request(
            "POST", self._address("Message/"), json=content, headers=self._headers()
        )
        answer = await wire.submit(self.client, request, self.budget)
        refusals.check(answer, REFUSALS, _said(answer))
        provider_id = _accepted_id(answer, message.to)
        return Reported(Status.PENDING, is_final=False, raw="queued", provider_id=provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by id."""
        if provider_id is None:
            return None
        fields = answers.found(await wire.fetch(self.client, self._get(f"Message/{segment(provider_id)}/")))
        if fields is None:
            return None
        said = reported(text(fields, "message_state") or "", text(fields, "error_code"), provider_id)
        return replace(said, provider_at=instant(text(fields, "message_updated_time")))

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether the credentials hold, the account is paid, and the sender is its own."""
        account = await wire.check(self.client, self._get(""))
        return self._paid(account), await self._owned(), self._called_back()

    async def verify(self, callback: Callback) -> None:
        """Check the signature, which covers the address, all parameters and a nonce, but no time."""
        nonce = callback.headers.get("x-plivo-signature-v3-nonce", "")
        given = [each.strip() for name in SIGNATURES for each in callback.headers.get(name, "").split(",")]
        signatures.hmac_base64(
            self.auth_token.reveal(), f"{_signed(callback)}.{nonce}".encode(errors="replace"), *given
        )

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the one event of a callback; texts that somebody sent to us tell of nothing."""
        fields = form(callback.body)
        provider_id, word = text(fields, "MessageUUID"), text(fields, "Status")
        if provider_id is None:
            raise Forged("the callback cannot be read")
        if word is None or word == "received":
            return ()
        label = labels.read(dict(parse_qsl(urlsplit(callback.url).query)).get(ATTEMPT))
        return (
            replace(
                reported(word, text(fields, "ErrorCode"), provider_id),
                event_id=event_id(provider_id, word, fields.get("Sequence", "")),
                attempt_key=label.key,
                attempt_digest=label.digest,
            ),
        )

    def _paid(self, account: Json) -> Finding:
        if text(account, "account_type") == "developer":
            says = "the account is a free trial, which texts verified numbers only: upgrade it"
            return Finding(Level.PROBLEM, self.name, says)
        if text(account, "auth_id") != self.auth_id:
            return Finding(Level.UNCHECKED, self.name, "the account does not say whose it is")
        if _is_used_up(account):
            return Finding(Level.PROBLEM, self.name, "the credit of the account is used up: recharge it")
        return Finding(Level.OK, self.name, "the credentials hold, the account is no trial")

    async def _owned(self) -> Finding:
        if POOL.fullmatch(self.sender):
            path = f"Powerpack/{segment(self.sender)}/"
        elif NUMBER.fullmatch(self.sender):
            path = f"Number/{self.sender.removeprefix('+')}/"
        else:
            says = "no API tells where this sender may text: see the provider's list of countries"
            return Finding(Level.UNCHECKED, self.name, says)
        own = answers.found(await wire.fetch(self.client, self._get(path)))
        if own is None or own.get("sms_enabled") is False:
            says = "the sender is none of this account that texts: change STANDBY_SMS_FROM"
            return Finding(Level.PROBLEM, self.name, says)
        return Finding(Level.OK, self.name, "the sender belongs to this account")

    def _called_back(self) -> Finding:
        if self.callback_url:
            return Finding(Level.OK, self.name, "callbacks are asked for, and can be checked")
        says = "no callbacks without STANDBY_PUBLIC_URL: a message whose reply is lost cannot be found"
        return Finding(Level.NOTE, self.name, says)

    def _headers(self) -> dict[str, str]:
        return {"Authorization": configured.basic(self.auth_id, self.auth_token)}

    def _address(self, path: str) -> str:
        return f"{self.url}/v1/Account/{segment(self.auth_id)}/{path}"

    def _get(self, path: str) -> httpx.Request:
        return self.client.build_request("GET", self._address(path), headers=self._headers())


def _said(answer: Answer) -> str:
    if answer.status == HTTPStatus.UNAUTHORIZED:
        return UNAUTHORIZED
    return (text(answer.fields() or {}, "error") or "").lower()


def _accepted_id(answer: Answer, to: str) -> str:
    """Return the first of the ids; raises Rejected where the one number that was given is called invalid."""
    fields = answers.accepted(answer)
    match fields.get("message_uuid"), fields.get("invalid_number"):
        case [str() as found, *_], _ if can_be_kept(found):
            return found
        case (([] | None), [*invalid]) if to.lstrip("+") in {f"{each}".lstrip("+") for each in invalid}:
            raise refusals.error(INVALID, answer, "invalid_number")
    raise Ambiguous(f"{answer.words}, without an id")


def _is_used_up(account: Json) -> bool:
    """Say whether the account is prepaid, and nothing is left of it."""
    try:
        left = float(text(account, "cash_credits") or "nan")
    except ValueError:
        return False
    return text(account, "billing_mode") == "prepaid" and left <= 0


def _signed(callback: Callback) -> str:
    """Return the address and the parameters of a callback, in the order in which they are signed."""
    url, _, written = callback.url.partition("?")
    query = "&".join(f"{name}={value}" for name, value in sorted(parse_qsl(written, keep_blank_values=True)))
    posted = "".join(name + value for name, value in sorted(pairs(callback.body)))
    if not posted:
        return f"{url}?{query}" if query else url
    return f"{url}?{query}.{posted}" if query else f"{url}?{posted}"


def build(settings: Settings, client: httpx.AsyncClient) -> Plivo:
    """Make the adapter that the settings describe."""
    account = settings.plivo
    return Plivo(
        client,
        account.url,
        configured.needed(account.auth_id, "PLIVO_AUTH_ID"),
        configured.needed(account.auth_token, "PLIVO_AUTH_TOKEN"),
        configured.sms_sender(settings, account),
        configured.callback_url(settings, "plivo"),
    )
