"""What a deployment chooses: one frozen model, read once from the environment.

Any variable may come as `NAME_FILE`, the path of a file that holds its value, as secrets are mounted.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, NamedTuple, Self, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from activities import accounts
from activities.discreet import PublicError
from activities.keyring import Keyring
from activities.variables import Bind, BuildId, Credential, EmailSender, Flag, Links, Origin, SmsSender
from workflows.policy.terms import Duration

PREFIX = "STANDBY_"

DATABASE_URL = "must read sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
"""What is said of a ledger's URL that is of no use, wherever that is found."""

_DATABASE = re.compile(r"(sqlite(\+aiosqlite)?|postgres|postgresql(\+psycopg)?)://.*", re.DOTALL)
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


def _database(value: object) -> object:
    """Refuse what is no database of ours; the store reads the rest of the URL, and knows the driver."""
    if isinstance(value, str) and not _DATABASE.fullmatch(value):
        raise ValueError(DATABASE_URL)
    return value


class Settings(BaseModel):
    """Each field is the variable `STANDBY_` + its name in capitals; those of an account follow its name."""

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
    build_id: BuildId | None = None
    """What this code is called, where workers are versioned: a notice stays with the code it began on."""
    email_from: EmailSender | None = None
    """The sender of email, unless the provider's own account says otherwise."""
    sms_from: SmsSender | None = None
    """The sender of texts: a number, a short code, a sender id, or the id of a pool of numbers."""
    public_url: Origin | None = None
    """Where providers reach `/callbacks/` of this deployment's receiver, and people its pages."""
    return_urls: Links = ()
    """How links may begin that a browser is sent on to after a verification."""
    api_key: Credential | None = None
    """What backends show to the receiver."""
    api_key_next: Credential | None = None
    """Shown instead while one key gives way to another."""
    keep_evidence: Duration | None = None
    """How long the ledger keeps the evidence of what has closed, where it is pruned."""
    ui_origin: Origin | None = None
    """Where the Temporal UI is: its pages may have payloads decoded by the receiver."""
    codec_key: Credential | None = None
    """What people show to the receiver to have payloads decoded."""
    metrics_address: Bind | None = None
    """Where a process offers its metrics to Prometheus."""
    share_suppressions: Flag = False
    """Whether what is suppressed here is also put on the lists that providers keep."""
    log: LogFormat = LogFormat.JSON
    log_level: LogLevel = LogLevel.INFO
    aws: accounts.Aws = accounts.Aws()
    aws_sms: accounts.AwsSms = accounts.AwsSms()
    courier: accounts.Courier = accounts.Courier()
    infrai: accounts.Infrai = accounts.Infrai()
    mailgun: accounts.Mailgun = accounts.Mailgun()
    plivo: accounts.Plivo = accounts.Plivo()
    postmark: accounts.Postmark = accounts.Postmark()
    resend: accounts.Resend = accounts.Resend()
    sandbox: accounts.Sandbox = accounts.Sandbox()
    sendgrid: accounts.SendGrid = accounts.SendGrid()
    ses: accounts.Ses = accounts.Ses()
    sns: accounts.Sns = accounts.Sns()
    telnyx: accounts.Telnyx = accounts.Telnyx()
    twilio: accounts.Twilio = accounts.Twilio()
    vonage: accounts.Vonage = accounts.Vonage()

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """Take all that is ours; raises SettingsError with a line for each mistake. Empty means unset."""
        given = {
            name.removeprefix(PREFIX): value
            for name, value in environ.items()
            if name.startswith(PREFIX) and value
        }
        values, problems = _gather(given, _FIELDS)
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


class _Field(NamedTuple):
    """Where the value of one variable belongs."""

    path: tuple[str, ...]
    is_credential: bool

    def kept_in(self, file: Path) -> str | Credential:
        """Read a value from a file; a credential remembers where it came from."""
        if self.is_credential:
            return Credential.kept_in(file)
        if not (text := file.read_text().strip()):
            raise ValueError("is empty: it must hold the value")
        return text


def _fields(model: type[BaseModel], *account: str) -> Iterator[tuple[str, _Field]]:
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, accounts.Account):
            yield from _fields(kind, name)
        else:
            path = (*account, name)
            yield "_".join(path), _Field(path, Credential in (kind, *get_args(kind)))


def _gather(given: Mapping[str, str], fields: Mapping[str, _Field]) -> tuple[dict[str, Any], list[str]]:
    """Return the values of fields, from variables and the files that variables name, and the mistakes."""
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, value in given.items():
        field = name.lower()
        of_file = field.removesuffix("_file")
        if field in fields:
            _place(values, fields[field].path, value)
        elif field != of_file and of_file in fields:
            if of_file.upper() in given:
                problems.append(
                    f"{PREFIX}{name}: cannot go with {PREFIX}{of_file.upper()}; unset one of them"
                )
                continue
            try:
                _place(values, fields[of_file].path, fields[of_file].kept_in(Path(value)))
            except (OSError, UnicodeDecodeError):
                problems.append(f"{PREFIX}{name}: the file it names cannot be read")
            except ValueError as error:
                problems.append(f"{PREFIX}{name}: the file it names {error}")
        elif name not in _ELSEWHERE and not _INJECTED.fullmatch(name):
            problems.append(_unknown(name, frozenset(fields)))
    return values, problems


def _place(values: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    *account, field = path
    for each in account:
        values = values.setdefault(each, {})
    values[field] = value


def _unknown(name: str, fields: frozenset[str]) -> str:
    close = get_close_matches(name, [field.upper() for field in fields], n=1)
    meant = f"did you mean {PREFIX}{close[0]}?" if close else "unset it"
    return f"{PREFIX}{name}: is not a setting; {meant}"


def _line(location: tuple[int | str, ...], message: str) -> str:
    words = message.removeprefix("Value error, ").replace("Input should be", "must be")
    name = "_".join(str(each) for each in location).upper()
    return f"{PREFIX}{name}: {words[0].lower()}{words[1:]}"


_FIELDS: Final[Mapping[str, _Field]] = MappingProxyType(dict(_fields(Settings)))
