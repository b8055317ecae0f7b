"""The deployment that a command works on, and how it is reached."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Self

from temporalio.client import Client, Plugin
from temporalio.runtime import Runtime

from activities.connect import PATIENCE, connect
from activities.logs import configure
from activities.settings import LogFormat, LogLevel, Settings, keyring
from activities.tracing import CARRYING
from console.surroundings import environment, passed_over

PASSED_OVER: Final[ContextVar[str | None]] = ContextVar("PASSED_OVER", default=None)
"""Why the command at work is not on this folder's development deployment, if it could have been meant."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """One engine and one ledger, as the environment names them."""

    settings: Settings
    environ: Mapping[str, str]

    @classmethod
    def here(cls) -> Self:
        """Read the environment; raises SettingsError. Called by a command before its event loop starts."""
        PASSED_OVER.set(passed_over())
        # What the SDK and the drivers have to say is no part of a command's answer.
        configure(LogFormat.TEXT, LogLevel.ERROR)
        environ = environment()
        return cls(Settings.read(environ), environ)

    async def engine(
        self,
        patience: timedelta = PATIENCE,
        *,
        plugins: Sequence[Plugin] = (CARRYING,),
        sdk: Runtime | None = None,
    ) -> Client:
        """Connect; raises EngineUnreachableError, or SettingsError or KeyringError where no keys are."""
        ring = keyring(self.settings)
        return await connect(ring, environ=self.environ, patience=patience, plugins=plugins, sdk=sdk)

    @property
    def database(self) -> str:
        """The ledger's URL, which may hold a password."""
        return self.settings.database_url.get_secret_value()
