"""`standby key`: makes the file of keys, and adds a new one to it."""

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
def rotate(file: File) -> None:
    """Add a key, which seals from now on; the old ones stay, to open what they have sealed.

    Give the new file to every worker and command and restart them: a worker that lacks the new key cannot
    open what the others seal with it.

    Example: standby key rotate keys.toml
    """
    made = Keyring.rotate(file)
    typer.echo(
        f"{file}: {made.current} seals from now on, {len(made.payload)} keys open; restart every worker"
    )
