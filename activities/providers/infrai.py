"""Infrai: email and texts under a key that it honours for a day; it calls nobody back."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Final

import httpx

from activities.providers import answers, configured, labels, refusals, wire
from activities.providers.answers import Answer, Json
from activities.providers.base import Capabilities, Finding, Level, Message, Reported
from activities.providers.errors import ReadFailed
from activities.providers.fields import part, parts, segment, text
from activities.providers.infrai_words import (
    HARD_BOUNCE,
    IDS,
    PINNED,
    READS,
    SENDS,
    SERVES,
    compared,
    data_of,
    reported,
    word,
)
from activities.providers.refusals import UNREPEATABLE, UNSURE, Meaning, wrong
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.address import ascii_domain
from workflows.policy.words import Channel, SuppressionReason

NO_CREDIT: Final = "INSUFFICIENT_CREDIT"

_KEY = wrong("check STANDBY_INFRAI_API_KEY, what it permits, and that the sender is verified")

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        "unauthorized": _KEY,
        NO_CREDIT: wrong("the credit of the account is used up: top it up at the provider"),
        # What it says of a key that stands for another content is not published.
        "conflict": UNREPEATABLE,
    }
)
"""The rest means what its HTTP status means."""

BY_STATUS: Mapping[int, str] = MappingProxyType(
    {401: "unauthorized", 402: NO_CREDIT, 403: "unauthorized", 409: "conflict"}
)
"""Where the HTTP status is published, and not every code with it."""

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.EMAIL: Capabilities(
            idempotent_for=timedelta(hours=24),
            reads_by_id=True,
            has_suppressions=True,
            takes_suppressions=True,
        ),
        Channel.SMS: Capabilities(
            idempotent_for=timedelta(hours=24), reads_by_id=True, has_suppressions=True
        ),
    }
)

LONGEST_KEY: Final = 255

NOBODY: Final = "standby-doctor"
"""The id of no message: asking for it shows whether the key holds."""


@dataclass(frozen=True, slots=True)
class Infrai:
    """One project at Infrai; without a sender its account's own is used."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    api_key: Credential
    senders: Mapping[Channel, str] = field(default_factory=dict)
    """An address without a name, and a number: nothing else is published."""
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "infrai"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on."""
        return CAPABILITIES[channel]

    async def send(self, message: Message) -> Reported:
        """Submit once, under the key; `examine` compares what is sent with what it describes."""
        content = {
            "from": self.senders.get(message.channel),
            "to": ascii_domain(message.to),
            "subject": message.subject,
            "body" if message.channel is Channel.SMS else "text": message.text,
            "html": message.html,
        }
        key = labels.header(message.key, LONGEST_KEY)
        request = self._post(PINNED[SENDS[message.channel]].path, content, key)
        answer = await wire.submit(self.client, request, self.budget)
        code = _code(answer)
        refusals.check(answer, REFUSALS, code)
        fields = answers.accepted(answer)
        if fields.get("ok") is False:
            # Which refusals are final only discovery knows; the key makes a repetition safe.
            raise refusals.error(REFUSALS.get(code or "", UNSURE), answer, code or "not ok")
        record = data_of(fields)
        provider_id = answers.accepted_id(answer, record, *IDS[message.channel])
        return reported(record if word(record) else {"state": "accepted"}, provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by id; of a hard bounce, ask also why."""
        if provider_id is None:
            return None
        record = await self._read(self._get(self._record(channel, provider_id)))
        if record is None:
            return None
        events: tuple[Json, ...] = ()
        if channel is Channel.EMAIL and (word(record) or "").lower() == HARD_BOUNCE:
            events = await self._events(provider_id)
        return reported(record, provider_id, *events)

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:
        """Compare what is relied on with what it describes, and see whether the key holds."""
        described = [await self._described(each) for each in SERVES[channel]]
        return (*described, await self._key_holds(channel), self._sender(channel))

    async def suppress(self, channel: Channel, address: str, reason: SuppressionReason) -> None:
        """Put an address on the list, which has no numbers."""
        if channel is not Channel.EMAIL:
            raise ReadFailed("its list takes no numbers")
        content = {"email": address}
        if reason is SuppressionReason.INVALID_RECIPIENT:
            content["reason"] = HARD_BOUNCE
        key = hashlib.sha256(f"{reason}\n{address}".encode()).hexdigest()
        if await self._read(self._post(PINNED["email.suppression.add"].path, content, key)) is None:
            raise ReadFailed("it does not know what was asked for")

    async def _events(self, provider_id: str) -> tuple[Json, ...]:
        """List what happened to an email; nothing where that cannot be had, which proves nothing."""
        path = f"{PINNED['email.event.list'].path}?message_id={segment(provider_id)}"
        try:
            listed = await self._read(self._get(path)) or {}
        except ReadFailed:
            return ()
        return parts(listed, "items") or parts(listed, "records")

    async def _described(self, capability: str) -> Finding:
        """Read a description, which is public."""
        request = self.client.build_request("GET", f"{self.url}/v1/discovery/{capability}")
        level, says = compared(capability, await self._read(request))
        return Finding(level, f"{self.name} {capability}", says)

    async def _key_holds(self, channel: Channel) -> Finding:
        try:
            found = await self._read(self._get(self._record(channel, NOBODY)))
        except ReadFailed as fault:
            return Finding(Level.UNCHECKED, self.name, f"whether the key holds: {fault}")
        if found is None:
            says = "messages can be looked up; whether the key holds, it does not say before the first one"
            return Finding(Level.UNCHECKED, self.name, says)
        return Finding(Level.OK, self.name, "the key holds, and messages can be looked up")

    def _sender(self, channel: Channel) -> Finding:
        variable = "STANDBY_EMAIL_FROM" if channel is Channel.EMAIL else "STANDBY_SMS_FROM"
        if channel not in self.senders:
            return Finding(Level.NOTE, self.name, f"{variable} is not set: the account's own sender is used")
        return Finding(Level.UNCHECKED, self.name, f"{variable}: see at the provider that it is verified")

    def _record(self, channel: Channel, provider_id: str) -> str:
        return PINNED[READS[channel]].path.replace("{id}", segment(provider_id))

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key.reveal()}"}

    def _get(self, path: str) -> httpx.Request:
        return self.client.build_request("GET", f"{self.url}{path}", headers=self._headers())

    def _post(self, path: str, content: Mapping[str, str | None], key: str) -> httpx.Request:
        """Write JSON as its conventions ask: sorted, without blanks, with a newline at its end."""
        told = {name: value for name, value in content.items() if value}
        body = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
        headers = self._headers() | {"Content-Type": "application/json", "Idempotency-Key": key}
        return self.client.build_request("POST", f"{self.url}{path}", content=body.encode(), headers=headers)

    async def _read(self, request: httpx.Request) -> Json | None:
        answer = await wire.fetch(self.client, request)
        fields = answers.found(answer)
        if fields is not None and fields.get("ok") is False:
            raise ReadFailed(f"{answer.words}, not ok")
        return None if fields is None else data_of(fields)


def _code(answer: Answer) -> str | None:
    return BY_STATUS.get(answer.status) or text(part(answer.fields() or {}, "error"), "code")


def build(settings: Settings, client: httpx.AsyncClient) -> Infrai:
    """Make the adapter that the settings describe."""
    account, senders = settings.infrai, {}
    if account.email_from or settings.email_from:
        senders[Channel.EMAIL] = configured.email_sender(settings, account).address
    if account.sms_from or settings.sms_from:
        senders[Channel.SMS] = configured.sms_sender(settings, account)
    api_key = configured.needed(account.api_key, "INFRAI_API_KEY")
    return Infrai(client, account.url, api_key, MappingProxyType(senders))
