"""Twilio, with answers and callbacks as it documents them."""

import base64
import hashlib
import hmac
from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from activities.providers import configured
from activities.providers.base import Callback
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, Rejected
from activities.providers.provider import Provider
from activities.providers.signatures import Clock
from activities.providers.twilio import Login, Twilio
from activities.variables import Credential
from tests.providers.fakes.twilio import ACCOUNT, NUMBER, TOKEN, FakeTwilio
from tests.providers.scripted import Received, answer
from tests.providers.subject import SMS, Heard, Refusal, Said, Subject
from workflows.policy.words import Status, SuppressionReason

ID = "SM" + "0f" * 16
CALLBACK_URL = "https://standby.example.com/callbacks/twilio"
TAKEN = {"sid": ID, "status": "queued", "error_code": None, "from": NUMBER, "to": SMS.to, "body": SMS.text}

CODES = (
    ("30001", Status.TEMPORARY_FAILURE),
    ("30002", Status.REJECTED),
    ("30003", Status.TEMPORARY_FAILURE),
    ("30004", Status.REJECTED),
    ("30005", Status.INVALID_RECIPIENT),
    ("30006", Status.INVALID_RECIPIENT),
    ("30007", Status.REJECTED),
    ("30008", Status.UNRECOGNIZED),
    ("30034", Status.REJECTED),
    ("21211", Status.INVALID_RECIPIENT),
    ("21408", Status.REJECTED),
    ("21606", Status.REJECTED),
    ("21611", Status.TEMPORARY_FAILURE),
    ("21614", Status.INVALID_RECIPIENT),
    ("21635", Status.INVALID_RECIPIENT),
    ("39999", Status.UNRECOGNIZED),
)
"""What a message that was accepted failed of."""

SAID = (
    *(
        Said({"status": word}, status, is_final)
        for word, status, is_final in (
            ("accepted", Status.PENDING, False),
            ("scheduled", Status.PENDING, False),
            ("queued", Status.PENDING, False),
            ("sending", Status.PENDING, False),
            ("sent", Status.ACCEPTED, False),
            ("delivered", Status.DELIVERED, True),
            ("read", Status.DELIVERED, True),
            ("partially_delivered", Status.DELIVERED, True),
            ("canceled", Status.REJECTED, True),
            ("failed", Status.REJECTED, True),
            ("undelivered", Status.REJECTED, True),
        )
    ),
    *(Said({"status": "undelivered", "error_code": int(code)}, status, True) for code, status in CODES),
    Said({"status": "failed", "error_code": 21610}, Status.REJECTED, True, SuppressionReason.STOPPED),
)


def refusal(
    http: int,
    code: int,
    error: type[Exception],
    status: Status | None = None,
    opt_out: SuppressionReason | None = None,
) -> Refusal:
    body = {"code": code, "message": "As documented.", "more_info": "https://…", "status": http}
    return Refusal(http, body, error, status, opt_out)


REFUSALS = (
    refusal(403, 10001, Misconfigured),
    refusal(401, 20003, Misconfigured),
    refusal(403, 20005, Misconfigured),
    refusal(404, 20404, Misconfigured),
    refusal(429, 20429, NotSent),
    refusal(500, 20500, Ambiguous),
    refusal(400, 21211, Rejected, Status.INVALID_RECIPIENT),
    refusal(400, 21212, Misconfigured),
    refusal(400, 21408, Rejected, Status.REJECTED),
    refusal(403, 21408, Rejected, Status.REJECTED),
    refusal(400, 21602, Rejected, Status.REJECTED),
    refusal(400, 21603, Misconfigured),
    refusal(400, 21604, Rejected, Status.REJECTED),
    refusal(400, 21606, Misconfigured),
    refusal(400, 21608, Misconfigured),
    refusal(400, 21610, Rejected, Status.REJECTED, SuppressionReason.STOPPED),
    refusal(400, 21611, NotSent),
    refusal(400, 21612, Rejected, Status.REJECTED),
    refusal(400, 21614, Rejected, Status.INVALID_RECIPIENT),
    refusal(400, 21617, Rejected, Status.REJECTED),
    refusal(400, 21635, Rejected, Status.INVALID_RECIPIENT),
    refusal(400, 21659, Misconfigured),
    refusal(400, 21660, Misconfigured),
    refusal(400, 21661, Misconfigured),
    refusal(400, 21701, Misconfigured),
    refusal(400, 21703, Misconfigured),
    refusal(400, 21704, Misconfigured),
    refusal(403, 90010, Misconfigured),
)


def signature(url: str, fields: dict[str, str], token: str = TOKEN) -> str:
    signed = url + "".join(name + fields[name] for name in sorted(fields))
    return base64.b64encode(hmac.new(token.encode(), signed.encode(), hashlib.sha1).digest()).decode()


def called(fields: dict[str, str], url: str) -> Callback:
    """Return a form as Twilio posts it."""
    headers = {
        "x-twilio-signature": signature(url, fields),
        "content-type": "application/x-www-form-urlencoded; charset=utf-8",
    }
    return Callback(urlencode(fields).encode(), headers, url)


def heard(word: str, **beside: str) -> Callback:
    """Return a callback about the message of the tests."""
    fields = {"MessageSid": ID, "SmsSid": ID, "MessageStatus": word, "SmsStatus": word}
    about = {"AccountSid": ACCOUNT, "From": NUMBER, "To": SMS.to, "ApiVersion": "2010-04-01"}
    return called({**fields, **about, **beside}, configured.labelled(CALLBACK_URL, SMS.key))


HEARD = (
    Heard("sent", heard("sent", RawDlrDoneDate="2612010959"), Status.ACCEPTED),
    Heard("delivered", heard("delivered", NewParameter=""), Status.DELIVERED, is_final=True),
    Heard(
        "unknown handset",
        heard("undelivered", ErrorCode="30005"),
        Status.INVALID_RECIPIENT,
        is_final=True,
    ),
    Heard("switched off", heard("undelivered", ErrorCode="30003"), Status.TEMPORARY_FAILURE, is_final=True),
    Heard("filtered", heard("undelivered", ErrorCode="30007"), Status.REJECTED, is_final=True),
    Heard("no reason", heard("failed"), Status.REJECTED, is_final=True),
    Heard("a code of tomorrow", heard("failed", ErrorCode="39999"), Status.UNRECOGNIZED, is_final=True),
    Heard(
        "stopped",
        heard("failed", ErrorCode="21610"),
        Status.REJECTED,
        is_final=True,
        opt_out=SuppressionReason.STOPPED,
    ),
    Heard("a word of tomorrow", heard("teleported"), Status.UNRECOGNIZED),
    Heard("a text to us", heard("received", Body="Hello"), None),
)


def make(client: httpx.AsyncClient, url: str, budget: timedelta, clock: Clock) -> Provider:  # noqa: ARG001
    token = Credential(TOKEN)
    return Twilio(client, url, ACCOUNT, Login(ACCOUNT, token), NUMBER, token, CALLBACK_URL, budget=budget)


def content(received: Received) -> tuple[str, str]:
    fields = parse_qs(received.body.decode(), keep_blank_values=True)
    query = parse_qs(urlsplit(fields["StatusCallback"][0]).query)
    return query["attempt"][0], fields["Body"][0]


SUBJECTS = (
    Subject(
        name="twilio",
        message=SMS,
        make=make,
        fake=FakeTwilio,
        taken=answer(201, TAKEN),
        provider_id=ID,
        content=content,
        state=lambda fields: answer(200, {**TAKEN, **fields}),
        said=SAID,
        unknown_word={"status": "levitating 🛸 anna@example.test"},
        unknown_message=answer(404, {"code": 20404, "message": "The requested resource was not found"}),
        refusals=REFUSALS,
        unheard=lambda http: answer(http, {"code": 29999, "message": "?", "status": http}),
        heard=HEARD,
        signature_header="x-twilio-signature",
        oldest=None,
    ),
)
