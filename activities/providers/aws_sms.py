"""AWS End User Messaging: texts whose fate is told by events, which SNS brings; it answers no look-ups."""

import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from types import MappingProxyType
from typing import Final

import httpx

from activities.providers import answers, labels, refusals, signatures, sns_messages, wire
from activities.providers.answers import Json
from activities.providers.aws import Service
from activities.providers.aws_sms_words import KINDS, SETTINGS, code, refused, reported
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
from activities.providers.errors import ReadFailed
from activities.providers.fields import number, part, parts, text, unix
from activities.providers.paging import Pages
from activities.providers.signatures import Clock
from activities.providers.sns_messages import Certificates
from activities.settings import Settings
from workflows.policy.words import Channel, Status, SuppressionReason

CAPABILITIES: Mapping[Channel, Capabilities] = MappingProxyType(
    {
        Channel.SMS: Capabilities(
            callbacks=Callbacks.SIGNED,
            has_suppressions=True,
            lists_suppressions=True,
            takes_suppressions=True,
        )
    }
)

TAG: Final = "standby"
"""The name of our key in a text's context, which comes back in events."""

LONGEST_KEY: Final = 800
_LIMIT: Final = "TEXT_MESSAGE_MONTHLY_SPEND_LIMIT"


@dataclass(frozen=True, slots=True)
class AwsSms:
    """End User Messaging of one account in one region."""

    service: Service
    certificates: Certificates = field(repr=False)
    sender: str | None = None
    """A number, a sender id, a pool, or the ARN of one; without one AWS chooses."""
    configuration_set: str | None = None
    opt_out_list: str = "Default"
    topic_arns: tuple[str, ...] = ()
    _: KW_ONLY
    budget: timedelta = wire.SEND_BUDGET
    clock: Clock = field(default=signatures.host_now, repr=False)

    @property
    def name(self) -> str:
        """The name it is chosen by."""
        return "aws_sms"

    def capabilities(self, channel: Channel) -> Capabilities:
        """Say what can be relied on."""
        return CAPABILITIES[channel]

    async def prepare(self) -> None:
        """See that credentials can be had."""
        await self.service.ready()

    async def send(self, message: Message) -> Reported:
        """Submit once; our key is in the context."""
        content = {
            "DestinationPhoneNumber": message.to,
            "OriginationIdentity": self.sender,
            "MessageBody": message.text,
            "MessageType": "TRANSACTIONAL",
            "ConfigurationSetName": self.configuration_set,
            "Context": {TAG: labels.header(message.key, LONGEST_KEY)},
        }
        given = {name: value for name, value in content.items() if value is not None}
        request = await self._request("SendTextMessage", given)
        answer = await wire.submit(self.service.client, request, self.budget)
        refused(answer)
        provider_id = answers.accepted_id(answer, answers.accepted(answer), "MessageId")
        return Reported(Status.ACCEPTED, is_final=False, raw="accepted", provider_id=provider_id)

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:  # noqa: ARG002
        """Ask nobody: events alone tell."""
        return None

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002
        """See whether the credentials hold, the account may text anybody, and events are set up."""
        return (await self._tier(), await self._limit(), await self._sender(), await self._events())

    async def listed(self, channel: Channel) -> AsyncIterator[Listed]:  # noqa: ARG002
        """List who opted out: whoever put a number there, a text to it is refused as one that is unwanted."""
        asked = {"OptOutListName": self.opt_out_list}
        async for row in self._rows("DescribeOptedOutNumbers", "OptedOutNumbers", asked):
            address, at = text(row, "OptedOutNumber"), unix(row.get("OptedOutTimestamp"))
            if address is not None:
                yield Listed(address, SuppressionReason.STOPPED, at)

    async def suppress(self, channel: Channel, address: str, reason: SuppressionReason) -> None:  # noqa: ARG002
        """Put a number on the list of those who opted out, if its person chose so.

        The list can hold a choice and nothing else: a number that is only out of order would be refused as
        one whose person said stop, and read as such by us, even when it is somebody else's.
        """
        if reason is not SuppressionReason.INVALID_RECIPIENT:
            asked = {"OptOutListName": self.opt_out_list, "OptedOutNumber": address}
            await self._ask("PutOptedOutNumber", asked)

    async def verify(self, callback: Callback) -> None:
        """Check SNS's signature; a subscription that it asks about is confirmed."""
        await sns_messages.verify(callback, self.topic_arns, self.certificates, self.clock())
        await sns_messages.confirm(callback, self.service.client)

    def parse(self, callback: Callback) -> tuple[Reported, ...]:
        """Read the one event of a callback; what is of calls and pictures tells of nothing."""
        event = sns_messages.message(callback)
        if event is None:
            return ()
        read = reported(event, TAG, sns_messages.event_id(callback))
        return () if read is None else (read,)

    async def _tier(self) -> Finding:
        async for row in self._rows("DescribeAccountAttributes", "AccountAttributes"):
            if text(row, "Name") == "ACCOUNT_TIER" and text(row, "Value") == "PRODUCTION":
                return Finding(Level.OK, self.name, "the credentials hold, and the account is in production")
        says = "the account is in the sandbox, where only verified numbers are texted: ask AWS to move it out"
        return Finding(Level.PROBLEM, self.name, says)

    async def _limit(self) -> Finding:
        async for row in self._rows("DescribeSpendLimits", "SpendLimits"):
            limit = number(row, "EnforcedLimit")
            if text(row, "Name") == _LIMIT and limit is not None:
                return Finding(
                    Level.NOTE, self.name, f"the account spends at most {limit} USD a month on texts"
                )
        return Finding(Level.UNCHECKED, self.name, "the monthly spend limit is not told")

    async def _sender(self) -> Finding:
        if self.sender is None:
            return Finding(Level.NOTE, self.name, "STANDBY_SMS_FROM is not set: AWS chooses the sender")
        kind = next((each for each in KINDS if each.shape.fullmatch(self.sender)), None)
        if kind is None:
            return Finding(
                Level.UNCHECKED, self.name, f"sender {self.sender} is of a kind that is not listed"
            )
        async for row in self._rows(kind.operation, kind.rows):
            if self.sender.lstrip("+") in {(text(row, each) or "").lstrip("+") for each in kind.names}:
                return self._fitting(row)
        if self.sender.startswith("arn:"):
            says = f"sender {self.sender} is not the account's own: it may be shared with it"
            return Finding(Level.UNCHECKED, self.name, says)
        says = f"sender {self.sender} is not the account's in this region: check STANDBY_SMS_FROM"
        return Finding(Level.PROBLEM, self.name, says)

    def _fitting(self, row: Json) -> Finding:
        if text(row, "Status") not in {None, "ACTIVE"}:
            fault = "is not active: see the console of AWS End User Messaging"
        elif text(row, "MessageType") == "PROMOTIONAL":
            fault = "is for promotional texts: choose one for transactional texts as STANDBY_SMS_FROM"
        elif text(row, "OptOutListName") not in {None, self.opt_out_list}:
            fault = "has another list of opt-outs: name it in STANDBY_AWS_SMS_OPT_OUT_LIST"
        else:
            return Finding(Level.OK, self.name, f"sender {self.sender} is the account's")
        return Finding(Level.PROBLEM, self.name, f"sender {self.sender} {fault}")

    async def _events(self) -> Finding:
        if self.configuration_set is None:
            says = (
                "STANDBY_AWS_SMS_CONFIGURATION_SET is not set: of a text, nothing is heard but its acceptance"
            )
            return Finding(Level.NOTE, self.name, says)
        asked = {"ConfigurationSetNames": [self.configuration_set]}
        async for row in self._rows("DescribeConfigurationSets", "ConfigurationSets", asked):
            for each in parts(row, "EventDestinations"):
                topic = text(part(each, "SnsDestination"), "TopicArn")
                if each.get("Enabled") is True and topic in self.topic_arns:
                    return Finding(Level.OK, self.name, "the configuration set tells a topic of ours")
        says = "the configuration set tells no topic of STANDBY_AWS_SMS_TOPIC_ARNS: add it as a destination"
        return Finding(Level.PROBLEM, self.name, says)

    async def _rows(
        self, operation: str, name: str, asked: Json = MappingProxyType({})
    ) -> AsyncIterator[Json]:
        """Yield the rows of all pages."""
        token, pages = "", Pages()
        while True:
            page = await self._ask(operation, dict(asked) | ({"NextToken": token} if token else {}))
            for row in parts(page, name):
                yield row
            following = text(page, "NextToken")
            if following is None:
                return
            token = pages.turn(following)

    async def _ask(self, operation: str, content: Json) -> Json:
        """Perform a check once; raises ReadFailed or Misconfigured."""
        answer = await wire.fetch(self.service.client, await self._request(operation, content))
        refusals.check(answer, SETTINGS, code(answer))
        found = answers.found(answer)
        if found is None:
            raise ReadFailed(f"{answer.words} to {operation}")
        return found

    async def _request(self, operation: str, content: Json) -> httpx.Request:
        headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"PinpointSMSVoiceV2.{operation}",
        }
        return await self.service.request("POST", "/", json.dumps(content).encode(), headers)


def build(settings: Settings, client: httpx.AsyncClient) -> AwsSms:
    """Make the adapter that the settings describe."""
    account = settings.aws_sms
    return AwsSms(
        Service.of(settings, client, "sms-voice", "sms-voice", account.url),
        Certificates(client),
        account.sms_from or settings.sms_from,
        account.configuration_set,
        account.opt_out_list,
        account.topic_arns,
    )
