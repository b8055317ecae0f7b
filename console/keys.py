"""`standby key`: makes the file of keys, adds a new one to it, and says which of them seals."""

from pathlib import Path
from typing import Annotated

import typer

from activities.keyring import Keyring

File = Annotated[Path, typer.Argument(metavar="FILE", help="The key file (STANDBY_KEY_FILE).")]

app = typer.Typer(help="Make and rotate the keys that seal what the engine stores.", no_args_is_help=True)


@app.command()
def new(file: File) -> None:
    """Make a key file that only you can read; an existing file is never overwritten.

    Every worker and every command needs the same file. Without it, histories cannot be read and suppressed
    addresses are no longer recognised: keep a copy where secrets are kept.

    Example: standby key new keys.toml && export STANDBY_KEY_FILE=$PWD/keys.toml
    """
    made = Keyring.create(file)
    typer.echo(f"{file}: made, with the key {made.current}; keep a copy where your secrets are kept")


@app.command()
def add(file: File) -> None:
    """Add a key that does not seal yet: the first of two steps to a new key while processes run.

    Give the new file to every worker, receiver, backend and command, restart them, and then use the key.

    Example: standby key add keys.toml
    """
    name = Keyring.add(file)
    typer.echo(
        f"{file}: {name} was added, and seals nothing yet; when every process has this file, and was"
        f" restarted, do: standby key use {file}"
    )


@app.command()
def use(
    file: File,
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="Of the key; by default the one that was added last.")
    ] = None,
) -> None:
    """Let a key seal from now on that every process has by now; all keys stay, to open what they have sealed.

    Give the new file to every process and restart them, in any order: each can open what any of them seals.

    Example: standby key use keys.toml
    """
    typer.echo(_sealing(file, Keyring.use(file, name)))


@app.command()
def rotate(file: File) -> None:
    """Add a key and use it at once, where one process reads this file, or all of them stand still.

    Where several run, a process that lacks the new key cannot open what another seals with it: add, then use.

    Example: standby key rotate keys.toml
    """
    typer.echo(_sealing(file, Keyring.rotate(file)))


def _sealing(file: Path, made: Keyring) -> str:
    return f"{file}: {made.current} seals from now on, {len(made.payload)} keys open; restart every process"
