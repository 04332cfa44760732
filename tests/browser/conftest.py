"""A real Chromium, driven by Playwright. `make test` installs it where the system's packages can be installed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/browser" in str(item.path).replace(os.sep, "/"):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium here: make browser")
        pytest.skip("no Chromium here: make browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        yield browser
        browser.close()


class Problems(list[str]):
    """What the browser complained about."""


@pytest.fixture
def problems() -> Problems:
    return Problems()


@pytest.fixture
def open_page(browser: Browser, problems: Problems) -> Iterator[object]:
    """Opens an address in a context of its own, with the network off unless told; notes every complaint."""
    contexts = []

    def open_it(address: str, *, offline: bool = True, **options: object) -> Page:
        context = browser.new_context(offline=offline, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(address)
        return page

    yield open_it
    for context in contexts:
        context.close()
