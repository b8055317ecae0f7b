"""`python -m sandbox`: serve until interrupted, configured by `STANDBY_SANDBOX_*`."""

import asyncio
import os
import signal
import sys

from sandbox.config import PREFIX, Config, from_environment, listening
from sandbox.server import serve


async def run(config: Config, host: str, port: int) -> None:
    """Serve until SIGINT or SIGTERM."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    async with serve(config, host, port) as running:
        sys.stdout.write(f"sandbox inbox: {running.url}\n")
        sys.stdout.flush()
        await stop.wait()


def main() -> int:
    """Return 0 after a signal, 2 for a setting that makes no sense or a port that is taken."""
    try:
        config, (host, port) = from_environment(os.environ), listening(os.environ)
    except ValueError as fault:
        sys.stderr.write(f"sandbox: {fault}\n")
        return 2
    try:
        asyncio.run(run(config, host, port))
    except OSError as fault:
        sys.stderr.write(f"sandbox: cannot listen at {host}:{port}, {fault.strerror}; set {PREFIX}PORT\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
