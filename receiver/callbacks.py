"""`/callbacks/{provider}`: the signature first, then what it says, and 2xx only once that is kept.

=============================================================  ==========
what came                                                      answer
=============================================================  ==========
more than a body may hold                                      413
for a provider that is not known, or makes no callbacks        404
for one that this deployment does not use                      404
unsigned, altered, stale, or a token with another body         403 or 406
unsigned, by a provider that forgets it at times               503
signed, and cannot be read                                     400
signed, and every report is with engine or ledger              200
signed, and one of them could not be taken                     503
a key to check it with could not be had, or is not set         503
=============================================================  ==========
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from logging import ERROR, WARNING
from types import MappingProxyType
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from activities.accounts import Sandbox
from activities.providers.base import Callback, Callbacks, Reported
from activities.providers.errors import Forged, Misconfigured, ReadFailed, Unsigned
from activities.providers.provider import CallsBack
from activities.providers.registry import PROVIDERS
from activities.store.errors import StoreError
from activities.tracing import called_back
from activities.transitions import Transitions
from receiver.bodies import body
from receiver.parts import Parts
from receiver.problems import Problem, away
from receiver.seldom import Seldom
from receiver.taking import Taken, Taker, named
from workflows.policy.words import Channel

DISBELIEVED: Final = MappingProxyType({"mailgun": HTTPStatus.NOT_ACCEPTABLE})
"""Said instead of 403: Mailgun brings again, for eight hours, what is answered neither 200 nor 406."""

COUNTED_AS: Final = MappingProxyType(
    {
        Taken.SIGNALLED: "taken",
        Taken.KNOWN: "taken",
        # The notice had closed, or no engine heard of it in time.
        Taken.RECORDED: "late",
        Taken.ASIDE: "stray",
    }
)
"""The word of a metric for each report of a callback."""

SANDBOX: Final = "sandbox"
"""Its secret is public unless somebody sets one, so it is heard only where it serves something."""


def routes(parts: Parts) -> list[Route]:
    """Return the routes of this module."""
    served = frozenset(_served(parts))
    told = Transitions(parts.meters)
    door = Door(parts, Taker(parts.ledger, parts.client, served=served, transitions=told), served)
    return [Route("/callbacks/{provider}", door.take, methods=["GET", "POST"])]


@dataclass(frozen=True, slots=True)
class Door:
    """Where providers call."""

    parts: Parts
    taker: Taker
    served: frozenset[str]
    """The providers that are named for a channel, by the deployment or by a kind."""
    seldom: Seldom = field(default_factory=Seldom)

    async def take(self, request: Request) -> Response:
        """Believe, read and keep one callback."""
        raw = await body(request)
        name = request.path_params["provider"]
        provider = self._provider(name)
        callback = self._callback(request, raw)
        try:
            await provider.verify(callback)
            reported = _read(provider, callback)
            await self._once(name, callback, reported)
            with called_back(name):
                taken = await self.taker.take_all(name, reported, at=self.parts.clock())
        except (Forged, ReadFailed, Misconfigured, StoreError) as error:
            raise self._refused(name, error) from None
        except Problem:
            self._count(name, "refused")
            raise
        for each in taken:
            self._count(name, COUNTED_AS[each])
        if Taken.ASIDE in taken:
            self.seldom.event("callback kept aside", level=WARNING, provider=name)
        # Not 204: to Mailgun and Postmark anything but 200 is a failure, and is brought again.
        return Response()

    def _count(self, name: str, result: str) -> None:
        self.parts.meters.callbacks.add(name, result)

    def _provider(self, name: str) -> CallsBack:
        """Return the adapter; raises Problem where there is none, or it cannot be called back."""
        if name not in PROVIDERS or (name == SANDBOX and not self._hears_sandbox()):
            raise _unknown()
        try:
            provider = self.parts.providers.named(name)
        except Misconfigured as error:
            raise self._refused(name, error) from None
        if not isinstance(provider, CallsBack):
            raise _unknown()
        return provider

    def _hears_sandbox(self) -> bool:
        """Whether its callbacks can be believed: strangers on the open net know the secret it comes with."""
        settings = self.parts.settings
        is_public = settings.sandbox.secret == Sandbox().secret and not is_loopback(settings.public_url)
        return SANDBOX in self.served and not is_public

    def _uses(self, name: str) -> bool:
        """Whether this deployment sends by a provider, or has anything set for its account."""
        account = getattr(self.parts.settings, name)
        return name in self.served or account != type(account)()

    def _callback(self, request: Request, raw: bytes) -> Callback:
        """Return the request as its provider sees it: its address is the public one, which some sign."""
        path, query = request.scope["raw_path"], request.scope["query_string"]
        url = (path + (b"?" + query if query else b"")).decode("latin-1")
        return Callback(
            raw,
            {name.lower(): value for name, value in request.headers.items()},
            f"{self.parts.settings.public_url or ''}{url}",
            request.method,
        )

    async def _once(self, name: str, callback: Callback, reported: tuple[Reported, ...]) -> None:
        """Raise Forged for a token that was taken with another body, where no signature covers that."""
        if all(each.callbacks is not Callbacks.ONCE for each in PROVIDERS[name].CAPABILITIES.values()):
            return
        digest = hashlib.sha256(callback.body).hexdigest()
        for each in reported:
            if not await self.parts.ledger.tokens.take(name, named(each), digest, at=self.parts.clock()):
                raise Forged("the token was taken with another body")

    def _refused(self, name: str, error: Exception) -> Problem:
        """Return the answer to a callback that is not taken, and say why in the log."""
        match error:
            case Unsigned():
                self._count(name, "refused")
                self.seldom.event("callback refused", level=WARNING, provider=name, why=str(error))
                return _unsigned()
            case Forged():
                self._count(name, "forged")
                self.seldom.event("callback refused", level=WARNING, provider=name, why=str(error))
                return Problem(DISBELIEVED.get(name, HTTPStatus.FORBIDDEN), "the callback is not believed")
            case Misconfigured() if not self._uses(name):
                return _unknown()
            case Misconfigured():
                # Anybody can call, so it is no error yet; the provider comes again once the setting is there.
                self._count(name, "failed")
                self.seldom.event("misconfigured", level=WARNING, provider=name, why=str(error))
                return away("what this callback is checked with")
            case ReadFailed():
                self._count(name, "failed")
                self.seldom.event("callback not checked", level=WARNING, provider=name, why=str(error))
                return away("what this callback is checked with")
            case _:
                self._count(name, "failed")
                self.seldom.event("callback not kept", level=ERROR, provider=name, why=str(error))
                return away("the ledger")


def _served(parts: Parts) -> Iterator[str]:
    """Yield the provider of each channel that a kind uses."""
    default = {Channel.EMAIL: parts.settings.email, Channel.SMS: parts.settings.sms}
    for kind in parts.catalogue.kinds.values():
        for channel in kind.policy.route:
            yield kind.policy.watch(channel).provider or default[channel]


def is_loopback(url: str | None) -> bool:
    """Whether an address leads to this machine only; none leads nowhere."""
    host = urlsplit(url or "http://localhost").hostname or ""
    return host == "localhost" or host.startswith("127.") or host == "::1"


def _read(provider: CallsBack, callback: Callback) -> tuple[Reported, ...]:
    """Read a verified callback; raises Problem for one that cannot be read."""
    try:
        return provider.parse(callback)
    except Forged:
        raise Problem(HTTPStatus.BAD_REQUEST, "the callback is signed, and cannot be read") from None


def _unsigned() -> Problem:
    words = "the callback is not signed: bring it again, signed"
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, words, headers={"Retry-After": "60"})


def _unknown() -> Problem:
    return Problem(HTTPStatus.NOT_FOUND, "no provider of this name calls back")
