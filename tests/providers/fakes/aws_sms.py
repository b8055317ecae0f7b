"""AWS End User Messaging, as far as Standby uses it; it signs no callbacks: SNS does."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi
from tests.providers.fakes.sns import departures, signed_right
from tests.providers.sns_signing import TOPIC

TARGET = "PinpointSMSVoiceV2."
NUMBER = "+12065550100"
POOL = "pool-a1b2c3d4e5f60718293a4b5c6d7e8f90"
ARN = "arn:aws:sms-voice:eu-west-1:123456789012:"

Json = Mapping[str, object]


def rows() -> dict[str, list[dict[str, object]]]:
    """Write what the account has, by the operation that lists it."""
    number: dict[str, object] = {
        "PhoneNumberArn": f"{ARN}phone-number/phone-1234567890abcdef",
        "PhoneNumberId": "phone-1234567890abcdef",
        "PhoneNumber": NUMBER,
        "Status": "ACTIVE",
        "MessageType": "TRANSACTIONAL",
        "OptOutListName": "Default",
    }
    destination = {
        "EventDestinationName": "standby",
        "Enabled": True,
        "MatchingEventTypes": ["TEXT_ALL"],
        "SnsDestination": {"TopicArn": TOPIC},
    }
    return {
        "DescribeAccountAttributes": [
            {"Name": "DEFAULT_PROTECT_CONFIGURATION_ID", "Value": "protect-1"},
            {"Name": "ACCOUNT_TIER", "Value": "PRODUCTION"},
        ],
        "DescribeSpendLimits": [
            {"Name": "VOICE_MESSAGE_MONTHLY_SPEND_LIMIT", "EnforcedLimit": 1, "MaxLimit": 1},
            {"Name": "TEXT_MESSAGE_MONTHLY_SPEND_LIMIT", "EnforcedLimit": 500, "MaxLimit": 1000},
        ],
        "DescribePhoneNumbers": [
            number | {"PhoneNumberId": "phone-0", "PhoneNumber": "+12065550199"},
            number,
        ],
        "DescribeSenderIds": [{"SenderId": "Standby", "SenderIdArn": f"{ARN}sender-id/Standby/DE"}],
        "DescribePools": [{"PoolId": POOL, "PoolArn": f"{ARN}pool/{POOL}", "Status": "ACTIVE"}],
        "DescribeConfigurationSets": [
            {"ConfigurationSetName": "notices", "EventDestinations": [destination]},
        ],
    }


LISTS: Mapping[str, str] = {
    "DescribeAccountAttributes": "AccountAttributes",
    "DescribeConfigurationSets": "ConfigurationSets",
    "DescribeOptedOutNumbers": "OptedOutNumbers",
    "DescribePhoneNumbers": "PhoneNumbers",
    "DescribePools": "Pools",
    "DescribeSenderIds": "SenderIds",
    "DescribeSpendLimits": "SpendLimits",
}
"""Under which name each operation lists its rows."""


class FakeAwsSms(FakeApi):
    """Refuses who opted out, and tells nothing afterwards: events go to SNS."""

    first_word = "accepted"
    choice_word = "opted out"

    def __init__(self) -> None:
        super().__init__()
        self.rows = rows()

    @override
    def routes(self) -> list[Route]:
        return [Route("/", self.act, methods=["POST"])]

    @override
    def credentials_hold(self, request: Request) -> bool:
        return "authorization" in request.headers  # the rest needs the body: see `act`

    @override
    def denied(self) -> Response:
        return failed(400, "UnrecognizedClientException")

    @override
    def busy(self) -> Response:
        return failed(400, "ThrottlingException")

    @override
    def broken(self) -> Response:
        return failed(500, "InternalServerException")

    @override
    def new_id(self) -> str:
        return f"862a8790-60c0-4430-9b2b-658bd{len(self.messages):07}"

    async def act(self, request: Request) -> Response:
        """Do what the target names."""
        if not await signed_right(request, "sms-voice"):
            return failed(400, "InvalidSignatureException")
        operation = request.headers["x-amz-target"].removeprefix(TARGET)
        content = json.loads(await request.body())
        self.violations += departures("pinpoint-sms-voice-v2", operation, content)
        if request.headers["content-type"] != "application/x-amz-json-1.0":
            self.violations.append(request.headers["content-type"])
        match operation:
            case "SendTextMessage":
                return await self._send(request, content)
            case "PutOptedOutNumber":
                self.suppressed[content["OptedOutNumber"]] = self.choice_word
                return JSONResponse({"OptedOutNumber": content["OptedOutNumber"], "EndUserOptedOut": False})
            case "DescribeOptedOutNumbers":
                return self._page(operation, self._opted_out(), content)
            case _:
                return self._page(operation, self.rows[operation], content)

    async def _send(self, request: Request, content: Mapping[str, Any]) -> Response:
        if content["DestinationPhoneNumber"] in self.suppressed:
            self.submissions += 1
            return failed(400, "ConflictException", Reason="DESTINATION_PHONE_NUMBER_OPTED_OUT")
        draft = Draft(
            to=content["DestinationPhoneNumber"],
            key=content["Context"]["standby"],
            text=content["MessageBody"],
            content=content,
        )
        return await self.submit(request, draft, lambda stored: JSONResponse({"MessageId": stored.id}))

    def _opted_out(self) -> list[dict[str, object]]:
        return [
            {"OptedOutNumber": number, "OptedOutTimestamp": 1764579600.25, "EndUserOptedOut": True}
            for number in self.suppressed
        ]

    def _page(self, operation: str, found: list[dict[str, object]], content: Json) -> Response:
        """List one row a page, so that pages must be turned."""
        start = int(str(content.get("NextToken", "page-0")).removeprefix("page-"))
        token = {"NextToken": f"page-{start + 1}"} if start + 1 < len(found) else {}
        return JSONResponse({LISTS[operation]: found[start : start + 1]} | token)


def error(kind: str, **beside: object) -> Json:
    """Write an error as the service does."""
    return {"__type": f"com.amazonaws.pinpointsmsvoicev2#{kind}", "Message": "As documented.", **beside}


def failed(status: int, kind: str, **beside: object) -> Response:
    """Answer with an error as the service does."""
    return JSONResponse(error(kind, **beside), status)
