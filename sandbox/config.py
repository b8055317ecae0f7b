"""How the sandbox behaves: one frozen value, from the caller or from the environment."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

PREFIX = "STANDBY_SANDBOX_"
DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = "8025"
_TRUTHS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_LAST_PORT = 65_535
_SCALE = re.compile(r"\d+(\.\d+)?")


def now() -> datetime:
    """Read the host's clock (UTC)."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Config:
    """The manner, the secret and the clock of one sandbox."""

    honours_keys: bool = True
    """Repeat the first answer for a repeated key, and find messages by key; or do neither."""
    secret: str = field(default="sandbox", repr=False)
    """Signs callbacks."""
    callback_url: str | None = None
    duplicate_callbacks: bool = False
    """Deliver every event twice."""
    scale: float = 1.0
    """Multiplies every duration of `sandbox.fates`."""
    bound: int = 10_000
    """Messages and submissions kept in memory; the oldest go first."""
    clock: Callable[[], datetime] = field(default=now, repr=False)

    def scaled(self, duration: timedelta) -> timedelta:
        """Return a duration as long as it is here."""
        return duration * self.scale


def from_environment(environment: Mapping[str, str]) -> Config:
    """Read `STANDBY_SANDBOX_*`; raises ValueError with one line that names the variable."""
    given = _given(environment)
    return Config(
        honours_keys=_truth(given, "HONOURS_KEYS", default=True),
        secret=given.get("SECRET", "sandbox"),
        callback_url=given.get("CALLBACK_URL"),
        duplicate_callbacks=_truth(given, "DUPLICATE_CALLBACKS", default=False),
        scale=_scale(given.get("SCALE", "1")),
    )


def listening(environment: Mapping[str, str]) -> tuple[str, int]:
    """Read where to listen; raises ValueError with one line that names the variable."""
    given = _given(environment)
    port = given.get("PORT", DEFAULT_PORT)
    if port.startswith("tcp://"):  # Kubernetes sets this for a service that is called standby-sandbox
        port = DEFAULT_PORT
    if not port.isdecimal() or int(port) > _LAST_PORT:
        raise ValueError(f"{PREFIX}PORT must be a number from 0 to {_LAST_PORT}")
    return given.get("HOST", DEFAULT_HOST), int(port)


def _given(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(PREFIX): value
        for name, value in environment.items()
        if name.startswith(PREFIX) and value
    }


def _truth(given: Mapping[str, str], name: str, *, default: bool) -> bool:
    value = given.get(name)
    if value is None:
        return default
    if value.lower() not in _TRUTHS:
        raise ValueError(f"{PREFIX}{name} must be true or false")
    return _TRUTHS[value.lower()]


def _scale(value: str) -> float:
    if not _SCALE.fullmatch(value):
        raise ValueError(f'{PREFIX}SCALE must be a number such as "1" or "0.05"')
    return float(value)
