"""One notice as every test of the ledger knows it."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from activities.store.attempts import Claim
from activities.store.ledger import Ledger
from activities.store.notices import Admitted, Terms
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Observation, Recipient
from workflows.policy.terms import Policy
from workflows.policy.words import Channel, OnUnresolved, SettlesOn, Source, Status, SuppressionReason

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EXPIRY = NOW + timedelta(minutes=10)
EMAIL_HASH = "e" * 64
SMS_HASH = "5" * 64
DIGEST = "digest-1"

POLICY = Policy(
    route=(Channel.EMAIL, Channel.SMS),
    settles_on=SettlesOn.ACCEPTED,
    on_unresolved=OnUnresolved.ESCALATE,
    expires_after=timedelta(minutes=10),
)
REQUEST = NoticeRequest(
    kind="password_reset",
    event_id="reset 1",
    recipient=Recipient(id="user-1", email="anna@example.test", phone="+4915112345678"),
    fields={"reset_url": "https://example.test/secret-link"},
    occurred_at=NOW - timedelta(seconds=5),
)
KEY = REQUEST.key
EMAIL = attempt_key(KEY, Channel.EMAIL)
SMS = attempt_key(KEY, Channel.SMS)


def after(**gap: float) -> datetime:
    return NOW + timedelta(**gap)


async def admit(
    ledger: Ledger, *, chain: str = "run-1", policy: Policy = POLICY, digest: str = DIGEST, at: datetime = NOW
) -> Admitted:
    return await ledger.notices.admit(REQUEST, Terms(policy, digest, EXPIRY, chain), at=at)


async def claim(ledger: Ledger, key: str = EMAIL, *, at: datetime = NOW) -> Claim:
    address = SMS_HASH if key == SMS else EMAIL_HASH
    return await ledger.attempts.claim(key, provider="sandbox", address_hash=address, at=at)


def report(
    status: Status,
    *,
    key: str = EMAIL,
    source: Source = Source.POLL,
    is_final: bool = False,
    event_id: str = "",
    provider_id: str | None = "id-1",
    at: datetime = NOW,
    opt_out: SuppressionReason | None = None,
) -> Observation:
    return Observation(
        attempt_key=key,
        event_id=event_id or f"{source}-{status}-{is_final}",
        source=source,
        status=status,
        is_final=is_final,
        raw=status,
        at=at,
        provider_id=provider_id,
        opt_out=opt_out,
    )


class CrashError(Exception):
    """The process dies here."""


class Crash:
    """Dies instead of the nth statement that writes, or of the commit after it if there is none."""

    def __init__(self, engine: AsyncEngine, nth: int) -> None:
        self._engine = engine.sync_engine
        self._left = nth

    def __enter__(self) -> None:
        event.listen(self._engine, "before_cursor_execute", self._write)
        event.listen(self._engine, "commit", self._commit)

    def __exit__(self, *_: object) -> None:
        event.remove(self._engine, "before_cursor_execute", self._write)
        event.remove(self._engine, "commit", self._commit)

    def _write(self, _connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith(("INSERT", "UPDATE")):
            self._left -= 1
            if self._left == 0:
                raise CrashError

    def _commit(self, _connection: object) -> None:
        raise CrashError
