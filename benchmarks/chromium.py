"""The system's Chromium, driven by Playwright."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from tests.browser.chromium import ARGS, CHROMIUM

MISSING = "no Chromium or no Playwright here"


@contextmanager
def chromium(*arguments: str) -> Iterator[Any]:
    """A browser, for a `with` block; None where there is none."""
    if CHROMIUM is None or find_spec("playwright") is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGS, *arguments])
        yield browser
        browser.close()
