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
Values = dict[str, str]  # of an address, such as subject, object and time
PATIENCE = 120  # seconds until what should come is a failure: a machine may be busy with other work
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
    """A page with a context of its own, in which no error may occur.

    What its routes are still fetching at the end is let go: tests must not end them themselves,
    or such a fetch fails in whatever test comes next.
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
    """What was done has its effect soon, not at once: ask until it is there."""
    end = time.monotonic() + PATIENCE
    while found() != wanted and time.monotonic() < end:
        page.wait_for_timeout(25)  # lets the browser work
    assert found() == wanted


def comes_to(page: Page, **wanted: str) -> None:
    """The address takes these values."""
    comes(page, lambda: {key: state(page).get(key) for key in wanted}, wanted)


def settles(page: Page) -> None:
    """What the page has received has its effect: a later reply comes, and a frame is drawn."""
    page.evaluate(
        "fetch('/explorer/icon.svg', { cache: 'no-store' }).then((reply) => reply.text())"
        ".then(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))))"
    )
    expect(page.locator("[data-waiting]")).to_have_count(0)


def covered(page: Page, selector: str) -> list[tuple[float, float]]:
    """Where elements in a row cover each other."""
    expect(page.locator(selector).nth(1)).to_be_visible()
    boxes = page.locator(selector).evaluate_all(
        "all => all.map((e) => e.getBoundingClientRect()).map((box) => [box.left, box.right])"
    )
    return [(one[1], other[0]) for one, other in pairwise(sorted(boxes)) if one[1] > other[0]]


def hold_in(held: list[Any]) -> Callable[[Any], None]:
    """A handler of requests that keeps them waiting."""

    def hold(route: Any) -> None:
        held.append(route)

    return hold


def too_wide(page: Page) -> int:
    """By how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))
