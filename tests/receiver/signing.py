"""Any content, rightly signed by each provider that calls back: what only its parser stands against."""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode

from hypothesis import strategies as st

from activities.providers.base import Callback
from tests.providers.cases import (
    aws_sms,
    courier,
    mailgun,
    plivo,
    postmark,
    resend,
    sandbox,
    sendgrid,
    ses,
    telnyx,
    twilio,
    vonage,
)
from tests.providers.sns_signing import notification
from tests.providers.subject import NOW, SECRET, Heard, Subject
from tests.receiver.drawn import VALUES, as_json, nearly, nearly_a_form

Callbacks = st.SearchStrategy[Callback]
STAMP = str(int(NOW.timestamp()))


class Caller(NamedTuple):
    """One provider, and whatever it could sign."""

    subject: Subject
    callbacks: Callbacks

    @property
    def altered(self) -> Callbacks:
        """What it signed, and somebody changed, its signature or its headers: at times nothing of it."""
        told = [each.callback for each in self.subject.heard if each.callback.body]
        return st.sampled_from(told).flatmap(lambda each: st.builds(replace, st.just(each), **_changed(each)))


def _changed(callback: Callback) -> dict[str, st.SearchStrategy[Any]]:
    given = dict(callback.headers)
    headers: st.SearchStrategy[Any] = st.just(given) | st.just({}) | nearly(given).filter(_can_be_sent)
    if callback.body.lstrip()[:1] in {b"{", b"["}:
        return {"headers": headers, "body": nearly(_whole(callback)).map(as_json)}
    forms = nearly_a_form(_form(callback)).map(lambda form: urlencode(form).encode())
    return {"headers": headers, "body": forms}


def _can_be_sent(headers: object) -> bool:
    """Whether these can be headers: names that are tokens, values of visible ASCII."""
    return isinstance(headers, dict) and all(
        isinstance(value, str)
        and value.isascii()
        and value.isprintable()
        and value == value.strip()
        and re.fullmatch(r"[a-z0-9-]+", name)
        for name, value in headers.items()
    )


def _hex(signed: bytes) -> str:
    return hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()


def _sandbox(body: bytes) -> Callback:
    signed = _hex(f"{STAMP}.".encode() + body)
    return Callback(body, {"sandbox-timestamp": STAMP, "sandbox-signature": signed})


def _courier(body: bytes) -> Callback:
    at = f"{STAMP}000"
    return Callback(body, {"courier-signature": f"t={at},signature={_hex(f'{at}.'.encode() + body)}"})


def _resend(body: bytes) -> Callback:
    digest = hmac.new(SECRET.encode(), f"msg_1.{STAMP}.".encode() + body, hashlib.sha256).digest()
    signature = f"v1,{base64.b64encode(digest).decode()}"
    return Callback(body, {"svix-id": "msg_1", "svix-timestamp": STAMP, "svix-signature": signature})


def _telnyx(body: bytes) -> Callback:
    signature = base64.b64encode(telnyx.SIGNING_KEY.sign(f"{STAMP}|".encode() + body)).decode()
    headers = {"telnyx-signature-ed25519": signature, "telnyx-timestamp": STAMP}
    return Callback(body, headers, telnyx.CALLBACK)


def _postmark(body: bytes) -> Callback:
    return Callback(body, {"authorization": postmark.basic(SECRET)})


def _mailgun(told: object) -> Callback:
    """Sign a token of its own for each body: one is good for one."""
    return mailgun.signed(told, hashlib.sha256(as_json(told)).hexdigest())


def _published(told: object) -> Callback:
    return notification(as_json(told).decode())


def _documents(heard: Iterable[Heard], read: Callable[[Callback], Any]) -> list[Any]:
    return [read(each.callback) for each in heard if each.status is not None]


def _whole(callback: Callback) -> Any:  # noqa: ANN401 - any JSON
    return json.loads(callback.body)


def _message(callback: Callback) -> Any:  # noqa: ANN401 - the same
    return json.loads(_whole(callback)["Message"])


def _form(callback: Callback) -> dict[str, str]:
    return dict(parse_qsl(callback.body.decode(), keep_blank_values=True))


def _in_bytes(heard: Iterable[Heard], sign: Callable[[bytes], Callback]) -> Callbacks:
    """Draw what signs bytes, whatever they are."""
    documents = st.sampled_from(_documents(heard, _whole)).flatmap(nearly)
    return st.one_of(documents.map(as_json), VALUES.map(as_json), st.binary(max_size=60)).map(sign)


def _in_json(documents: list[Any], sign: Callable[[Any], Callback]) -> Callbacks:
    """Draw what signs JSON, or something within it."""
    return st.one_of(st.sampled_from(documents).flatmap(nearly), VALUES).map(sign)


def _in_forms(heard: Iterable[Heard], sign: Callable[[dict[str, str], str], Callback]) -> Callbacks:
    """Draw forms; what names our attempt stands in the address."""
    told = [each.callback for each in heard if each.status is not None]
    return st.sampled_from(told).flatmap(
        lambda each: nearly_a_form(_form(each)).filter(bool).map(lambda form: sign(form, each.url))
    )


def _by_vonage() -> Callbacks:
    said = vonage.receipt("delivered", "0")
    bare = nearly_a_form(dict(said)).map(
        lambda form: {name.replace("&", "").replace("=", ""): value for name, value in form.items()}
    )
    forms = bare.map(vonage.signed)
    objects = nearly(dict(said)).map(lambda told: told if isinstance(told, dict) else {"told": told})
    return st.one_of(forms.map(vonage.as_form), forms.map(vonage.as_query), objects.map(vonage.by_token))


CALLERS = {
    "aws_sms": Caller(aws_sms.SUBJECTS[0], _in_json(_documents(aws_sms.HEARD, _message), _published)),
    "courier": Caller(courier.SUBJECTS[0], _in_bytes(courier.SUBJECTS[0].heard, _courier)),
    "mailgun": Caller(
        mailgun.SUBJECTS[0],
        _in_json(_documents(mailgun.HEARD, lambda each: _whole(each)["event-data"]), _mailgun),
    ),
    "plivo": Caller(plivo.SUBJECTS[0], _in_forms(plivo.HEARD, plivo.called)),
    "postmark": Caller(postmark.SUBJECTS[0], _in_bytes(postmark.HEARD, _postmark)),
    "resend": Caller(resend.SUBJECTS[0], _in_bytes(resend.HEARD, _resend)),
    "sandbox": Caller(sandbox.SUBJECTS[0], _in_bytes(sandbox.HEARD, _sandbox)),
    "sendgrid": Caller(sendgrid.SUBJECTS[0], _in_bytes(sendgrid.HEARD, sendgrid.posted)),
    "ses": Caller(ses.SUBJECTS[0], _in_json(_documents(ses.HEARD, _message), _published)),
    "telnyx": Caller(telnyx.SUBJECTS[0], _in_bytes(telnyx.HEARD, _telnyx)),
    "twilio": Caller(twilio.SUBJECTS[0], _in_forms(twilio.HEARD, twilio.called)),
    "vonage": Caller(vonage.SUBJECTS[0], _by_vonage()),
}
"""By the name of the provider; a test says that none is missing."""
