"""One notice, and a deployment around a scripted provider: for activities on a real ledger.

The engine's time is years away from the host's, so that a test fails where a host's clock is read.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment
from typing_extensions import override

from activities.catalogue import Catalogue, Kind
from activities.clock import EngineClock
from activities.dispatching import Dispatcher
from activities.gate import Gate
from activities.keyring import Keyring
from activities.providers.base import Capabilities, Finding, Message, Reported
from activities.providers.errors import Misconfigured
from activities.providers.registry import Providers
from activities.sharing import Sharing
from activities.store.attempts import AttemptRow, Fresh
from activities.store.ledger import Ledger
from activities.store.notices import Terms
from activities.store.records import Story
from activities.supplying import StandIns, Supply
from workflows import calls
from workflows.policy.keys import attempt_key
from workflows.policy.models import Fields, NoticeRequest, Observation
from workflows.policy.plan import Rule
from workflows.policy.progress import Progress
from workflows.policy.words import Channel, Method, Source, Status

EMAIL, SMS = Channel.EMAIL, Channel.SMS
NOW = datetime(2031, 3, 4, 12, tzinfo=UTC)
EXPIRY = NOW + timedelta(minutes=10)
HASH = "e" * 64
PUBLIC = "https://verify.example"
"""Where people reach the pages of a deployment that has any."""

SHIPPED = Catalogue.load(Path(__file__).parents[2] / "notices")
RESET = SHIPPED.get("password_reset")
"""Email, then a text; polls after 15, 45 and 105 s."""
KEYRING = Keyring.plaintext()

_NUMBERS = count(1)


def after(**gap: float) -> datetime:
    return NOW + timedelta(**gap)


class SetClock(EngineClock):
    """Engine time that passes when a test says so."""

    def __init__(self, at: datetime = NOW) -> None:
        self._started = at
        self.passed = timedelta()

    @property
    @override
    def elapsed(self) -> timedelta:
        return self.passed


def says(status: Status, *, is_final: bool = False, **facts: object) -> Reported:
    """Return a provider's report, with the id that it gave."""
    return replace(Reported(status, is_final, status.value, provider_id="p-1"), **facts)  # type: ignore[arg-type]


@dataclass
class Scripted:
    """A provider that answers by a script, whose last line it repeats; it keeps what crossed the wire."""

    name: str = "first"
    can: Capabilities = field(default_factory=Capabilities)
    answers: list[Reported | Exception] = field(default_factory=lambda: [says(Status.PENDING)])
    views: list[Reported | Exception | None] = field(default_factory=lambda: [None])
    meanwhile: Callable[[], Awaitable[object]] | None = None
    """What happens while a message is on the wire."""
    crossed: list[Message] = field(default_factory=list)
    asked: list[tuple[Channel, str, str | None]] = field(default_factory=list)

    def capabilities(self, channel: Channel) -> Capabilities:  # noqa: ARG002 - both channels are alike
        return self.can

    async def send(self, message: Message) -> Reported:
        self.crossed.append(message)
        if self.meanwhile is not None:
            await self.meanwhile()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer.with_traceback(None)
        return answer

    async def look_up(self, channel: Channel, key: str, provider_id: str | None) -> Reported | None:
        self.asked.append((channel, key, provider_id))
        view = self.views.pop(0) if len(self.views) > 1 else self.views[0]
        if isinstance(view, Exception):
            raise view.with_traceback(None)
        return view

    async def examine(self, channel: Channel) -> tuple[Finding, ...]:  # noqa: ARG002 - nothing to find
        return ()


class Deployment(Providers):
    """Providers by name; the first serves every channel whose kind chose none."""

    def __init__(self, *providers: Scripted) -> None:
        self._named = {each.name: each for each in providers}
        self._first = providers[0]

    @override
    def serving(self, channel: Channel, chosen: str | None = None) -> Scripted:
        return self.named(chosen) if chosen else self._first

    @override
    def named(self, name: str) -> Scripted:
        if name not in self._named:
            raise Misconfigured(f"provider {name!r} is not known")
        return self._named[name]


def dispatcher(ledger: Ledger, *providers: Scripted, public_url: str | None = None) -> Dispatcher:
    gate, supply = Gate(ledger, KEYRING), Supply(ledger, KEYRING, public_url)
    return Dispatcher(gate, SHIPPED, Deployment(*providers), supply, pause=timedelta())


SILENT = Sharing(SHIPPED, Deployment(Scripted()))
"""Tells no provider."""


def whole(kind: Kind, channel: Channel = EMAIL, method: Method = Method.BOTH) -> Fields:
    """Return the fields of a kind's sample, and a stand-in for each that a deployment supplies."""
    return StandIns(PUBLIC, method).beside(kind.sample.fields, kind.policy, channel)


def request(**changes: object) -> NoticeRequest:
    """Return a valid request for a notice that no other test knows, with some of it changed."""
    facts = RESET.sample.model_dump() | {"event_id": f"reset-{next(_NUMBERS)}"} | changes
    return NoticeRequest.model_validate(facts)


async def admitted(ledger: Ledger, asked: NoticeRequest | None = None) -> NoticeRequest:
    """Put a notice on record."""
    asked = asked or request()
    kind = SHIPPED.get(asked.kind)
    await ledger.notices.admit(asked, Terms(kind.policy, kind.digest, EXPIRY, "chain-1"), at=NOW)
    return asked


async def claimed(
    ledger: Ledger, asked: NoticeRequest, *, by: str = "first", at: datetime = NOW - timedelta(minutes=1)
) -> Fresh:
    """Leave a claim behind as a worker does that died on the wire."""
    claim = await ledger.attempts.claim(attempt_key(asked.key, EMAIL), provider=by, address_hash=HASH, at=at)
    assert isinstance(claim, Fresh)
    return claim


def send(asked: NoticeRequest, channel: Channel = EMAIL, **changes: object) -> calls.Send:
    """Return the call that dispatches an attempt of this notice."""
    policy = SHIPPED.get(asked.kind).policy
    call = calls.Send(
        attempt_key=attempt_key(asked.key, channel),
        request=asked,
        channel=channel,
        is_fallback=channel is not policy.route[0],
        essential=policy.essential,
        watch=policy.watch(channel),
        expires_at=EXPIRY,
    )
    return call.model_copy(update=changes)


def decision(asked: NoticeRequest, number: int = 1, action: str = "send") -> calls.Decision:
    """Return a decision about this notice, as its workflow numbers them."""
    kind = SHIPPED.get(asked.kind)
    return calls.Decision(
        number=number,
        rule=Rule.FIRST,
        action=action,
        channel=EMAIL,
        at=NOW,
        progress=Progress.begin(asked.key, kind.policy.route, EXPIRY),
        policy_digest=kind.digest,
    )


def seen(key: str, status: Status, *, is_final: bool = False, event_id: str = "e-1") -> Observation:
    """Return a report that came as a callback."""
    return Observation(
        attempt_key=key,
        event_id=event_id,
        source=Source.CALLBACK,
        status=status,
        is_final=is_final,
        at=NOW,
        provider_id="p-1",
    )


def engine(at: datetime = NOW, run: str = "run-1", client: Client | None = None) -> ActivityEnvironment:
    """Return the engine as one run of an activity sees it, started at this time."""
    env = ActivityEnvironment(client)
    env.info = replace(env.info, started_time=at, workflow_run_id=run)
    return env


async def row_of(ledger: Ledger, key: str) -> AttemptRow:
    row = await ledger.attempts.find(key)
    assert row is not None
    return row


async def story_of(ledger: Ledger, asked: NoticeRequest) -> Story:
    story = await ledger.story(asked.key)
    assert story is not None
    return story


async def outcome(sending: Awaitable[calls.Receipt]) -> str:
    """Tell in a line what a run of a dispatch returned or raised."""
    try:
        receipt = await sending
    except ApplicationError as error:
        delay = error.next_retry_delay
        return f"{error.type}" if delay is None else f"{error.type}, again in {delay.seconds} s"
    except Exception as error:  # noqa: BLE001 - whatever it is, the engine sees its class
        return type(error).__name__
    return told(receipt)


def told(receipt: calls.Receipt) -> str:
    match receipt:
        case calls.Receipt(dispatch=calls.Dispatch.SUBMITTED, observation=Observation() as known):
            return f"submitted: {known.status}"
        case calls.Receipt(dispatch=calls.Dispatch.BARRED, clearance=calls.Clearance() as clearance):
            return f"barred: {clearance.reason}"
        case _:
            return receipt.dispatch.value
