"""`standby providers`: what the adapters say of themselves, in three forms."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta

import httpx
import pytest

from activities.providers.base import Callbacks, Capabilities
from activities.providers.provider import Provider
from activities.providers.registry import PROVIDERS
from activities.settings import Settings
from console.providers import LEGEND, Row, published, rows, table, told
from console.spans import span
from tests.console.shell import BAD, REACHED, Shell
from workflows.policy.words import Channel

EMAIL, SMS = Channel.EMAIL, Channel.SMS
ABLE = Capabilities(
    idempotent_for=timedelta(hours=24),
    reads_by_id=True,
    reads_by_key=True,
    reads_per_second=2.5,
    callbacks=Callbacks.SECRET,
    has_suppressions=True,
    lists_suppressions=True,
    takes_suppressions=True,
    takes_headers=True,
)


@dataclass
class Adapter:
    CAPABILITIES: Mapping[Channel, Capabilities]

    def build(self, settings: Settings, client: httpx.AsyncClient) -> Provider:
        raise NotImplementedError


LISTS = "suppressions kept, read, added to"

ADAPTERS = {
    "zebra": Adapter({EMAIL: ABLE, SMS: ABLE}),
    "ant": Adapter({SMS: Capabilities()}),
}


def test_email_comes_first_and_names_ascend() -> None:
    assert [(each.provider, each.channel) for each in rows(ADAPTERS)] == [
        ("zebra", EMAIL),
        ("ant", SMS),
        ("zebra", SMS),
    ]


def test_the_table_of_the_docs_has_a_line_for_each() -> None:
    assert table(ADAPTERS) == (
        "| provider | channel | repeats | asked by | a second | callbacks | suppressions | headers |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| zebra | email | 24h | id or key | 2.5 | secret | kept, read, added to | yes |\n"
        "| ant | sms | - | - | - | - | - | - |\n"
        "| zebra | sms | 24h | id or key | 2.5 | secret | kept, read, added to | - |\n"
    )


def test_the_published_form_has_every_capability() -> None:
    form = published(Row("zebra", EMAIL, ABLE))
    assert set(form) == {"provider", "channel", *(each.name for each in fields(Capabilities))}
    assert (form["idempotent_for"], form["callbacks"]) == ("24h", "secret")
    assert published(Row("ant", SMS, Capabilities()))["idempotent_for"] is None


@pytest.mark.parametrize(
    ("can", "channel", "line"),
    [
        (
            ABLE,
            EMAIL,
            f"repeats are safe for 24h; asked by id or key, 2.5 a second; callbacks secret; {LISTS}; headers",
        ),
        (
            Capabilities(),
            EMAIL,
            "no repeats; cannot be asked; no callbacks; no suppressions; no headers",
        ),
        (
            Capabilities(reads_by_key=True, callbacks=Callbacks.SIGNED),
            SMS,
            "no repeats; asked by key; callbacks signed; no suppressions",
        ),
    ],
)
def test_one_line_says_it_all(can: Capabilities, channel: Channel, line: str) -> None:
    assert told(can, channel) == line


async def test_every_adapter_is_listed_in_every_form(alone: Shell) -> None:
    expected = [(each.provider, each.channel) for each in rows()]
    plain, as_json, markdown = [
        await alone.run("providers", *form) for form in ((), ("--json",), ("--markdown",))
    ]
    assert [each.code for each in (plain, as_json, markdown)] == [REACHED] * 3
    assert [(each["provider"], each["channel"]) for each in json.loads(as_json.out)] == expected
    assert [tuple(line.split()[:2]) for line in plain.out.splitlines()[1 : len(expected) + 1]] == expected
    assert markdown.out == table()
    assert {name for name, _ in expected} == set(PROVIDERS)


async def test_the_page_explains_its_columns_and_fits(alone: Shell) -> None:
    said = await alone.run("providers")
    assert all(len(line) <= 100 and line == line.rstrip() for line in said.out.splitlines())
    heading = said.out.splitlines()[0]
    assert all(name in heading for name, _ in LEGEND)
    assert all(words in " ".join(said.out.split()) for _, words in LEGEND)


async def test_two_forms_at_once_are_bad_input(alone: Shell) -> None:
    said = await alone.run("providers", "--json", "--markdown")
    assert (said.code, said.out) == (BAD, "")


@pytest.mark.parametrize(
    ("length", "written"),
    [
        (timedelta(), "0s"),
        (timedelta(seconds=90), "1m30s"),
        (timedelta(hours=24), "24h"),
        (timedelta(hours=36), "36h"),
        (timedelta(days=2), "2d"),
        (timedelta(days=3, hours=2), "3d2h"),
    ],
)
def test_a_duration_is_written_as_policies_write_it(length: timedelta, written: str) -> None:
    assert span(length) == written
