"""A worker process: every part built once, handed in, and closed in order."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import PollerBehaviorAutoscaling, Worker

from activities.admission import LedgerAdmission
from activities.catalogue import Catalogue
from activities.chronicle import LedgerChronicle
from activities.delivery import ProviderDelivery
from activities.dispatching import Dispatcher
from activities.eligibility import LedgerEligibility
from activities.gate import Gate
from activities.keyring import Keyring
from activities.providers.errors import Misconfigured
from activities.providers.registry import Providers
from activities.providers.wire import new_client
from activities.reading import Reader
from activities.settings import Settings, SettingsError
from activities.store.engine import open_engine
from activities.store.ledger import Ledger
from workflows.hosting import FAILURES, WORKFLOWS
from workflows.sandbox import RUNNER

FINISH_SENDS = timedelta(seconds=45)
"""Longer than a send may take: a clean shutdown cuts none."""

HAND_OVER = timedelta(seconds=5)
"""How long the tasks of a worker that died wait for it before another takes them."""

OPEN_AT_ONCE = 10_000
"""Notices with work in flight that stay in memory; a smaller cache is paid for with replays."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a worker is made from."""

    settings: Settings
    keyring: Keyring
    catalogue: Catalogue


@asynccontextmanager
async def hosted(client: Client, parts: Parts) -> AsyncIterator[Worker]:
    """Run a worker for the block; leaving it finishes what is on the wire.

    Raises StoreError where the ledger cannot be reached or is not migrated, SettingsError where a provider
    is named that nothing is known of.
    """
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(open_ledger(parts.settings))
        providers = Providers(parts.settings, await stack.enter_async_context(new_client()))
        _demand_known(providers, parts.catalogue)
        yield await stack.enter_async_context(worker_of(client, parts, ledger, providers))


def worker_of(client: Client, parts: Parts, ledger: Ledger, providers: Providers) -> Worker:
    """Assemble a worker around a ledger and providers that are already open."""
    return Worker(
        client,
        task_queue=parts.settings.task_queue,
        workflows=WORKFLOWS,
        activities=activities(parts, ledger, providers),
        workflow_runner=RUNNER,
        workflow_failure_exception_types=FAILURES,
        graceful_shutdown_timeout=FINISH_SENDS,
        sticky_queue_schedule_to_start_timeout=HAND_OVER,
        max_cached_workflows=OPEN_AT_ONCE,
        workflow_task_poller_behavior=PollerBehaviorAutoscaling(),
        activity_task_poller_behavior=PollerBehaviorAutoscaling(),
    )


@asynccontextmanager
async def open_ledger(settings: Settings) -> AsyncIterator[Ledger]:
    """Open the ledger for the block; raises StoreError where it cannot be used."""
    engine = await open_engine(settings.database_url.get_secret_value())
    try:
        yield Ledger(engine)
    finally:
        await engine.dispose()


def activities(parts: Parts, ledger: Ledger, providers: Providers) -> list[Callable[..., Any]]:
    """Return every activity, built around one ledger and one set of providers."""
    gate = Gate(ledger, parts.keyring)
    admission = LedgerAdmission(parts.catalogue, ledger)
    eligibility = LedgerEligibility(gate)
    chronicle = LedgerChronicle(ledger)
    delivery = ProviderDelivery(Dispatcher(gate, parts.catalogue, providers), Reader(ledger, providers))
    return [
        admission.admit,
        eligibility.check,
        eligibility.suppress,
        delivery.send,
        delivery.look_up,
        chronicle.record,
        chronicle.close,
    ]


def _demand_known(providers: Providers, catalogue: Catalogue) -> None:
    """Find a mistyped provider now, and not in the middle of a notice."""
    for kind in catalogue.kinds.values():
        for channel in kind.policy.route:
            try:
                providers.serving(channel, kind.policy.watch(channel).provider)
            except Misconfigured as error:
                raise SettingsError(f"{kind.name}, {channel}: {error}") from None
