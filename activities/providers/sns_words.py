"""The words of Amazon SNS: its errors, and its XML."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from activities.providers import aws, refusals
from activities.providers.answers import Answer
from activities.providers.fields import text
from activities.providers.refusals import INVALID, LATER, REFUSED, STOPPED, UNSURE, Meaning, Proof, wrong

_PERMIT = wrong("let the AWS credentials call sns:Publish, and what begins with sns:List and sns:Get")
_SANDBOX = wrong("the account is in the SMS sandbox: ask AWS to move it out, or verify the number there")

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        **aws.REFUSALS,
        "AuthorizationError": _PERMIT,
        "InvalidSecurity": _PERMIT,
        "KMSOptInRequired": _PERMIT,
        "Throttled": LATER,
        "OptedOut": STOPPED,
        "EndpointDisabled": REFUSED,
        "InvalidParameter": REFUSED,
        "NotFound": REFUSED,
        "ParameterValueInvalid": REFUSED,
        "ValidationException": REFUSED,
        "InternalError": UNSURE,
    }
)
"""Errors by code; the rest means what its HTTP status means."""

SETTINGS: Mapping[str, Meaning] = MappingProxyType(
    {code: each for code, each in REFUSALS.items() if each.proof is Proof.MISCONFIGURED}
)
"""Those that a check of the set-up can bring as well."""

PARAMETERS = frozenset({"InvalidParameter", "ParameterValueInvalid", "ValidationException"})
"""Codes that say the less: the message beside them says which parameter, and why."""

SAYS: tuple[tuple[re.Pattern[str], Meaning], ...] = (
    (re.compile(r"(?<!not )\bopted out\b", re.IGNORECASE), STOPPED),
    # In doubt it is not the number's fault.
    (re.compile(r"country|region|blocked|account|\borigin\b", re.IGNORECASE), REFUSED),
    (re.compile(r"not verified|unverified|sandbox", re.IGNORECASE), _SANDBOX),
    (re.compile(r"sender ?id|origination", re.IGNORECASE), wrong("check STANDBY_SMS_FROM")),
    (
        re.compile(
            r"phone ?number\b.*(?:incorrectly formatted|\bE\.?164)|invalid phone number", re.IGNORECASE
        ),
        INVALID,
    ),
)
"""What such a message must say to mean more than a refusal.

"PhoneNumber Reason: … is not valid to publish to" is no row: where a region has no texts, every number is
said to be so (aws/aws-sdk-js issue 1217, boto/boto3 issue 2195).
"""


def refused(said: Answer) -> None:
    """Raise what a refusal proves, by its code, and by its message where that says more."""
    fields = said.fields() or {}
    code, message = text(fields, "Code"), text(fields, "Message") or ""
    if code in PARAMETERS and said.is_refusal:
        for pattern, meaning in SAYS:
            if pattern.search(message):
                raise refusals.error(meaning, said, code)
    refusals.check(said, REFUSALS, code)


def told(answer: Answer, action: str) -> Answer:
    """Return an answer with its XML as a JSON object, which `answers` read; bare where it is not SNS's."""
    read = tree(answer.body, action)
    fields = {} if read is None else {_local(each): each.text or "" for each in read.iter()}
    return replace(answer, body=json.dumps(fields).encode() if fields else b"")


def tree(body: bytes, action: str) -> Element | None:
    """Read an answer of SNS; None for anything else, such as a proxy's page, or half an answer.

    A parser and no pattern, for a pattern takes the beginning of an answer for the whole. SNS declares
    nothing, and where nothing is declared there are no entities that could grow: the rest is not read.
    """
    try:
        written = body.decode()
        read = None if "<!" in written else ET.fromstring(written)  # noqa: S314 - no declarations, no entities
    except (ET.ParseError, ValueError, LookupError):
        return None
    return read if read is not None and _local(read) in {f"{action}Response", "ErrorResponse"} else None


def values(read: Element, name: str) -> list[str]:
    """Return the texts of all elements of this name."""
    return [each.text for each in read.iter() if _local(each) == name and each.text]


def _local(element: Element) -> str:
    """Return a name without its namespace."""
    return str(element.tag).rpartition("}")[2]
