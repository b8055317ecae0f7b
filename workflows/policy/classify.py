"""Whose fault was it? Enhanced code, then reply text, then the provider's own class.

To call an address invalid has consequences: in doubt it is not the recipient's fault, and two signals that
disagree never add up to it. The order is: a provider's class that excuses the recipient; the first digit 4;
words for the sender, for a full or busy mailbox, and for policy, which contradict any code; the code's row,
with the words that turn it; the provider's class where the code says little; the reply code alone. Whatever
of these blames the recipient is not believed if the reply answers a login, or names anything else.
"""

import re
from enum import StrEnum
from typing import NamedTuple

from workflows.policy import enhanced
from workflows.policy.words import Status


class Why(StrEnum):
    """What decided; a classified word that may be logged, which a reply text may not."""

    PROVIDER = "provider"
    """The provider's own class."""
    TRANSIENT = "transient"
    """Class 4: it is still being worked on."""
    SENDER = "sender"
    """The reply blames us, or names us where it blames somebody."""
    CAPACITY = "capacity"
    """The reply says full, quota or rate, or not now."""
    POLICY = "policy"
    """The reply says spam, policy, blocked, relay or suppressed."""
    RECIPIENT = "recipient"
    """The reply says that the mailbox is not there."""
    CODE = "code"
    """The enhanced status code."""
    REPLY = "reply"
    """The reply code alone."""
    NOTHING = "nothing"
    """Nothing said anything."""


class Classified(NamedTuple):
    """A report in our words."""

    status: Status
    is_final: bool
    """Whether the sending system has stopped trying."""
    why: Why


_LONGEST = 2000
_CODE = re.compile(r"[245]\.\d{1,3}\.\d{1,3}")
_AFTER_REPLY = re.compile(r"(?<![\w.])[245]\d\d[ -]+[(<\[]?#?([245]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")
_ALONE = re.compile(r"(?<![\w.])#?([45]\.\d{1,3}\.\d{1,3})(?![\d.]*\d)")
_REPLY = re.compile(r"(?:^|[;:]\s*)([245]\d\d)(?=[ -]|$)", re.MULTILINE)
_ADDRESS = re.compile(r"<?[^\s<>=:]+@[^\s<>]+>?")
_LOGIN = range(530, 540)
"""Reply codes of a session that may not go on (RFC 4954): they come before any recipient."""

_SENDER = re.compile(
    r"\bsender(?:'s)? (?:\w+ ){0,3}"
    r"(?:denied|rejected|invalid|unknown|blocked|verify|not found|does not exist)"
    r"|(?:invalid|bad|unknown) (?:outbound )?sender|submission quota",
    re.IGNORECASE,
)
_CAPACITY = re.compile(
    r"quota|(?:mailbox|inbox|boite)\b[^.,;:]{0,30}\b(?:full|pleine)\b|storage (?:limit|full)"
    r"|(?:mailbox|inbox|user|account)\b[^.]{0,40}\bexceed|\bover (?:\w+ ){0,3}limit"
    r"|\b(?:hourly|daily|sending|receiving|rate|connection|message) limit|\blimit per (?:hour|day)"
    r"|disk full|\b(?:insufficient|not enough|out of|no) (?:\w+ )?(?:space|storage)|throttl"
    r"|at a rate that|rate[- ]?limit|too (?:quickly|fast|often|frequent)"
    r"|too many (?:recent )?(?:messages|mails|emails|connections)",
    re.IGNORECASE,
)
_POLICY = re.compile(
    r"\bspam(?:m\w+|haus|cop|s)?\b|\bvirus|malware|phish|unsolicited|\bbulk\b|\babus|fraud|suspicious"
    r"|\bpolicy\b|\bdmarc\b|\bspf\b|\bdkim\b|\b(?:r|dns|sur|uri)bl\b|\bsorbs\b|\bcontent\b"
    r"|(?:black|block|deny)[- ]?list|(?<!not )\blisted (?:in|on|by|at)\b"
    r"|\bblocked\b(?! due to inactiv)|\bbanned\b|reputation|suppress"
    r"|relay(?:ing)? (?:access )?(?:denied|disallowed|prohibited|not permitted)|unable to relay"
    r"|not authori[sz]ed|authentication",
    re.IGNORECASE,
)

_LATER = re.compile(
    r"temporar|try(?:ing)? (?:again )?(?:later|in \d)|later time|gr[ae]y-?list|tim(?:e|ed)[ -]?out|servfail",
    re.IGNORECASE,
)
"""Words for a fault that may pass: no reason to give up an address, though its host has given up."""

_ELSEWHERE = re.compile(
    # Who sends, as an account, an address or a host.
    r"(?<!returned to )(?<!return to )\bsenders?\b|\bsending\b(?! to\b)|\boriginator\b|\bsubmission\b"
    r"|\b(?:mail|envelope|header)[ -]?from\b|\bfrom ?[:=]"
    r"|\bfrom (?:address|domain|header|field|user|mailbox|account|unknown|invalid|not |is |was |does )"
    r"|\breturn[ -]?(?:path|address)|\breverse\b|\b(?:helo|ehlo)\b|\bclient\b|\bptr\b|\bip\b|\bconnecting\b"
    r"|\bsmtp (?:account|user|auth|login|credential)|\blog ?in\b|credential|password"
    r"|\byour (?:\w+ ){0,2}(?:account|mailbox|domain|server|host|network)\b"
    # What is sent, and how much of it.
    r"|\bexceed|\blimit|\bsize\b|\btoo (?:large|big|long|many|much)\b|\battachment",
    re.IGNORECASE,
)
"""Names of what is not the recipient: by themselves they blame nobody, but they excuse the recipient."""

_ACCUSING = frozenset({Status.INVALID_RECIPIENT, Status.UNRECOGNIZED})
"""Provider classes that need a second look; any other one excuses the recipient and is believed."""

_FAILURES = frozenset({Status.INVALID_RECIPIENT, Status.REJECTED, Status.TEMPORARY_FAILURE})


def extract(text: str, status: str | None = None) -> str | None:
    """Return a report's code: directly after the reply code (RFC 2034), else `status`, else any.

    Many reports carry `Status: 5.0.0` and the real code only in their diagnostic text.
    """
    text = text[:_LONGEST]
    if placed := _AFTER_REPLY.search(text):
        return _plain(placed[1])
    if status is not None and _CODE.fullmatch(status.strip()):
        return _plain(status.strip())
    alone = _ALONE.search(text)
    return _plain(alone[1]) if alone else None


def classify(
    code: str | None,
    text: str,
    hint: Status | None = None,
    reply: int | None = None,
) -> Classified:
    """Return a report in our words.

    `hint` is the provider's own class, where its word says more than that it failed: a provider's plain
    "failed" is no hint. `reply` is the SMTP reply code, else it is read from the text.
    """
    if hint is not None and hint not in _ACCUSING:
        return Classified(hint, hint in {Status.DELIVERED, Status.REJECTED}, Why.PROVIDER)
    found, answer = extract(text, code), reply or _reply(text)
    digits = {str(each)[0] for each in (found, answer) if each}
    if "4" in digits:
        return Classified(Status.TEMPORARY_FAILURE, is_final=False, why=Why.TRANSIENT)
    if digits == {"2"}:
        return Classified(Status.ACCEPTED, is_final=False, why=Why.CODE if found else Why.REPLY)
    words = _words(text)
    judged = _contradiction(words) or _row(found, words, hint) or _by_reply(answer)
    return _excuse(answer, words) or judged if judged.status is Status.INVALID_RECIPIENT else judged


def blame(
    code: str | None,
    text: str,
    hint: Status | None = None,
    reply: int | None = None,
    default: Status = Status.REJECTED,
) -> Status:
    """Return what a message failed for, of which its provider says that it failed: never a success.

    `default` is what a report means that says nothing else.
    """
    judged = classify(code, text, hint, reply).status
    return judged if judged in _FAILURES else default


def _words(text: str) -> str:
    """Return the text on one line, with single blanks and without addresses: their words say nothing."""
    return " ".join(_ADDRESS.sub(" ", text[:_LONGEST]).replace("\u2019", "'").split())


def _contradiction(words: str) -> Classified | None:
    """Return what the words say against any code."""
    if _SENDER.search(words):
        return Classified(Status.REJECTED, is_final=True, why=Why.SENDER)
    if _CAPACITY.search(words):
        return Classified(Status.TEMPORARY_FAILURE, is_final=True, why=Why.CAPACITY)
    if _POLICY.search(words):
        return Classified(Status.REJECTED, is_final=True, why=Why.POLICY)
    return None


def _row(found: str | None, words: str, hint: Status | None) -> Classified | None:
    """Return what the code says, turned by the words; the provider's class where it says little."""
    row = enhanced.entry(found) if found else None
    fault = row.fault_if if row else enhanced.UNKNOWN_USER
    if fault and re.search(fault, words, re.IGNORECASE):
        return Classified(Status.INVALID_RECIPIENT, is_final=True, why=Why.RECIPIENT)
    if hint is Status.INVALID_RECIPIENT and (row is None or row.is_vague):
        return Classified(hint, is_final=True, why=Why.PROVIDER)
    if found is None:
        return None
    return Classified(row.status if row else Status.REJECTED, is_final=True, why=Why.CODE)


def _excuse(answer: int | None, words: str) -> Classified | None:
    """Return what stands against the recipient's being to blame."""
    if answer in _LOGIN:
        return Classified(Status.REJECTED, is_final=True, why=Why.REPLY)
    if _LATER.search(words):
        return Classified(Status.TEMPORARY_FAILURE, is_final=True, why=Why.CAPACITY)
    if _ELSEWHERE.search(words):
        return Classified(Status.REJECTED, is_final=True, why=Why.SENDER)
    return None


def _by_reply(answer: int | None) -> Classified:
    match answer:
        case None:
            return Classified(Status.UNRECOGNIZED, is_final=False, why=Why.NOTHING)
        case 521 | 552:
            # A host that takes no mail (RFC 7504), a mailbox that is full.
            return Classified(Status.TEMPORARY_FAILURE, is_final=True, why=Why.REPLY)
        case 556:
            # The domain takes no mail (RFC 7505).
            return Classified(Status.INVALID_RECIPIENT, is_final=True, why=Why.REPLY)
        case _:
            return Classified(Status.REJECTED, is_final=True, why=Why.REPLY)


def _reply(text: str) -> int | None:
    found = _REPLY.search(text[:_LONGEST])
    return int(found[1]) if found else None


def _plain(code: str) -> str:
    """Drop leading zeros."""
    return ".".join(str(int(part)) for part in code.split("."))
