"""The sandbox of this repository (`sandbox/`): email and SMS with scripted fates, for development."""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from urllib.parse import quote

import httpx

from activities.providers import answers, wire
from activities.providers.answers import Answer, Json
from activities.providers.base import Capabilities, Message, Reported
from activities.providers.errors import Ambiguous, Forged, Misconfigured, NotSent, ProviderError, Rejected
from activities.settings import Settings
from workflows.policy.classify import classify
from workflows.policy.words import Channel, Status

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

REFUSALS: Mapping[str, Status] = MappingProxyType(
    {
        "invalid_recipient": Status.INVALID_RECIPIENT,
        "suppressed": Status.REJECTED,
    },
)
"""Errors of a 422."""

KEY_WINDOW = timedelta(hours=24)
TOLERANCE = timedelta(minutes=5)
"""How far a callback's timestamp may be from now, either way."""


_UNIX_TIME = re.compile(r"\d{1,12}")


def host_now() -> datetime:
    """Read the host's clock (UTC): a callback arrives where there is no engine time."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """One sandbox, in the manner that it was configured for."""

    client: httpx.AsyncClient = field(repr=False)
    base_url: str
    secret: str = field(repr=False)
    honours_keys: bool = True
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET
    clock: Callable[[], datetime] = field(default=host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "sandbox"

    def capabilities(self, channel: Channel) -> Capabilities:  # noqa: ARG002  # both channels are alike
        """Say what this manner can do."""
        return Capabilities(
            idempotent_for=KEY_WINDOW if self.honours_keys else None,
            reads_by_id=True,
            reads_by_key=self.honours_keys,
            signs_callbacks=True,
            has_suppressions=True,
        )

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
            },
            headers={"Idempotency-Key": message.key} if self.honours_keys else {},
        )
        answer = await wire.submit(self.client, request, self.budget)
        refused = _refusal(answer)
        if refused is not None:
            raise refused
        reported = _reported(answers.accepted(answer))
        if reported.provider_id is None:
            raise Ambiguous(f"{answer.words}, without an id")
        return reported

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by id, else by key where that is possible."""
        url = f"{self.base_url}/v1/messages"
        if provider_id is not None:
            request = self.client.build_request("GET", f"{url}/{quote(provider_id, safe='')}")
        elif self.honours_keys:
            request = self.client.build_request("GET", url, params={"key": key})
        else:
            return None
        fields = answers.found(await wire.fetch(self.client, request))
        if fields is None:
            return None
        messages = fields.get("messages", [fields])
        first = messages[0] if isinstance(messages, list) and messages else None
        return _reported(first) if isinstance(first, dict) else None

    def verify(self, headers: Mapping[str, str], body: bytes) -> None:
        """Check the signature over `timestamp.body`, in constant time, and the age."""
        given = {name.lower(): value for name, value in headers.items()}
        timestamp = given.get("sandbox-timestamp", "")
        signature = given.get("sandbox-signature", "")
        signed = timestamp.encode() + b"." + body
        expected = hmac.new(self.secret.encode(), signed, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected.encode(), signature.encode()):
            raise Forged("the signature does not match")
        if not _UNIX_TIME.fullmatch(timestamp) or abs(self._age(timestamp)) > TOLERANCE:
            raise Forged("the timestamp is too far from now")

    def _age(self, timestamp: str) -> timedelta:
        return self.clock() - datetime.fromtimestamp(int(timestamp), UTC)

    def parse(self, headers: Mapping[str, str], body: bytes) -> tuple[Reported, ...]:  # noqa: ARG002
        """Read the one event of a callback."""
        try:
            event = json.loads(body)
            return (_reported(event["message"], event_id=str(event["event_id"])),)
        except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
            raise Forged("the callback cannot be read") from None


def _refusal(answer: Answer) -> ProviderError | Misconfigured | None:
    """Read the answers whose meaning the sandbox documents; None leaves the rest to the general table."""
    error = (answer.fields() or {}).get("error")
    match answer.status, error:
        case 503, "not_accepted":
            return NotSent(f"{answer.words}, not accepted", retry_after=answer.retry_after())
        case 409, "key_mismatch":
            return Ambiguous(f"{answer.words}, the key stands for another content", repeatable=False)
        case 422, str() if error in REFUSALS:
            return Rejected(f"{answer.words}, {error}", Reported(REFUSALS[error], is_final=True, raw=error))
    return None


def _reported(message: Json, event_id: str | None = None) -> Reported:
    word, code = _text(message, "status") or "", _text(message, "code")
    if word == BOUNCED:
        # Whatever the code says, the provider has stopped trying.
        status, is_final = classify(code, _text(message, "reply") or "").status, True
    else:
        status, is_final = STATUS.get(word, (Status.UNRECOGNIZED, False))
    return Reported(
        status,
        is_final,
        raw=word,
        code=code,
        provider_id=_text(message, "id"),
        provider_at=_instant(_text(message, "at")),
        event_id=event_id,
        attempt_key=_text(message, "key"),
    )


def _text(message: Json, name: str) -> str | None:
    value = message.get(name)
    return value if isinstance(value, str) and value else None


def _instant(value: str | None) -> datetime | None:
    """Read a time with its zone; one without is no evidence of anything."""
    try:
        instant = datetime.fromisoformat(value or "")
    except ValueError:
        return None
    return instant if instant.tzinfo is not None else None


def build(settings: Settings, client: httpx.AsyncClient) -> Sandbox:
    """Make the adapter that the settings describe."""
    return Sandbox(
        client,
        settings.sandbox_url.rstrip("/"),
        settings.sandbox_secret.get_secret_value(),
        settings.sandbox_honours_keys,
    )
