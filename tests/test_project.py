"""What holds of the repository as a whole, and no type checker or linter says."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from console.app import app

ROOT = Path(__file__).parent.parent
LONGEST = 250
ROOTS = frozenset({"worker", "starter"})
REGISTRIES = ("pypi" + ".org", "python" + "hosted", "npm" + "js", "debian" + ".org", "crates" + ".io")
MACHINE = re.compile(r"(?<![\w.-])/(?:work|farm|root|home|tmp/[a-z])(?![\w-])")

_CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"^(?:workflows|activities|client|receiver|console|sandbox|notices|tests|docs)/[\w./-]*$")
_ELSEWHERE = re.compile(r"[a-z]+:")
_LINK = re.compile(r"\]\(([^)\s#]+)")
_TARGET = re.compile(r"^([a-z]+):", re.MULTILINE)
_PIN = re.compile(r"^([a-z0-9._-]+)==([^ ]+)((?:.*\n)(?:    --hash=sha256:[0-9a-f]{64}.*\n)+)", re.MULTILINE)


def tracked() -> Iterator[Path]:
    """Yield every file of the project: nothing that a tool made, whether or not this is a clone."""
    folders = [ROOT]
    while folders:
        for each in sorted(folders.pop().iterdir()):
            made = each.name.startswith(".") and each.name not in {".ci", ".github"} and each.is_dir()
            if made or each.name in {"__pycache__", "secrets", "build", "dist"} or each.suffix == ".egg-info":
                continue
            if each.is_dir():
                folders.append(each)
            else:
                yield each


FILES = [path.relative_to(ROOT) for path in tracked()]
PYTHON = [path for path in FILES if path.suffix == ".py"]
PAGES = [path for path in FILES if path.suffix == ".md" and path.parts[0] != "tests"]


def text(path: Path | str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def imported(path: Path) -> set[str]:
    """Return the full name of every module that a file imports, and of every name that it takes from one."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text(path))):
        match node:
            case ast.Import(names=given):
                names |= {each.name for each in given}
            case ast.ImportFrom(module=str(module), names=given):
                names |= {module, *(f"{module}.{each.name}" for each in given)}
    return names


def pins(lock: str) -> dict[str, str]:
    return {canonicalize_name(name): version for name, version, _ in _PIN.findall(text(lock))}


def targets() -> set[str]:
    return set(_TARGET.findall(text("Makefile")))


def commands() -> set[str]:
    simple = {each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands}
    return simple | {str(each.name) for each in app.registered_groups}


def spoken(page: Path, command: str) -> set[str]:
    """Return the words that follow a command in a page's code."""
    word = re.compile(rf"(?:^|[\s`/(]){command} ([a-z]+(?:-[a-z]+)*)\b(?!=)")
    return {found for code in _CODE.findall(text(page)) for found in word.findall(code)}


def test_nobody_imports_the_composition_roots() -> None:
    product = [path for path in PYTHON if path.parts[0] not in {"tests", "bench"}]
    assert not {str(path): roots for path in product if (roots := imported(path) & ROOTS)}


def test_no_import_is_passed_through_but_by_the_one_sandbox() -> None:
    call = "imports_passed" + "_through"
    assert not [str(path) for path in PYTHON if call in text(path)]


def test_tests_use_fakes_and_no_mocks() -> None:
    assert not [str(path) for path in PYTHON if any("mock" in name.split(".") for name in imported(path))]


def test_no_file_of_the_product_has_two_concerns_worth_of_lines() -> None:
    long = {str(path): len(text(path).splitlines()) for path in PYTHON if path.parts[0] != "tests"}
    assert not {path: lines for path, lines in long.items() if lines > LONGEST}


def test_no_file_names_a_registry_or_a_place_on_one_machine() -> None:
    found = []
    for path in FILES:
        content = (ROOT / path).read_bytes().decode("utf-8", errors="ignore")
        hosts = [host for host in REGISTRIES if host in content]
        if hosts or (path.name != "test_project.py" and MACHINE.search(content)):
            found.append(str(path))
    assert not found


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    links = [
        link for link in _LINK.findall(text(page)) if "://" not in link and not link.startswith("mailto:")
    ]
    assert not [link for link in links if not (ROOT / page.parent / link).exists()]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = {path for code in _INLINE.findall(text(page)) for path in _PATH.findall(code)}
    assert not [path for path in named if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    assert spoken(page, "make") <= targets()


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_standby_command_that_a_page_names_exists(page: Path) -> None:
    assert spoken(page, "standby") <= commands()


def test_the_makefile_offers_what_it_promises() -> None:
    offered = set(re.findall(r"^([a-z]+):.* ## ", text("Makefile"), re.MULTILINE))
    promised = "help demo test check lint types layers replay history dev worker"
    assert set(promised.split()) <= offered


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-dev.txt"])
def test_every_locked_package_has_hashes_and_comes_from_no_named_place(lock: str) -> None:
    content = text(lock)
    packages = re.findall(r"^[A-Za-z0-9]\S*", content, re.MULTILINE)
    assert packages == [f"{name}=={version}" for name, version, _ in _PIN.findall(content)]
    assert not re.search(r"^-|://|file:", content, re.MULTILINE)


def test_what_runs_is_what_was_tested() -> None:
    assert pins("requirements.txt").items() <= pins("requirements-dev.txt").items()


def test_the_locks_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    asked = {"requirements.txt": project["dependencies"]}
    asked["requirements-dev.txt"] = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    for lock, requirements in asked.items():
        locked = pins(lock)
        wanted = [(each, locked.get(canonicalize_name(each.name))) for each in map(Requirement, requirements)]
        missing = [str(each) for each, pin in wanted if pin is None or not each.specifier.contains(pin)]
        assert not missing, f"{lock} lags behind pyproject.toml: make lock"


def test_every_entry_of_the_changelog_is_one_sentence_on_one_line() -> None:
    _, _, entries = text("CHANGELOG.md").partition("\n## ")
    lines = [line for line in entries.splitlines()[1:] if line and not line.startswith(("#", "[", "<"))]
    assert not [line for line in lines if not re.fullmatch(r"- .*[^.]\.", line)]


def test_what_ci_requires_is_what_tests_ask_for() -> None:
    required = set(re.findall(r"STANDBY_\w+", text(".ci/run")))
    asked = {
        name for path in PYTHON if path.parts[0] == "tests" for name in re.findall(r"STANDBY_\w+", text(path))
    }
    assert required
    assert required <= asked
