"""The sandbox of this repository (`sandbox/`): email and SMS with scripted fates, for development."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType

import httpx

from activities.providers import answers, refusals, signatures, wire
from activities.providers.answers import Json
from activities.providers.base import (
    Callback,
    Callbacks,
    Capabilities,
    Finding,
    Level,
    Message,
    Reported,
)
from activities.providers.errors import Forged
from activities.providers.fields import instant, parts, posted, segment, text
from activities.providers.refusals import INVALID, LATER, REFUSED, UNREPEATABLE, Meaning
from activities.providers.signatures import Clock
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.classify import blame
from workflows.policy.words import Channel, Status, SuppressionReason

STATUS: Mapping[str, tuple[Status, bool]] = MappingProxyType(
    {
        "queued": (Status.PENDING, False),
        "sent": (Status.ACCEPTED, False),
        "deferred": (Status.TEMPORARY_FAILURE, False),
        "delivered": (Status.DELIVERED, True),
    },
)
"""Its words; what is missing is unrecognized."""

BOUNCED = "bounced"
"""The one word whose meaning is in the code beside it."""

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        "not_accepted": LATER,
        "key_mismatch": UNREPEATABLE,
        "invalid_recipient": INVALID,
        "suppressed": REFUSED,
    },
)
"""Its errors; the rest means what its HTTP status means."""

KEY_WINDOW = timedelta(hours=24)

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    dict.fromkeys(
        Channel,
        Capabilities(
            idempotent_for=KEY_WINDOW,
            reads_by_id=True,
            reads_by_key=True,
            callbacks=Callbacks.SIGNED,
            has_suppressions=True,
            takes_suppressions=True,
            takes_headers=True,
        ),
    )
)
"""In the manner that honours keys."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One sandbox, in the manner that it was configured for."""

    client: httpx.AsyncClient = field(repr=False)
    base_url: str
    secret: Credential = field(repr=False)
    honours_keys: bool = True
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET
    clock: Clock = field(default=signatures.host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "sandbox"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what this manner can do."""
        can = CAPABILITIES[channel]
        return can if self.honours_keys else replace(can, idempotent_for=None, reads_by_key=False)

    async def send(self, message: Message) -> Reported:
        """Submit once; the key goes along, as a promise in one manner and as a mere label in the other."""
        request = self.client.build_request(
            "POST",
            f"{self.base_url}/v1/messages",
            json={
                "channel": message.channel,
                "to": message.to,
                "subject": message.subject,
                "text": message.text,
                "html": message.html,
                "key": message.key,
                "headers": dict(message.headers),
            },
            headers={"Idempotency-Key": message.key} if self.honours_keys else {},
        )
        answer = await wire.submit(self.client, request, self.budget)
        refusals.check(answer, REFUSALS, text(answer.fields() or {}, "error"))
        fields = answers.accepted(answer)
        answers.accepted_id(answer, fields, "id")
        return _reported(fields)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by id, else by key where that is possible."""
        url = f"{self.base_url}/v1/messages"
        if provider_id is not None:
            request = self.client.build_request("GET", f"{url}/{segment(provider_id)}")
        elif self.honours_keys:
            request = self.client.build_request("GET", url, params={"key": key})
        else:
            return None
        fields = answers.found(await wire.fetch(self.client, request))
        if fields is None:
            return None
        found = parts(fields, "messages") if "messages" in fields else (fields,)
        return _reported(found[0]) if found else None

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether it answers."""
        await wire.check(self.client, self.client.build_request("GET", f"{self.base_url}/healthz"))
        return (Finding(Level.NOTE, self.name, "answers; it is for development, and reaches nobody"),)

    async def suppress(self, channel: Channel, address: str, reason: SuppressionReason) -> None:  # noqa: ARG002
        """Put an address on its list."""
        request = self.client.build_request(
            "POST", f"{self.base_url}/v1/suppressions", json={"address": address}
        )
        await wire.check(self.client, request)

    async def verify(self, callback: Callback) -> None:
        """Check the signature over `timestamp.body`, and the age."""
        timestamp = callback.headers.get("sandbox-timestamp", "")
        signed = timestamp.encode(errors="replace") + b"." + callback.body
        signatures.hmac_hex(self.secret.reveal(), signed, callback.headers.get("sandbox-signature", ""))
        signatures.stamped(timestamp, self.clock())

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the one event of a callback."""
        event = posted(callback.body)
        message, event_id = event.get("message"), text(event, "event_id")
        if not isinstance(message, dict) or event_id is None:
            raise Forged("the callback cannot be read")
        return (_reported(message, event_id),)


def _reported(message: Json, event_id: str | None = None) -> Reported:
    word, code = text(message, "status") or "", text(message, "code")
    if word == BOUNCED:
        # Whatever the code says, the provider has stopped trying.
        reply = text(message, "reply") or ""
        status, is_final = blame(code, reply, default=Status.UNRECOGNIZED), True
    else:
        status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
    return Reported(
        status,
        is_final,
        raw=word,
        code=code,
        provider_id=text(message, "id"),
        provider_at=instant(text(message, "at")),
        event_id=event_id,
        attempt_key=text(message, "key"),
    )


def build(settings: Settings, client: httpx.AsyncClient) -> Sandbox:
    """Make the adapter that the settings describe."""
    account = settings.sandbox
    return Sandbox(client, account.url, account.secret, account.honours_keys)
