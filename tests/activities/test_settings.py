from pathlib import Path

import pytest
from pydantic import SecretStr

from activities.accounts import Sandbox
from activities.keyring import Keyring, KeyringError
from activities.settings import LogFormat, LogLevel, Settings, SettingsError, keyring
from activities.variables import Credential


def test_an_empty_environment_gives_the_development_defaults() -> None:
    read = Settings.read({})
    assert read.database_url.get_secret_value() == "sqlite:///standby.db"
    assert (read.email, read.sms, read.task_queue) == ("sandbox", "sandbox", "standby")
    assert read.notices == Path("notices")
    assert read.sandbox.url == "http://127.0.0.1:8025"
    assert read.sandbox.honours_keys
    assert not read.plaintext
    assert (read.log, read.log_level) == (LogFormat.JSON, LogLevel.INFO)


def test_every_variable_is_read() -> None:
    read = Settings.read(
        {
            "STANDBY_DATABASE_URL": "postgresql+psycopg://standby@db/standby",
            "STANDBY_KEY_FILE": "/keys/standby.key",
            "STANDBY_PLAINTEXT": "0",
            "STANDBY_NOTICES": "/app/notices",
            "STANDBY_EMAIL": "smtp",
            "STANDBY_SMS": "other",
            "STANDBY_TASK_QUEUE": "blue",
            "STANDBY_SANDBOX_URL": "http://sandbox:8025/",
            "STANDBY_SANDBOX_SECRET": "s",
            "STANDBY_SANDBOX_HONOURS_KEYS": "0",
            "STANDBY_PUBLIC_URL": "https://verify.example/",
            "STANDBY_RETURN_URLS": "https://shop.example/welcome, http://localhost:3000",
            "STANDBY_API_KEY": "key-1",
            "STANDBY_API_KEY_NEXT": "key-2",
            "STANDBY_LOG": "text",
            "STANDBY_LOG_LEVEL": "debug",
            "PATH": "/bin",
        }
    )
    assert read == Settings(
        database_url=SecretStr("postgresql+psycopg://standby@db/standby"),
        key_file=Path("/keys/standby.key"),
        notices=Path("/app/notices"),
        email="smtp",
        sms="other",
        task_queue="blue",
        sandbox=Sandbox(url="http://sandbox:8025", secret=Credential("s"), honours_keys=False),
        public_url="https://verify.example",
        return_urls=("https://shop.example/welcome", "http://localhost:3000"),
        api_key=Credential("key-1"),
        api_key_next=Credential("key-2"),
        log=LogFormat.TEXT,
        log_level=LogLevel.DEBUG,
    )


@pytest.mark.parametrize(
    "given",
    [
        "postgres://db/x",
        "postgresql://db/x",
        "postgresql+psycopg://db/x",
        "sqlite:///x.db",
        "sqlite+aiosqlite:///x.db",
    ],
)
def test_every_usual_name_of_a_database_is_taken(given: str) -> None:
    assert Settings.read({"STANDBY_DATABASE_URL": given}).database_url.get_secret_value() == given


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({"STANDBY_KEYFILE": "k"}, "STANDBY_KEYFILE: is not a setting; did you mean STANDBY_KEY_FILE?"),
        ({"STANDBY_XYZZY": "k"}, "STANDBY_XYZZY: is not a setting; unset it"),
        ({"STANDBY_PLAINTEXT": "perhaps"}, "STANDBY_PLAINTEXT: must be 1 or 0"),
        ({"STANDBY_LOG": "xml"}, "STANDBY_LOG: must be 'json' or 'text'"),
        (
            {"STANDBY_SANDBOX_URL": "sandbox"},
            "STANDBY_SANDBOX_URL: must be like http://127.0.0.1:8025, without a path",
        ),
        (
            {"STANDBY_DATABASE_URL": "mysql://anna:hunter2@db/x"},
            "STANDBY_DATABASE_URL: must read sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME",
        ),
        (
            {"STANDBY_API_KEY_FILE": "/nowhere"},
            "STANDBY_API_KEY_FILE: the file it names cannot be read",
        ),
        (
            {"STANDBY_API_KEY": "hunter2 hunter2"},
            "STANDBY_API_KEY: must be one word of printable ASCII",
        ),
        (
            {"STANDBY_API_KEY_NEXT_FILE": "/nowhere", "STANDBY_API_KEY_NEXT": "hunter2"},
            "STANDBY_API_KEY_NEXT_FILE: cannot go with STANDBY_API_KEY_NEXT; unset one of them",
        ),
        (
            {"STANDBY_SANDBOX_SECRET_FILE": "/nowhere"},
            "STANDBY_SANDBOX_SECRET_FILE: the file it names cannot be read",
        ),
        (
            {"STANDBY_SANDBOX_SECRET_FILE": "/nowhere", "STANDBY_SANDBOX_SECRET": "hunter2"},
            "STANDBY_SANDBOX_SECRET_FILE: cannot go with STANDBY_SANDBOX_SECRET; unset one of them",
        ),
    ],
)
def test_a_mistake_is_one_line_that_names_the_variable(environ: dict[str, str], says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.read(environ)
    assert str(caught.value) == says


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.read({"STANDBY_LOG": "xml", "STANDBY_PLAINTEXT": "2", "STANDBY_SMTP": "x"})
    assert [line.partition(":")[0] for line in str(caught.value).splitlines()] == [
        "STANDBY_LOG",
        "STANDBY_PLAINTEXT",
        "STANDBY_SMTP",
    ]


def test_a_secret_may_come_as_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("hunter2\n")
    assert Settings.read({"STANDBY_SANDBOX_SECRET_FILE": str(file)}).sandbox.secret.reveal() == "hunter2"
    key = Settings.read({"STANDBY_API_KEY_FILE": str(file)}).api_key
    assert key is not None
    assert key.reveal() == "hunter2"


def test_an_empty_variable_is_unset() -> None:
    """Compose files pass variables that nobody has set as empty ones."""
    assert Settings.read({"STANDBY_KEY_FILE": "", "STANDBY_LOG": ""}) == Settings.read({})


def test_variables_that_kubernetes_adds_for_a_service_named_standby_are_no_mistakes() -> None:
    injected = (
        "SERVICE_HOST",
        "SERVICE_PORT",
        "SERVICE_PORT_HTTP",
        "PORT",
        "PORT_80_TCP",
        "PORT_80_TCP_ADDR",
    )
    environ = {f"STANDBY_{each}": "x" for each in injected} | {"STANDBY_WORKER_SERVICE_HOST": "x"}
    assert Settings.read(environ) == Settings.read({})


def test_no_secret_is_in_a_repr() -> None:
    read = Settings.read(
        {
            "STANDBY_DATABASE_URL": "postgresql://anna:hunter2@db/x",
            "STANDBY_SANDBOX_SECRET": "hunter2",
            "STANDBY_API_KEY": "hunter2",
            "STANDBY_API_KEY_NEXT": "hunter2",
        }
    )
    assert "hunter2" not in f"{read!r} {read}"


def test_without_a_key_file_it_refuses_and_says_what_to_do() -> None:
    with pytest.raises(SettingsError, match=r"standby key new FILE .*STANDBY_PLAINTEXT=1") as caught:
        keyring(Settings.read({}))
    assert "\n" not in str(caught.value)


def test_plaintext_has_to_be_asked_for() -> None:
    assert keyring(Settings.read({"STANDBY_PLAINTEXT": "1"})) == Keyring.plaintext()


def test_a_key_file_is_loaded(tmp_path: Path) -> None:
    made = Keyring.create(tmp_path / "k")
    assert keyring(Settings.read({"STANDBY_KEY_FILE": str(tmp_path / "k")})) == made


def test_a_key_file_that_is_missing_is_an_error_even_in_development(tmp_path: Path) -> None:
    with pytest.raises(KeyringError, match="does not exist"):
        keyring(Settings.read({"STANDBY_KEY_FILE": str(tmp_path / "k")}))


def test_a_key_file_and_plaintext_contradict_each_other() -> None:
    with pytest.raises(SettingsError, match="unset one of them"):
        keyring(Settings.read({"STANDBY_KEY_FILE": "k", "STANDBY_PLAINTEXT": "1"}))
