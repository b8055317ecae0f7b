"""What happens in a test: notices to people with fates, time that passes, scenes that play at once."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from typing import Generic, TypeVar

from pydantic import JsonValue

from client.starting import Handle
from sandbox.fates import Fate
from workflows.policy.models import NoticeRequest, Recipient, Result

NAME = "Zephyrine"
LINK = "https://shop.example.test/reset/secret-link"

PATIENCE = timedelta(seconds=60)
SCENES = timedelta(seconds=75)
"""Less than a test may last."""

T = TypeVar("T")


def notice(name: str, email: Fate | None, phone: Fate | None = None, **changes: object) -> NoticeRequest:
    """A password reset for a person of that name, who meets these fates."""
    recipient = Recipient(
        id=name,
        email=email.email(name) if email else None,
        phone=phone.number() if phone else None,
        sms_consent=True,
    )
    fields: Mapping[str, JsonValue] = {"name": NAME, "valid_minutes": 10, "reset_url": LINK}
    given = {"kind": "password_reset", "event_id": "event", "recipient": recipient, "fields": fields}
    return NoticeRequest.model_validate({**given, **changes})


async def ended(handle: Handle) -> Result:
    async with asyncio.timeout(PATIENCE.total_seconds()):
        return await handle.result()


def within(seconds: float) -> datetime:
    """Return an instant so far from now."""
    return datetime.now(UTC) + timedelta(seconds=seconds)


async def passing(at: datetime) -> None:
    """Let real time pass an instant, by a little."""
    await asyncio.sleep((at - datetime.now(UTC)).total_seconds() + 0.5)


async def until(holds: Callable[[], Awaitable[object]]) -> None:
    """Ask other processes until they say yes."""
    async with asyncio.timeout(PATIENCE.total_seconds()):
        while not await holds():  # noqa: ASYNC110  # nobody sets an event from another process
            await asyncio.sleep(0.1)


class Scenes(Generic[T]):
    """Scenarios that have ended: each gives what it left, or raises what ended it."""

    def __init__(self, tasks: Mapping[str, asyncio.Task[T]]) -> None:
        self._tasks = tasks

    def __getitem__(self, name: str) -> T:
        return self._tasks[name].result()


async def together(scenarios: Mapping[str, Coroutine[object, object, T]]) -> Scenes[T]:
    """Live through scenarios that mostly wait, at once."""
    tasks = {
        name: asyncio.ensure_future(asyncio.wait_for(scenario, SCENES.total_seconds()))
        for name, scenario in scenarios.items()
    }
    await asyncio.wait(tasks.values())
    return Scenes(tasks)
