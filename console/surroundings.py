"""Where a command finds its deployment: the environment, else what `standby dev` left in this folder."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

HOME = Path(".standby")
"""Where `standby dev` keeps its state: engine, ledger, keys, and while it runs how to reach them."""

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
    """Return the variables that hold, empty ones being unset: those given, else the development deployment's.

    The latter count only where the environment names no deployment itself, so that a command never mixes
    two of them.
    """
    left_here = {} if _naming(given) else _read(home / _FILE)
    return {**left_here, **{name: value for name, value in given.items() if value}}


def passed_over(given: Mapping[str, str] = os.environ, home: Path = HOME) -> str | None:
    """Say, for a command that failed, why this folder's development deployment was not what it worked on."""
    naming, file = _naming(given), home / _FILE
    if naming and file.exists():
        return f"{file} was not used: the environment names a deployment by {', '.join(naming)}"
    if not naming and home.is_dir() and not file.exists():
        return f"no `standby dev` runs in this folder ({home}/ is of an earlier one): start it again"
    return None


@contextmanager
def left(home: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """Leave word, for the block, of how to reach a development deployment; another's is not taken away."""
    file = home / _FILE
    word = "".join(f"{name}={value}\n" for name, value in sorted(variables.items()))
    file.write_text(word)
    try:
        yield
    finally:
        if file.exists() and file.read_text() == word:
            file.unlink()


def _naming(given: Mapping[str, str]) -> list[str]:
    return sorted(name for name, value in given.items() if value and name.startswith(_NAMING))


def _read(file: Path) -> dict[str, str]:
    try:
        lines = file.read_text().splitlines()
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in lines if "=" in line)
