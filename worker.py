"""Runs one worker until it is told to stop; `python worker.py`, configured by the environment."""

import asyncio
import os
import signal
import sys

from activities.catalogue import Catalogue
from activities.connect import connect, finish, measured
from activities.discreet import PublicError
from activities.hosting import Parts, hosted
from activities.logs import configure, event
from activities.settings import Settings, keyring
from activities.tracing import plugins


async def serve(settings: Settings) -> None:
    """Work until SIGINT or SIGTERM, then finish what is on the wire."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopping.set)
    parts = Parts(settings, keyring(settings), Catalogue.load(settings.notices, settings.public_url))
    client = await connect(parts.keyring, plugins=plugins(), sdk=measured(settings, os.environ))
    async with hosted(client, parts) as worker:
        event("worker started", task_queue=worker.task_queue, namespace=client.namespace)
        await stopping.wait()
        event("worker stopping")


def main() -> int:
    """Return 0 after a clean stop, 1 with one line on stderr where it cannot start."""
    try:
        settings = Settings.read(os.environ)
        configure(settings.log, settings.log_level)
        asyncio.run(serve(settings))
    except PublicError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    finish(main())
