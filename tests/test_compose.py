"""`docker-compose.yml` is what the Compose Specification allows, and what this project means by safe.

There is no engine here to run it: what its services run is held to commands that exist.
"""

import json
import os
import re
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are not worth a dependency for one call

from activities.hosting import FINISH_SENDS
from console.app import app
from console.receiving import PORT
from receiver.edge import ALIVE
from receiver.serving import FINISH

ROOT = Path(__file__).parent.parent
COMPOSE = ROOT / "docker-compose.yml"
STACK: dict[str, Any] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = STACK["services"]
OURS = {name: each for name, each in SERVICES.items() if "build" in each}

_PINNED = re.compile(r"[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?([.-][a-z0-9.-]+)?")
_SECRET_NAME = re.compile(r"PASSWORD|PWD|SECRET|KEY|TOKEN|DATABASE_URL")


def test_it_is_what_the_compose_specification_allows() -> None:
    schema = json.loads((ROOT / "tests/data/compose_spec/schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator.check_schema(schema)
    problems = jsonschema.Draft7Validator(schema).iter_errors(STACK)
    assert not [f"{each.json_path}: {each.message}" for each in problems]


def test_docker_compose_itself_accepts_it() -> None:
    command = shutil.which("docker-compose")
    if command is None:
        assert "STANDBY_TEST_REQUIRE_COMPOSE" not in os.environ, (
            "docker-compose is required here and not installed"
        )
        pytest.skip("docker-compose is not installed")
    read = subprocess.run(  # noqa: S603  # a fixed command
        [command, "--file", str(COMPOSE), "config", "--quiet"],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )
    assert (read.returncode, read.stderr) == (0, "")


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_is_pinned(name: str) -> None:
    assert _PINNED.fullmatch(SERVICES[name]["image"])


@pytest.mark.parametrize("name", SERVICES)
def test_every_published_port_is_for_this_machine_alone(name: str) -> None:
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


@pytest.mark.parametrize("name", SERVICES)
def test_no_secret_stands_in_the_file(name: str) -> None:
    given = SERVICES[name].get("environment", {})
    secret = {variable: value for variable, value in given.items() if _SECRET_NAME.search(variable)}
    mounted = {f"/run/secrets/{each}" for each in SERVICES[name].get("secrets", [])}
    assert set(secret.values()) <= mounted
    assert all(variable.endswith("_FILE") for variable in secret)


@pytest.mark.parametrize("name", SERVICES)
def test_whoever_waits_for_a_healthy_service_waits_for_one_that_says_so(name: str) -> None:
    for awaited, condition in SERVICES[name].get("depends_on", {}).items():
        if condition["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[awaited]
        else:
            assert SERVICES[awaited]["restart"] == "on-failure", "a job that ends must not start again"


@pytest.mark.parametrize("name", OURS)
def test_what_is_ours_runs_a_command_that_exists(name: str) -> None:
    words = " ".join(OURS[name]["command"])
    match re.search(r"\b(standby|python)( -m)? (\S+)( --\S+ \S+)*$", words):
        case re.Match() as found if found[1] == "standby":
            assert found[3] in {each.callback.__name__ for each in app.registered_commands if each.callback}
        case re.Match() as found if found[2]:
            assert (ROOT / found[3] / "__main__.py").exists()
        case re.Match() as found:
            assert (ROOT / found[3]).exists()
        case None:
            pytest.fail(f"{words} is no command of this project")


@pytest.mark.parametrize("name", OURS)
def test_what_is_ours_runs_without_privileges_on_a_file_system_that_nobody_can_change(name: str) -> None:
    ours = OURS[name]
    assert ours["read_only"] is True
    assert ours["cap_drop"] == ["ALL"]
    assert ours["security_opt"] == ["no-new-privileges:true"]
    assert not ours["user"].startswith(("0", "root"))


def test_a_worker_is_given_the_time_to_finish_its_sends() -> None:
    given = re.fullmatch(r"(\d+)s", SERVICES["worker"]["stop_grace_period"])
    assert given is not None
    assert timedelta(seconds=int(given[1])) > FINISH_SENDS


def test_the_receiver_is_given_the_time_to_finish_its_requests() -> None:
    given = re.fullmatch(r"(\d+)s", SERVICES["receiver"]["stop_grace_period"])
    assert given is not None
    assert timedelta(seconds=int(given[1])) > FINISH


def test_the_receiver_is_asked_whether_it_lives_where_it_listens() -> None:
    *_, script = SERVICES["receiver"]["healthcheck"]["test"]
    assert f"http://127.0.0.1:{PORT}{ALIVE}" in script
    assert SERVICES["receiver"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]


def test_links_and_callbacks_lead_to_one_receiver() -> None:
    urls = {SERVICES[name]["environment"]["STANDBY_PUBLIC_URL"] for name in ("worker", "receiver")}
    assert urls == {f"http://127.0.0.1:{PORT}"}


def test_the_engine_is_set_up_with_the_search_attributes_of_a_notice() -> None:
    assert SERVICES["temporal-setup"]["command"][:2] == ["standby", "setup"]
    for name in ("worker", "receiver"):
        awaited = SERVICES[name]["depends_on"]["temporal-setup"]
        assert awaited == {"condition": "service_completed_successfully"}
