"""What the sandbox remembers: accepted messages, every submission, honoured keys, suppressed addresses."""

import hashlib
import json
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from sandbox.config import Config
from sandbox.fates import QUEUED, Fate, Step, fate_of, script

KEY_WINDOW = timedelta(hours=24)
"""How long a key is honoured, from its first use."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a caller submitted."""

    channel: str
    to: str = field(repr=False)
    key: str
    subject: str | None = field(default=None, repr=False)
    text: str = field(default="", repr=False)
    html: str | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def digest(self) -> str:
        """Tell one content from another."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Message:
    """A draft that was accepted, and when."""

    id: str
    draft: Draft
    fate: Fate
    at: datetime


@dataclass(frozen=True, slots=True)
class Submission:
    """One call, accepted or not."""

    draft: Draft
    at: datetime
    answer: str
    """`accepted`, `repeated`, or the error that it was answered with."""


class Mismatch(Exception):  # noqa: N818  # it is an answer, not a fault of the program
    """The key was used for another content."""


class Mailroom:
    """Keeps everything in memory, bounded; clearing it forgets everything but suppressions."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._messages: OrderedDict[str, Message] = OrderedDict()
        self._honoured: OrderedDict[str, Message] = OrderedDict()
        self._submissions: deque[Submission] = deque(maxlen=config.bound)
        self._suppressed: set[str] = set()

    def accept(self, draft: Draft, idempotency_key: str | None) -> Message:
        """Store a message under a new id."""
        message = Message(f"sb_{uuid4().hex}", draft, fate_of(draft.channel, draft.to), self._config.clock())
        self._keep(self._messages, message.id, message)
        if idempotency_key is not None:
            self._keep(self._honoured, idempotency_key, message)
        return message

    def _keep(self, shelf: OrderedDict[str, Message], name: str, message: Message) -> None:
        shelf[name] = message
        if len(shelf) > self._config.bound:
            shelf.popitem(last=False)

    def honoured(self, idempotency_key: str | None, draft: Draft) -> Message | None:
        """Return the message that a key already stands for; raises Mismatch if it differs."""
        first = self._honoured.get(idempotency_key) if idempotency_key is not None else None
        if first is None or self._config.clock() - first.at >= KEY_WINDOW:
            return None
        if first.draft.digest != draft.digest:
            raise Mismatch
        return first

    def record(self, draft: Draft, answer: str) -> None:
        """Remember a submission and how it was answered."""
        self._submissions.append(Submission(draft, self._config.clock(), answer))

    def times(self, key: str) -> int:
        """Count the submissions under an attempt key so far."""
        return sum(submission.draft.key == key for submission in self._submissions)

    def by_id(self, message_id: str) -> Message | None:
        """Return one message."""
        return self._messages.get(message_id)

    def by_key(self, key: str) -> list[Message]:
        """Return what was accepted under an attempt key, oldest first."""
        return [message for message in self._messages.values() if message.draft.key == key]

    def messages(self) -> list[Message]:
        """Return what was accepted, oldest first."""
        return list(self._messages.values())

    def submissions(self) -> list[Submission]:
        """Return every submission, oldest first."""
        return list(self._submissions)

    def submitted_by_key(self) -> Counter[str]:
        """Count submissions by attempt key."""
        return Counter(submission.draft.key for submission in self._submissions)

    def step(self, message: Message) -> Step:
        """Return the last word about a message, as of now."""
        age = self._config.clock() - message.at
        said = [step for step in script(message.fate) if self._config.scaled(step.after) <= age]
        return said[-1] if said else QUEUED

    def suppress(self, address: str) -> None:
        """Refuse an address from now on."""
        self._suppressed.add(address.lower())

    def lift(self, address: str) -> None:
        """Take an address off the list."""
        self._suppressed.discard(address.lower())

    def is_suppressed(self, address: str) -> bool:
        """Say whether an address is refused."""
        return address.lower() in self._suppressed

    def clear(self) -> None:
        """Forget messages, submissions and keys."""
        self._messages.clear()
        self._honoured.clear()
        self._submissions.clear()
