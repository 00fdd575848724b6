"""Pages of a browser, for tests of what is shown in it."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
Values = dict[str, str]  # from an address, such as subject, object and time
PATIENCE = 120  # seconds before a missing result counts as a failure: the machine may be busy
expect.set_options(timeout=1000 * PATIENCE)

# The marks of a module of browser tests. A journey that varies others is `slow` as well.
IN_BROWSER = [
    pytest.mark.gate,
    pytest.mark.skipif(
        CHROMIUM is None,
        reason="the page was NOT tested: no chromium here (Debian: apt-get install chromium)",
    ),
]


@contextmanager
def fresh_page(browser: Browser, **options: Any) -> Iterator[Page]:
    """A page with its own context, in which no error may occur.

    Requests that its routes are still fetching at the end are abandoned. Tests must not abort them
    themselves, or the fetch fails during the next test.
    """
    errors: list[str] = []
    context = browser.new_context(**options)
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.unroute_all(behavior="ignoreErrors")
    context.close()
    assert errors == []


def link(address: str, **values: str) -> str:
    return f"{address}/?" + "&".join(f"{key}={quote(value)}" for key, value in values.items())


def state(page: Page) -> Values:
    """The values of the address."""
    return {key: value[0] for key, value in parse_qs(urlsplit(page.url).query).items()}


def comes(page: Page, found: Callable[[], Any], wanted: Any) -> None:
    """Actions take effect after a short delay: repeat the check until it succeeds."""
    end = time.monotonic() + PATIENCE
    while found() != wanted and time.monotonic() < end:
        page.wait_for_timeout(25)  # lets the browser work
    assert found() == wanted


def comes_to(page: Page, **wanted: str) -> None:
    """Wait until the address has these values."""
    comes(page, lambda: {key: state(page).get(key) for key in wanted}, wanted)


def settles(page: Page) -> None:
    """Wait until received data takes effect: a later reply arrives and a frame is drawn."""
    page.evaluate(
        "fetch('/explorer/icon.svg', { cache: 'no-store' }).then((reply) => reply.text())"
        ".then(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))))"
    )
    expect(page.locator("[data-waiting]")).to_have_count(0)


def covered(page: Page, selector: str) -> list[tuple[float, float]]:
    """The positions where elements in a row overlap."""
    expect(page.locator(selector).nth(1)).to_be_visible()
    boxes = page.locator(selector).evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).map((box) => [box.left, box.right])"
    )
    return [(one[1], other[0]) for one, other in pairwise(sorted(boxes)) if one[1] > other[0]]


def hold_in(held: list[Any]) -> Callable[[Any], None]:
    """A request handler that keeps requests waiting."""

    def hold(route: Any) -> None:
        held.append(route)

    return hold


def too_wide(page: Page) -> int:
    """The number of pixels by which the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
