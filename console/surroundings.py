"""Where a command finds its deployment: the environment, else what `standby dev` left in this folder."""

import os
from collections.abc import Mapping
from pathlib import Path

HOME = Path(".standby")
"""Where `standby dev` keeps its state: engine, ledger, keys, and how to reach them."""

_FILE = "env"
_NAMING = (
    "STANDBY_DATABASE_URL",
    "STANDBY_KEY_FILE",
    "STANDBY_PLAINTEXT",
    "STANDBY_TASK_QUEUE",
    "TEMPORAL_",
)
"""How the variables begin that say which deployment is meant."""


def environment(given: Mapping[str, str] = os.environ, home: Path = HOME) -> dict[str, str]:
    """Return the variables that hold: those given, and beneath them the development deployment's.

    The latter count only where the environment names no deployment itself, so that a command never mixes
    two of them.
    """
    is_named = any(value and name.startswith(_NAMING) for name, value in given.items())
    return {**({} if is_named else _left(home / _FILE)), **given}


def leave(home: Path, variables: Mapping[str, str]) -> None:
    """Write down how to reach a development deployment."""
    lines = (f"{name}={value}\n" for name, value in sorted(variables.items()))
    (home / _FILE).write_text("".join(lines))


def _left(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in lines if "=" in line)
