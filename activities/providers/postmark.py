"""Postmark: email without a promise about keys, found again by them; its events say more than its states."""

import base64
from collections.abc import AsyncIterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType

import httpx

from activities.providers import answers, configured, labels, postmark_words, refusals, signatures, wire
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
)
from activities.providers.configured import Sender
from activities.providers.errors import Ambiguous, Forged, ReadFailed
from activities.providers.fields import instant, part, parts, posted, segment, text
from activities.providers.postmark_words import BOUNCED, UNKNOWN
from activities.providers.refusals import Proof
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.address import ascii_domain
from workflows.policy.words import Channel, Status, SuppressionReason

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.EMAIL: Capabilities(
            reads_by_id=True,
            reads_by_key=True,
            callbacks=Callbacks.SECRET,
            has_suppressions=True,
            lists_suppressions=True,
            takes_suppressions=True,
            takes_headers=True,
        )
    }
)

METADATA = "standby"
"""The metadata that carries our key: messages are found by it, callbacks bring it, nobody else sees it."""

LONGEST_METADATA = 80

TEST_TOKEN = "POSTMARK_API_TEST"  # noqa: S105  # published, and good for nothing else
"""Accepts everything, and delivers nothing."""

CHOSEN = ("SuppressionReason=SpamComplaint", "SuppressionReason=ManualSuppression&Origin=Recipient")
"""The parts of a stream's list that people put themselves on: a hard bounce is listed without its cause."""


LONGEST_LIST = 50_000_000
"""Bytes of a list that comes in one piece."""


@dataclass(frozen=True, slots=True)
class Postmark:
    """One server at Postmark, and one of its message streams."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    server_token: Credential
    sender: Sender
    stream: str = "outbound"
    webhook_secret: Credential | None = None
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "postmark"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on."""
        return CAPABILITIES[channel]

    async def send(self, message: Message) -> Reported:
        """Submit once."""
        content = {
            "From": self.sender.written,
            "To": ascii_domain(message.to),
            "Subject": message.subject,
            "TextBody": message.text,
            "HtmlBody": message.html,
            "MessageStream": self.stream,
            "Metadata": {METADATA: labels.label(message.key, LONGEST_METADATA)},
            "Headers": [{"Name": name, "Value": value} for name, value in message.headers.items()],
        }
        request = self._request("POST", "/email", {name: value for name, value in content.items() if value})
        answer = await wire.submit(self.client, request, self.budget)
        _refuse(answer, message)
        provider_id = answers.accepted_id(answer, answers.accepted(answer), "MessageID")
        return Reported(Status.PENDING, is_final=False, raw="OK", provider_id=provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by id, which is first looked up by key where it is not known."""
        provider_id = provider_id or await self._found(key)
        if provider_id is None:
            return None
        fields = await self._ask(f"/messages/outbound/{segment(provider_id)}/details")
        return None if fields is None else replace(await self._read(fields), provider_id=provider_id)

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether the token holds, and what its server and its stream may do."""
        server = await self._ask("/server")
        fields = await self._ask(f"/message-streams/{segment(self.stream)}") or {}
        level, told = postmark_words.stream(fields, self.stream)
        says = "whether the sender is confirmed, only an account token could read: send yourself a message"
        return (
            self._server(server),
            Finding(level, self.name, told),
            Finding(Level.UNCHECKED, self.name, says),
        )

    async def listed(self, channel: Channel) -> AsyncIterator[Listed]:  # noqa: ARG002
        """List complaints and unsubscribed addresses of the stream, which come without pages."""
        for chosen in CHOSEN:
            for row in await self._dump(chosen):
                address, at = text(row, "EmailAddress"), instant(text(row, "CreatedAt"))
                reason = postmark_words.choice(row)
                if address is not None and reason is not None:
                    yield Listed(address, reason, at)

    async def suppress(self, channel: Channel, address: str, reason: SuppressionReason) -> None:  # noqa: ARG002
        """Put an address on the stream's list."""
        path = f"/message-streams/{segment(self.stream)}/suppressions"
        request = self._request("POST", path, {"Suppressions": [{"EmailAddress": address}]})
        taken = parts(_fields(await wire.fetch(self.client, request)) or {}, "Suppressions")
        if [text(each, "Status") for each in taken] != ["Suppressed"]:
            raise ReadFailed("the address was not taken")

    async def verify(self, callback: Callback) -> None:
        """Check the password of basic authentication: nothing is signed, or says when it was sent."""
        secret = configured.needed(self.webhook_secret, "POSTMARK_WEBHOOK_SECRET")
        scheme, _, given = callback.headers.get("authorization", "").partition(" ")
        try:
            _, _, password = base64.b64decode(given, validate=True).decode().partition(":")
        except ValueError:
            raise Forged("the callback brings no secret") from None
        signatures.same(secret.reveal(), password if scheme.lower() == "basic" else "")

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the one event of a callback; what concerns no message of ours tells of nothing."""
        fields = posted(callback.body)
        if text(fields, "RecordType") is None:
            raise Forged("the callback cannot be read")
        provider_id, reported = text(fields, "MessageID"), postmark_words.record(fields)
        if provider_id is None or reported is None:
            return ()
        label = labels.read(text(part(fields, "Metadata"), METADATA))
        return (
            replace(
                reported,
                provider_id=provider_id,
                event_id=postmark_words.identity(fields),
                attempt_key=label.key,
                attempt_digest=label.digest,
            ),
        )

    async def _found(self, key: str) -> str | None:
        label = labels.label(key, LONGEST_METADATA)
        # Without its name, only the stream "outbound" is searched.
        query = f"count=50&offset=0&messagestream={segment(self.stream)}&metadata_{METADATA}={segment(label)}"
        rows = parts(await self._ask(f"/messages/outbound?{query}") or {}, "Messages")
        ours = [row for row in rows if text(part(row, "Metadata"), METADATA) in {None, label}]
        return text(ours[0], "MessageID") if ours else None

    async def _read(self, fields: Json) -> Reported:
        """Let the strongest event speak; only a bounce takes another question."""
        ranked = postmark_words.ranked(fields)
        if ranked and text(ranked[0], "Type") == BOUNCED and (told := await self._bounced(ranked[0])):
            return told
        rest = [each for each in ranked if text(each, "Type") != BOUNCED]
        return postmark_words.event(rest[0]) if rest else postmark_words.state(fields)

    async def _bounced(self, event: Json) -> Reported | None:
        details = part(event, "Details")
        bounce_id, summary = text(details, "BounceID") or "", text(details, "Summary") or ""
        is_id = bounce_id.isascii() and bounce_id.isdigit()
        bounce = await self._ask(f"/bounces/{bounce_id}") if is_id else None
        return postmark_words.bounced(bounce or {}, summary)

    async def _ask(self, path: str) -> Json | None:
        return _fields(await wire.fetch(self.client, self._request("GET", path)))

    def _request(self, method: str, path: str, content: Json | None = None) -> httpx.Request:
        headers = {"Accept": "application/json", "X-Postmark-Server-Token": self.server_token.reveal()}
        return self.client.build_request(method, f"{self.url}{path}", json=content, headers=headers)

    async def _dump(self, chosen: str) -> tuple[Json, ...]:
        path = f"/message-streams/{segment(self.stream)}/suppressions/dump?{chosen}"
        answer = await wire.fetch(self.client, self._request("GET", path), longest=LONGEST_LIST)
        page = _fields(answer)
        if page is None:
            raise ReadFailed("it does not know the suppressions of the stream")
        return parts(page, "Suppressions")

    def _server(self, server: Json | None) -> Finding:
        if server is None:
            says = "the API does not know servers: check STANDBY_POSTMARK_URL"
            return Finding(Level.PROBLEM, self.name, says)
        if text(server, "DeliveryType") == "Sandbox" or self.server_token.reveal() == TEST_TOKEN:
            says = "this server is a sandbox, which delivers nothing: take the token of a live one"
            return Finding(Level.PROBLEM, self.name, says)
        return Finding(Level.OK, self.name, "the token holds")


def _refuse(answer: Answer, message: Message) -> None:
    """Raise what an error code proves, whatever the HTTP status is."""
    fields = answer.fields() or {}
    code = postmark_words.code_of(fields)
    meaning = postmark_words.meaning(code, text(fields, "Message") or "", message.to)
    if code is not None and answer.is_success and (meaning is None or text(fields, "MessageID")):
        raise Ambiguous(f"{answer.words}, error {code}")
    if meaning is not None:
        raise refusals.error(meaning, answer, str(code))


def _fields(answer: Answer) -> Json | None:
    """Read the answer to a question; None: it does not know what was asked for."""
    fields = answer.fields() or {}
    code = postmark_words.code_of(fields)
    meaning = postmark_words.meaning(code, "", "")
    if meaning is not None and meaning.proof is Proof.MISCONFIGURED:
        raise refusals.error(meaning, answer, str(code))
    return None if code in UNKNOWN else answers.found(answer)


def build(settings: Settings, client: httpx.AsyncClient) -> Postmark:
    """Make the adapter that the settings describe."""
    account = settings.postmark
    return Postmark(
        client,
        account.url,
        configured.needed(account.server_token, "POSTMARK_SERVER_TOKEN"),
        configured.email_sender(settings, account),
        account.stream,
        account.webhook_secret,
    )
