"""Amazon SES v2, as far as Standby uses it; requests are held to the service model that botocore brings."""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import unquote

from botocore.session import Session
from botocore.validate import ParamValidator
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi, Stored

REGION = "eu-central-1"
KEY_ID = "AKIAIOSFODNN7EXAMPLE"
ADDED_AT = 1764579600.5

_SCOPE = re.compile(
    rf"AWS4-HMAC-SHA256 Credential={KEY_ID}/\d{{8}}/{REGION}/ses/aws4_request, SignedHeaders="
)
_TAG = re.compile(r"[A-Za-z0-9_-]{1,256}")
_HEADER = re.compile(r"[ -~]{1,995}")


class FakeSes(FakeApi):
    """Accepts whatever it is sent, suppressed or not, and tells afterwards; it honours no key."""

    first_word = "SEND"
    choice_word = "COMPLAINT"

    def __init__(self) -> None:
        super().__init__()
        self.account: dict[str, object] = {
            "ProductionAccessEnabled": True,
            "SendingEnabled": True,
            "EnforcementStatus": "HEALTHY",
            "SendQuota": {"Max24HourSend": 50000.0, "MaxSendRate": 14.0, "SentLast24Hours": 12.0},
            "VdmAttributes": {"VdmEnabled": "ENABLED"},
        }
        self.verified = {"example.com"}
        self.identities = {"example.com"}
        self.configuration_sets = {"notices": True}
        """By name, and whether they may send."""

    @override
    def routes(self) -> list[Route]:
        return [
            Route("/v2/email/outbound-emails", self.send, methods=["POST"]),
            Route("/v2/email/insights/{MessageId}/", self.show, methods=["GET"]),
            Route("/v2/email/account", self.show_account, methods=["GET"]),
            Route("/v2/email/identities/{EmailIdentity}", self.show_identity, methods=["GET"]),
            Route("/v2/email/configuration-sets/{ConfigurationSetName}", self.show_set, methods=["GET"]),
            Route("/v2/email/suppression/addresses", self.suppress, methods=["PUT"]),
            Route("/v2/email/suppression/addresses", self.suppressions, methods=["GET"]),
        ]

    @override
    def credentials_hold(self, request: Request) -> bool:
        return _SCOPE.match(request.headers.get("authorization", "")) is not None

    @override
    def denied(self) -> Response:
        return _error(403, "UnrecognizedClientException")

    @override
    def busy(self) -> Response:
        return _error(429, "TooManyRequestsException", "Maximum sending rate exceeded.")

    @override
    def broken(self) -> Response:
        return _error(500, "InternalFailure")

    @override
    def new_id(self) -> str:
        return f"01070193a1b2c3d4-6f0e4c1d-1111-4222-8333-{len(self.messages) + 1:012}-000000"

    async def send(self, request: Request) -> Response:
        content = await self._params(request, "SendEmail")
        simple, tags = content["Content"]["Simple"], content["EmailTags"]
        headers = {each["Name"]: each["Value"] for each in simple.get("Headers", [])}
        written = [content["FromEmailAddress"], *content["Destination"]["ToAddresses"]]
        self.violations += [f"a tag: {each}" for each in tags if not _TAG.fullmatch(each["Value"])]
        self.violations += [f"a header: {each}" for each in headers.values() if not _HEADER.fullmatch(each)]
        self.violations += [f"not ASCII: {each}" for each in written if not each.isascii()]
        draft = Draft(
            to=content["Destination"]["ToAddresses"][0],
            key=next((tag["Value"] for tag in tags if tag["Name"] == "standby"), None),
            text=simple["Body"]["Text"]["Data"],
            headers=headers,
            content=content,
        )
        return await self.submit(request, draft, lambda stored: JSONResponse({"MessageId": stored.id}))

    async def show(self, request: Request) -> Response:
        params = await self._params(request, "GetMessageInsights")
        stored = self.by_id(params["MessageId"])
        if stored is None:
            return _error(404, "NotFoundException", "Message insights not found.")
        return JSONResponse(insights(stored))

    async def show_account(self, request: Request) -> Response:
        await self._params(request, "GetAccount")
        return JSONResponse(self.account)

    async def show_identity(self, request: Request) -> Response:
        identity = (await self._params(request, "GetEmailIdentity"))["EmailIdentity"]
        if identity not in self.identities:
            return _error(404, "NotFoundException", f"Email identity {identity} does not exist.")
        return JSONResponse({"VerifiedForSendingStatus": identity in self.verified})

    async def show_set(self, request: Request) -> Response:
        name = (await self._params(request, "GetConfigurationSet"))["ConfigurationSetName"]
        if name not in self.configuration_sets:
            return _error(404, "NotFoundException", f"Configuration set <{name}> does not exist.")
        sending = {"SendingEnabled": self.configuration_sets[name]}
        return JSONResponse({"ConfigurationSetName": name, "SendingOptions": sending})

    async def suppress(self, request: Request) -> Response:
        params = await self._params(request, "PutSuppressedDestination")
        self.suppressed[params["EmailAddress"]] = params["Reason"]
        return JSONResponse({})

    async def suppressions(self, request: Request) -> Response:
        """List one address a page, so that pages must be turned."""
        params = await self._params(request, "ListSuppressedDestinations")
        found = [address for address, why in self.suppressed.items() if why in params["Reasons"]]
        begin = int(params.get("NextToken", "0/=").removesuffix("/="))
        rows = [
            {"EmailAddress": each, "Reason": self.suppressed[each], "LastUpdateTime": ADDED_AT}
            for each in found[begin : begin + 1]
        ]
        more = {"NextToken": f"{begin + 1}/="} if begin + 1 < len(found) else {}
        return JSONResponse({"SuppressedDestinationSummaries": rows} | more)

    async def _params(self, request: Request, operation: str) -> Any:  # noqa: ANN401 - JSON of a shape that is checked
        """Read a request as the service does, and note what its model does not allow."""
        shape = _model().operation_model(operation).input_shape
        sent = {
            (member.serialization.get("location"), member.serialization.get("name", name)): (name, member)
            for name, member in shape.members.items()
        }
        params: dict[str, object] = json.loads(await request.body() or b"{}")
        for name, value in request.path_params.items():
            params[sent["uri", name][0]] = unquote(value)
        for name, value in request.query_params.items():
            known, member = sent["querystring", name]
            params[known] = {"list": [value], "integer": int(value) if value.isdigit() else 0}.get(
                member.type_name, value
            )
        report = ParamValidator().validate(params, shape)
        if report.has_errors():
            self.violations.append(f"{operation}: {report.generate_report()}")
        return params


def insights(stored: Stored) -> dict[str, object]:
    """Write what insights say of a message."""
    event = {"Timestamp": 1764579600.25, "Type": stored.word, "Details": stored.detail}
    return {
        "MessageId": stored.id,
        "Subject": "A subject",
        "EmailTags": [{"Name": "standby", "Value": stored.draft.key}],
        "Insights": [{"Destination": stored.draft.to, "Isp": "Example", "Events": [event]}],
    }


@cache
def _model() -> Any:  # noqa: ANN401 - botocore has no types
    return Session().get_service_model("sesv2")


def _error(status: int, name: str, message: str = "As documented.") -> Response:
    return JSONResponse({"message": message}, status, {"x-amzn-errortype": f"{name}:https://aws.example/"})
