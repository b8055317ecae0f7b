"""A retry: a notice key is used once, for ever, so it is a new notice with an event of its own.

Its event is the first one's with `-retry-N` behind it. The same retry twice is one notice.
"""

import re
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from typing import Final

from temporalio.client import Client
from temporalio.service import RPCError

from activities.store.ledger import Ledger
from activities.store.records import NoticeRow
from client import runs
from client.runs import PATIENCE, handle_of
from workflows.policy import contract
from workflows.policy.lifetime import expiry
from workflows.policy.models import NoticeRequest
from workflows.policy.terms import Policy

_RETRY: Final = re.compile(r"(?P<event>.+)-retry-(?P<number>[1-9][0-9]{0,3})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Retry:
    """The notice that tries again."""

    request: NoticeRequest
    is_there: bool
    """Whether it was started before."""


async def original(client: Client, notice: NoticeRow) -> NoticeRequest | None:
    """Read what a notice was started with from the engine's history; None where that is gone.

    A later start under the same key, which was refused, may have been of another content. Raises RPCError,
    or ApplicationError where no key of this file opens it.
    """
    events = handle_of(client, notice.key).fetch_history_events(page_size=1, rpc_timeout=PATIENCE)
    try:
        first = await anext(events)
    except StopAsyncIteration:
        return None
    except RPCError as error:
        if runs.is_unknown(error):
            return None
        raise
    started = first.workflow_execution_started_event_attributes
    if started.first_execution_run_id != notice.chain:
        return None
    (request,) = await client.data_converter.decode(list(started.input.payloads), [NoticeRequest])
    return NoticeRequest.model_validate(request)


async def next_of(client: Client, ledger: Ledger, request: NoticeRequest, closed_at: datetime) -> Retry:
    """Return the retry of a notice that closed then (UTC): the one that was begun since, or the next.

    Raises ContractError where the longer event makes no notice, and RPCError or StoreError where engine or
    ledger cannot say which there are.
    """
    said = _RETRY.fullmatch(request.event_id)
    event, done = (said["event"], int(said["number"])) if said else (request.event_id, 0)
    for number in count(done + 1):
        retry = contract.validate(request.model_copy(update={"event_id": f"{event}-retry-{number}"}))
        begun = await _begun(client, ledger, retry.key)
        if begun is None or begun >= closed_at:
            return Retry(retry, is_there=begun is not None)
    raise AssertionError  # counting does not end


def fresh(request: NoticeRequest, now: datetime) -> NoticeRequest:
    """Return a request without a fallback deadline that has passed: it was one for the first try."""
    passed = request.fallback_at is not None and request.fallback_at <= now
    return request.model_copy(update={"fallback_at": None}) if passed else request


def ends(request: NoticeRequest, policy: Policy, now: datetime) -> datetime:
    """Return until when a retry would be of use (UTC); raises LifetimeError where nothing says so."""
    return expiry(request, policy, now)


async def _begun(client: Client, ledger: Ledger, key: str) -> datetime | None:
    """Return when a notice began (UTC), as ledger or engine know it; None for one that never did."""
    story = await ledger.story(key)
    if story is not None:
        return story.notice.created_at
    try:
        return (await handle_of(client, key).describe(rpc_timeout=PATIENCE)).start_time
    except RPCError as error:
        if runs.is_unknown(error):
            return None
        raise
