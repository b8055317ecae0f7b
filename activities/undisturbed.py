"""Work that must not be cut in half: it is finished even when the activity is cancelled meanwhile.

So it has to ask for itself, before it has an effect, whether the engine still counts on it.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TypeVar

from temporalio import activity
from temporalio.client import AsyncActivityCancelledError
from temporalio.service import RPCError

Done = TypeVar("Done")

_BEAT = timedelta(seconds=3)
"""Well below the heartbeat timeout, so that one late turn of the loop is no death."""

_ASK = timedelta(seconds=5)


async def finish(work: Coroutine[object, object, Done]) -> Done:
    """Await work to its end, whatever cancels the caller; a message that left has a result to record."""
    task = asyncio.ensure_future(work)
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            continue
        except Exception:  # noqa: BLE001 - raised again below, from the task itself
            break
    return task.result()


async def counts() -> bool:
    """Ask the engine whether this run is still the one that counts; no answer is a no.

    It is not where it has timed out or was called off. No clock of a worker can tell: the machine may have
    been paused between the hand-over of the task and its first line, which started every clock in here.
    """
    run = activity.client().get_async_activity_handle(task_token=activity.info().task_token)
    try:
        await run.heartbeat(rpc_timeout=_ASK)
    except (AsyncActivityCancelledError, RPCError):
        return False
    return True


@asynccontextmanager
async def heartbeat() -> AsyncIterator[None]:
    """Tell the engine, while the block runs, that this worker is alive."""
    beating = asyncio.ensure_future(_beat())
    try:
        yield
    finally:
        beating.cancel()


async def _beat() -> None:
    while True:
        activity.heartbeat()
        await asyncio.sleep(_BEAT.total_seconds())
