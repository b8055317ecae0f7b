"""The command as people run it: its code, and what it says on either stream."""

import asyncio
import io
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from console.app import run
from console.exits import Exit

ROOT = Path(__file__).parents[2]

ADDRESS = "zephyrine.quill@example.test"
NUMBER = "+12025550182"
LINK = "https://shop.example.test/reset/secret-link"


class Said(NamedTuple):
    """What came of one command line."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Stdout as NDJSON; anything else on it is an error."""
        return [json.loads(line) for line in self.out.splitlines()]


@dataclass(frozen=True)
class Shell:
    """One deployment's environment, in one folder."""

    environ: Mapping[str, str]
    folder: Path
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    async def run(self, *arguments: str, stdin: str = "", **changed: str) -> Said:
        """Run a command in this process; all that it said is checked for personal data."""
        with self.monkeypatch.context() as patch:
            patch.chdir(self.folder)
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            for name in [name for name in os.environ if name.startswith(("STANDBY_", "TEMPORAL_"))]:
                patch.delenv(name)
            for name, value in {**self.environ, **changed}.items():
                patch.setenv(name, value)
            self.capsys.readouterr()
            code = await asyncio.to_thread(run, arguments)
        return discreet(Said(code, *self.capsys.readouterr()))

    async def spawn(self, *arguments: str, **changed: str) -> Said:
        """Run a command in a process of its own."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("STANDBY_", "TEMPORAL_"))
        }
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "starter", *arguments),
            cwd=self.folder,
            env={**kept, "PYTHONPATH": str(ROOT), **self.environ, **changed},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await child.communicate()
        assert child.returncode is not None
        return discreet(Said(child.returncode, out.decode(), err.decode()))

    def file(self, *documents: dict[str, Any], name: str = "notices.ndjson") -> str:
        """Write documents one a line, and return the name of the file."""
        (self.folder / name).write_text("".join(f"{json.dumps(each)}\n" for each in documents))
        return name


def discreet(said: Said) -> Said:
    """Demand that nothing personal was said."""
    for secret in (ADDRESS, NUMBER, LINK, "zephyrine", "secret-link"):
        assert secret not in said.out + said.err
    return said


def document(event_id: str, **changes: object) -> dict[str, Any]:
    """Return a document as a backend writes it."""
    recipient = {"id": "user-1", "email": ADDRESS, "phone": NUMBER, "sms_consent": True}
    fields = {"name": "Zephyrine", "reset_url": LINK}
    given = {"kind": "password_reset", "event_id": event_id, "recipient": recipient, "fields": fields}
    return {**given, **changes}


def key(event_id: str) -> str:
    """Return the notice key of a document."""
    return f"password_reset:{event_id}:user-1"


REACHED, BAD, UNREACHABLE, NOT_REACHED = Exit.OK, Exit.BAD_INPUT, Exit.UNREACHABLE, Exit.NOT_REACHED
