"""The page of the providers shows what the code says."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from activities.accounts import Account
from activities.providers.registry import PROVIDERS
from activities.settings import PREFIX, Settings
from console import providers
from tests.providers import effort
from tests.providers.subject import Subject
from tests.providers.subjects import that

PAGE = (Path(__file__).parents[2] / "docs" / "providers.md").read_text(encoding="utf-8")


def between(marker: str) -> str:
    """Return the lines between a marker and the end of what it announces."""
    found = re.search(rf"<!-- {marker}: [^>]* -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    assert found
    return found[1].strip() + "\n"


@pytest.mark.parametrize(
    ("marker", "table"), [("capabilities", providers.table()), ("effort", effort.table())]
)
def test_a_table_of_the_page_is_what_its_command_prints(marker: str, table: str) -> None:
    assert between(marker) == table


def test_every_variable_of_every_provider_is_explained() -> None:
    accounts = {name: value for name, value in Settings() if isinstance(value, Account) and name != "sandbox"}
    wanted = {
        f"{PREFIX}{name}_{field}".upper()
        for name, each in accounts.items()
        for field in type(each).model_fields
    }
    # Explained once for all of them.
    shared = ("_EMAIL_FROM", "_SMS_FROM", "_URL")
    assert not {each for each in wanted if not each.endswith(shared) and each not in PAGE}


def test_every_provider_is_chosen_somewhere() -> None:
    chosen = set(re.findall(r"STANDBY_(?:EMAIL|SMS)=(\w+)", PAGE))
    assert set(PROVIDERS) - {"sandbox"} <= chosen


NAMES = {"ses": "AWS (SES, End User Messaging)", "aws_sms": "AWS (SES, End User Messaging)"}


def believed_for(name: str) -> str:
    """Return how long a callback can be brought again, by the page."""
    table = PAGE.partition("**How long a callback can be brought again.**")[2].partition("\nFive minutes")[0]
    title = NAMES.get(name, name).lower()
    (row,) = [each for each in table.splitlines() if each.lower().startswith(f"| {title} | ")]
    return row.split(" | ")[3]


def written(oldest: timedelta | None) -> str:
    match oldest:
        case None:
            return "always"
        case _ if oldest % timedelta(hours=1):
            return f"{oldest // timedelta(minutes=1)} min"
        case _:
            return f"{oldest // timedelta(hours=1)} h"


@that(lambda subject: subject.heard and not subject.name.startswith("sandbox"))
def test_for_how_long_a_callback_is_believed_is_told(subject: Subject) -> None:
    assert believed_for(subject.name.split()[0]) == written(subject.oldest)
