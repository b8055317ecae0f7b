"""Twilio: texts that carry our key in the address of their callbacks only; `sent` may be the last word."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit, urlunsplit

import httpx

from activities import accounts
from activities.providers import answers, configured, labels, refusals, signatures, wire
from activities.providers.base import Callback, Callbacks, Capabilities, Finding, Level, Message, Reported
from activities.providers.configured import ATTEMPT
from activities.providers.errors import Forged, Misconfigured
from activities.providers.fields import event_id, form, pairs, part, parts, posted, segment, text
from activities.providers.twilio_words import INBOUND, REFUSALS, Shape, reported, shape
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.words import Channel

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.SMS: Capabilities(reads_by_id=True, callbacks=Callbacks.SIGNED, has_suppressions=True),
    }
)

BODY_HASH = "bodySHA256"
"""In the query of a callback that is not a form; then only the address is signed."""

PORTS: Mapping[str, int] = MappingProxyType({"https": 443, "http": 80})


class Login(NamedTuple):
    """Who asks: the account itself, or an API key of it."""

    user: str | Credential
    secret: Credential


@dataclass(frozen=True, slots=True)
class Twilio:
    """One account at Twilio."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    account_sid: str
    login: Login
    sender: str
    auth_token: Credential | None = None
    """Signs callbacks, whoever asked for them."""
    callback_url: str | None = None
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "twilio"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on: callbacks only where there is an address to call."""
        at_most = CAPABILITIES[channel]
        return at_most if self.callback_url else replace(at_most, callbacks=Callbacks.NONE)

    async def send(self, message: Message) -> Reported:
        """Submit once; a repetition would be a second text."""
        content = {
            "To": message.to,
            "MessagingServiceSid" if shape(self.sender) is Shape.SERVICE else "From": self.sender,
            "Body": message.text,
        }
        if self.callback_url:
            content["StatusCallback"] = configured.labelled(self.callback_url, message.key)
        request = self.client.build_request(
            "POST", self._address("/Messages"), data=content, headers=self._headers()
        )
        answer = await wire.submit(self.client, request, self.budget)
        refusals.check(answer, REFUSALS, text(answer.fields() or {}, "code"))
        fields = answers.accepted(answer)
        provider_id = answers.accepted_id(answer, fields, "sid")
        word = text(fields, "status") or "queued"
        return reported({**fields, "status": word}, provider_id, self.sender)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by id."""
        if provider_id is None:
            return None
        fields = answers.found(await wire.fetch(self.client, self._get(f"/Messages/{segment(provider_id)}")))
        return None if fields is None else reported(fields, provider_id, self.sender)

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether messages can be read, the account is active and paid, and the sender is its own."""
        await wire.check(self.client, self._get("/Messages", PageSize="1"))
        readable = Finding(Level.OK, self.name, "the credentials hold, messages can be read")
        return readable, await self._account(), await self._owned(), self._called_back()

    async def verify(self, callback: Callback) -> None:
        """Check the signature, which covers the address and all parameters, but no time."""
        token = configured.needed(self.auth_token, "TWILIO_AUTH_TOKEN").reveal()
        given = callback.headers.get("x-twilio-signature", "")
        signed = _signed_body(callback)
        for url in _spellings(callback.url):
            with suppress(Forged):
                signatures.hmac_base64(token, f"{url}{signed}".encode(errors="replace"), given, digest="sha1")
                return
        raise Forged("the signature does not match")

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the one event of a callback; texts that somebody sent to us tell of nothing."""
        query = _query(callback)
        fields = posted(callback.body) if BODY_HASH in query else form(callback.body)
        provider_id = text(fields, "MessageSid", "SmsSid")
        word = text(fields, "MessageStatus", "SmsStatus")
        if provider_id is None:
            raise Forged("the callback cannot be read")
        if word is None or word in INBOUND:
            return ()
        said = reported(fields, provider_id, self.sender)
        label = labels.read(query.get(ATTEMPT))
        told = event_id(provider_id, word, said.code or "")
        return (replace(said, event_id=told, attempt_key=label.key, attempt_digest=label.digest),)

    async def _account(self) -> Finding:
        try:
            account = await wire.check(self.client, self._get(""))
        except Misconfigured:
            # That messages can be read is known by now.
            says = "the account cannot be read with this API key: see that it is active and no trial"
            return Finding(Level.UNCHECKED, self.name, says)
        match text(account, "status"), text(account, "type"):
            case "active", "Trial":
                says = "the account is a trial, which texts verified numbers only: upgrade it"
            case "active", _:
                return Finding(Level.OK, self.name, "the account is active")
            case _:
                says = "the account is not active: see its balance and its notices at the provider"
        return Finding(Level.PROBLEM, self.name, says)

    async def _owned(self) -> Finding:
        match shape(self.sender):
            case Shape.NUMBER:
                query, rows = (
                    self._get("/IncomingPhoneNumbers", PhoneNumber=self.sender),
                    "incoming_phone_numbers",
                )
            case Shape.SHORT_CODE:
                query, rows = self._get("/SMS/ShortCodes", ShortCode=self.sender), "short_codes"
            case Shape.SERVICE:
                says = "messaging services are kept by another API: see that this one has a sender"
                return Finding(Level.UNCHECKED, self.name, says)
            case Shape.NAME:
                says = "which countries take this sender id is in the provider's guidelines"
                return Finding(Level.UNCHECKED, self.name, says)
        found = parts(await wire.check(self.client, query), rows)
        own = [each for each in found if self.sender in {each.get("phone_number"), each.get("short_code")}]
        if not own or part(own[0], "capabilities").get("sms") is False:
            says = "the sender is no number of this account that texts: change STANDBY_SMS_FROM"
            return Finding(Level.PROBLEM, self.name, says)
        return Finding(Level.OK, self.name, "the sender is a number of this account")

    def _called_back(self) -> Finding:
        if self.callback_url:
            return Finding(Level.OK, self.name, "callbacks are asked for, and can be checked")
        says = (
            "no callbacks: STANDBY_PUBLIC_URL and STANDBY_TWILIO_AUTH_TOKEN are needed for them;"
            " a message whose reply is lost cannot be found"
        )
        return Finding(Level.NOTE, self.name, says)

    def _headers(self) -> dict[str, str]:
        user = self.login.user
        told = user.reveal() if isinstance(user, Credential) else user
        return {"Authorization": configured.basic(told, self.login.secret)}

    def _address(self, path: str) -> str:
        return f"{self.url}/2010-04-01/Accounts/{segment(self.account_sid)}{path}.json"

    def _get(self, path: str, **query: str) -> httpx.Request:
        return self.client.build_request("GET", self._address(path), params=query, headers=self._headers())


def _split(url: str) -> SplitResult:
    try:
        split = urlsplit(url)
        _ = split.port  # is read only now
    except ValueError:
        raise Forged("the address of the callback cannot be read") from None
    return split


def _query(callback: Callback) -> dict[str, str]:
    return dict(parse_qsl(_split(callback.url).query))


def _signed_body(callback: Callback) -> str:
    """Return what is signed after the address; raises Forged for a body that the address denies."""
    expected = _query(callback).get(BODY_HASH)
    if expected is None:
        return "".join(name + value for name, value in sorted(set(pairs(callback.body))))
    signatures.same(expected.lower(), hashlib.sha256(callback.body).hexdigest())
    return ""


def _spellings(url: str) -> tuple[str, str]:
    """Return an address without its port and with it: which of the two is signed depends on the caller."""
    split = _split(url)
    host = split.netloc.removesuffix(f":{split.port}")
    port = split.port or PORTS.get(split.scheme)
    return urlunsplit(split._replace(netloc=host)), urlunsplit(split._replace(netloc=f"{host}:{port}"))


def _login(account: accounts.Twilio) -> Login:
    if account.key_sid is None and account.key_secret is None:
        token = configured.needed(account.auth_token, "TWILIO_AUTH_TOKEN")
        return Login(configured.needed(account.account_sid, "TWILIO_ACCOUNT_SID"), token)
    secret = configured.needed(account.key_secret, "TWILIO_KEY_SECRET")
    return Login(configured.needed(account.key_sid, "TWILIO_KEY_SID"), secret)


def build(settings: Settings, client: httpx.AsyncClient) -> Twilio:
    """Make the adapter that the settings describe."""
    account = settings.twilio
    return Twilio(
        client,
        account.url,
        configured.needed(account.account_sid, "TWILIO_ACCOUNT_SID"),
        _login(account),
        configured.sms_sender(settings, account),
        account.auth_token,
        configured.callback_url(settings, "twilio") if account.auth_token else None,
    )
