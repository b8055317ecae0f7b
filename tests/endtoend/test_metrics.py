"""What a worker and a receiver tell Prometheus: what happened, once, beside the engine's own, of nobody."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest

from console.engine import free_port
from sandbox.fates import Fate
from tests.endtoend.deployment import Manner, Town, send
from tests.endtoend.scenes import LINK, NAME, ended, notice, until, within
from workflows.policy.words import Outcome

_LINE = re.compile(r"^(\w+)(?:\{(.*)\})? ([-+.\deE]+|NaN|\+Inf)$", re.MULTILINE)

Series = Mapping[str, float]


@asynccontextmanager
async def process(manner: Manner, *command: str, **changed: str) -> AsyncIterator[str]:
    """Run a process with an endpoint for its metrics, and yield where that is."""
    address = f"127.0.0.1:{free_port()}"
    environ = os.environ | manner.environ | {"STANDBY_METRICS_ADDRESS": address} | changed
    child = await asyncio.create_subprocess_exec(sys.executable, *command, env=environ)
    try:
        yield f"http://{address}/metrics"
    finally:
        child.terminate()
        await child.wait()


async def scraped(url: str) -> str:
    text = ""

    async def is_there() -> bool:
        nonlocal text
        async with httpx.AsyncClient(trust_env=False) as http:
            try:
                text = (await http.get(url)).text
            except httpx.TransportError:
                return False
        return True

    await until(is_there)
    return text


def series(text: str) -> Series:
    """Return each series of ours with its labels sorted."""
    found = {}
    for name, labels, value in _LINE.findall(text):
        words = ",".join(sorted(re.findall(r'(\w+="[^"]*")', labels)))
        found[f"{name}{{{words}}}"] = float(value)
    return found


def total(found: Series, name: str, **labels: str) -> float:
    wanted = {f'{label}="{word}"' for label, word in labels.items()}
    return sum(
        value
        for each, value in found.items()
        if each.startswith(f"{name}{{") and wanted <= set(each[len(name) + 1 : -1].split(","))
    )


@dataclass(frozen=True)
class Told:
    """What the two processes told, when all was over."""

    worker: str
    receiver: str


@pytest.fixture(scope="module")
async def told(town: Town) -> Told:
    """Let one email be delivered, one bounce and be followed by a text, one expire."""
    async with (
        town.deployment() as manner,
        process(manner, "worker.py") as of_worker,
        process(manner, "-m", "starter", "receiver", "--port", str(free_port())) as of_receiver,
    ):
        client = await manner.client()
        await scraped(of_worker)
        requests = (
            notice("metrics-delivered", Fate.DELIVERED),
            notice("metrics-bounced", Fate.BOUNCED, Fate.DELIVERED),
            notice("metrics-late", Fate.DOWN, expires_at=within(4)),
        )
        handles = [await send(client, manner, each) for each in requests]
        outcomes = [(await ended(each)).outcome for each in handles]
        assert outcomes == [Outcome.DELIVERED, Outcome.DELIVERED, Outcome.EXPIRED]
        return Told(await scraped(of_worker), await scraped(of_receiver))


def test_every_notice_is_counted_once_by_how_it_ended(told: Told) -> None:
    found = series(told.worker)

    assert total(found, "standby_notices_started_total", kind="password_reset") == 3
    assert total(found, "standby_notices_closed_total", outcome="delivered", channel="email") == 1
    assert total(found, "standby_notices_closed_total", outcome="delivered", channel="sms") == 1
    assert total(found, "standby_notices_closed_total", outcome="expired") == 1
    assert total(found, "standby_notice_seconds_count", outcome="delivered") == 2


def test_a_text_that_follows_is_an_escalation_with_its_rule(told: Told) -> None:
    found = series(told.worker)

    assert total(found, "standby_escalations_total") == 1
    assert total(found, "standby_escalations_total", channel="sms", rule="failed") == 1
    assert total(found, "standby_suppressions_total", channel="email", reason="invalid_recipient") == 1


def test_what_was_accepted_and_what_was_not_are_told_apart(told: Told) -> None:
    found = series(told.worker)

    assert total(found, "standby_dispatches_total", result="submitted") == 3
    assert total(found, "standby_dispatches_total", result="not_sent") >= 1
    assert total(found, "standby_provider_calls_total", verb="send", outcome="NotSent") >= 1


def test_the_engines_own_stand_beside_them(told: Told) -> None:
    for text in (told.worker, told.receiver):
        assert "temporal_request_total" in text
    assert "temporal_workflow_completed_total" in told.worker


def test_what_is_open_is_told_by_the_receiver_alone(told: Told) -> None:
    assert total(series(told.receiver), "standby_ledger_snapshot_timestamp_seconds") > 0
    assert "standby_ledger_snapshot_timestamp_seconds{" not in told.worker
    assert "standby_oldest_due_seconds" in told.receiver


def test_nobody_can_be_found_in_any_of_it(told: Told) -> None:
    for text in (told.worker, told.receiver):
        for mark in (NAME, LINK, "example.test", "+1202", "metrics-delivered", "password_reset:"):
            assert mark not in text
