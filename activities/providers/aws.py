"""Requests to AWS: signed by botocore, performed by httpx, and never repeated by anything."""

import asyncio
import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from threading import Lock, Thread
from types import MappingProxyType
from typing import Final, Protocol, Self

import httpx
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials, create_credential_resolver
from botocore.exceptions import BotoCoreError
from botocore.session import Session

from activities.providers.answers import Answer
from activities.providers.errors import Misconfigured
from activities.providers.fields import text
from activities.providers.refusals import LATER, Meaning, wrong
from activities.settings import Settings

BUDGET: Final = timedelta(seconds=10)
"""Half of what a send may take: credentials may have to be asked for elsewhere."""

_DENIED = wrong("check the AWS credentials, what they permit, and the clock of this machine")

REFUSALS: Mapping[str, Meaning] = MappingProxyType(
    {
        "AccessDenied": _DENIED,
        "AccessDeniedException": _DENIED,
        "ExpiredToken": _DENIED,
        "ExpiredTokenException": _DENIED,
        "IncompleteSignature": _DENIED,
        "InvalidClientTokenId": _DENIED,
        "InvalidSignatureException": _DENIED,
        "MissingAuthenticationToken": _DENIED,
        "NotAuthorized": _DENIED,
        "OptInRequired": _DENIED,
        "RequestExpired": _DENIED,
        "SignatureDoesNotMatch": _DENIED,
        "UnrecognizedClientException": _DENIED,
        "RequestThrottledException": LATER,
        "Throttling": LATER,
        "ThrottlingException": LATER,
        "TooManyRequestsException": LATER,
    }
)
"""Errors that all services have in common, which some say with a plain 400; the rest are each one's own."""

_ASK = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role"
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+){1,3}-\d{1,2}")


class Source(Protocol):
    """Where the credentials come from that hold now."""

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Return them; it may wait, and raise anything. The name is botocore's."""
        ...


_Stamps = tuple[tuple[int, int, int] | None, ...]


class Found:
    """Credentials where every AWS tool finds them.

    Those in a file are read again when it changes, so that keys which are rotated where they are mounted
    hold from the next call on; while they cannot be read, the last ones stay in force. Those of a role
    are renewed by botocore.
    """

    def __init__(self, *, instance_role: bool) -> None:
        self._instance_role = instance_role
        self._session = Session()
        self._written: _Stamps | None = None
        self._credentials: Credentials | None = None
        self._one_at_a_time = Lock()

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        """Return those that hold now; finding them may take long, and is done by one thread at a time."""
        with self._one_at_a_time:
            written = _written(self._session)
            if self._credentials is None or written != self._written:
                self._find(written)
            found = self._credentials
        if found is None:
            raise Misconfigured(f"AWS credentials are not set: {_ASK}")
        return found.get_frozen_credentials()

    def _find(self, written: _Stamps) -> None:
        """Look for credentials; what was found before stays in force where none can be had now."""
        try:
            self._credentials = _credentials(instance_role=self._instance_role)
        except Misconfigured:
            if self._credentials is None:
                raise
        else:
            self._written = written


@dataclass(frozen=True, slots=True)
class Service:
    """One AWS service in one region."""

    client: httpx.AsyncClient = field(repr=False)
    url: str
    region: str
    signs_as: str
    """The name of the service in its signatures."""
    credentials: Source = field(repr=False)
    budget: timedelta = BUDGET
    """How long credentials may take to be renewed."""

    @classmethod
    def of(
        cls, settings: Settings, client: httpx.AsyncClient, host: str, signs_as: str, url: str | None
    ) -> Self:
        """Find the region; credentials are looked for when they are needed, since that may take long.

        `host` is the first part of the service's own address. Raises Misconfigured where there is no region.
        """
        region = _region(settings)
        suffix = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
        credentials = Found(instance_role=settings.aws.instance_role)
        return cls(client, url or f"https://{host}.{region}.{suffix}", region, signs_as, credentials)

    async def request(
        self, method: str, path: str, content: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> httpx.Request:
        """Sign a request; raises Misconfigured where the credentials cannot be renewed."""
        url = f"{self.url}{path}"
        if not url.startswith(("https://", "http://")):
            raise Misconfigured("the address of the API must start with https:// or http://")
        frozen = await self.ready()
        unsigned = AWSRequest(method, url, data=content, headers=dict(headers or {}))
        SigV4Auth(frozen, self.signs_as, self.region).add_auth(unsigned)
        return self.client.build_request(method, url, content=content, headers=dict(unsigned.headers))

    async def ready(self) -> ReadOnlyCredentials:
        """Return the credentials that hold now; raises Misconfigured where none can be had in time."""
        try:
            async with asyncio.timeout(self.budget.total_seconds()):
                return await _aside(self.credentials.get_frozen_credentials)
        except Misconfigured:
            raise
        except Exception as fault:  # noqa: BLE001 - of a file, a process or another service: nothing was sent
            raise _unavailable(fault) from None


async def _aside(look: Callable[[], ReadOnlyCredentials]) -> ReadOnlyCredentials:
    """Look in a thread that nobody waits for at the end: it may ask something that never answers."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[ReadOnlyCredentials] = loop.create_future()

    def settle(credentials: ReadOnlyCredentials | None, fault: BaseException | None) -> None:
        if found.done():
            return
        if fault is not None:
            found.set_exception(fault)
        elif credentials is not None:
            found.set_result(credentials)

    def run() -> None:
        credentials, fault = None, None
        try:
            credentials = look()
        except Exception as error:  # noqa: BLE001 - raised again where it is awaited
            fault = error
        with suppress(RuntimeError):  # the loop has closed meanwhile
            loop.call_soon_threadsafe(settle, credentials, fault)

    Thread(target=run, name="aws-credentials", daemon=True).start()
    return await found


def error_code(answer: Answer) -> str | None:
    """Return AWS's name for an error, as its JSON protocols say it: in a header, or in the body."""
    said = answer.headers.get("x-amzn-errortype") or text(answer.fields() or {}, "__type", "code")
    return said.partition(":")[0].rpartition("#")[2] if said else None


def _region(settings: Settings) -> str:
    try:
        written = Session().get_config_variable("region")
    except BotoCoreError as fault:
        raise _unavailable(fault) from None
    region = settings.aws.region or os.environ.get("AWS_REGION") or written
    if not region:
        raise Misconfigured("AWS_REGION: is not set (nor is STANDBY_AWS_REGION)")
    if not _REGION.fullmatch(region):
        raise Misconfigured("AWS_REGION: must be like eu-central-1 (STANDBY_AWS_REGION, if it is set)")
    return str(region)


def _credentials(*, instance_role: bool) -> Credentials:
    try:
        resolver = create_credential_resolver(Session())
        if not instance_role:
            # Where there is no instance, asking for its role waits for nobody.
            resolver.remove("iam-role")
        found = resolver.load_credentials()
    except Exception as fault:  # noqa: BLE001 - botocore reads files and asks services in a dozen ways
        raise _unavailable(fault) from None
    if found is None:
        raise Misconfigured(f"AWS credentials are not set: {_ASK}")
    return found


def _written(session: Session) -> _Stamps:
    """Say which states the files are in."""
    return tuple(_stamp(session.get_config_variable(name)) for name in ("credentials_file", "config_file"))


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = Path(path).expanduser().stat()
    except (OSError, RuntimeError):
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _unavailable(fault: Exception) -> Misconfigured:
    return Misconfigured(f"AWS credentials cannot be had ({type(fault).__name__}): {_ASK}")
