"""Amazon SES, v2 of its API: it honours no key; SNS says what became of a message, and paid insights do."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import timedelta
from email.utils import formataddr
from types import MappingProxyType

import httpx

from activities.providers import answers, configured, labels, ses_words, signatures, sns_messages, wire
from activities.providers.answers import Json
from activities.providers.aws import Service
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
from activities.providers.errors import Misconfigured, ReadFailed
from activities.providers.fields import part, parts, segment, text, unix
from activities.providers.paging import Pages
from activities.providers.signatures import Clock
from activities.providers.sns_messages import Certificates
from activities.settings import Settings
from workflows.policy.address import ascii_domain
from workflows.policy.words import Channel, Status, SuppressionReason

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.EMAIL: Capabilities(
            reads_by_id=True,
            reads_per_second=1.0,
            callbacks=Callbacks.SIGNED,
            has_suppressions=True,
            lists_suppressions=True,
            takes_suppressions=True,
            takes_headers=True,
        )
    }
)
"""With insights; without them nothing can be asked."""

LONGEST_TAG = 256


LISTED_FOR: Mapping[SuppressionReason, str] = MappingProxyType(
    {SuppressionReason.INVALID_RECIPIENT: "BOUNCE", SuppressionReason.COMPLAINT: "COMPLAINT"}
)
"""The reasons of the account's list."""


@dataclass(frozen=True, slots=True)
class Ses:
    """One account at Amazon SES, in one region."""

    service: Service
    sender: Sender
    certificates: Certificates = field(repr=False)
    _: KW_ONLY
    configuration_set: str | None = None
    insights: bool = False
    topic_arns: tuple[str, ...] = ()
    budget: timedelta = wire.SEND_BUDGET
    clock: Clock = field(default=signatures.host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "ses"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on: it can be asked what became of a message only where that is paid for."""
        most = CAPABILITIES[channel]
        return most if self.insights else replace(most, reads_by_id=False, reads_per_second=None)

    async def prepare(self) -> None:
        """See that credentials can be had."""
        await self.service.ready()

    async def send(self, message: Message) -> Reported:
        """Submit once; no key is honoured, so a lost answer stays ambiguous."""
        simple = {
            "Subject": _content(message.subject),
            "Body": {
                name: _content(each)
                for name, each in (("Text", message.text), ("Html", message.html))
                if each
            },
            "Headers": [{"Name": name, "Value": value} for name, value in message.headers.items()],
        }
        content = {
            "FromEmailAddress": formataddr((self.sender.name, ascii_domain(self.sender.address))),
            "Destination": {"ToAddresses": [ascii_domain(message.to)]},
            "Content": {"Simple": {name: value for name, value in simple.items() if value}},
            "EmailTags": [{"Name": ses_words.TAG, "Value": labels.label(message.key, LONGEST_TAG)}],
            "ConfigurationSetName": self.configuration_set,
        }
        request = await self._request("POST", "/v2/email/outbound-emails", content)
        answer = await wire.submit(self.service.client, request, self.budget)
        ses_words.check(answer)
        provider_id = answers.accepted_id(answer, answers.accepted(answer), "MessageId")
        status = Status.PENDING if self.insights else Status.ACCEPTED
        return Reported(status, is_final=False, raw="accepted", provider_id=provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask by id, where insights are paid for; what they do not know may have been sent all the same."""
        if provider_id is None or not self.insights:
            return None
        fields = await self._read(f"/v2/email/insights/{segment(provider_id)}/")
        return None if fields is None else ses_words.seen(fields, provider_id)

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether the account may send in the sender's name, and who says what became of it."""
        account = await self._read("/v2/email/account") or {}
        found = [*ses_words.account(account), await self._identity(), self._events(account)]
        if self.insights:
            with suppress(ReadFailed):  # whatever is said of an id that nobody has, it may be asked
                await self._read("/v2/email/insights/standby/")
        if self.configuration_set is not None:
            found.append(await self._configuration_set(self.configuration_set))
        return tuple(Finding(level, self.name, says) for level, says in found)

    async def listed(self, channel: Channel) -> AsyncIterator[Listed]:  # noqa: ARG002
        """List complaints; why an address bounced the list does not say."""
        path = "/v2/email/suppression/addresses?PageSize=500&Reason=COMPLAINT"
        turned, pages = "", Pages()
        while True:
            page = await self._read(path + turned)
            if page is None:
                raise ReadFailed("it does not know its suppression list")
            for row in parts(page, "SuppressedDestinationSummaries"):
                address, at = text(row, "EmailAddress"), unix(row.get("LastUpdateTime"))
                if address is not None and text(row, "Reason") == "COMPLAINT":
                    yield Listed(address, SuppressionReason.COMPLAINT, at)
            token = text(page, "NextToken")
            if token is None:
                return
            turned = f"&NextToken={segment(pages.turn(token))}"

    async def suppress(self, channel: Channel, address: str, reason: SuppressionReason) -> None:  # noqa: ARG002
        """Put an address on the account's list, which knows two reasons: to unsubscribe is neither."""
        if reason not in LISTED_FOR:
            return
        entry = {"EmailAddress": ascii_domain(address), "Reason": LISTED_FOR[reason]}
        request = await self._request("PUT", "/v2/email/suppression/addresses", entry)
        answer = await wire.fetch(self.service.client, request)
        if not answer.is_success and answers.found(answer) is None:
            raise ReadFailed(f"{answer.words}, not put on the list")

    async def verify(self, callback: Callback) -> None:
        """Check the signature, which is of SNS; a subscription to one of our topics is confirmed."""
        await sns_messages.verify(callback, self.topic_arns, self.certificates, self.clock())
        await sns_messages.confirm(callback, self.service.client)

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the one event of a callback."""
        event = sns_messages.message(callback)
        reported = None if event is None else ses_words.heard(event)
        return () if reported is None else (replace(reported, event_id=sns_messages.event_id(callback)),)

    async def _identity(self) -> tuple[Level, str]:
        for each in _identities(self.sender):
            identity = await self._read(f"/v2/email/identities/{segment(each)}") or {}
            if identity.get("VerifiedForSendingStatus") is True:
                return Level.OK, f"the credentials hold, the sender is verified by its {_kind(each)}"
        where = f"domain {self.sender.domain} is not verified in {self.service.region}"
        return Level.PROBLEM, f"{where}: verify it in the SES console, with its DNS records"

    def _events(self, account: Json) -> tuple[Level, str]:
        enabled = text(part(account, "VdmAttributes"), "VdmEnabled") == "ENABLED"
        match self.insights, enabled:
            case True, True:
                return Level.OK, "Virtual Deliverability Manager answers what became of messages"
            case True, False:
                says = "Virtual Deliverability Manager is off"
                return Level.PROBLEM, f"{says}: enable it (it is paid), or unset STANDBY_SES_INSIGHTS"
            case False, True:
                return (
                    Level.NOTE,
                    "STANDBY_SES_INSIGHTS=1 would ask Virtual Deliverability Manager, which is on",
                )
            case _ if self.topic_arns:
                says = "whether events reach one of the topics, only a message shows"
                return Level.UNCHECKED, f"{says}: see the destinations of its configuration set"
            case _:
                return Level.NOTE, (
                    "nobody says what became of messages: set STANDBY_SES_TOPIC_ARNS and _CONFIGURATION_SET"
                )

    async def _configuration_set(self, name: str) -> tuple[Level, str]:
        found = await self._read(f"/v2/email/configuration-sets/{segment(name)}")
        if found is None:
            return Level.PROBLEM, "STANDBY_SES_CONFIGURATION_SET: there is none of that name in this region"
        if part(found, "SendingOptions").get("SendingEnabled") is False:
            return Level.PROBLEM, "sending is disabled for the configuration set: enable it"
        return Level.OK, "the configuration set is there"

    async def _read(self, path: str) -> Json | None:
        request = await self._request("GET", path)
        return answers.found(await wire.fetch(self.service.client, request))

    async def _request(self, method: str, path: str, content: Json | None = None) -> httpx.Request:
        if content is None:
            return await self.service.request(method, path)
        body = json.dumps({name: value for name, value in content.items() if value}).encode()
        return await self.service.request(method, path, body, {"Content-Type": "application/json"})


def _content(value: str | None) -> Json:
    """Write a text; without a charset it would have to be ASCII."""
    return {"Data": value or "", "Charset": "UTF-8"}


def _identities(sender: Sender) -> Iterator[str]:
    """Name what may be verified: the domain, the address, the domains above."""
    domain = ascii_domain(sender.address).rpartition("@")[2]
    yield domain
    yield sender.address
    while domain.count(".") > 1:
        domain = domain.partition(".")[2]
        yield domain


def _kind(identity: str) -> str:
    return "address" if "@" in identity else "domain"


def build(settings: Settings, client: httpx.AsyncClient) -> Ses:
    """Make the adapter that the settings describe."""
    account = settings.ses
    sender = configured.email_sender(settings, account)
    if not ascii_domain(sender.address).isascii():
        raise Misconfigured("STANDBY_EMAIL_FROM: SES takes only ASCII before the @")
    return Ses(
        Service.of(settings, client, "email", "ses", account.url),
        sender,
        Certificates(client),
        configuration_set=account.configuration_set,
        insights=account.insights,
        topic_arns=account.topic_arns,
    )
