"""What a person gets when every field holds what HTML is made of: safe markup, and the very words."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from pydantic import JsonValue

from activities.catalogue import Catalogue
from sandbox.fates import Fate
from tests.endtoend.deployment import Manner, Town, send
from tests.endtoend.page import Page
from tests.endtoend.scenes import within
from workflows.policy.keys import attempt_key
from workflows.policy.models import NoticeRequest, Recipient
from workflows.policy.words import Channel

NOTICES = Path("notices")
SHIPPED = Catalogue.load(NOTICES)
HOSTILE = """<b onclick=x()>&amp;"'</td>"""
LINK = "https://shop.example.test/?a='b'&c=(d)&amp;e"

TOLD = {name: kind for name, kind in SHIPPED.kinds.items() if kind.policy.challenge is None}
"""Kinds that anybody may start; the words of the others come from the deployment itself."""

kinds = pytest.mark.parametrize("kind", sorted(TOLD))


@dataclass(frozen=True)
class Got:
    """What reached one person, by channel, and the email as the inbox page shows it."""

    messages: Mapping[str, dict[str, str]]
    html: str


def hostile(value: JsonValue, name: str = "") -> JsonValue:
    """Put what HTML is made of into every field, links and numbers too."""
    match value:
        case dict():
            return {key: hostile(each, key) for key, each in value.items()}
        case list():
            return [hostile(each) for each in value]
        case _:
            return LINK if name.endswith("_url") else HOSTILE


def request(kind: str) -> NoticeRequest:
    sample = SHIPPED.get(kind).sample
    recipient = Recipient(
        id="hostile", email=Fate.BOUNCED.email(kind), phone=Fate.DELIVERED.number(), sms_consent=True
    )
    times = {"fallback_at": within(60), "expires_at": within(120)} if sample.expires_at else {}
    fields = hostile(dict(sample.fields))
    return sample.model_copy(update={"recipient": recipient, "fields": fields, **times})


async def got(manner: Manner, key: str) -> Got:
    async with httpx.AsyncClient(trust_env=False) as http:
        inbox = Page((await http.get(manner.sandbox.url)).text)
    messages = {row["channel"]: row for row in await manner.inbox(key)}
    return Got(messages, inbox.frames[attempt_key(key, Channel.EMAIL)])


@pytest.fixture(scope="module")
async def received(town: Town) -> dict[str, Got]:
    """Every kind's email bounces, so that its text goes out as well."""
    async with town.deployment() as manner, manner.worker() as client:
        requests = {kind: request(kind) for kind in TOLD}
        for each in requests.values():
            await send(client, manner, each)
        for each in requests.values():
            await manner.submitted(each.key, len(SHIPPED.get(each.kind).policy.route))
        return {kind: await got(manner, each.key) for kind, each in requests.items()}


@kinds
def test_html_has_the_elements_of_its_template_and_no_others(received: dict[str, Got], kind: str) -> None:
    sample = SHIPPED.get(kind).sample
    harmless = SHIPPED.get(kind).render(Channel.EMAIL, sample.fields).html or ""

    shown = [each for each in Page(received[kind].html).elements if each.tag != "base"]

    assert shown == Page(harmless).elements


@kinds
def test_html_shows_the_very_words_and_leads_to_the_very_links(received: dict[str, Got], kind: str) -> None:
    page = Page(received[kind].html)

    assert HOSTILE in " ".join(page.words)
    assert set(page.links) == {LINK}


@kinds
def test_the_plain_text_and_the_subject_are_verbatim(received: dict[str, Got], kind: str) -> None:
    email = received[kind].messages["email"]

    assert HOSTILE in email["body"]
    assert LINK in email["body"]
    for written in (email["body"], email["subject"]):
        assert "{{" not in written
        assert "&lt;" not in written
        assert "&quot;" not in written


@pytest.mark.parametrize("kind", [name for name in TOLD if (NOTICES / name / "sms.mustache").exists()])
def test_a_text_message_is_its_template_with_the_very_words_in_it(
    received: dict[str, Got], kind: str
) -> None:
    expected = (NOTICES / kind / "sms.mustache").read_text().strip()
    for name in SHIPPED.get(kind).sample.fields:
        expected = expected.replace(f"{{{{{name}}}}}", LINK if name.endswith("_url") else HOSTILE)

    assert received[kind].messages["sms"]["body"].strip() == expected
