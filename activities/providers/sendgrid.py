"""SendGrid: email without idempotency; its logs find a message by the one category that it carries."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

import httpx

from activities.providers import answers, configured, labels, refusals, signatures, wire
from activities.providers import sendgrid_words as words
from activities.providers.answers import Answer, Json
from activities.providers.base import (
    Callback,
    Callbacks,
    Capabilities,
    Finding,
    Level,
    Listed,
    Message,
    Reported,
    can_be_kept,
)
from activities.providers.configured import Sender
from activities.providers.errors import Ambiguous, Forged, Misconfigured, ReadFailed
from activities.providers.fields import decoded, parts, segment, text, unix
from activities.providers.paging import Pages
from activities.providers.signatures import Clock
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.address import ascii_domain
from workflows.policy.words import Channel, Status, SuppressionReason

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.EMAIL: Capabilities(
            reads_by_id=True,
            reads_by_key=True,
            callbacks=Callbacks.SIGNED,
            has_suppressions=True,
            lists_suppressions=True,
            takes_suppressions=True,
            takes_headers=True,
        )
    }
)

PAGE: Final = 250
"""Half of the longest page of a list: bounces bring long reasons, and an answer may be too long to read."""
COPIES: Final = 100
"""More messages under one key than there can be."""
OLDEST: Final = timedelta(hours=25)
"""The age of a signature: it repeats for 24 hours, and does not say that each try is signed anew."""

_UNAVAILABLE = frozenset({HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_SIGNED = "x-twilio-email-event-webhook"


@dataclass(frozen=True, slots=True)
class SendGrid:
    """One account at SendGrid."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    api_key: Credential
    sender: Sender
    webhook_key: Credential | None = None
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET
    clock: Clock = field(default=signatures.host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "sendgrid"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on."""
        return CAPABILITIES[channel]

    async def send(self, message: Message) -> Reported:
        """Submit once; an acceptance has no body, and its id is in a header."""
        label, to = labels.label(message.key), ascii_domain(message.to)
        bodies = {"text/plain": message.text, "text/html": message.html}
        sender = {"email": self.sender.address, "name": self.sender.name}
        content = {
            "personalizations": [{"to": [{"email": to}], "custom_args": {words.ARGUMENT: label}}],
            "from": {name: value for name, value in sender.items() if value},
            "subject": message.subject,
            "content": [{"type": kind, "value": body} for kind, body in bodies.items() if body],
            "headers": dict(message.headers),
            "categories": [label],
        }
        request = self._request("/v3/mail/send", {name: value for name, value in content.items() if value})
        answer = words.patient(await wire.submit(self.client, request, self.budget))
        refusals.check(answer, words.refusals_of(answer.status, to), words.named(answer))
        if not answer.is_success:
            raise answers.refusal(answer)
        provider_id = answer.headers.get("x-message-id", "").strip()
        if not can_be_kept(provider_id):
            raise Ambiguous(f"{answer.words}, without an id")
        return Reported(Status.PENDING, is_final=False, raw=answer.words, provider_id=provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by our key, as no query takes the part of the id that we have, and pick by that part."""
        rows = await self._logs(key)
        rows = await self._activity(key) if rows is None else rows
        ours = [each for each in rows if words.is_about(each, provider_id)]
        return words.strongest([await self._read(each) for each in ours])

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See what the key permits, whether the logs answer, and whether the sender is known."""
        scopes = (await wire.check(self.client, self._request("/v3/scopes"))).get("scopes")
        permitted = [Finding(level, self.name, says) for level, says in words.permitted(scopes)]
        return (*permitted, await self._readable(), await self._identity())

    async def listed(self, channel: Channel) -> AsyncIterator[Listed]:  # noqa: ARG002
        """List complaints, unsubscribes, and addresses that are invalid or to blame for their bounce."""
        for name, reason in words.LISTS.items():
            async for row in self._pages(f"/v3/suppression/{name}"):
                address, at = text(row, "email"), unix(row.get("created"))
                if address is not None and words.is_told(name, row):
                    yield Listed(address, reason, at)

    async def suppress(self, channel: Channel, address: str, reason: SuppressionReason) -> None:  # noqa: ARG002
        """Put an address on the global unsubscribe list, if its person chose so.

        It is the one list that can be written, and holds a choice and nothing else: an address that is only
        invalid would be listed again as one whose person unsubscribed.
        """
        if reason is not SuppressionReason.INVALID_RECIPIENT:
            content = {"recipient_emails": [address]}
            await wire.check(self.client, self._request("/v3/asm/suppressions/global", content))

    async def verify(self, callback: Callback) -> None:
        """Check the signature, over the timestamp and the body as it came."""
        key = configured.needed(self.webhook_key, "SENDGRID_WEBHOOK_KEY")
        timestamp = callback.headers.get(f"{_SIGNED}-timestamp", "")
        given = callback.headers.get(f"{_SIGNED}-signature", "")
        signatures.ecdsa(key.reveal(), timestamp.encode(errors="replace") + callback.body, given)
        signatures.stamped(timestamp, self.clock(), oldest=OLDEST)

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the events; those of the account, and bounces that nothing ties to a message, are left out."""
        events = decoded(callback.body)
        if not isinstance(events, list):
            raise Forged("the callback cannot be read")
        heard = [words.heard(each) for each in events if isinstance(each, dict)]
        return tuple(each for each in heard if each is not None)

    async def _logs(self, key: str) -> tuple[Json, ...] | None:
        """Ask Email Logs; None where the account or the key does not have it."""
        query = {"query": f"categories IN ('{labels.label(key)}')", "limit": COPIES}
        answer = await self._fetch("/v3/logs", query)
        if answer.status in _UNAVAILABLE and answer.fields() is not None:
            return None
        return parts(answers.found(answer) or {}, "messages")

    async def _activity(self, key: str) -> tuple[Json, ...]:
        """Ask Email Activity, which is paid for, and answers six times a minute."""
        query = segment(f'Contains(categories,"{labels.label(key)}")')
        answer = await self._fetch(f"/v3/messages?query={query}&limit={COPIES}")
        if answer.status == HTTPStatus.FORBIDDEN:
            remedy = "let STANDBY_SENDGRID_API_KEY read Email Logs or Email Activity"
            raise Misconfigured(f"{answer.words}: {remedy}")
        return parts(answers.found(answer) or {}, "messages")

    async def _read(self, row: Json) -> Reported:
        """Read a row of a list, with the events of its message where only they tell why."""
        full, word = words.full_id(row) or "", text(row, "status") or ""
        said = words.reported(word, row, words.id_of(full))
        if word not in words.EXPLAINED or not full:
            return said
        source = "logs" if "sg_message_id" in row else "messages"
        answer = await self._fetch(f"/v3/{source}/{segment(full)}")
        events = parts(answers.found(answer) or {}, "events")
        told = [words.reported(words.word_of(each), each, said.provider_id) for each in events]
        return words.strongest(told) or said

    async def _readable(self) -> Finding:
        if await self._logs(words.ARGUMENT) is not None:
            return Finding(Level.OK, self.name, "Email Logs can be asked what became of a message")
        try:
            await self._activity(words.ARGUMENT)
        except Misconfigured as error:
            return Finding(Level.PROBLEM, self.name, f"{error}")
        return Finding(Level.NOTE, self.name, "Email Activity is asked: there are no Email Logs")

    async def _identity(self) -> Finding:
        domain = self.sender.domain.lower()
        try:
            is_known = await self._knows(domain)
        except (Misconfigured, ReadFailed):
            says = f"whether domain {domain} is authenticated cannot be seen with this key"
            return Finding(Level.UNCHECKED, self.name, says)
        if is_known:
            return Finding(Level.OK, self.name, f"domain {domain} is authenticated, or the sender verified")
        says = f"authenticate domain {domain}, or verify the sender of STANDBY_EMAIL_FROM"
        return Finding(Level.PROBLEM, self.name, says)

    async def _knows(self, domain: str) -> bool:
        domains = await self._array(f"/v3/whitelabel/domains?domain={segment(domain)}&limit={PAGE}")
        if any(text(each, "domain") == domain and each.get("valid") is True for each in domains):
            return True
        senders = parts(await wire.check(self.client, self._request("/v3/verified_senders")), "results")
        verified = [text(each, "from_email") or "" for each in senders if each.get("verified") is True]
        return self.sender.address.lower() in [each.lower() for each in verified]

    async def _pages(self, path: str) -> AsyncIterator[Json]:
        offset, pages, rows = 0, Pages(), await self._array(f"{path}?limit={PAGE}")
        while rows:
            for row in rows:
                yield row
            offset += PAGE
            is_last = len(rows) < PAGE
            rows = (
                () if is_last else await self._array(f"{path}?limit={PAGE}&offset={pages.turn(str(offset))}")
            )

    async def _array(self, path: str) -> tuple[Json, ...]:
        answer = await self._fetch(path)
        # These lists are bare arrays, which are read as one field of an object.
        fields = answers.found(replace(answer, body=b'{"rows":%b}' % answer.body)) or {}
        if not isinstance(fields.get("rows"), list):
            raise ReadFailed(f"{answer.words}, unreadable")
        return parts(fields, "rows")

    async def _fetch(self, path: str, content: Json | None = None) -> Answer:
        return words.patient(await wire.fetch(self.client, self._request(path, content)))

    def _request(self, path: str, content: Json | None = None) -> httpx.Request:
        headers = {"Authorization": f"Bearer {self.api_key.reveal()}", "Accept": "application/json"}
        method = "GET" if content is None else "POST"
        return self.client.build_request(method, f"{self.url}{path}", json=content, headers=headers)


def build(settings: Settings, client: httpx.AsyncClient) -> SendGrid:
    """Make the adapter that the settings describe."""
    account = settings.sendgrid
    return SendGrid(
        client,
        account.url,
        configured.needed(account.api_key, "SENDGRID_API_KEY"),
        configured.email_sender(settings, account),
        account.webhook_key,
    )
