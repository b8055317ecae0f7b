"""Telnyx: texts from a number, or from the pool of the messaging profile whose id the sender is."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

import httpx

from activities.providers import (
    answers,
    configured,
    labels,
    refusals,
    signatures,
    telnyx_words,
    wire,
)
from activities.providers.answers import Json
from activities.providers.base import (
    Callback,
    Callbacks,
    Capabilities,
    Finding,
    Level,
    Listed,
    Message,
    Reported,
)
from activities.providers.errors import Forged
from activities.providers.fields import instant, number, part, parts, posted, segment, text
from activities.providers.paging import Pages
from activities.providers.signatures import Clock
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.words import Channel, SuppressionReason

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.SMS: Capabilities(
            reads_by_id=True,
            callbacks=Callbacks.SIGNED,
            has_suppressions=True,
            lists_suppressions=True,
        )
    }
)
"""It knows idempotency keys, but does not say that messages honour them: so they are not relied on."""

EVENTS = frozenset({"message.sent", "message.finalized"})
"""The events of what we sent; the others tell of nothing."""

WEBHOOKS: Final = "2"
"""The version of callbacks that is understood, which a messaging profile chooses."""

LONGEST_SHORT_CODE: Final = 8


@dataclass(frozen=True, slots=True)
class Telnyx:
    """One account at Telnyx."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    api_key: Credential
    sender: str
    callback: str | None = None
    public_key: Credential | None = None
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET
    clock: Clock = field(default=signatures.host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "telnyx"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on."""
        return CAPABILITIES[channel]

    async def send(self, message: Message) -> Reported:
        """Submit once; nothing but the callback's address carries our key."""
        content = {
            "messaging_profile_id" if self._is_profile else "from": self.sender,
            "to": message.to,
            "text": message.text,
        }
        if self.callback is not None:
            content["webhook_url"] = configured.labelled(self.callback, message.key)
        request = self.client.build_request(
            "POST", f"{self.url}/v2/messages", json=content, headers=self._headers()
        )
        answer = await wire.submit(self.client, request, self.budget)
        found = telnyx_words.fault(parts(answer.fields() or {}, "errors"))
        if found is not None and not answer.is_success:
            raise refusals.error(found.meaning, answer, found.code)
        accepted = part(answers.accepted(answer), "data")
        return telnyx_words.reported(accepted, answers.accepted_id(answer, accepted, "id"))

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by id."""
        if provider_id is None:
            return None
        request = self._get(f"/messages/{segment(provider_id)}")
        fields = answers.found(await wire.fetch(self.client, request))
        return None if fields is None else telnyx_words.reported(part(fields, "data"), provider_id)

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether the key holds, the account has credit, and the sender may send."""
        balance = part(await wire.check(self.client, self._get("/balance")), "data")
        return (self._credit(balance), await self._sends(), self._hears())

    async def listed(self, channel: Channel) -> AsyncIterator[Listed]:  # noqa: ARG002
        """List who has stopped this sender."""
        name = "messaging_profile_id" if self._is_profile else "from"
        page, count, pages = 1, 1, Pages()
        while page <= count:
            query = (
                f"filter[{name}]={segment(self.sender)}&page[number]={pages.turn(str(page))}&page[size]=250"
            )
            found = await wire.check(self.client, self._get(f"/messaging_optouts?{query}"))
            rows = parts(found, "data")
            for row in rows:
                address, at = text(row, "to"), instant(text(row, "created_at"))
                if address is not None:
                    yield Listed(address, SuppressionReason.STOPPED, at)
            page, count = page + 1, number(part(found, "meta"), "total_pages") or 0 if rows else 0

    async def verify(self, callback: Callback) -> None:
        """Check the signature, over `timestamp|body`."""
        key = configured.needed(self.public_key, "TELNYX_PUBLIC_KEY")
        timestamp = callback.headers.get("telnyx-timestamp", "")
        signed = f"{timestamp}|".encode(errors="replace") + callback.body
        signatures.ed25519(key.reveal(), signed, callback.headers.get("telnyx-signature-ed25519", ""))
        signatures.stamped(timestamp, self.clock())

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the one event of a callback; what comes in tells of nothing."""
        said = posted(callback.body)
        event = part(said, "data")
        kind, message = text(event, "event_type"), part(event, "payload")
        if kind is None:
            raise Forged("the callback cannot be read")
        provider_id, event_id = text(message, "id"), text(event, "id")
        if kind not in EVENTS or provider_id is None or event_id is None:
            return ()
        label = _label(message, part(said, "meta"))
        return (
            replace(
                telnyx_words.reported(message, provider_id),
                provider_at=instant(text(event, "occurred_at")),
                event_id=event_id,
                attempt_key=label.key,
                attempt_digest=label.digest,
            ),
        )

    @property
    def _is_profile(self) -> bool:
        try:
            UUID(self.sender)
        except ValueError:
            return False
        return True

    def _credit(self, balance: Json) -> Finding:
        try:
            has_credit = float(text(balance, "available_credit") or "") > 0
        except ValueError:
            return Finding(Level.UNCHECKED, self.name, "the key holds, but the balance cannot be read")
        if not has_credit:
            return Finding(Level.PROBLEM, self.name, "the account has no credit: top it up")
        return Finding(Level.OK, self.name, "the key holds, and the account has credit")

    async def _sends(self) -> Finding:
        """Find the messaging profile that the sender sends by, and what keeps it from that."""
        if self.sender.isdigit() and len(self.sender) <= LONGEST_SHORT_CODE:
            return Finding(Level.UNCHECKED, self.name, f"short code {self.sender} is not looked up")
        profile = self.sender if self._is_profile else await self._profile()
        if profile is None:
            says = (
                f"{self.sender} has no messaging profile: give it one at the provider, or name a profile's id"
            )
            return Finding(Level.PROBLEM, self.name, says)
        found = answers.found(
            await wire.fetch(self.client, self._get(f"/messaging_profiles/{segment(profile)}"))
        )
        if found is None:
            return Finding(
                Level.PROBLEM, self.name, f"messaging profile {profile} is not known: check STANDBY_SMS_FROM"
            )
        settings = part(found, "data")
        if settings.get("enabled") is False:
            return Finding(Level.PROBLEM, self.name, f"messaging profile {profile} is disabled: enable it")
        if text(settings, "webhook_api_version") not in {WEBHOOKS, None}:
            says = f"messaging profile {profile} makes callbacks of another version: choose API v{WEBHOOKS}"
            return Finding(Level.PROBLEM, self.name, says)
        return Finding(Level.OK, self.name, f"messaging profile {profile} sends")

    async def _profile(self) -> str | None:
        asked = self._get(f"/phone_numbers?filter[phone_number]={segment(self.sender)}")
        numbers = parts(await wire.check(self.client, asked), "data")
        return text(numbers[0], "messaging_profile_id") if numbers else None

    def _hears(self) -> Finding:
        if self.public_key is None or self.callback is None:
            says = "callbacks are not heard: set STANDBY_PUBLIC_URL and STANDBY_TELNYX_PUBLIC_KEY"
            return Finding(Level.NOTE, self.name, says)
        return Finding(Level.OK, self.name, "callbacks are asked for, and can be believed")

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key.reveal()}"}

    def _get(self, path: str) -> httpx.Request:
        return self.client.build_request("GET", f"{self.url}/v2{path}", headers=self._headers())


def _label(message: Json, meta: Json) -> labels.Label:
    """Read our key in the callback's address, as the signed body repeats it."""
    for address in (text(message, "webhook_url"), text(meta, "delivered_to")):
        try:
            given = parse_qs(urlsplit(address or "").query).get("attempt", [])
        except ValueError:
            continue
        label = labels.read(given[0] if given else None)
        if label != labels.Label():
            return label
    return labels.Label()


def build(settings: Settings, client: httpx.AsyncClient) -> Telnyx:
    """Make the adapter that the settings describe."""
    account = settings.telnyx
    return Telnyx(
        client,
        account.url,
        configured.needed(account.api_key, "TELNYX_API_KEY"),
        configured.sms_sender(settings, account),
        configured.callback_url(settings, "telnyx"),
        account.public_key,
    )
