"""What a deployment chooses: one frozen model, read once from the environment.

Any variable may come as `NAME_FILE`, the path of a file that holds its value, as secrets are mounted.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from activities.discreet import PublicError
from activities.keyring import Keyring

PREFIX = "STANDBY_"

DATABASE_URL = "must read sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
"""What is said of a ledger's URL that is of no use, wherever that is found."""

_DATABASE = re.compile(r"(sqlite(\+aiosqlite)?|postgres|postgresql(\+psycopg)?)://.*", re.DOTALL)
_FLAGS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}

_ORIGIN = re.compile(r"https?://[^\s/?#@]+/?")

_ELSEWHERE = frozenset(
    {
        "SANDBOX_CALLBACK_URL",
        "SANDBOX_DUPLICATE_CALLBACKS",
        "SANDBOX_HOST",
        "SANDBOX_SCALE",
        "TEMPORAL_BIN",
    }
)
"""Read by the sandbox provider's server and by the development server."""

_INJECTED = re.compile(r"TEST_.*|(.*_)?(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_\d+_(TCP|UDP|SCTP).*)?)")
"""Tests' own, and those that Kubernetes adds to every pod beside a service whose name begins with standby."""


class SettingsError(PublicError):
    """Variables that cannot be used: one line each, naming the variable and never its value."""


class LogFormat(StrEnum):
    """How log lines are written."""

    JSON = "json"
    TEXT = "text"


class LogLevel(StrEnum):
    """The least important line that is written."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


def _flag(value: object) -> object:
    if isinstance(value, str):
        if value.lower() not in _FLAGS:
            raise ValueError("must be 1 or 0")
        return _FLAGS[value.lower()]
    return value


def _database(value: object) -> object:
    """Refuse what is no database of ours; the store reads the rest of the URL, and knows the driver."""
    if isinstance(value, str) and not _DATABASE.fullmatch(value):
        raise ValueError(DATABASE_URL)
    return value


def _origin(value: str) -> str:
    if not _ORIGIN.fullmatch(value):
        raise ValueError("must be like http://127.0.0.1:8025, without a path")
    return value.rstrip("/")


Flag = Annotated[bool, BeforeValidator(_flag)]


class Settings(BaseModel):
    """Each field is the variable `STANDBY_` + its name in capitals."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    database_url: Annotated[SecretStr, BeforeValidator(_database)] = SecretStr("sqlite:///standby.db")
    """The ledger; secret because it may hold a password."""
    key_file: Path | None = None
    plaintext: Flag = False
    """Seal nothing: for development only."""
    notices: Path = Path("notices")
    email: str = Field(default="sandbox", min_length=1)
    """The provider of email, by name."""
    sms: str = Field(default="sandbox", min_length=1)
    task_queue: str = Field(default="standby", min_length=1)
    sandbox_url: Annotated[str, AfterValidator(_origin)] = "http://127.0.0.1:8025"
    sandbox_secret: SecretStr = SecretStr("sandbox")
    """Signs callbacks of the sandbox provider."""
    sandbox_honours_keys: Flag = True
    log: LogFormat = LogFormat.JSON
    log_level: LogLevel = LogLevel.INFO

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """Take all that is ours; raises SettingsError with a line for each mistake. Empty means unset."""
        given = {
            name.removeprefix(PREFIX): value
            for name, value in environ.items()
            if name.startswith(PREFIX) and value
        }
        values, problems = _gather(given, frozenset(cls.model_fields))
        try:
            read = cls(**values)
        except ValidationError as error:
            invalid = [_line(each["loc"], each["msg"]) for each in error.errors()]
            raise SettingsError("\n".join(sorted(problems + invalid))) from None
        if problems:
            raise SettingsError("\n".join(sorted(problems)))
        return read


def keyring(settings: Settings) -> Keyring:
    """Load the keys; raises SettingsError where none are given, KeyringError where they cannot be used."""
    match settings.key_file, settings.plaintext:
        case Path() as file, False:
            return Keyring.load(file)
        case None, True:
            return Keyring.plaintext()
        case None, _:
            raise SettingsError(
                "STANDBY_KEY_FILE: is not set; make a key with: standby key new FILE"
                " (or, for development only, set STANDBY_PLAINTEXT=1)"
            )
        case _:
            raise SettingsError("STANDBY_PLAINTEXT: cannot go with STANDBY_KEY_FILE; unset one of them")


def _gather(given: Mapping[str, str], fields: frozenset[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the fields' texts, from variables and from the files that variables name, and the mistakes."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in given.items():
        field = name.lower()
        of_file = field.removesuffix("_file")
        if field in fields:
            values[field] = value
        elif field != of_file and of_file in fields:
            if of_file.upper() in given:
                problems.append(
                    f"{PREFIX}{name}: cannot go with {PREFIX}{of_file.upper()}; unset one of them"
                )
                continue
            try:
                values[of_file] = Path(value).read_text().strip()
            except (OSError, UnicodeDecodeError):
                problems.append(f"{PREFIX}{name}: the file it names cannot be read")
        elif name not in _ELSEWHERE and not _INJECTED.fullmatch(name):
            problems.append(_unknown(name, fields))
    return values, problems


def _unknown(name: str, fields: frozenset[str]) -> str:
    close = get_close_matches(name, [field.upper() for field in fields], n=1)
    meant = f"did you mean {PREFIX}{close[0]}?" if close else "unset it"
    return f"{PREFIX}{name}: is not a setting; {meant}"


def _line(location: tuple[int | str, ...], message: str) -> str:
    words = message.removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{PREFIX}{str(location[0]).upper()}: {words[0].lower()}{words[1:]}"
