from pathlib import Path

import pytest

from console.surroundings import environment, leave

DEV = {"STANDBY_KEY_FILE": "dev.toml", "TEMPORAL_ADDRESS": "127.0.0.1:1"}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    leave(tmp_path, DEV)
    return tmp_path


def test_a_command_finds_the_development_deployment_of_its_folder(home: Path) -> None:
    assert environment({"PATH": "/bin"}, home) == {"PATH": "/bin", **DEV}


def test_a_folder_without_one_leaves_the_environment_as_it_is(tmp_path: Path) -> None:
    assert environment({"PATH": "/bin"}, tmp_path) == {"PATH": "/bin"}


@pytest.mark.parametrize(
    "name",
    [
        "STANDBY_DATABASE_URL",
        "STANDBY_DATABASE_URL_FILE",
        "STANDBY_KEY_FILE",
        "STANDBY_PLAINTEXT",
        "STANDBY_TASK_QUEUE",
        "TEMPORAL_ADDRESS",
        "TEMPORAL_PROFILE",
    ],
)
def test_an_environment_that_names_a_deployment_is_never_mixed_with_the_development_one(
    home: Path, name: str
) -> None:
    assert environment({name: "another"}, home) == {name: "another"}


@pytest.mark.parametrize("name", ["STANDBY_NOTICES", "STANDBY_LOG", "STANDBY_TEST_POSTGRES_URL"])
def test_a_variable_that_names_no_deployment_hides_none(home: Path, name: str) -> None:
    assert environment({name: "x"}, home) == {name: "x", **DEV}
