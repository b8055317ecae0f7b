"""Amazon SNS, as far as Standby uses it: its query protocol, and its XML."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StringShape, StructureShape
from botocore.serialize import create_serializer
from botocore.session import Session
from botocore.validate import ParamValidator
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from typing_extensions import override

from tests.providers.fakes.api import Draft, FakeApi

KEY_ID = "AKIASTANDBYTESTS0001"
SECRET_KEY = "a-secret-of-tests"
REGION = "eu-west-1"
CREDENTIALS = Credentials(KEY_ID, SECRET_KEY)

NAMESPACE = "http://sns.amazonaws.com/doc/2010-03-31/"
OWNED = ("+12065550100", "+12065550101")
"""The account's own numbers."""


@cache
def described(service: str) -> ServiceModel:
    """Load AWS's own description of a service, which comes with botocore."""
    return Session().get_service_model(service)


def departures(service: str, operation: str, parameters: Mapping[str, object]) -> list[str]:
    """Say where parameters differ from AWS's description."""
    shape = described(service).operation_model(operation).input_shape
    report = ParamValidator().validate(parameters, shape)
    if report.has_errors():
        return [f"{operation}: {report.generate_report()}"]
    return [f"{operation}: {name}" for name in _unfitting(parameters, shape, "")]


def _unfitting(value: object, shape: Shape, path: str) -> Iterator[str]:
    """Name the texts that botocore, which leaves that to AWS, does not hold to their patterns."""
    match shape, value:
        case StructureShape(), dict():
            for name, each in value.items():
                yield from _unfitting(each, shape.members[name], f"{path}.{name}")
        case MapShape(), dict():
            for name, each in value.items():
                yield from _unfitting(name, shape.key, f"{path}.{name}")
                yield from _unfitting(each, shape.value, f"{path}.{name}")
        case ListShape(), list():
            for each in value:
                yield from _unfitting(each, shape.member, f"{path}[]")
        case StringShape(), str():
            pattern, most = shape.metadata.get("pattern", r"[\s\S]*"), shape.metadata.get("max", len(value))
            if not re.fullmatch(pattern, value) or len(value) > most or value not in (shape.enum or [value]):
                yield path


async def signed_right(request: Request, service: str) -> bool:
    """Calculate the signature again, as AWS does."""
    said = re.fullmatch(
        rf"AWS4-HMAC-SHA256 Credential={KEY_ID}/\d{{8}}/{REGION}/{service}/aws4_request, "
        r"SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})",
        request.headers.get("authorization", ""),
    )
    if said is None:
        return False
    headers = {name: request.headers[name] for name in said[1].split(";")}
    again = AWSRequest(request.method, str(request.url), data=await request.body(), headers=headers)
    again.context["timestamp"] = request.headers["x-amz-date"]
    signer = SigV4Auth(CREDENTIALS, service, REGION)
    return bool(
        signer.signature(signer.string_to_sign(again, signer.canonical_request(again)), again) == said[2]
    )


class FakeSns(FakeApi):
    """Accepts a text to anybody, even to those who opted out, as SNS does."""

    first_word = "accepted"
    choice_word = "opted out"
    in_sandbox = False
    limit: str | None = "200"
    """What it may spend a month; None: it does not say."""

    @override
    def routes(self) -> list[Route]:
        return [Route("/", self.act, methods=["POST"])]

    @override
    def credentials_hold(self, request: Request) -> bool:
        return "authorization" in request.headers  # the rest needs the body: see `act`

    @override
    def denied(self) -> Response:
        return failed(403, "InvalidClientTokenId", "The security token included in the request is invalid.")

    @override
    def busy(self) -> Response:
        return failed(400, "Throttling", "Rate exceeded")

    @override
    def broken(self) -> Response:
        return failed(500, "InternalError", "Internal failure.", kind="Receiver")

    @override
    def new_id(self) -> str:
        return f"567910cd-659e-55d4-8ccb-5aaf1467{len(self.messages):04}"

    async def act(self, request: Request) -> Response:
        """Do what the form asks for."""
        if not await signed_right(request, "sns"):
            return failed(403, "SignatureDoesNotMatch", "The request signature does not match.")
        form = dict(parse_qsl((await request.body()).decode(), keep_blank_values=True, strict_parsing=True))
        action = form["Action"]
        parameters = _parameters(form)
        self.violations += departures("sns", action, parameters)
        self.violations += [] if form == _official(action, parameters) else [f"{action}: {sorted(form)}"]
        match action:
            case "Publish":
                return await self._publish(request, form)
            case "ListPhoneNumbersOptedOut":
                return self._opted_out(form)
            case "ListOriginationNumbers":
                return self._owned(form)
            case "GetSMSSandboxAccountStatus":
                return result(action, f"<IsInSandbox>{str(self.in_sandbox).lower()}</IsInSandbox>")
            case _:
                return result("GetSMSAttributes", f"<attributes>{self._limit()}</attributes>")

    async def _publish(self, request: Request, form: Mapping[str, str]) -> Response:
        draft = Draft(to=form["PhoneNumber"], key=None, text=form["Message"], content=form)
        return await self.submit(
            request, draft, lambda stored: result("Publish", f"<MessageId>{stored.id}</MessageId>")
        )

    def _limit(self) -> str:
        if self.limit is None:
            return ""
        return f"<entry><key>MonthlySpendLimit</key><value>{self.limit}</value></entry>"

    def _opted_out(self, form: Mapping[str, str]) -> Response:
        """List one number a page, so that pages must be turned."""
        page, token = turned(list(self.suppressed), form.get("nextToken"), "nextToken")
        members = "".join(f"<member>{number}</member>" for number in page)
        return result("ListPhoneNumbersOptedOut", f"<phoneNumbers>{members}</phoneNumbers>{token}")

    def _owned(self, form: Mapping[str, str]) -> Response:
        page, token = turned(list(OWNED), form.get("NextToken"), "NextToken")
        members = "".join(
            f"<member><PhoneNumber>{number}</PhoneNumber><Status>Active</Status></member>" for number in page
        )
        return result("ListOriginationNumbers", f"<PhoneNumbers>{members}</PhoneNumbers>{token}")


def turned(rows: list[str], token: str | None, name: str) -> tuple[list[str], str]:
    """Return the page of a token, and the token of the next."""
    start = int(token.removeprefix("page-")) if token else 0
    following = f"<{name}>page-{start + 1}</{name}>" if start + 1 < len(rows) else ""
    return rows[start : start + 1], following


def result(action: str, inner: str) -> Response:
    """Answer as SNS does."""
    body = (
        f'<{action}Response xmlns="{NAMESPACE}"><{action}Result>{inner}</{action}Result>'
        "<ResponseMetadata><RequestId>f187a3c1-376f-11df-8963-01868b7c937a</RequestId></ResponseMetadata>"
        f"</{action}Response>"
    )
    return Response(body, media_type="text/xml")


def error(code: str, message: str, kind: str = "Sender") -> bytes:
    """Write an error as SNS does."""
    return (
        f'<ErrorResponse xmlns="{NAMESPACE}"><Error><Type>{kind}</Type><Code>{code}</Code>'
        f"<Message>{escape(message)}</Message></Error>"
        "<RequestId>9dd01905-5012-5f99-8663-4b3ecd0dfaef</RequestId></ErrorResponse>"
    ).encode()


def failed(status: int, code: str, message: str, kind: str = "Sender") -> Response:
    """Answer with an error as SNS does."""
    return Response(error(code, message, kind), status, media_type="text/xml")


def _parameters(form: Mapping[str, str]) -> dict[str, object]:
    """Read the parameters of a form, as the model has them."""
    found: dict[str, object] = {
        name: value for name, value in form.items() if "." not in name and name not in {"Action", "Version"}
    }
    attributes = {
        form[f"{entry}.Name"]: {
            "DataType": form[f"{entry}.Value.DataType"],
            "StringValue": form[f"{entry}.Value.StringValue"],
        }
        for entry in (name.removesuffix(".Name") for name in form if name.endswith(".Name"))
    }
    members = [value for name, value in form.items() if name.startswith("attributes.member.")]
    return (
        found
        | ({"MessageAttributes": attributes} if attributes else {})
        | ({"attributes": members} if members else {})
    )


def _official(action: str, parameters: Mapping[str, object]) -> dict[str, str]:
    """Write the same call as botocore does."""
    model = described("sns")
    serializer = create_serializer(model.metadata["protocol"], include_validation=True)
    body = serializer.serialize_to_request(dict(parameters), model.operation_model(action))["body"]
    return {name: str(value) for name, value in body.items()}
