from collections.abc import Iterator
from pathlib import Path

import pytest

from console.surroundings import environment, left, passed_over

DEV = {"STANDBY_KEY_FILE": "dev.toml", "TEMPORAL_ADDRESS": "127.0.0.1:1"}


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    with left(tmp_path, DEV):
        yield tmp_path


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


@pytest.mark.parametrize("name", DEV)
def test_an_empty_variable_is_an_unset_one(home: Path, name: str) -> None:
    assert environment({name: "", "PATH": "/bin"}, home) == {"PATH": "/bin", **DEV}


def test_word_of_a_deployment_ends_with_it_unless_it_is_anothers_by_now(tmp_path: Path) -> None:
    with left(tmp_path, DEV):
        pass
    assert environment({}, tmp_path) == {}
    with left(tmp_path, DEV):
        (tmp_path / "env").write_text("TEMPORAL_ADDRESS=another\n")
    assert environment({}, tmp_path) == {"TEMPORAL_ADDRESS": "another"}


def test_a_development_deployment_that_was_passed_over_is_told_with_what_names_the_other(home: Path) -> None:
    assert passed_over({"PATH": "/bin"}, home) is None
    told = passed_over({"TEMPORAL_ADDRESS": "other", "STANDBY_KEY_FILE": ""}, home)
    assert told == f"{home / 'env'} was not used: the environment names a deployment by TEMPORAL_ADDRESS"


def test_a_development_deployment_that_no_longer_runs_is_told(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    assert "no `standby dev` runs in this folder" in (passed_over({}, tmp_path / "home") or "")
    assert passed_over({"TEMPORAL_ADDRESS": "other"}, tmp_path / "home") is None
    assert passed_over({}, tmp_path / "nowhere") is None
