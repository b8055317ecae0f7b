"""The Temporal UI in a real browser: who signed in reads a notice, everybody else its classified story."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, ViewportSize, expect

from client.starting import begin
from console.engine import binary
from console.stack import CODEC_KEY
from sandbox.fates import Fate
from tests import browser
from tests.endtoend.scenes import NAME, notice
from tests.endtoend.verifying import House, housed

WIDE = ViewportSize(width=1500, height=1100)
PERSONAL = (NAME, "example.test", "secret-link")
SUMMARY = "send the email"
"""How the line of the first send begins, for everybody."""


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with housed(tmp_path_factory.mktemp("house")) as house:
        yield house


@pytest.fixture(scope="module")
async def workflow(house: House) -> str:
    """Return the address of a notice in the UI."""
    begun = await begin(house.stack.client, notice("decoded", Fate.DELIVERED))
    run_id = (await begun.handle.describe()).run_id
    return f"{house.stack.engine.ui}/namespaces/default/workflows/{begun.handle.id}/{run_id}/timeline"


@pytest.fixture(scope="module")
async def chromium() -> AsyncIterator[Browser]:
    try:
        async with browser.browser() as found:
            yield found
    except browser.NoBrowserError as missing:
        if browser.is_required():
            pytest.fail(str(missing))
        pytest.skip(str(missing))


@pytest.fixture
async def page(chromium: Browser) -> AsyncIterator[Page]:
    context = await chromium.new_context(viewport=WIDE)
    page = await context.new_page()
    page.set_default_timeout(20_000)
    yield page
    await context.close()


async def sign_in(house: House, page: Page, key: str) -> str:
    """Show a key, and return the heading of the page that comes."""
    await page.goto(f"{house.stack.settings.public_url}/codec")
    await page.fill("input[name=key]", key)
    await page.click("button")
    return await page.locator("h1").inner_text()


async def send_cookies(house: House, page: Page) -> None:
    """Do in the UI what the page after signing in says."""
    await page.locator('[data-testid^="data-encoder-status"]').first.click()
    await page.locator("label", has_text="Use my browser setting").first.click()
    await page.fill("#data-encoder-endpoint-input", f"{house.stack.settings.public_url}/codec")
    await page.locator("label", has_text="Include cross-origin credentials").click()
    await page.get_by_role("button", name="Apply").locator("visible=true").click()


def key_of(house: House) -> str:
    return (house.home / CODEC_KEY).read_text().strip()


async def test_whoever_signed_in_reads_the_notice(
    house: House, workflow: str, page: Page, tmp_path: Path
) -> None:
    assert await sign_in(house, page, key_of(house)) == "You are signed in"
    await page.goto(workflow)
    await send_cookies(house, page)
    await page.goto(workflow)
    await expect(page.get_by_text(f'"{NAME}"').first).to_be_visible()
    await expect(page.get_by_text(SUMMARY).first).to_be_visible()
    await page.screenshot(path=tmp_path / "person.png")


@pytest.mark.parametrize("key", [None, "not-the-key"], ids=["nobody", "a wrong key"])
async def test_everybody_else_sees_the_classified_story_and_where_to_sign_in(
    house: House, workflow: str, page: Page, tmp_path: Path, key: str | None
) -> None:
    if key is not None:
        assert await sign_in(house, page, key) == "This key did not work"
    await page.goto(workflow)
    await send_cookies(house, page)
    await page.goto(workflow)
    where = f"sealed: sign in at {house.stack.settings.public_url}/codec to read it"
    await expect(page.get_by_text(where).first).to_be_visible()
    await expect(page.get_by_text(SUMMARY).first).to_be_visible()
    await page.screenshot(path=tmp_path / "stranger.png")
    shown = await page.content()
    assert not [each for each in PERSONAL if each in shown]


async def test_the_ui_knows_the_endpoint_by_itself_and_asks_it_without_cookies(
    house: House, workflow: str, page: Page
) -> None:
    await sign_in(house, page, key_of(house))
    await page.goto(workflow)
    await expect(page.get_by_text("sealed: sign in at").first).to_be_visible()
    await expect(page.get_by_text(SUMMARY).first).to_be_visible()


async def test_the_temporal_cli_shows_what_the_key_opens(house: House, workflow: str) -> None:
    workflow_id = workflow.split("/")[-3]
    shown = await asyncio.create_subprocess_exec(
        *(binary(), "workflow", "show", "--workflow-id", workflow_id, "--output", "json"),
        *("--address", house.stack.engine.address),
        *("--codec-endpoint", f"{house.stack.settings.public_url}/codec"),
        *("--codec-auth", f"Bearer {key_of(house)}"),
        stdout=asyncio.subprocess.PIPE,
    )
    told, _ = await shown.communicate()
    first = json.loads(told)["events"][0]["workflowExecutionStartedEventAttributes"]
    (given,) = first["input"]["payloads"]
    assert json.loads(base64.b64decode(given["data"]))["fields"]["name"] == NAME
