"""Signed callbacks: each step of a message is told to one URL, in its own time; no reply waits for them."""

import asyncio
import hashlib
import hmac
import json
import logging
from datetime import timedelta
from http import HTTPStatus

import httpx

from sandbox import shapes
from sandbox.config import Config
from sandbox.fates import Step, script
from sandbox.mailroom import Message

TIMESTAMP = "Sandbox-Timestamp"
SIGNATURE = "Sandbox-Signature"

PATIENCE = timedelta(seconds=5)
"""How long the receiver may take to answer."""

PAUSES = (timedelta(seconds=1), timedelta(seconds=5), timedelta())
"""Waits between the tries of one event; after the last try it is given up."""

_log = logging.getLogger(__name__)


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Sign `timestamp.body` with HMAC-SHA256, in hexadecimal."""
    return hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


class Callbacks:
    """Tells a receiver what became of messages; each message has a task of its own."""

    def __init__(self, config: Config, client: httpx.AsyncClient) -> None:
        self._config = config
        self._client = client
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, message: Message) -> None:
        """Start telling about a message, if anybody wants to know."""
        if self._config.callback_url is None:
            return
        task = asyncio.create_task(self._tell(message, self._config.callback_url))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Stop telling; what is not told by now is lost."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _tell(self, message: Message, url: str) -> None:
        for number, step in enumerate(script(message.fate), start=1):
            due = message.at + self._config.scaled(step.after)
            await asyncio.sleep(max(0.0, (due - self._config.clock()).total_seconds()))
            for _ in range(2 if self._config.duplicate_callbacks else 1):
                await self._deliver(url, self._event(message, number, step))

    def _event(self, message: Message, number: int, step: Step) -> bytes:
        at = message.at + self._config.scaled(step.after)
        event = {"event_id": f"{message.id}-{number}", "message": shapes.state(message, step, at)}
        return json.dumps(event).encode()

    async def _deliver(self, url: str, body: bytes) -> None:
        for pause in PAUSES:
            if await self._post(url, body):
                return
            await asyncio.sleep(self._config.scaled(pause).total_seconds())
        _log.warning("a callback was given up: the receiver did not take it in %d tries", len(PAUSES))

    async def _post(self, url: str, body: bytes) -> bool:
        timestamp = str(int(self._config.clock().timestamp()))
        headers = {
            "Content-Type": "application/json",
            TIMESTAMP: timestamp,
            SIGNATURE: signature(self._config.secret, timestamp, body),
        }
        try:
            response = await self._client.post(url, content=body, headers=headers)
        except httpx.HTTPError:
            return False
        return response.status_code < HTTPStatus.MULTIPLE_CHOICES
