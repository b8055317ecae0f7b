"""A person signs up in a real browser: a form, a text, a link, a button, and the way back."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, ViewportSize

from sandbox.fates import Fate
from tests import browser
from tests.endtoend.verifying import House, housed, number

NARROW = ViewportSize(width=390, height=780)


@pytest.fixture(scope="module")
async def house(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    async with housed(tmp_path_factory.mktemp("house")) as house:
        yield house


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
    context = await chromium.new_context(java_script_enabled=False, viewport=NARROW)
    page = await context.new_page()
    yield page
    await context.close()


async def heading(page: Page) -> str:
    return await page.locator("h1").inner_text()


async def test_a_person_signs_up_confirms_by_the_link_and_fails_on_the_second_try(
    house: House, page: Page, tmp_path: Path
) -> None:
    await page.goto(house.shop.url)
    await page.fill("input[name=phone]", number(Fate.DELIVERED))
    await page.click("button")
    assert await heading(page) == "We sent you a text"

    (begun,) = [each["key"] for each in await _inbox(house)]
    link = await house.link(begun.split(":")[1])
    await page.goto(house.stack.sandbox.url)
    await page.click(f'a[href="{link}"]')
    assert await heading(page) == "Confirm that it was you"
    await page.screenshot(path=tmp_path / "page.png")
    assert house.shop.verified == []

    await page.click("button")
    assert await heading(page) == "Welcome, account-of-the-shop"
    assert page.url.startswith(f"{house.shop.url}/welcome?result=")
    assert house.shop.verified == ["account-of-the-shop"]

    await page.goto(link)
    await page.click("button")
    assert await heading(page) == "This link did not work"
    assert house.shop.verified == ["account-of-the-shop"]


async def test_a_person_types_the_code_from_the_text(house: House, page: Page) -> None:
    challenge_id = await house.begin("types", number(Fate.DELIVERED), method="code")
    code = await house.code(challenge_id)

    await page.goto(f"{house.stack.settings.public_url}/c/{challenge_id}")
    await page.fill("input[name=code]", str((int(code) + 1) % 10**6).zfill(6))
    await page.click("button")
    assert await heading(page) == "This code did not work"

    await page.click("main a")
    await page.fill("input[name=code]", f"{code[:3]} {code[3:]}")
    await page.click("button")
    assert await heading(page) == "Confirmed"
    assert (await house.told(challenge_id))["state"] == "consumed"


async def _inbox(house: House) -> list[dict[str, str]]:
    await house.message("")
    return await house.messages("")
