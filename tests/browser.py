"""A real browser: Chromium as Debian packages it, driven by Playwright."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

REQUIRED = "STANDBY_TEST_REQUIRE_CHROMIUM"
"""Set to 1 where a missing browser is a failure, and no reason to skip."""

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_ALONE = (
    "--no-sandbox",  # it runs as root in CI, and visits nothing but this test's servers
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


class NoBrowserError(Exception):
    """There is none here; the message says what to install."""


@asynccontextmanager
async def browser() -> AsyncIterator[Browser]:
    """Run a browser for the block; raises NoBrowserError."""
    program = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if program is None:
        raise NoBrowserError("no browser is installed: apt install chromium")
    async with async_playwright() as playwright:
        yield await playwright.chromium.launch(executable_path=program, args=[*_ALONE])


def is_required() -> bool:
    """Whether a missing browser is a failure."""
    return os.environ.get(REQUIRED) == "1"
