"""Whether the engine is there, and how long it remembers a notice that has closed."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
from temporalio.client import Client
from temporalio.service import RPCError

from activities.connect import connect
from activities.hosting import demand_namespace
from activities.keyring import Keyring
from activities.providers.base import Finding, Level
from console.spans import span
from workflows.policy.terms import LONGEST, Policy

PATIENCE: Final = timedelta(seconds=3)
"""A healthy engine answers in milliseconds."""


async def kept_long_enough(
    about: str, environ: Mapping[str, str], policies: Mapping[str, Policy] | None
) -> tuple[Finding, ...]:
    """Ask the engine for its namespace; raises EngineUnreachableError or EngineRefusedError.

    What is asked holds no payload, so it needs no keys.
    """
    client = await connect(Keyring.plaintext(), environ=environ, patience=PATIENCE)
    await demand_namespace(client)
    place = f"namespace {client.namespace} at {client.service_client.config.target_host}"
    there = Finding(Level.OK, about, f"{place} is there, and lets us in")
    try:
        kept = await _retention(client)
    except RPCError as error:
        says = f"how long {place} keeps what has closed: it does not say ({error.status.name})"
        return there, Finding(Level.UNCHECKED, about, says)
    return there, judged(about, client.namespace, kept, policies)


def judged(about: str, namespace: str, kept: timedelta, policies: Mapping[str, Policy] | None) -> Finding:
    """Hold a namespace's retention against the longest life of any kind.

    A shorter one is no problem: open notices are kept, and the ledger refuses a key for ever. But nothing
    then stands beside the ledger, and histories are gone.
    """
    if policies is None:
        says = f"closed notices are kept for {span(kept)}: how long kinds live is not known"
        return Finding(Level.UNCHECKED, about, says)
    name, longest = max(
        ((name, each.expires_after or LONGEST) for name, each in policies.items()), key=lambda each: each[1]
    )
    if kept >= longest:
        says = f"closed notices are kept for {span(kept)}, and no kind is useful for longer ({span(longest)})"
        return Finding(Level.OK, about, says)
    may = f"{name} may be useful for {span(longest)}"
    says = (
        f"closed notices are kept for {span(kept)}, and {may}: later than that a repeated start is refused by"
        " the ledger alone, and there is no history to look at; for longer do:"
        f" temporal operator namespace update -n {namespace} --retention DURATION"
    )
    return Finding(Level.NOTE, about, says)


async def _retention(client: Client) -> timedelta:
    asked = DescribeNamespaceRequest(namespace=client.namespace)
    told = await client.workflow_service.describe_namespace(asked, timeout=PATIENCE)
    return told.config.workflow_execution_retention_ttl.ToTimedelta()
