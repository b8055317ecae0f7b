"""The `standby` command: every subcommand by name, and one way in and out."""

import asyncio
import errno
import os
from collections.abc import Sequence
from enum import StrEnum
from importlib import metadata
from typing import Annotated, Final

import typer
from rich.console import Console

from client import exporting
from console import controls, keys, suppressions
from console.demo import demonstrate
from console.deployment import PASSED_OVER
from console.dev import Ports, develop
from console.doctor import doctor
from console.engine import EngineAt
from console.exits import TRACEBACK, Exit, Stop, ending
from console.explaining import explain_again
from console.exporting import export, verify_export
from console.listing import list_notices
from console.migrating import migrate
from console.observing import observe_report
from console.providers import providers
from console.pruning import prune
from console.receiving import PORT, receiver
from console.retrying import retry
from console.sending import send
from console.setup import setup
from console.showing import show, withdraw
from console.watching import watch
from receiver.serving import CannotListenError
from workflows.policy import contract, verification_contract

app = typer.Typer(
    name="standby",
    no_args_is_help=True,
    add_completion=False,
    # A traceback with locals would print addresses.
    pretty_exceptions_enable=False,
)

NOTICES: Final = "Notices"
OPERATION: Final = "Operation"
DEVELOPMENT: Final = "Development"

_LAST: Final = 65_535
"""The highest port there is."""

app.command(rich_help_panel=NOTICES)(send)
app.command(rich_help_panel=NOTICES)(show)
app.command(rich_help_panel=NOTICES)(withdraw)
app.command(rich_help_panel=NOTICES)(retry)
app.command(name="explain", rich_help_panel=NOTICES)(explain_again)
app.command(rich_help_panel=NOTICES)(export)
app.command(name="verify-export", rich_help_panel=NOTICES)(verify_export)
app.command(name="list", rich_help_panel=NOTICES)(list_notices)
app.command(rich_help_panel=NOTICES)(watch)
app.command(rich_help_panel=OPERATION)(receiver)
app.command(rich_help_panel=OPERATION)(doctor)
app.command(rich_help_panel=OPERATION)(providers)
app.command(rich_help_panel=OPERATION)(migrate)
app.command(rich_help_panel=OPERATION)(setup)
app.command(rich_help_panel=OPERATION)(prune)
app.command(name="observe-report", rich_help_panel=OPERATION)(observe_report)
app.add_typer(controls.app, name="controls", rich_help_panel=OPERATION)
app.add_typer(keys.app, name="key", rich_help_panel=OPERATION)
app.add_typer(suppressions.app, name="suppressions", rich_help_panel=OPERATION)


class Document(StrEnum):
    """What a backend writes, and what an auditor reads."""

    NOTICE = "notice"
    VERIFICATION = "verification"
    EXPORT = "export"


def _version(asked: bool) -> None:  # noqa: FBT001 - an option's callback
    if asked:
        typer.echo(f"standby {_installed()}")
        raise typer.Exit


@app.callback()
def standby(
    *,
    traceback: Annotated[
        bool,
        typer.Option("--traceback", help="Show the lines of code that an unexpected error came through."),
    ] = False,
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Email first, SMS on standby: one notice to one person, durably, on Temporal.

    Exit codes: 0 done, 1 a problem was found, 2 bad input, 3 engine or ledger unreachable, 4 reached nobody.
    """
    TRACEBACK.set(traceback)


@app.command(rich_help_panel=NOTICES)
def schema(
    of: Annotated[Document, typer.Argument(help="What is asked for.")] = Document.NOTICE,
) -> None:
    """Print the JSON Schema of a notice, of a verification, or of an export.

    Example: standby schema verification > verification.schema.json
    """
    match of:
        case Document.NOTICE:
            text = contract.published()
        case Document.VERIFICATION:
            text = verification_contract.published()
        case Document.EXPORT:
            text = exporting.published()
    typer.echo(text, nl=False)


@app.command(rich_help_panel=DEVELOPMENT)
def dev(
    port: Annotated[int, typer.Option(min=1, max=_LAST, help="Of the engine.")] = 7233,
    ui_port: Annotated[int, typer.Option(min=1, max=_LAST, help="Of the Temporal UI.")] = 8233,
    sandbox_port: Annotated[int, typer.Option(min=1, max=_LAST, help="Of the sandbox and its inbox.")] = 8025,
    receiver_port: Annotated[int, typer.Option(min=1, max=_LAST, help="Of the receiver.")] = PORT,
) -> None:
    """Run Temporal, the sandbox provider, a worker and the receiver here, until Ctrl-C.

    Its state stays in .standby/, and commands in the same folder find it by themselves.

    Example: standby dev --ui-port 8080
    """
    try:
        asyncio.run(develop(Ports(EngineAt(port, ui_port), sandbox_port, receiver_port), Console()))
    except CannotListenError as error:
        raise Stop(Exit.FAILED, f"{error}: standby dev --receiver-port N") from None
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        raise Stop(Exit.FAILED, f"port {sandbox_port} is taken: choose another by --sandbox-port") from None


@app.command(rich_help_panel=DEVELOPMENT)
def demo() -> None:
    """Send notices of many fates on a real Temporal server, and check each outcome; under a minute.

    Example: standby demo
    """
    if not asyncio.run(demonstrate(Console(), os.environ)):
        raise typer.Exit(Exit.FAILED)


@app.command(name="version", rich_help_panel=DEVELOPMENT)
def show_version() -> None:
    """Print the version.

    Example: standby version
    """
    _version(asked=True)


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; whatever goes wrong is a line on stderr."""
    try:
        app(arguments, prog_name="standby")
    except SystemExit as left:
        return left.code if isinstance(left.code, int) else Exit.FAILED
    except Exception as error:  # noqa: BLE001 - the one place where every error ends
        code, lines = ending(error)
        for line in (*lines, PASSED_OVER.get()):
            if line:
                typer.echo(line, err=True)
        return code
    return Exit.OK


def _installed() -> str:
    try:
        return metadata.version("standby")
    except metadata.PackageNotFoundError:
        return "(not installed)"
