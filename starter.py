"""The way in for callers: `start` and `connect` for Python backends, `main` for the `standby` command.

client = await connect(Keyring.load(Path("keys.toml")))
handle = await start(client, {"kind": "password_reset", "event_id": "reset-1", "recipient": {...}})

The notice goes on in the trace of the OpenTelemetry span that is current when `start` is awaited; what the
backend records its own spans with is its own affair.
"""

import sys
from typing import NoReturn

from activities.connect import connect, finish
from activities.keyring import Keyring
from client.starting import start
from console.app import run

__all__ = ["Keyring", "connect", "main", "start"]


def main() -> NoReturn:
    """Run one command and leave the process with its exit code."""
    finish(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
