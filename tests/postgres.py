"""A real PostgreSQL for tests: the one that is named, else a throw-away one from this machine's binaries."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

NAMED = "STANDBY_TEST_POSTGRES_URL"
"""A server where the user may create databases."""

REQUIRED = "STANDBY_TEST_REQUIRE_POSTGRES"
"""Set to 1 where a missing server must fail the tests instead of skipping them."""

PASSWORD = "only-for-tests"
"""The throw-away server asks for one, so that tests can look for it where it must not be."""

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "shared_buffers": "16MB",
}


class NoPostgresError(Exception):
    """There is no server, and no binary to start one with."""


@contextmanager
def server(environ: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Yield the URL of a server's `postgres` database; raises NoPostgresError."""
    if environ.get(NAMED):
        yield environ[NAMED]
        return
    binaries = _binaries()
    with _folder() as folder:
        _run(folder, binaries / "initdb", *_init(folder))
        port = _free_port()
        options = " ".join(f"-c {name}={value}" for name, value in _SETTINGS.items())
        options += f" -p {port} -k {folder}"
        log = folder / "log"
        _run(folder, binaries / "pg_ctl", "start", "-w", "-D", folder / "data", "-l", log, "-o", options)
        try:
            yield f"postgresql://standby:{PASSWORD}@127.0.0.1:{port}/postgres"
        finally:
            _run(folder, binaries / "pg_ctl", "stop", "-m", "immediate", "-D", folder / "data")


def _binaries() -> Path:
    """Return the folder of the newest server: Debian keeps it off the path."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    if debian:
        return debian[-1]
    found = shutil.which("pg_ctl")
    if found is None:
        raise NoPostgresError(f"no PostgreSQL here: install its server package, or set {NAMED}")
    return Path(found).resolve().parent


@contextmanager
def _folder() -> Iterator[Path]:
    """Yield a folder of the user that the server will run as."""
    folder = Path(tempfile.mkdtemp(prefix="standby-postgres-"))
    try:
        user = _user()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _user() -> pwd.struct_passwd | None:
    """Return who to run as: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    known = {each.pw_name: each for each in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


def _run(folder: Path, *command: str | Path) -> None:
    user = _user()
    done = subprocess.run(  # noqa: S603 - binaries of this machine, arguments of this file
        command,
        cwd=folder,
        user=user and user.pw_uid,
        group=user and user.pw_gid,
        extra_groups=[] if user else None,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{Path(command[0]).name} failed: {done.stderr.strip()}")


def _init(folder: Path) -> tuple[str | Path, ...]:
    secret = folder / "password"
    secret.write_text(PASSWORD)
    secret.chmod(0o644)
    return (
        "-D",
        folder / "data",
        "--username=standby",
        "--auth=scram-sha-256",
        f"--pwfile={secret}",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync",
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
