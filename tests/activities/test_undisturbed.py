"""A dispatch is not cut: cancelled or not, it ends, and what came of it is on record."""

import asyncio
import selectors
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from typing import Self, cast

import pytest
from temporalio.client import AsyncActivityCancelledError, Client
from temporalio.service import RPCError, RPCStatusCode
from typing_extensions import override

from activities.crossing import WIRE_BY
from activities.delivery import ProviderDelivery
from activities.providers.base import Capabilities, Reported
from activities.providers.errors import Ambiguous
from activities.reading import Reader
from activities.store.ledger import Ledger
from activities.undisturbed import finish, heartbeat
from tests.activities.given import (
    Deployment,
    Scripted,
    admitted,
    dispatcher,
    engine,
    outcome,
    row_of,
    says,
    send,
)
from tests.workflows.stage import soon
from workflows import options
from workflows.policy.words import AttemptState, Status


@dataclass
class Listening:
    """An engine that says whether it still counts on a run, or why it cannot."""

    says: Exception | None = None
    tokens: list[bytes] = field(default_factory=list)

    @property
    def client(self) -> Client:
        return cast("Client", self)

    def get_async_activity_handle(self, *, task_token: bytes) -> Self:
        self.tokens.append(task_token)
        return self

    async def heartbeat(self, *, rpc_timeout: timedelta) -> None:
        assert rpc_timeout < WIRE_BY
        if self.says is not None:
            raise self.says


def delivery(ledger: Ledger, provider: Scripted) -> ProviderDelivery:
    return ProviderDelivery(dispatcher(ledger, provider), Reader(ledger, Deployment(provider)))


async def some_turns() -> None:
    """Let everything else that can run do so."""
    for _ in range(20):
        await asyncio.sleep(0)


GONE = RPCError("no such activity", RPCStatusCode.NOT_FOUND, b"")
SILENT = RPCError("no answer", RPCStatusCode.DEADLINE_EXCEEDED, b"")


@pytest.mark.parametrize(
    ("says", "crossings"), [(None, 1), (GONE, 0), (SILENT, 0), (AsyncActivityCancelledError(), 0)]
)
async def test_a_run_that_the_engine_no_longer_counts_on_sends_nothing(
    ledger: Ledger, says: Exception | None, crossings: int
) -> None:
    call, provider, heard = send(await admitted(ledger)), Scripted(), Listening(says)
    env = engine(client=heard.client)

    said = await outcome(env.run(delivery(ledger, provider).send, call))

    assert (len(provider.crossed), heard.tokens) == (crossings, [env.info.task_token])
    assert said == ("submitted: pending" if crossings else "NotSent")
    expected = AttemptState.SUBMITTED if crossings else AttemptState.PLANNED
    assert (await row_of(ledger, call.attempt_key)).state is expected


@pytest.mark.parametrize("times", [1, 2, 5])
async def test_work_ends_however_often_it_is_cancelled(times: int) -> None:
    let_go = asyncio.Event()

    async def work() -> str:
        await let_go.wait()
        return "done"

    waiting = asyncio.ensure_future(finish(work()))
    await some_turns()
    for _ in range(times):
        waiting.cancel()
        await some_turns()
    assert not waiting.done()

    let_go.set()

    assert await waiting == "done"


@pytest.mark.parametrize("cancelled", [False, True])
async def test_work_that_fails_says_so(*, cancelled: bool) -> None:
    let_go = asyncio.Event()

    async def work() -> None:
        await let_go.wait()
        raise LookupError("what the work raised")

    waiting = asyncio.ensure_future(finish(work()))
    await some_turns()
    if cancelled:
        waiting.cancel()
    let_go.set()

    with pytest.raises(LookupError, match="what the work raised"):
        await waiting


@pytest.mark.parametrize(
    ("answer", "said", "state"),
    [
        (says(Status.ACCEPTED), "submitted: accepted", AttemptState.SUBMITTED),
        (Ambiguous("read timeout"), "ambiguous", AttemptState.AMBIGUOUS),
    ],
)
async def test_a_send_that_is_called_off_on_the_wire_still_has_its_result(
    ledger: Ledger, answer: Reported | Exception, said: str, state: AttemptState
) -> None:
    asked = await admitted(ledger)
    call, env = send(asked), engine(client=Listening().client)
    on_the_wire, let_go = asyncio.Event(), asyncio.Event()

    async def slowly() -> None:
        on_the_wire.set()
        await let_go.wait()

    provider = Scripted("first", Capabilities(), [answer], meanwhile=slowly)
    sending = asyncio.ensure_future(outcome(env.run(delivery(ledger, provider).send, call)))
    await soon(on_the_wire.wait())
    env.cancel()
    await some_turns()
    assert not sending.done()

    let_go.set()

    assert await soon(sending) == said
    row = await row_of(ledger, call.attempt_key)
    assert (row.state, len(provider.crossed)) == (state, 1)
    assert row.status or row.note


async def test_a_worker_that_waits_for_a_provider_is_alive(ledger: Ledger) -> None:
    asked = await admitted(ledger)
    env, beat = engine(client=Listening().client), asyncio.Event()
    env.on_heartbeat = lambda *_: beat.set()
    provider = Scripted(meanwhile=beat.wait)

    sending = env.run(delivery(ledger, provider).send, send(asked))

    assert await soon(outcome(sending)) == "submitted: pending"


class Hurried(selectors.DefaultSelector):
    """Passes time instead of waiting for it."""

    passed = 0.0

    @override
    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.passed += timeout or 0.0
        return super().select(0)


class HurriedLoop(asyncio.SelectorEventLoop):
    """A loop whose seconds take no time."""

    def __init__(self) -> None:
        self._hurried = Hurried()
        super().__init__(self._hurried)

    @override
    def time(self) -> float:
        return self._hurried.passed


async def _an_activity_of_a_minute() -> float:
    """Wait for something for a minute, and for something else for another; return when the first ended."""
    async with heartbeat():
        await asyncio.sleep(60)
    ended = asyncio.get_running_loop().time()
    await asyncio.sleep(60)
    return ended


def test_the_engine_hears_from_a_slow_send_well_within_its_patience() -> None:
    heard: list[float] = []
    env = engine()
    with asyncio.Runner(loop_factory=HurriedLoop) as runner:
        env.on_heartbeat = lambda *_: heard.append(runner.get_loop().time())
        ended = runner.run(env.run(_an_activity_of_a_minute))

    pauses = [later - earlier for earlier, later in pairwise([0.0, *heard, ended])]
    assert timedelta(seconds=max(pauses)) * 3 < options.SEND["heartbeat_timeout"]
    assert heard[-1] <= ended, "it is silent once the work has ended"
