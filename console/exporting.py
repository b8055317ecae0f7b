"""`standby export` and `standby verify-export`: evidence for an auditor, and whether it is what it says."""

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError

from activities.discreet import PublicError
from activities.keyring import Keyring
from activities.settings import keyring
from activities.signing import Checker, Signer, SigningError
from client import runs
from client.explaining import explain, open_records
from client.exporting import (
    DEVELOPMENT,
    EngineWord,
    Export,
    Opened,
    recomputed,
    sealed,
    signed_by,
    version,
)
from console.deployment import Deployment
from console.exits import Exit, Stop, ending
from console.explaining import checked

Key = Annotated[str | None, typer.Argument(metavar="KEY", help="The notice key, kind:event:recipient.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="What was exported.")]

_PRIVATE: Final = 0o600


def export(
    key: Key = None,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a new file instead of stdout.")
    ] = None,
    public_key: Annotated[
        bool, typer.Option("--public-key", help="Print the key that checks, in PEM, and nothing else.")
    ] = False,
    key_id: Annotated[
        str | None, typer.Option("--key-id", metavar="ID", help="With --public-key: of an older key.")
    ] = None,
) -> None:
    """Write all that is on record about a notice as one signed JSON document; it holds no personal data.

    It works for what is open, closed, and long forgotten by the engine. Give the public key to whoever is to
    check it.

    Example: standby export password_reset:sample-reset-1:user-1001 --out evidence.json
    """
    deployment = Deployment.here()
    keys = keyring(deployment.settings)
    if public_key:
        typer.echo(_signer(keys, key_id).public.pem, nl=False)
        return
    if key is None:
        raise Stop(Exit.BAD_INPUT, "KEY: is missing: the notice key, or ask for the --public-key")
    signer = Signer.current(keys)
    text = sealed(asyncio.run(_export(deployment, checked(key), signer)), signer)
    if out is None:
        typer.echo(text, nl=False)
    else:
        _write(out, text)
        typer.echo(f"{out}: written, signed with {signer.key_id or 'the development key'}")


def verify_export(
    file: File,
    *,
    public_key: Annotated[
        Path | None,
        typer.Option("--public-key", metavar="FILE", help="Check by this key, and not by the key file."),
    ] = None,
) -> None:
    """Check that an export is as it was signed; exit code 0 if it is, 1 with the reason if not.

    With the public key, nothing else of the deployment is needed.

    Example: standby verify-export evidence.json --public-key standby.pem
    """
    try:
        opened = Opened.read(_read(file))
        opened.prove(_checker(opened, public_key))
    except SigningError as error:
        raise Stop(Exit.FAILED, f"{file}: {error}") from None
    if opened.key_id is None:
        typer.echo(f"note: {DEVELOPMENT}", err=True)
    told = opened.told
    typer.echo(f"{file}: {told.key} as it was exported at {told.exported_at:%Y-%m-%d %H:%M:%SZ}")


async def _export(deployment: Deployment, key: str, signer: Signer) -> Export:
    async with open_records(deployment.settings) as records:
        record, schema = await records.of(key), await records.schema()
    word = await _engine(deployment, key)
    if record is None and word.state != "closed":
        raise Stop(Exit.BAD_INPUT, f"{key}: is not in the ledger; what the engine knows: standby show {key}")
    return Export(
        key=key,
        exported_at=datetime.now(UTC),
        standby=version(),
        ledger_schema=schema,
        signed_by=signed_by(signer),
        record=record,
        engine=word,
        recomputed=recomputed(explain(record, deployment.settings) if record else None),
    )


async def _engine(deployment: Deployment, key: str) -> EngineWord:
    """Ask the engine; the record is worth exporting without it."""
    try:
        return EngineWord.of(await runs.look(await deployment.engine(runs.PATIENCE), key))
    except (PublicError, RPCError, ApplicationError) as error:
        typer.echo(f"note: the engine's word is not in it: {ending(error).lines[0]}", err=True)
        return EngineWord(state="not asked")


def _signer(keys: Keyring, key_id: str | None) -> Signer:
    try:
        return Signer.current(keys) if key_id is None else Signer.of(keys, key_id)
    except SigningError as error:
        raise Stop(Exit.BAD_INPUT, f"--key-id: {error}") from None


def _checker(opened: Opened, public_key: Path | None) -> Checker:
    """Return the key to check by: the one that is given, else the deployment's own of that id."""
    if public_key is None:
        return Signer.of(keyring(Deployment.here().settings), opened.key_id).public
    try:
        return Checker.read(_read(public_key))
    except SigningError as error:
        raise Stop(Exit.BAD_INPUT, f"{public_key}: {error}") from None


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise Stop(Exit.BAD_INPUT, f"{file}: cannot be read: {error.strerror}") from None


def _write(file: Path, text: bytes) -> None:
    """Write a file that is not there yet: evidence is not overwritten."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE), "wb") as made:
            made.write(text)
    except OSError as error:
        raise Stop(Exit.BAD_INPUT, f"{file}: cannot be written: {error.strerror}") from None
