"""What may be said of an error or a text that could hold personal data: its class, and no more.

Failures in the history, log lines and spans all go through here. Exceptions of libraries repeat what they
were given (a URL, a row's parameters, a field's value), so only texts written to be read are kept.
"""

import re
import traceback

from pydantic import ValidationError
from temporalio.exceptions import ApplicationError, FailureError

PUBLIC = frozenset(
    {
        "Ambiguous",
        "DamagedPayload",
        "InvalidPayload",
        "Misconfigured",
        "NotFoundError",  # the SDK's own: the worker does not know this workflow or activity type
        "NotSent",
        "ReadFailed",
        "UnknownKey",
        "UnknownKind",
        "UnknownWorkflowType",
    }
)
"""Types of ApplicationError whose message and details are ours, and free of personal data."""

_SDK_TEXTS = frozenset({"Failed decoding arguments", "Failed decoding heartbeat details"})
"""Messages that the SDK raises without a type."""

_SIGNATURE = re.compile(r"[\w.<>]+\(\) (missing \d+ required|takes (from )?\d+ )")
"""A call with the wrong number of arguments: Python's text names parameters, never values."""

_URL = re.compile(
    r"\b([a-z][a-z0-9+.-]*://)(?:[^\s/@'\"]*@)?([^\s/?#'\"<>)\]]*)[^\s'\"<>)\]]*", re.IGNORECASE
)
_QUERY = re.compile(r"\?[^\s?'\"<>]*=[^\s'\"<>]*")
_EMAIL = re.compile(r"[^\s@<>\"',;:()\[\]{}=/]+(?:@|%40)[\w-]+(?:\.[\w-]+)+", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!\w)(?:\+|%2B)\d(?:[ ().-]{0,2}\d){6,14}", re.IGNORECASE)


class PublicError(Exception):
    """An error written for a person: it names files, variables and keys, never what was in them."""


def redact(text: str) -> str:
    """Return a text without what looks like an address, a number, or a link beyond its host.

    The last net, not the rule: callers do not put personal data into texts.
    """
    text = _URL.sub(r"\1\2", text)
    text = _QUERY.sub("?[query]", text)
    text = _EMAIL.sub("[address]", text)
    return _NUMBER.sub("[number]", text)


def tell(error: BaseException) -> str:
    """Return what may be told of an error, without its causes."""
    return redact(_told(error))


def chain(error: BaseException) -> list[str]:
    """Return what may be told of an error and of each of its causes, outermost first."""
    name, text = type(error).__name__, tell(error)
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return [name if name == text else f"{name}: {text}", *(chain(cause) if cause else [])]


def frames(error: BaseException) -> str:
    """Return the lines of code that an error came through, without its message."""
    return "".join(traceback.format_tb(error.__traceback__))


def is_public(error: FailureError) -> bool:
    """Whether the message of a failure may be kept as it is."""
    if not isinstance(error, ApplicationError):
        return True  # the SDK's fixed words: "Activity task failed", "Cancelled"
    return error.type in PUBLIC or error.message in _SDK_TEXTS


def _told(error: BaseException) -> str:
    match error:
        case FailureError() if is_public(error):
            return error.message
        case ApplicationError(type=str(name)):
            return name
        case ValidationError():
            return _fields(error)
        case TypeError() if _SIGNATURE.match(str(error)):
            return str(error)
        case PublicError():
            return str(error)
        case _:
            return type(error).__name__


def _fields(error: ValidationError) -> str:
    """Name each field and the rule that it broke; a key that a caller chose is not named."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = (f"{_path(each['loc'])}{_rule(each['type'], each['msg'])}" for each in problems)
    return f"{error.title}: {'; '.join(lines)}"


def _path(location: tuple[int | str, ...]) -> str:
    names = [str(part) if isinstance(part, int) or part.isidentifier() else "[key]" for part in location]
    return f"{'.'.join(names)}: " if names else ""


def _rule(kind: str, message: str) -> str:
    """Return pydantic's words, but for the rule whose words repeat the input."""
    return kind if kind == "union_tag_invalid" else message
