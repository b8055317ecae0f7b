"""Resend: email under a key that it honours for a day; polled it says that a message bounced, and not why."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType

import httpx

from activities.providers import answers, configured, labels, refusals, signatures, wire
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
from activities.providers.configured import Sender
from activities.providers.errors import Forged
from activities.providers.fields import instant, part, parts, posted, segment, text
from activities.providers.paging import Pages
from activities.providers.resend_words import REFUSALS, reported
from activities.providers.signatures import Clock
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.address import ascii_domain
from workflows.policy.words import Channel, Status, SuppressionReason

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.EMAIL: Capabilities(
            idempotent_for=timedelta(hours=24),
            reads_by_id=True,
            reads_per_second=2.0,
            callbacks=Callbacks.SIGNED,
            has_suppressions=True,
            lists_suppressions=True,
            takes_suppressions=True,
            takes_headers=True,
        )
    }
)

TAG = "standby"
"""The tag that carries our key; it comes back in callbacks."""

LONGEST_KEY = 256


@dataclass(frozen=True, slots=True)
class Resend:
    """One account at Resend."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    api_key: Credential
    sender: Sender
    webhook_secret: Credential | None = None
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET
    clock: Clock = field(default=signatures.host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "resend"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on."""
        return CAPABILITIES[channel]

    async def send(self, message: Message) -> Reported:
        """Submit once, under the key."""
        content = {
            "from": self.sender.written,
            "to": [ascii_domain(message.to)],
            "subject": message.subject,
            "text": message.text,
            "html": message.html,
            "headers": dict(message.headers),
            "tags": [{"name": TAG, "value": labels.label(message.key, LONGEST_KEY)}],
        }
        request = self.client.build_request(
            "POST",
            f"{self.url}/emails",
            json={name: value for name, value in content.items() if value},
            headers=self._headers() | {"Idempotency-Key": labels.header(message.key, LONGEST_KEY)},
        )
        answer = await wire.submit(self.client, request, self.budget)
        refusals.check(answer, REFUSALS, text(answer.fields() or {}, "name"))
        provider_id = answers.accepted_id(answer, answers.accepted(answer), "id")
        return Reported(Status.PENDING, is_final=False, raw="queued", provider_id=provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by id."""
        if provider_id is None:
            return None
        fields = answers.found(await wire.fetch(self.client, self._get(f"/emails/{segment(provider_id)}")))
        return None if fields is None else reported(text(fields, "last_event") or "", {}, provider_id)

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether the key holds, and the sender's domain is verified."""
        page = await wire.check(self.client, self._get("/domains?limit=100"))
        domain = ascii_domain(self.sender.address).rpartition("@")[2].casefold()
        states = {(text(each, "name") or "").casefold(): text(each, "status") for each in parts(page, "data")}
        match states.get(domain):
            case "verified":
                return (Finding(Level.OK, self.name, f"the key holds, domain {domain} is verified"),)
            case "partially_verified":
                says = f"domain {domain} is verified in part: see at the provider whether it may send"
                return (Finding(Level.UNCHECKED, self.name, says),)
            case None if page.get("has_more") is True:
                says = f"domain {domain} is not among the first hundred of the account"
                return (Finding(Level.UNCHECKED, self.name, says),)
            case _:
                says = f"domain {domain} is not verified: add it at the provider, with its DNS records"
                return (Finding(Level.PROBLEM, self.name, says),)

    async def listed(self, channel: Channel) -> AsyncIterator[Listed]:  # noqa: ARG002
        """List complaints; why an address bounced it does not say."""
        after, pages = "", Pages()
        while True:
            page = await wire.check(
                self.client, self._get(f"/suppressions?origin=complaint&limit=100{after}")
            )
            rows = parts(page, "data")
            for row in rows:
                address, at = text(row, "email"), instant(text(row, "created_at"))
                if address is not None and text(row, "origin") == "complaint":
                    yield Listed(address, SuppressionReason.COMPLAINT, at)
            last = text(rows[-1], "id") if rows else None
            if page.get("has_more") is not True or last is None:
                return
            after = f"&after={segment(pages.turn(last))}"

    async def suppress(self, channel: Channel, address: str, reason: SuppressionReason) -> None:  # noqa: ARG002
        """Put an address on the list."""
        request = self.client.build_request(
            "POST", f"{self.url}/suppressions", json={"email": address}, headers=self._headers()
        )
        await wire.check(self.client, request)

    async def verify(self, callback: Callback) -> None:
        """Check the signature, which is Svix's."""
        secret = configured.needed(self.webhook_secret, "RESEND_WEBHOOK_SECRET")
        signatures.svix(secret.reveal(), callback, self.clock())

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the one event of a callback; events of domains and contacts tell of nothing."""
        event = posted(callback.body)
        kind, data = text(event, "type") or "", part(event, "data")
        provider_id = text(data, "email_id")
        if not kind:
            raise Forged("the callback cannot be read")
        if not kind.startswith("email.") or provider_id is None:
            return ()
        label = labels.read(text(part(data, "tags"), TAG))
        told = reported(kind.removeprefix("email."), part(data, "bounce"), provider_id)
        return (
            replace(
                told,
                provider_at=instant(text(event, "created_at")),
                event_id=callback.headers.get("svix-id"),
                attempt_key=label.key,
                attempt_digest=label.digest,
            ),
        )

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key.reveal()}"}

    def _get(self, path: str) -> httpx.Request:
        return self.client.build_request("GET", f"{self.url}{path}", headers=self._headers())


def build(settings: Settings, client: httpx.AsyncClient) -> Resend:
    """Make the adapter that the settings describe."""
    account = settings.resend
    return Resend(
        client,
        account.url,
        configured.needed(account.api_key, "RESEND_API_KEY"),
        configured.email_sender(settings, account),
        account.webhook_secret,
    )
