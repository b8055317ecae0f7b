"""Plivo, with answers and callbacks as it documents them, and as the tests of its own SDK have them."""

import base64
import hashlib
import hmac
from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from activities.providers import configured
from activities.providers.base import Callback
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.plivo import Plivo
from activities.providers.provider import Provider
from activities.providers.signatures import Clock
from activities.variables import Credential
from tests.providers.fakes.plivo import AUTH_ID, NUMBER, SENT, TOKEN, TOLD, FakePlivo
from tests.providers.scripted import Received, answer
from tests.providers.subject import SMS, Heard, Refusal, Said, Subject, json_of
from workflows.policy.words import Status, SuppressionReason

ID = "5b40a428-bfc7-4daf-9d06-726c558bf3b8"
CALLBACK_URL = "https://standby.example.com/callbacks/plivo"
NONCE = "31627761595286130198"

CODES = (
    ("000", Status.REJECTED),
    ("10", Status.REJECTED),
    ("20", Status.TEMPORARY_FAILURE),
    ("30", Status.REJECTED),
    ("40", Status.REJECTED),
    ("50", Status.INVALID_RECIPIENT),
    ("60", Status.REJECTED),
    ("70", Status.INVALID_RECIPIENT),
    ("80", Status.TEMPORARY_FAILURE),
    ("90", Status.TEMPORARY_FAILURE),
    ("100", Status.REJECTED),
    ("110", Status.REJECTED),
    ("201", Status.REJECTED),
    ("300", Status.UNRECOGNIZED),
    ("420", Status.UNRECOGNIZED),
    ("450", Status.REJECTED),
    ("900", Status.REJECTED),
    ("1000", Status.UNRECOGNIZED),
)
"""What a message that was accepted failed of."""

SAID = (
    *(
        Said({"message_state": word, "error_code": code}, status, is_final)
        for word, code, status, is_final in (
            ("queued", None, Status.PENDING, False),
            ("sent", None, Status.ACCEPTED, False),
            ("delivered", "000", Status.DELIVERED, True),
            ("read", None, Status.DELIVERED, True),
            ("failed", None, Status.REJECTED, True),
            ("undelivered", None, Status.REJECTED, True),
            ("rejected", None, Status.REJECTED, True),
        )
    ),
    *(Said({"message_state": "undelivered", "error_code": code}, status, True) for code, status in CODES),
    Said({"message_state": "failed", "error_code": "200"}, Status.REJECTED, True, SuppressionReason.STOPPED),
)


def refusal(http: int, says: str, error: type[Exception], status: Status | None = None) -> Refusal:
    return Refusal(http, {"api_id": SENT["api_id"], "error": says}, error, status)


REFUSALS = (
    refusal(400, "'12025550142' is not a valid phone number.", Rejected, Status.REJECTED),
    refusal(400, "invalid json data sent in raw POST", Rejected, Status.REJECTED),
    refusal(401, "authentication credentials were not provided", Misconfigured),
    refusal(402, "Insufficient Credit", Misconfigured),
    refusal(400, "insufficient credit", Misconfigured),
    refusal(404, "not found", Misconfigured),
    refusal(405, "method not allowed", Misconfigured),
    refusal(429, "rate limit exceeded", NotSent),
    refusal(500, "server error", Ambiguous),
    Refusal(
        202,
        {**SENT, "message_uuid": [], "invalid_number": ["12025550142"]},
        Rejected,
        Status.INVALID_RECIPIENT,
    ),
    Refusal(202, {**SENT, "message_uuid": [], "invalid_number": ["12025550143"]}, Ambiguous),
    Refusal(202, {**SENT, "message_uuid": []}, Ambiguous),
)


def signature(url: str, fields: dict[str, str], token: str = TOKEN) -> str:
    """Sign a form; a query of the address must be in its order already."""
    base, _, query = url.partition("?")
    signed = f"{base}?{query}{'.' if query else ''}" + "".join(each + fields[each] for each in sorted(fields))
    digest = hmac.new(token.encode(), f"{signed}.{NONCE}".encode(), hashlib.sha256).digest()
    return base64.b64encode(digest).decode()


def called(fields: dict[str, str], url: str) -> Callback:
    """Return a form as Plivo posts it."""
    headers = {"x-plivo-signature-v3": signature(url, fields), "x-plivo-signature-v3-nonce": NONCE}
    return Callback(urlencode(fields).encode(), headers, url)


def heard(word: str, sequence: int = 1, **beside: str) -> Callback:
    """Return a callback about the message of the tests."""
    fields = {"MessageUUID": ID, "Status": word, "Sequence": str(sequence), "Type": "sms", "Units": "1"}
    about = {"From": NUMBER.removeprefix("+"), "To": SMS.to.removeprefix("+"), "PowerpackUUID": ""}
    return called({**fields, **about, **beside}, configured.labelled(CALLBACK_URL, SMS.key))


HEARD = (
    Heard("queued", heard("queued", SentTime="2026-12-01 09:59:57.123456"), Status.PENDING),
    Heard("sent", heard("sent"), Status.ACCEPTED),
    Heard("delivered", heard("delivered", ErrorCode="000"), Status.DELIVERED, is_final=True),
    Heard("a landline", heard("undelivered", ErrorCode="50"), Status.INVALID_RECIPIENT, is_final=True),
    Heard("switched off", heard("undelivered", ErrorCode="80"), Status.TEMPORARY_FAILURE, is_final=True),
    Heard("spam", heard("undelivered", ErrorCode="30"), Status.REJECTED, is_final=True),
    Heard("no reason", heard("failed", ErrorCode=""), Status.REJECTED, is_final=True),
    Heard("an unknown error", heard("failed", ErrorCode="1000"), Status.UNRECOGNIZED, is_final=True),
    Heard(
        "stopped",
        heard("failed", ErrorCode="200"),
        Status.REJECTED,
        is_final=True,
        opt_out=SuppressionReason.STOPPED,
    ),
    Heard("a word of tomorrow", heard("teleported"), Status.UNRECOGNIZED),
    Heard("a text to us", heard("received", Text="Hello"), None),
)


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:  # noqa: ARG001
    return Plivo(client, url, AUTH_ID, Credential(TOKEN), NUMBER, CALLBACK_URL, budget=budget)


def content(received: Received) -> tuple[str, str]:
    fields = json_of(received)
    return parse_qs(urlsplit(str(fields["url"])).query)["attempt"][0], str(fields["text"])


SUBJECTS = (
    Subject(
        name="plivo",
        message=SMS,
        make=make,
        fake=FakePlivo,
        taken=answer(202, SENT),
        provider_id=ID,
        content=content,
        state=lambda fields: answer(200, {**TOLD, **fields}),
        said=SAID,
        unknown_word={"message_state": "levitating 🛸 anna@example.test"},
        unknown_message=answer(404, {"api_id": SENT["api_id"], "error": "not found"}),
        refusals=REFUSALS,
        unheard=lambda http: answer(http, {"api_id": SENT["api_id"], "error": "unheard of"}),
        heard=HEARD,
        signature_header="x-plivo-signature-v3",
        oldest=None,
    ),
)
