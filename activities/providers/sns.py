"""Amazon SNS: texts by Publish; it takes no key of ours, and never says what became of a text."""

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Final
from urllib.parse import urlencode
from xml.etree.ElementTree import Element

import httpx

from activities.providers import answers, refusals, signatures, wire
from activities.providers.aws import Service
from activities.providers.base import Capabilities, Finding, Level, Listed, Message, Reported
from activities.providers.errors import Misconfigured, ReadFailed
from activities.providers.fields import text
from activities.providers.paging import Pages
from activities.providers.signatures import Clock
from activities.providers.sns_words import SETTINGS, refused, told, tree, values
from activities.settings import Settings
from workflows.policy.words import Channel, Status, SuppressionReason

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {Channel.SMS: Capabilities(has_suppressions=True, lists_suppressions=True)}
)

VERSION: Final = "2010-03-31"
_FORM = MappingProxyType({"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"})
_NUMBER: Final = re.compile(r"\+?[0-9]{5,15}")
_SENDER_ID: Final = re.compile(r"(?=.*[A-Za-z])[A-Za-z0-9]{1,11}")
_LIMIT: Final = "MonthlySpendLimit"


@dataclass(frozen=True, slots=True)
class Sns:
    """SNS of one account in one region."""

    service: Service
    sender: str | None = None
    """A number of the account, or a sender id; without one AWS chooses."""
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET
    clock: Clock = field(default=signatures.host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "sns"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on."""
        return CAPABILITIES[channel]

    async def prepare(self) -> None:
        """See that credentials can be had."""
        await self.service.ready()

    async def send(self, message: Message) -> Reported:
        """Submit once; the answer is the last that is ever heard of it."""
        attributes = {"AWS.SNS.SMS.SMSType": "Transactional"}
        if self.sender is not None:
            attributes[sender_attribute(self.sender)] = self.sender
        request = await self._request(
            "Publish", {"PhoneNumber": message.to, "Message": message.text, **_entries(attributes)}
        )
        said = told(await wire.submit(self.service.client, request, self.budget), "Publish")
        refused(said)
        provider_id = answers.accepted_id(said, answers.accepted(said), "MessageId")
        return Reported(Status.ACCEPTED, is_final=False, raw="accepted", provider_id=provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask nobody: there is nobody to ask."""
        return None

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether the credentials hold, the account is out of the sandbox, and the sender is its own."""
        status = await self._ask("GetSMSSandboxAccountStatus")
        sandbox = Finding(Level.OK, self.name, "the credentials hold, and the account is in production")
        if values(status, "IsInSandbox") != ["false"]:
            says = (
                "the account is in the SMS sandbox, where only verified numbers are texted: ask AWS out of it"
            )
            sandbox = Finding(Level.PROBLEM, self.name, says)
        silent = "SNS never says what became of a text: its acceptance is all there is (see aws_sms)"
        return (sandbox, await self._limit(), await self._owned(), Finding(Level.NOTE, self.name, silent))

    async def listed(self, channel: Channel) -> AsyncIterator[Listed]:  # noqa: ARG002
        """List the numbers that are opted out, as of the moment of asking: the list itself has no times."""
        async for page in self._pages("ListPhoneNumbersOptedOut", "nextToken"):
            for number in values(page, "member"):
                yield Listed(number, SuppressionReason.STOPPED, self.clock())

    async def _limit(self) -> Finding:
        read = await self._ask("GetSMSAttributes", {"attributes.member.1": _LIMIT})
        limit = dict(zip(values(read, "key"), values(read, "value"), strict=False)).get(_LIMIT)
        if limit is None or not limit.isdecimal():
            return Finding(Level.UNCHECKED, self.name, "the monthly spend limit is not told")
        return Finding(Level.NOTE, self.name, f"the account spends at most {limit} USD a month on texts")

    async def _owned(self) -> Finding:
        if self.sender is None:
            return Finding(Level.NOTE, self.name, "STANDBY_SMS_FROM is not set: AWS chooses the sender")
        if not _NUMBER.fullmatch(self.sender):
            return Finding(Level.UNCHECKED, self.name, f"sender {self.sender}: SNS does not list sender ids")
        async for page in self._pages("ListOriginationNumbers", "NextToken"):
            if self.sender.lstrip("+") in {each.lstrip("+") for each in values(page, "PhoneNumber")}:
                return Finding(Level.OK, self.name, f"sender {self.sender} is a number of the account")
        says = f"sender {self.sender} is no number of the account in this region: check STANDBY_SMS_FROM"
        return Finding(Level.PROBLEM, self.name, says)

    async def _pages(self, action: str, token: str) -> AsyncIterator[Element]:
        asked, pages = dict[str, str](), Pages()
        while True:
            page = await self._ask(action, asked)
            yield page
            following = values(page, token)
            if not following:
                return
            asked = {token: pages.turn(following[0])}

    async def _ask(self, action: str, parameters: Mapping[str, str] = MappingProxyType({})) -> Element:
        """Perform a check once; raises ReadFailed or Misconfigured."""
        answer = await wire.fetch(self.service.client, await self._request(action, parameters))
        said = told(answer, action)
        refusals.check(said, SETTINGS, text(said.fields() or {}, "Code"))
        read = tree(answer.body, action)
        if answers.found(said) is None or read is None:
            raise ReadFailed(f"{answer.words} to {action}")
        return read

    async def _request(self, action: str, parameters: Mapping[str, str]) -> httpx.Request:
        form = urlencode({"Action": action, "Version": VERSION, **parameters})
        return await self.service.request("POST", "/", form.encode(), _FORM)


def sender_attribute(sender: str) -> str:
    """Return the attribute that carries a sender of this shape; raises Misconfigured where there is none."""
    if _NUMBER.fullmatch(sender):
        return "AWS.MM.SMS.OriginationNumber"
    if _SENDER_ID.fullmatch(sender):
        return "AWS.SNS.SMS.SenderID"
    raise Misconfigured("STANDBY_SMS_FROM: SNS takes a number, or a sender id of up to 11 letters and digits")


def _entries(attributes: Mapping[str, str]) -> dict[str, str]:
    """Write message attributes as the query protocol has them."""
    written = {}
    for place, (name, value) in enumerate(attributes.items(), start=1):
        entry = f"MessageAttributes.entry.{place}"
        written[f"{entry}.Name"] = name
        written[f"{entry}.Value.DataType"] = "String"
        written[f"{entry}.Value.StringValue"] = value
    return written


def build(settings: Settings, client: httpx.AsyncClient) -> Sns:
    """Make the adapter that the settings describe; raises Misconfigured for a sender that SNS cannot take."""
    account = settings.sns
    sender = account.sms_from or settings.sms_from
    if sender is not None:
        sender_attribute(sender)
    return Sns(Service.of(settings, client, "sns", "sns", account.url), sender)
