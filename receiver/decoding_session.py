"""Who may read what is sealed: tools that show the codec key, and people who have shown it once.

Nothing is kept of a session. Its cookie holds when it ends, a name for the log, and a proof that only whoever
has both the key file and the codec key can make: another codec key ends every session.
"""

import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import Enum, auto
from http import HTTPStatus
from logging import WARNING
from typing import Any, Final

import httpx

from receiver.parts import Parts
from receiver.problems import Problem
from receiver.seldom import Seldom

COOKIE: Final = "standby_codec"
PATH: Final = "/codec"

LASTING: Final = timedelta(hours=12)
"""Of a session: a shift."""

MOST: Final = 30
"""Wrong keys that one process looks at in a minute; then people go on who are signed in, and nobody else."""
PAUSE: Final = timedelta(minutes=1)

_SHAPE: Final = re.compile(r"([0-9]{1,12})\.([0-9a-f]{8})\.([0-9a-f]{64})")


class Shown(Enum):
    """What became of a key that somebody brought."""

    RIGHT = auto()
    WRONG = auto()
    UNREAD = auto()
    """Too many were wrong just now."""


@dataclass(frozen=True, slots=True)
class Session:
    """A person who has shown the key."""

    name: str
    """Tells sessions apart in the log, and says nothing of the person."""
    ends_at: datetime
    """In UTC, a full second."""


@dataclass(slots=True)
class Guesses:
    """Different wrong keys, by when each came first: beyond the most no key is looked at.

    The same one again is no guess: the Temporal CLI tries a wrong key many times before it gives up.
    """

    most: int = MOST
    pause: timedelta = PAUSE
    _wrong: dict[str, datetime] = field(default_factory=dict, repr=False)
    """By digest, the oldest first."""

    def are_too_many(self, now: datetime) -> bool:
        """Whether the next key has to wait."""
        self._wrong = {each: at for each, at in self._wrong.items() if now - at < self.pause}
        return len(self._wrong) >= self.most

    def add(self, digest: str, now: datetime) -> None:
        """Count one, unless it was counted."""
        self._wrong.setdefault(digest, now)


@dataclass(frozen=True, slots=True)
class Door:
    """Lets readers in; one for all routes of a process."""

    parts: Parts
    guesses: Guesses = field(default_factory=Guesses)
    seldom: Seldom = field(default_factory=Seldom)

    @property
    def ui(self) -> str | None:
        """The origin of the Temporal UI, as browsers write it."""
        given = self.parts.settings.ui_origin
        return None if given is None else _origin(given)

    @property
    def address(self) -> str:
        """Where people sign in, and what a UI or a tool takes for the endpoint."""
        return f"{self.parts.settings.public_url or ''}{PATH}"

    def demand_there(self) -> None:
        """Raise Problem where no codec key is set: then there is nothing at these addresses."""
        self._key()

    def show(self, brought: str) -> Shown:
        """Compare a key in constant time, unless too many were wrong."""
        now = self.parts.clock()
        if self.guesses.are_too_many(now):
            return Shown.UNREAD
        if hmac.compare_digest(self._key().encode(), brought.encode()):
            return Shown.RIGHT
        self.guesses.add(self.parts.keyring.digest("codec guess", brought), now)
        self.seldom.event("codec key refused", level=WARNING)
        return Shown.WRONG

    def begin(self) -> Session:
        """Return a new session."""
        ends_at = (self.parts.clock() + LASTING).replace(microsecond=0)
        return Session(secrets.token_hex(4), ends_at)

    def cookie(self, session: Session) -> str:
        """Return the value that proves a session."""
        told = f"{round(session.ends_at.timestamp())}.{session.name}"
        return f"{told}.{self._proof(told)}"

    def session(self, cookies: Mapping[str, str]) -> Session | None:
        """Return the session that a browser shows, while it lasts."""
        shown = cookies.get(COOKIE)
        if shown is None:
            return None
        read = _SHAPE.fullmatch(shown)
        told = shown.rpartition(".")[0]
        if read is None or not hmac.compare_digest(read[3], self._proof(told)):
            self.seldom.event("codec session refused", level=WARNING)
            return None
        session = Session(read[2], datetime.fromtimestamp(int(read[1]), UTC))
        return session if self.parts.clock() < session.ends_at else None

    def attributes(self) -> dict[str, Any]:
        """Return how browsers keep the cookie.

        A UI on another host may be another site, to whose requests they add nothing stricter than None. What
        it opens is then held by the origin that a request names, and by the type of its body.
        """
        here = httpx.URL(self.parts.settings.public_url or "http://-")
        is_https = here.scheme == "https"
        is_elsewhere = httpx.URL(self.ui or "http://-").host != here.host
        return {
            "path": PATH,
            "httponly": True,
            "secure": is_https,
            "samesite": "none" if is_https and is_elsewhere else "strict",
        }

    def _key(self) -> str:
        key = self.parts.settings.codec_key
        if key is None:
            raise Problem(HTTPStatus.NOT_FOUND, "there is nothing at this address")
        return key.reveal()

    def _proof(self, told: str) -> str:
        # The codec key is in it, since what hashes where nothing is sealed is no secret.
        return self.parts.keyring.digest("codec session", f"{told}.{self._key()}")


def _origin(given: str) -> str:
    """Return an origin in lower case, without the port that goes without saying."""
    url = httpx.URL(given)
    return f"{url.scheme}://{url.netloc.decode()}"
