"""`standby dev`: a whole deployment in the foreground, for development."""

import asyncio
import os
import signal
from dataclasses import dataclass

from rich.console import Console

from activities.logs import configure
from activities.settings import LogFormat, LogLevel
from console.engine import EngineAt, database
from console.holding import end_orphans, held
from console.stack import API_KEY, CODEC_KEY, Stack, Wanted, running
from console.surroundings import HOME, left
from receiver.decoding_session import PATH as CODEC


@dataclass(frozen=True, slots=True)
class Ports:
    """Where each part listens."""

    engine: EngineAt
    sandbox: int
    receiver: int


async def develop(ports: Ports, out: Console) -> None:
    """Run until SIGINT or SIGTERM; the state stays in `.standby/`.

    Raises PublicError with what to do where a part does not start or another process holds `.standby/`,
    OSError where the port of the sandbox is taken.
    """
    configure(LogFormat.TEXT, LogLevel.WARNING)
    stopping = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, stopping.set)
    wanted = Wanted(HOME, ports.engine, ports.sandbox, receiver_port=ports.receiver, environ=os.environ)
    with held(HOME):
        for pid in await end_orphans(database(HOME)):
            out.print(f"ended the Temporal server (pid {pid}) that a killed `standby dev` left behind")
        async with running(wanted) as stack:
            with left(HOME, stack.variables):
                _announce(stack, out)
                await stopping.wait()
            out.print("stopping: sends that are on the wire are finished first")


def _announce(stack: Stack, out: Console) -> None:
    url = stack.settings.public_url
    rows = (
        ("Temporal UI", f"{stack.engine.ui}/namespaces/default/workflows"),
        ("Decoding", f"{url}{CODEC} (the key is in {HOME}/{CODEC_KEY}) lets the UI show what is sealed"),
        ("Inbox", stack.sandbox.url),
        ("Receiver", f"{url} (/openapi.json describes it)"),
        ("Engine", stack.engine.address),
        ("Kinds", ", ".join(sorted(stack.catalogue.kinds))),
        ("State", f"{HOME}/ (ledger, engine, keys, api_key, codec_key)"),
    )
    for name, value in rows:
        out.print(f"{name:12} {value}", highlight=False, soft_wrap=True)
    out.print()
    out.print("In another terminal, in this folder:", highlight=False)
    out.print("  standby send notices/password_reset/sample.json --wait", highlight=False)
    authorization = f'-H "Authorization: Bearer $(cat {HOME}/{API_KEY})"'
    by_http = f"  curl --json @notices/password_reset/sample.json {authorization} {url}/notices"
    out.print(by_http, highlight=False, soft_wrap=True)
    out.print("Ctrl-C stops it.", highlight=False)
