"""The way to the engine, for workers and commands alike, and the way out of the process."""

import asyncio
import logging
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Final, NoReturn

from temporalio.client import Client, HeaderCodecBehavior, Plugin
from temporalio.envconfig import ClientConfig, ClientConnectConfig
from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter

from activities.converter import data_converter
from activities.discreet import PublicError
from activities.exporting import exporter, refused, telemetry
from activities.keyring import Keyring
from activities.settings import Settings
from activities.tracing import CARRYING, close

PATIENCE: Final = timedelta(seconds=10)
"""Longer than a healthy engine ever takes, shorter than a person waits."""


_ADDRESS: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s\[\]:/?#@]+)(:\d{1,5})?")
"""Anything else the SDK would take apart, or tell of, in lines of its own."""


class EngineUnreachableError(PublicError):
    """No engine answers; one line that names the address and says what to do."""


async def connect(
    keyring: Keyring,
    *,
    plugins: Sequence[Plugin] = (CARRYING,),
    environ: Mapping[str, str] | None = None,
    patience: timedelta = PATIENCE,
    sdk: Runtime | None = None,
) -> Client:
    """Connect by the Temporal profile of the environment (`TEMPORAL_ADDRESS`, `TEMPORAL_NAMESPACE`, ...).

    Raises EngineUnreachableError; nothing is retried, whoever starts the process decides that. `sdk` measures
    what the client does, where it is given.
    """
    profile = _profile(environ)
    address = profile.setdefault("target_host", "localhost:7233")
    if not _ADDRESS.fullmatch(address) or not address.isprintable():
        raise EngineUnreachableError(
            "TEMPORAL_ADDRESS: is not an address: it must be like 127.0.0.1:7233, without http://"
        )
    try:
        async with asyncio.timeout(patience.total_seconds()):
            return await Client.connect(
                **profile,
                data_converter=data_converter(keyring),
                plugins=plugins,
                connect_timeout=patience,
                # Headers carry trace context, with whatever baggage the caller's tracing has put into it.
                header_codec_behavior=HeaderCodecBehavior.CODEC,
                runtime=sdk or runtime(),
            )
    except (RuntimeError, TimeoutError, ValueError) as error:
        raise EngineUnreachableError(
            f"no Temporal engine at {address} ({_reason(error)}):"
            " start one with `standby dev`, or set TEMPORAL_ADDRESS"
        ) from None


@cache
def runtime() -> Runtime:
    """Return this process's SDK runtime, whose log lines go to Python's logging and never to stdout."""
    return _made(TelemetryConfig())


def measured(settings: Settings, environ: Mapping[str, str]) -> Runtime:
    """Return the runtime of a process that serves: its metrics leave as the settings or OTEL_* say.

    Call it once in a process: an address can be listened on once. Raises MetricsError.
    """
    exported = exporter(settings.metrics_address, environ)
    if exported is None:
        return runtime()
    try:
        return _made(telemetry(exported, environ))
    except ValueError as error:
        raise refused(exported, error) from None


def _made(config: TelemetryConfig) -> Runtime:
    forwarding = LogForwardingConfig(logging.getLogger("temporalio.core"), append_target_to_name=False)
    logs = LoggingConfig(TelemetryFilter(core_level="WARN", other_level="ERROR"), forwarding=forwarding)
    made = Runtime(telemetry=replace(config, logging=logs))
    Runtime.set_default(made, error_if_already_set=False)
    return made


def finish(code: int) -> NoReturn:
    """Leave the process with this code, whatever the SDK's threads are doing.

    An ordinary exit aborts in 2-10 runs of a hundred (sdk-python issue 300), and the code is lost. Close what
    must be closed before: no `finally` and no `atexit` runs after this.
    """
    close()
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _profile(environ: Mapping[str, str] | None) -> ClientConnectConfig:
    """Read address, namespace, TLS and key; raises EngineUnreachableError where it cannot."""
    try:
        return ClientConfig.load_client_connect_config(
            override_env_vars=None if environ is None else dict(environ)
        )
    except (RuntimeError, ValueError, OSError) as error:
        first = str(error).partition("\n")[0]
        raise EngineUnreachableError(
            f"Temporal profile: {first}; see TEMPORAL_PROFILE, TEMPORAL_CONFIG_FILE"
        ) from None


def _reason(error: Exception) -> str:
    """Sort the SDK's texts, which run over several lines and repeat headers."""
    text = str(error).lower()
    for sign, reason in _REASONS.items():
        if sign in text:
            return reason
    return "no answer in time" if isinstance(error, TimeoutError) else "it does not answer as Temporal does"


_REASONS: Final = {
    "refused": "connection refused",
    "dns error": "unknown host",
    "invalid target url": "not an address",
    "unauthenticated": "it does not accept the API key or certificate",
    "permissiondenied": "it does not accept the API key or certificate",
    "certificate": "TLS failed",
    "tls": "TLS failed",
    "timed out": "no answer in time",
    "deadline": "no answer in time",
}
