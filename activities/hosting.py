"""A worker process: every part built once, handed in, and closed in order."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.common import VersioningBehavior, WorkerDeploymentVersion
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import PollerBehaviorAutoscaling, Worker, WorkerDeploymentConfig

from activities.admission import LedgerAdmission
from activities.catalogue import Catalogue
from activities.challenging import LedgerChallenging
from activities.chronicle import LedgerChronicle
from activities.connect import PATIENCE, EngineUnreachableError
from activities.delivery import ProviderDelivery
from activities.discreet import PublicError
from activities.dispatching import Dispatcher
from activities.eligibility import LedgerEligibility
from activities.gate import Gate
from activities.keyring import Keyring
from activities.metrics import NOTHING, Meters, meters_of
from activities.providers.errors import Misconfigured
from activities.providers.provider import Prepares, Provider
from activities.providers.registry import Providers
from activities.providers.wire import new_client
from activities.reading import Reader
from activities.settings import PREFIX, Settings, SettingsError
from activities.sharing import Sharing
from activities.store.engine import open_engine
from activities.store.ledger import Ledger
from activities.supplying import Supply
from activities.transitions import Transitions
from workflows.hosting import FAILURES, WORKFLOWS
from workflows.sandbox import RUNNER

FINISH_SENDS = timedelta(seconds=65)
"""Longer than a send may take: a clean shutdown cuts none."""

HAND_OVER = timedelta(seconds=5)
"""How long the tasks of a worker that died wait for it before another takes them."""

OPEN_AT_ONCE = 10_000
"""Notices with work in flight that stay in memory; a smaller cache is paid for with replays."""


class EngineRefusedError(PublicError):
    """The engine does not let this worker work; one line that names the namespace and the address."""


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
    is named that nothing is known of, EngineUnreachableError or EngineRefusedError where the engine will not
    have it; a worker that loses its engine later waits for it.
    """
    async with AsyncExitStack() as stack:
        ledger = await stack.enter_async_context(open_ledger(parts.settings))
        providers = Providers(parts.settings, await stack.enter_async_context(new_client()))
        await demand_known(providers, parts)
        await demand_namespace(client)
        worker = worker_of(client, parts, ledger, providers)
        yield await stack.enter_async_context(running(worker, client))


async def demand_namespace(client: Client) -> None:
    """Ask what a worker asks when it starts, where the answer can still be told in one line.

    Raises EngineRefusedError or EngineUnreachableError.
    """
    asked = DescribeNamespaceRequest(namespace=client.namespace)
    try:
        await client.workflow_service.describe_namespace(asked, retry=True, timeout=PATIENCE)
    except RPCError as error:
        name, place = client.namespace, _place(client)
        match error.status:
            case RPCStatusCode.UNIMPLEMENTED:
                return  # a server for tests, with any namespace
            case RPCStatusCode.NOT_FOUND:
                remedy = f"set TEMPORAL_NAMESPACE, or: temporal operator namespace create --namespace {name}"
                raise EngineRefusedError(f"{place} has no namespace {name!r}: {remedy}") from None
            case RPCStatusCode.PERMISSION_DENIED | RPCStatusCode.UNAUTHENTICATED:
                remedy = "check TEMPORAL_NAMESPACE, and TEMPORAL_API_KEY or the certificate"
                raise EngineRefusedError(f"{place} does not let us into {name!r}: {remedy}") from None
            case status:
                reason = f"namespace {name!r}: {status.name}"
                raise EngineUnreachableError(f"{place} does not answer ({reason}): try again") from None


@asynccontextmanager
async def running(worker: Worker, client: Client) -> AsyncIterator[Worker]:
    """Run a worker for the block; raises EngineRefusedError where the worker ends before the block does."""
    of_the_block: BaseException | None = None
    try:
        async with worker:
            try:
                yield worker
            except BaseException as error:
                of_the_block = error
                raise
    except Exception as error:
        if error is of_the_block:
            raise
        raise EngineRefusedError(
            f"{_place(client)} ended this worker in namespace {client.namespace!r}:"
            " check TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the worker's rights, and start it again"
        ) from None


def _place(client: Client) -> str:
    return f"the Temporal engine at {client.service_client.config.target_host}"


def worker_of(client: Client, parts: Parts, ledger: Ledger, providers: Providers) -> Worker:
    """Assemble a worker around a ledger and providers that are already open."""
    return Worker(
        client,
        task_queue=parts.settings.task_queue,
        workflows=WORKFLOWS,
        activities=activities(parts, ledger, providers, meters_of(client)),
        workflow_runner=RUNNER,
        workflow_failure_exception_types=FAILURES,
        graceful_shutdown_timeout=FINISH_SENDS,
        sticky_queue_schedule_to_start_timeout=HAND_OVER,
        max_cached_workflows=OPEN_AT_ONCE,
        workflow_task_poller_behavior=PollerBehaviorAutoscaling(),
        activity_task_poller_behavior=PollerBehaviorAutoscaling(),
        deployment_config=_version(parts.settings),
    )


def _version(settings: Settings) -> WorkerDeploymentConfig | None:
    """Return under which version a worker works: each notice is pinned to the one that it began on.

    A notice lives for hours, and pinning spares every change of the workflow its patch; the deployment has
    the name of the queue.
    """
    if settings.build_id is None:
        return None
    return WorkerDeploymentConfig(
        version=WorkerDeploymentVersion(settings.task_queue, settings.build_id),
        use_worker_versioning=True,
        default_versioning_behavior=VersioningBehavior.PINNED,
    )


@asynccontextmanager
async def open_ledger(settings: Settings) -> AsyncIterator[Ledger]:
    """Open the ledger for the block; raises StoreError where it cannot be used."""
    engine = await open_engine(settings.database_url.get_secret_value())
    try:
        yield Ledger(engine)
    finally:
        await engine.dispose()


def activities(
    parts: Parts, ledger: Ledger, providers: Providers, meters: Meters = NOTHING
) -> list[Callable[..., Any]]:
    """Return every activity, built around one ledger and one set of providers."""
    gate, told = Gate(ledger, parts.keyring), Transitions(meters)
    supply = Supply(ledger, parts.keyring, parts.settings.public_url)
    admission = LedgerAdmission(parts.catalogue, ledger, supply, told)
    sharing = Sharing(parts.catalogue, providers, parts.settings.share_suppressions)
    eligibility = LedgerEligibility(gate, sharing, meters)
    chronicle = LedgerChronicle(ledger, told)
    dispatcher = Dispatcher(gate, parts.catalogue, providers, supply, transitions=told)
    delivery = ProviderDelivery(dispatcher, Reader(ledger, providers, told))
    challenging = LedgerChallenging(parts.catalogue, ledger, parts.keyring, parts.settings, meters)
    return [
        admission.admit,
        eligibility.check,
        eligibility.suppress,
        delivery.send,
        delivery.look_up,
        chronicle.record,
        chronicle.close,
        challenging.open,
        challenging.ask,
        challenging.seek,
        challenging.consume,
        challenging.end,
    ]


async def demand_known(providers: Providers, parts: Parts, *, sends: bool = True) -> tuple[Provider, ...]:
    """Return what serves; raises SettingsError with a line for each that is mistyped or lacks a setting.

    So that is found now, and not in the middle of a notice. Who does not send needs no credentials of AWS.
    """
    problems: dict[str, None] = {}
    serving: dict[str, Provider] = {}
    for kind in parts.catalogue.kinds.values():
        for channel in kind.policy.route:
            chosen = kind.policy.watch(channel).provider
            try:
                provider = providers.serving(channel, chosen)
                serving[provider.name] = provider
                if sends and isinstance(provider, Prepares):
                    await provider.prepare()
            except Misconfigured as error:
                file = parts.settings.notices / kind.name / "policy.toml"
                named = f"{file}: {channel}.provider" if chosen else f"{PREFIX}{channel.upper()}"
                problems[f"{named}: {error}"] = None
    if problems:
        raise SettingsError("\n".join(problems))
    return tuple(serving.values())
