"""Courier: email and texts by the providers behind it; it replays a 500 for as long as it keeps the key."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType
from typing import Final

import httpx

from activities.providers import answers, configured, labels, refusals, signatures, wire
from activities.providers.answers import Answer, Json
from activities.providers.base import Callback, Callbacks, Capabilities, Finding, Level, Message, Reported
from activities.providers.courier_words import STATUS, reported
from activities.providers.errors import Forged
from activities.providers.fields import event_id, part, parts, posted, segment, text, unix
from activities.providers.refusals import LATER, UNREPEATABLE, UNSURE, Meaning, wrong
from activities.providers.signatures import Clock
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.address import ascii_domain
from workflows.policy.words import Channel, Status

_SERVER_ERROR = "api_error"
_KEY = wrong("check STANDBY_COURIER_API_KEY and what it permits")

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        "authentication_error": _KEY,
        "authorization_error": _KEY,
        "rate_limit_error": LATER,
        "conflict": UNSURE,
        # Kept under the key, and replayed: only a look-up can say more.
        _SERVER_ERROR: UNREPEATABLE,
    }
)
"""Errors by type; `invalid_request_error` means what its HTTP status means."""

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    dict.fromkeys(
        Channel,
        Capabilities(
            idempotent_for=timedelta(hours=24),
            reads_by_id=True,
            reads_by_key=True,
            callbacks=Callbacks.SIGNED,
        ),
    )
)

LONGEST_KEY: Final = 255

OLDEST: Final = timedelta(hours=25)
"""The age up to which a signature is believed.

It repeats for 24 hours, and does not say that each try is signed anew.
"""

_ADDRESSES: Mapping[Channel, str] = MappingProxyType({Channel.EMAIL: "email", Channel.SMS: "phone_number"})


@dataclass(frozen=True, slots=True)
class Courier:
    """One workspace at Courier."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    api_key: Credential
    email_from: str | None = None
    """Instead of the sender of the integration; texts always come from the integration's."""
    webhook_secret: Credential | None = None
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET
    clock: Clock = field(default=signatures.host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "courier"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on."""
        return CAPABILITIES[channel]

    async def send(self, message: Message) -> Reported:
        """Submit once, under the key, to one channel: going on to another is our workflow's work."""
        label = labels.header(message.key, LONGEST_KEY)
        request = self.client.build_request(
            "POST",
            f"{self.url}/send",
            json={"message": self._content(message) | {"metadata": {"trace_id": label}}},
            headers=self._headers() | {"Idempotency-Key": label},
        )
        answer = await wire.submit(self.client, request, self.budget)
        refusals.check(answer, REFUSALS, _refused(answer))
        # For one recipient the id of the request is that of the message.
        provider_id = answers.accepted_id(answer, answers.accepted(answer), "requestId")
        return Reported(Status.PENDING, is_final=False, raw="ENQUEUED", provider_id=provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by id, which the key finds; only the message itself has the errors of the providers."""
        row: Json = {}
        if provider_id is None:
            listed = await self._read(f"/messages?traceId={segment(labels.header(key, LONGEST_KEY))}")
            row = next(iter(parts(listed or {}, "results")), {})
            provider_id = text(row, "id")
        if provider_id is None:
            return None
        message = await self._read(f"/messages/{segment(provider_id)}") or row
        return reported(message, provider_id) if message else None

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:
        """See whether the key holds and messages can be looked up by our own; senders cannot be seen."""
        await wire.check(self.client, self._get("/messages?traceId=standby-doctor"))
        holds = Finding(Level.OK, self.name, "the key holds, and messages can be looked up")
        sender = "that of the integration in Courier"
        if channel is Channel.EMAIL and self.email_from is not None:
            sender = "STANDBY_EMAIL_FROM, which the integration in Courier must permit"
        return holds, Finding(Level.NOTE, self.name, f"the sender is {sender}, and cannot be checked here")

    async def verify(self, callback: Callback) -> None:
        """Check the signature over `timestamp.body`, and the timestamp, which is in milliseconds."""
        secret = configured.needed(self.webhook_secret, "COURIER_WEBHOOK_SECRET")
        pairs = [each.strip().partition("=") for each in _signature(callback).split(",")]
        timestamp = next((value for name, _, value in pairs if name == "t"), "")
        given = [value for name, _, value in pairs if name == "signature"]
        signatures.hmac_hex(
            secret.reveal(), timestamp.encode(errors="replace") + b"." + callback.body, *given
        )
        signatures.stamped(timestamp, self.clock(), per_second=1000, oldest=OLDEST)

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the message of a callback; events of templates and audiences tell of nothing."""
        event = posted(callback.body)
        kind, data = text(event, "type"), part(event, "data")
        provider_id = text(data, "id")
        if kind is None:
            raise Forged("the callback cannot be read")
        if kind != "message:updated" or provider_id is None:
            return ()
        metadata = part(data, "metadata")
        label = labels.read(text(data, "trace_id", "traceId") or text(metadata, "trace_id", "traceId"))
        word, reason = text(data, "status") or "", text(data, "reason") or ""
        told = replace(
            reported(data, provider_id),
            # A status has its time in a field of its name.
            provider_at=unix(data.get(word.lower()), per_second=1000) if word in STATUS else None,
            event_id=event_id(provider_id, word, reason),
            attempt_key=label.key,
            attempt_digest=label.digest,
        )
        return (told,)

    def _content(self, message: Message) -> dict[str, object]:
        """Say what goes where; only an override is exempt from `{{variables}}`, and texts have none."""
        told = {"title": message.subject, "body": message.text}
        content: dict[str, object] = {
            "to": {_ADDRESSES[message.channel]: ascii_domain(message.to)},
            "content": {name: value for name, value in told.items() if value is not None},
            "routing": {"method": "single", "channels": [message.channel]},
        }
        if message.channel is Channel.EMAIL:
            exact = {
                "from": self.email_from,
                "subject": message.subject,
                "text": message.text,
                "html": message.html,
            }
            override = {name: value for name, value in exact.items() if value}
            content["channels"] = {Channel.EMAIL: {"override": override}}
        return content

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.api_key.reveal()}"}

    def _get(self, path: str) -> httpx.Request:
        return self.client.build_request("GET", f"{self.url}{path}", headers=self._headers())

    async def _read(self, path: str) -> Json | None:
        return answers.found(await wire.fetch(self.client, self._get(path)))


def _refused(answer: Answer) -> str | None:
    """Return the type of an error; by its HTTP status where that alone decides."""
    match answer.status:
        case 409:
            return "conflict"
        case status if status in range(500, 600) and answer.fields() is not None:
            # Only an answer of its own is kept under the key, and told again for ever.
            return _SERVER_ERROR
        case _:
            return text(answer.fields() or {}, "type")


def _signature(callback: Callback) -> str:
    return callback.headers.get("courier-signature", "")


def build(settings: Settings, client: httpx.AsyncClient) -> Courier:
    """Make the adapter that the settings describe."""
    account = settings.courier
    return Courier(
        client,
        account.url,
        configured.needed(account.api_key, "COURIER_API_KEY"),
        account.email_from or settings.email_from,
        account.webhook_secret,
    )
