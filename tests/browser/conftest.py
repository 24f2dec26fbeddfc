"""A headless Chromium for the whole run, and a page for each test that fails on any error of its console."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.chromium import FLAGS, alone, ensure_chinese_fonts, find_or_install

# What is said of a server that a test has stopped, of a page that it has left or a token that it has revoked, is no
# error of the page.
EXPECTED = (
    "net::ERR_",
    "Failed to load resource",
    "Failed to fetch",
    "network error",
    "SSE reconnect failed with status 401",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with alone():
        path = find_or_install()
        ensure_chinese_fonts()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport={"width": 1000, "height": 700}, locale="en-GB")
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    errors: list[str] = []
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    yield page
    assert [error for error in errors if not any(known in error for known in EXPECTED)] == []
