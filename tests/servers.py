"""Where the real servers for tests are: binaries that the locked requirements bring along."""

import os
import shutil
import sys
from pathlib import Path


def binary(name: str, variable: str = "") -> str:
    """Return the path of a program of this virtual environment, or what `variable` names instead."""
    named = os.environ.get(variable, "") if variable else ""
    found = named or shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{name} is not installed: install requirements-dev.txt")
    return found


def test_server() -> str:
    """Return the time-skipping test server."""
    return binary("temporal-test-server")


def dev_server() -> str:
    """Return the Temporal CLI, whose dev server runs in real time."""
    return binary("temporal", "STANDBY_TEMPORAL_BIN")
