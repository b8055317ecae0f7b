"""What a provider's answer proves.

An adapter first looks for the answers whose meaning its provider documents, and leaves the rest to
`accepted` and `found`:

==============================================  =========================  =====================
answer                                          of a send                  of a look-up
==============================================  =========================  =====================
2xx with a JSON object                          its fields                 its fields
2xx otherwise                                   Ambiguous                  ReadFailed
301, 302, 307, 308, 401, 403, 407               Misconfigured              Misconfigured
425, 429                                        NotSent with Retry-After   ReadFailed, likewise
404, 410 with a JSON object                     Misconfigured              None
405 with a JSON object                          Misconfigured              ReadFailed
408, 409, 5xx, anything unheard of              Ambiguous                  ReadFailed
other 4xx with a JSON object                    Rejected                   ReadFailed
other 4xx otherwise: a proxy's word, not its    NotSent                    ReadFailed
==============================================  =========================  =====================
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from activities.providers.base import Reported, can_be_kept
from activities.providers.errors import Ambiguous, Misconfigured, NotSent, ProviderError, ReadFailed, Rejected
from workflows.policy.words import Status

LONGEST_WAIT: Final = timedelta(hours=1)
"""No provider may make us wait longer, whatever its Retry-After says."""

_MOVED = "there is no such address: check that of the API"
_WRONG: Mapping[int, str] = MappingProxyType(
    {
        301: _MOVED,
        302: _MOVED,
        307: _MOVED,
        308: _MOVED,
        401: "check the credentials",
        403: "check the credentials and what they permit",
        407: "check the proxy",
    },
)
_WAIT = frozenset({425, 429})
_UNSURE = frozenset({408, 409})
_UNKNOWN = frozenset({404, 410})
_NOWHERE = frozenset({404, 405, 410})
"""No recipient makes the address of a send unknown."""

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer; its body and headers may hold anything, so they are never shown."""

    status: int
    headers: Mapping[str, str] = field(repr=False)
    """By lower-case name."""
    body: bytes = field(repr=False)

    @property
    def is_success(self) -> bool:
        """Whether it is a 2xx."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES

    @property
    def is_refusal(self) -> bool:
        """Whether it is a 4xx that can be about this one message: neither a failure nor a plea to wait."""
        is_client_error = HTTPStatus.BAD_REQUEST <= self.status < HTTPStatus.INTERNAL_SERVER_ERROR
        return is_client_error and self.status not in _WAIT

    @property
    def words(self) -> str:
        """Say which answer it was, without what was in it."""
        return f"HTTP {self.status}"

    def fields(self) -> Json | None:
        """Return the JSON object of the body; None where there is none."""
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def retry_after(self) -> timedelta | None:
        """Read Retry-After, in seconds or as a date (by the server's own clock), within bounds."""
        value = self.headers.get("retry-after", "").strip()
        if value.isascii() and value.isdigit():
            return bounded(float(value))
        until, now = _date(value), _date(self.headers.get("date", ""))
        return bounded(until - now) if until is not None and now is not None else None


def accepted(answer: Answer) -> Json:
    """Return the fields of an accepted send; raises what any other answer proves."""
    fields = answer.fields()
    if answer.is_success and fields is not None:
        return fields
    raise refusal(answer)


def accepted_id(answer: Answer, fields: Json, *names: str) -> str:
    """Return the id that the provider gave to what it accepted; raises Ambiguous where none can be kept."""
    for name in names:
        match fields.get(name):
            case str() as found if can_be_kept(found):
                return found
    raise Ambiguous(f"{answer.words}, without an id")


def refusal(answer: Answer) -> ProviderError | Misconfigured:
    """Say what an answer without a usable acceptance proves about a send."""
    status = answer.status
    is_client_error = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    if status in _WRONG or (status in _NOWHERE and answer.fields() is not None):
        return _misconfigured(answer)
    if status in _WAIT:
        return NotSent(answer.words, retry_after=answer.retry_after())
    if answer.is_success:
        return Ambiguous(f"{answer.words}, unreadable")
    if status in _UNSURE or not is_client_error:
        return Ambiguous(answer.words, retry_after=answer.retry_after())
    if answer.fields() is None:
        return NotSent(f"{answer.words}, not in the provider's words", retry_after=answer.retry_after())
    return Rejected(answer.words, Reported(Status.REJECTED, is_final=True, raw=answer.words))


def _misconfigured(answer: Answer) -> Misconfigured:
    return Misconfigured(f"{answer.words}: {_WRONG.get(answer.status, _MOVED)}")


def found(answer: Answer) -> Json | None:
    """Return the fields of a look-up, None where the provider does not know the message."""
    fields = answer.fields()
    if answer.status in _WRONG:
        raise _misconfigured(answer)
    if answer.status in _UNKNOWN and fields is not None:
        return None
    if answer.is_success and fields is not None:
        return fields
    words = f"{answer.words}, unreadable" if answer.is_success else answer.words
    raise ReadFailed(words, retry_after=answer.retry_after())


def bounded(seconds: float) -> timedelta:
    """Keep a wait that a provider asks for between nothing and `LONGEST_WAIT`."""
    return timedelta(seconds=max(0.0, min(seconds, LONGEST_WAIT.total_seconds())))


def _date(value: str) -> float | None:
    """Read an HTTP date as a Unix time."""
    try:
        return parsedate_to_datetime(value).timestamp()
    except (ValueError, OverflowError):
        return None
