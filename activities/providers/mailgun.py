"""Mailgun: email without a promise about keys, found again by a tag; its events are complete only later."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from types import MappingProxyType

import httpx

from activities.providers import answers, configured, labels, mailgun_words, refusals, signatures, wire
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
from activities.providers.errors import Forged, Misconfigured, ReadFailed
from activities.providers.fields import part, parts, posted, segment, text
from activities.providers.paging import Pages
from activities.providers.signatures import Clock
from activities.settings import Settings
from activities.variables import Credential
from workflows.policy.keys import attempt_digest
from workflows.policy.words import Channel, Status, SuppressionReason

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.EMAIL: Capabilities(
            reads_by_id=True,
            reads_by_key=True,
            callbacks=Callbacks.ONCE,
            has_suppressions=True,
            lists_suppressions=True,
            takes_suppressions=True,
            takes_headers=True,
        )
    }
)

LISTS: Mapping[SuppressionReason, str] = MappingProxyType(
    {
        SuppressionReason.INVALID_RECIPIENT: "bounces",
        SuppressionReason.COMPLAINT: "complaints",
        SuppressionReason.UNSUBSCRIBED: "unsubscribes",
        SuppressionReason.STOPPED: "unsubscribes",
    }
)

VARIABLE = "standby"
"""The variable that carries our key into callbacks; a recipient can see it, and nothing else of ours."""

PAGE = 500
"""Rows of a list in one answer: half of what it would give, for their errors may be long."""

OLDEST = timedelta(hours=12)
"""The age up to which a signature is believed.

A repetition brings the time and the token of the first try, and comes up to 8 hours and 5 minutes after it;
the rest is for events that Mailgun itself holds up. Tokens are kept for longer (`activities.store.tokens`).
"""

WELCOME = b"Mailgun Magnificent API"
"""What it says, with a 200, at an address that means nothing."""


@dataclass(frozen=True, slots=True)
class Mailgun:
    """One sending domain at Mailgun, in the region of its address."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    api_key: Credential
    domain: str
    sender: Sender
    webhook_key: Credential | None = None
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET
    clock: Clock = field(default=signatures.host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "mailgun"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on."""
        return CAPABILITIES[channel]

    async def send(self, message: Message) -> Reported:
        """Submit once."""
        content = {
            "from": self.sender.written,
            "to": message.to,
            "subject": message.subject,
            "text": message.text,
            "html": message.html,
            "o:tag": _tag(message.key),
            f"v:{VARIABLE}": labels.label(message.key),
            **{f"h:{name}": value for name, value in message.headers.items()},
        }
        form = {name: value for name, value in content.items() if value}
        request = self._request("POST", self._at("messages"), form)
        answer = await wire.submit(self.client, request, self.budget)
        if refused := _refusal(answer, message.to):
            raise refused
        bare = (text(answers.accepted(answer), "id") or "").strip("<>")
        provider_id = answers.accepted_id(answer, {"id": bare}, "id")
        return Reported(Status.PENDING, is_final=False, raw="queued", provider_id=provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask for its events, by id or by tag; they come late, so that absence proves nothing."""
        tag = _tag(key)
        query = f"tags={tag}" if provider_id is None else f"message-id={segment(provider_id)}"
        page = await self._ask(f"{self._at('events')}?{query}&limit=100")
        return mailgun_words.read(page or {}, provider_id, tag)

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether the key holds, the domain may send, and tags are left."""
        fields = await self._ask(f"{self.url}/v4/domains/{segment(self.domain)}")
        told = mailgun_words.domain(fields or {}, self.domain, self.sender.domain)
        return tuple(Finding(level, self.name, says) for level, says in [*told, await self._tags()])

    async def listed(self, channel: Channel) -> AsyncIterator[Listed]:  # noqa: ARG002
        """List people's own choices, and bounces whose stored error blames the address."""
        for name in dict.fromkeys(LISTS.values()):
            async for row in self._rows(name):
                if found := mailgun_words.listed(name, row):
                    yield found

    async def suppress(self, channel: Channel, address: str, reason: SuppressionReason) -> None:  # noqa: ARG002
        """Put an address on the list of that reason."""
        request = self._request("POST", self._at(LISTS[reason]), {"address": address})
        if _fields(await wire.fetch(self.client, request)) is None:
            raise ReadFailed("the address was not taken")

    async def verify(self, callback: Callback) -> None:
        """Check the signature, which covers a time and a token, and not the body."""
        key = configured.needed(self.webhook_key, "MAILGUN_WEBHOOK_KEY")
        signed = part(posted(callback.body), "signature")
        timestamp, token, *given = (
            text(signed, each) or "" for each in ("timestamp", "token", "signature", "parent-signature")
        )
        if not f"{timestamp}{token}{''.join(given)}".isascii():
            raise Forged("the signature cannot be read")
        signatures.hmac_hex(key.reveal(), f"{timestamp}{token}".encode(errors="replace"), *given)
        signatures.stamped(timestamp, self.clock(), oldest=OLDEST)

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the one event of a callback; its id is the token, which is to be taken once."""
        fields = posted(callback.body)
        event, token = part(fields, "event-data"), text(part(fields, "signature"), "token")
        if text(event, "event") is None or token is None:
            raise Forged("the callback cannot be read")
        reported = mailgun_words.event(event)
        label = labels.read(text(part(event, "user-variables"), VARIABLE))
        if reported is None or (reported.provider_id is None and label == labels.Label()):
            return ()
        return (replace(reported, event_id=token, attempt_key=label.key, attempt_digest=label.digest),)

    async def _tags(self) -> tuple[Level, str]:
        try:
            return mailgun_words.limits(await self._ask(f"{self.url}/v1/analytics/tags/limits") or {})
        except (ReadFailed, Misconfigured):
            # Not every key may ask, nor is every plan told.
            return mailgun_words.limits({})

    async def _rows(self, name: str) -> AsyncIterator[Json]:
        """Turn the pages of a list until one is empty."""
        url, pages = f"{self._at(name)}?limit={PAGE}", Pages()
        while True:
            page = await self._ask(pages.turn(url))
            if page is None:
                raise ReadFailed("it does not know that list")
            rows = parts(page, "items")
            for row in rows:
                yield row
            following = text(part(page, "paging"), "next")
            if not rows or following is None:
                return
            url = self._own(following)

    def _own(self, url: str) -> str:
        """Demand an address of the same API: the key goes nowhere else, whatever an answer says."""
        try:
            there, here = httpx.URL(url), httpx.URL(self.url)
        except (httpx.InvalidURL, ValueError):
            raise ReadFailed("its next page has no address") from None
        if (there.scheme, there.host, there.port) != (here.scheme, here.host, here.port):
            raise ReadFailed("its next page is elsewhere")
        return url

    async def _ask(self, url: str) -> Json | None:
        return _fields(await wire.fetch(self.client, self._request("GET", url)))

    def _at(self, what: str) -> str:
        return f"{self.url}/v3/{segment(self.domain)}/{what}"

    def _request(self, method: str, url: str, form: Mapping[str, str] | None = None) -> httpx.Request:
        headers = {"Authorization": configured.basic("api", self.api_key)}
        return self.client.build_request(method, url, data=form, headers=headers)


def _tag(key: str) -> str:
    """Return the tag of a message: of a key or its label the case would count, which it does not in tags."""
    return attempt_digest(key)


def _refusal(answer: Answer, recipient: str = "") -> Exception | None:
    """Return what to raise for an answer whose words are known."""
    if answer.is_success and WELCOME in answer.body[: 2 * len(WELCOME)]:
        # Nothing was accepted, since nothing was asked that it understood; a repetition would be the same.
        return Misconfigured(f"{answer.words}, but its welcome page: check STANDBY_MAILGUN_DOMAIN")
    fields = answer.fields()
    if fields is None or answer.status not in range(400, 405):
        return None
    found = mailgun_words.meaning(answer.status, text(fields, "message") or "", recipient)
    return refusals.error(found[1], answer, found[0]) if found is not None else None


def _fields(answer: Answer) -> Json | None:
    """Read the answer to a question; None: it does not know what was asked for."""
    refused = _refusal(answer)
    if isinstance(refused, Misconfigured):
        raise refused
    return answers.found(answer)


def build(settings: Settings, client: httpx.AsyncClient) -> Mailgun:
    """Make the adapter that the settings describe."""
    account = settings.mailgun
    return Mailgun(
        client,
        account.url,
        configured.needed(account.api_key, "MAILGUN_API_KEY"),
        configured.needed(account.domain, "MAILGUN_DOMAIN"),
        configured.email_sender(settings, account),
        account.webhook_key,
    )
