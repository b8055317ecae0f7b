"""Resend: email under a key that it honours for a day; polled it says that a message bounced, and not why."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType

import httpx

from activities.providers import answers, configured, labels, refusals, signatures, wire
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
from activities.providers.configured import Sender
from activities.providers.errors import Forged
from activities.providers.fields import instant, part, parts, posted, segment, text
from activities.providers.refusals import LATER, REFUSED, UNREPEATABLE, UNSURE, Meaning, wrong
from activities.providers.signatures import Clock
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.classify import blame, extract
from workflows.policy.words import Channel, Status, SuppressionReason

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "queued": (Status.PENDING, False),
        "scheduled": (Status.PENDING, False),
        "sent": (Status.ACCEPTED, False),
        "delivery_delayed": (Status.TEMPORARY_FAILURE, False),
        "delivered": (Status.DELIVERED, True),
        "opened": (Status.DELIVERED, True),
        "clicked": (Status.DELIVERED, True),
        "complained": (Status.DELIVERED, True),
        "suppressed": (Status.REJECTED, True),
        "failed": (Status.REJECTED, True),
        "canceled": (Status.REJECTED, True),
    }
)
"""The last event of a message, which a callback names with `email.` before it."""

BOUNCED = "bounced"
"""The one word whose meaning is in the bounce beside it, which only a callback brings."""

BOUNCES: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {"Transient": (Status.TEMPORARY_FAILURE, True), "Undetermined": (Status.UNRECOGNIZED, True)}
)
"""By type; a permanent one is what its diagnosis says."""

_KEY = wrong("check STANDBY_RESEND_API_KEY and what it permits")
_SENDER = wrong("verify the domain of STANDBY_EMAIL_FROM at the provider")

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        "missing_api_key": _KEY,
        "restricted_api_key": _KEY,
        "invalid_api_key": _KEY,
        "invalid_access": _KEY,
        "invalid_from_address": _SENDER,
        "rate_limit_exceeded": LATER,
        "daily_quota_exceeded": wrong("the daily quota of the account is used up"),
        "monthly_quota_exceeded": wrong("the monthly quota of the account is used up"),
        "invalid_idempotent_request": UNREPEATABLE,
        "concurrent_idempotent_requests": UNSURE,
        "invalid_idempotency_key": REFUSED,
    }
)
"""Errors by name; the rest means what its HTTP status means."""

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
            "to": [message.to],
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
        return None if fields is None else _reported(text(fields, "last_event") or "", {}, provider_id)

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether the key holds, and the sender's domain is verified."""
        domains = parts(await wire.check(self.client, self._get("/domains?limit=100")), "data")
        verified = {text(each, "name") for each in domains if text(each, "status") == "verified"}
        if self.sender.domain not in verified:
            says = (
                f"domain {self.sender.domain} is not verified: add it at the provider, with its DNS records"
            )
            return (Finding(Level.PROBLEM, self.name, says),)
        return (Finding(Level.OK, self.name, f"the key holds, domain {self.sender.domain} is verified"),)

    async def listed(self, channel: Channel) -> AsyncIterator[Listed]:  # noqa: ARG002
        """List complaints; why an address bounced it does not say."""
        after = ""
        while True:
            page = await wire.check(
                self.client, self._get(f"/suppressions?origin=complaint&limit=100{after}")
            )
            rows = parts(page, "data")
            for row in rows:
                address, at = text(row, "email"), instant(text(row, "created_at"))
                if address is not None and at is not None:
                    yield Listed(address, SuppressionReason.COMPLAINT, at)
            last = text(rows[-1], "id") if rows else None
            if page.get("has_more") is not True or last is None:
                return
            after = f"&after={segment(last)}"

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
        reported = _reported(kind.removeprefix("email."), part(data, "bounce"), provider_id)
        return (
            replace(
                reported,
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


def _reported(word: str, bounce: Json, provider_id: str) -> Reported:
    code = None
    if word == BOUNCED:
        status, is_final, code = _bounced(bounce)
    else:
        status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
    opt_out = SuppressionReason.COMPLAINT if word == "complained" else None
    return Reported(status, is_final, raw=word, code=code, provider_id=provider_id, opt_out=opt_out)


def _bounced(bounce: Json) -> tuple[Status, bool, str | None]:
    kind = text(bounce, "type")
    if kind is None:
        return Status.REJECTED, True, None
    if kind in BOUNCES:
        return *BOUNCES[kind], None
    diagnoses = bounce.get("diagnosticCode")
    told = [text(bounce, "message"), *(diagnoses if isinstance(diagnoses, list) else ())]
    said = " ".join(each for each in told if isinstance(each, str))
    hint = Status.INVALID_RECIPIENT if text(bounce, "subType") == "NoEmail" else None
    return blame(None, said, hint), True, extract(said)


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
