"""What each provider took to integrate, counted: `python -m tests.providers.effort` prints the table."""

from collections.abc import Iterator
from pathlib import Path

from activities.providers.registry import PROVIDERS
from activities.settings import Settings
from tests.providers.subject import Subject
from tests.providers.subjects import SUBJECTS

PRODUCT = Path(__file__).parents[2] / "activities" / "providers"
HEADINGS = ("provider", "lines", "variables", "paths", "words", "errors", "callbacks")


def rows() -> Iterator[tuple[str, ...]]:
    """Yield one row a provider: its lines of product, and what its tests know of it."""
    for name in PROVIDERS:
        subjects = [each for each in SUBJECTS if each.name.split()[0] == name]
        counted = (_lines(name), _variables(name), _paths(subjects), *_known(subjects))
        yield name, *map(str, counted)


def table() -> str:
    """Return the rows as Markdown."""
    lines = [HEADINGS, tuple("---" for _ in HEADINGS), *rows()]
    return "".join(f"| {' | '.join(each)} |\n" for each in lines)


def _lines(name: str) -> int:
    files = [PRODUCT / f"{name}.py", PRODUCT / f"{name}_words.py"]
    return sum(len(each.read_text().splitlines()) for each in files if each.exists())


def _variables(name: str) -> int:
    account = getattr(Settings(), name)
    return len(type(account).model_fields)


def _paths(subjects: list[Subject]) -> int:
    """Count what may be asked of the API, as its fake serves it."""
    served = {
        (route.path, *sorted(route.methods or ()))
        for each in subjects
        if each.fake is not None
        for route in each.fake().routes()
    }
    return len(served)


def _known(subjects: list[Subject]) -> tuple[int, int, int]:
    said = {f"{said.says}" for each in subjects for said in each.said}
    refusals = {(refusal.http, f"{refusal.body!r}") for each in subjects for refusal in each.refusals}
    heard = {heard.name for each in subjects for heard in each.heard}
    return len(said), len(refusals), len(heard)


if __name__ == "__main__":
    print(table(), end="")  # noqa: T201 - it is a command
