"""Debian's Chromium, driven by Playwright; whatever a page complains of fails the test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    """A page of a fresh profile; at the end nothing was complained of, and nobody else was asked."""
    context = browser.new_context(base_url=url, **options)
    context.set_default_timeout(10_000)
    page, flaws = context.new_page(), list[str]()
    own = (url, "data:", "blob:")
    page.on("console", lambda said: flaws.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: flaws.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(own) else flaws.append(asked.url))
    yield page
    context.close()
    assert not flaws, flaws
