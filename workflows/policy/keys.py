"""Identity, there and back: notice key, workflow id and attempt key."""

import hashlib
import re
from typing import NamedTuple
from urllib.parse import quote

from workflows.policy.words import Channel

_LONGEST = 160
"""Encoded length of one part: three of them, a channel and a number stay far below the engine's 1,000."""

_HEAD = 80
_SHAPE = re.compile(r"[^:\s]+:[^:\s]+:[^:\s]+")
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{8,64}")
"""A challenge id: opaque, and fit to stand in an address."""

_LATER = re.compile(r"[1-9][0-9]{0,3}")
_ATTEMPT = re.compile(r"(?P<notice>.+):(?P<channel>[a-z]+):(?P<number>[1-9][0-9]{0,3})")


class Parts(NamedTuple):
    """The ids of a notice key, encoded: printable ASCII without colons."""

    kind: str
    event_id: str
    recipient_id: str


class Attempted(NamedTuple):
    """What an attempt key says."""

    notice_key: str
    channel: Channel
    number: int


def notice_key(kind: str, event_id: str, recipient_id: str) -> str:
    """Name a notice for ever: `kind:event:recipient`, readable, and never the same for two triples.

    Raises ValueError for an empty part.
    """
    return ":".join(_encode(part) for part in (kind, event_id, recipient_id))


def parts(key: str) -> Parts:
    """Take a notice key apart: every id as it may be shown, searched for and stored anywhere.

    Raises ValueError where it is none. An overlong id comes back shortened.
    """
    return Parts(*key_of(key).split(":"))


def workflow_id(key: str) -> str:
    """Return the workflow id of a notice: its key, so that identity is the engine's."""
    return key


def key_of(workflow: str) -> str:
    """Return the notice key of a workflow id; raises ValueError where there is none."""
    if not _SHAPE.fullmatch(workflow):
        message = f"not a notice key: it must read kind:event:recipient, got {len(workflow)} characters"
        raise ValueError(message)
    return workflow


def attempt_key(key: str, channel: Channel, number: int = 1) -> str:
    """Name one channel's submission; the number exceeds 1 only for a resend that a person asked for."""
    return f"{key}:{channel}:{number}"


def attempted(key: str) -> Attempted:
    """Take an attempt key apart; raises ValueError where it is none."""
    said = _ATTEMPT.fullmatch(key)
    if said is None or said["channel"] not in set(Channel):
        message = f"not an attempt key: it must end in :channel:number, got {len(key)} characters"
        raise ValueError(message)
    return Attempted(key_of(said["notice"]), Channel(said["channel"]), int(said["number"]))


def attempt_digest(key: str) -> str:
    """Return the SHA-256 of an attempt key, in hex: its name where a provider has no room for the key."""
    return hashlib.sha256(key.encode()).hexdigest()


def verification_id(challenge_id: str) -> str:
    """Return the workflow id of a verification; no notice key, which has three parts, reads like it."""
    return f"verification:{challenge_id}"


def challenge_of(workflow: str) -> str:
    """Return the challenge id of a verification's workflow id; raises ValueError where there is none."""
    head, _, challenge_id = workflow.partition(":")
    if head != "verification" or not CHALLENGE.fullmatch(challenge_id):
        raise ValueError(
            f"not a verification: it must read verification:challenge, got {len(workflow)} characters"
        )
    return challenge_id


def delivery_event(challenge_id: str, number: int) -> str:
    """Return the event that authorises the n-th message of a challenge: the challenge, or a person's request.

    A challenge id has no dot, so that no two of them make the same event.
    """
    return challenge_id if number == 1 else f"{challenge_id}.{number}"


def first_of(key: str) -> str:
    """Return the notice key of the first message of the verification that a notice is a message of.

    Any other key is its own; whatever reads like a later message counts with the first.
    """
    kind, _, rest = key.partition(":")
    event_id, _, recipient_id = rest.partition(":")
    challenge_id, _, number = event_id.rpartition(".")
    is_later = CHALLENGE.fullmatch(challenge_id) and _LATER.fullmatch(number)
    return f"{kind}:{challenge_id}:{recipient_id}" if is_later else key


def _encode(part: str) -> str:
    """Percent-encode all but unreserved characters; an overlong part ends in `~` and its digest.

    `~` is encoded in every other part, so a shortened one cannot be mistaken for anything else.
    """
    if not part:
        message = "every part of a notice key must be non-empty"
        raise ValueError(message)
    encoded = quote(part, safe="@+").replace("~", "%7E")
    if len(encoded) <= _LONGEST:
        return encoded
    return f"{encoded[:_HEAD]}~{hashlib.sha256(part.encode()).hexdigest()}"
