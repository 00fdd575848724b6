"""Pages of a browser, for tests of what is shown in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@contextmanager
def fresh_page(browser: "Browser", **options: Any) -> Iterator["Page"]:
    """A page with a context of its own, in which no error may occur.

    What its routes are still fetching at the end is let go: tests must not end them themselves,
    or such a fetch fails in whatever test comes next.
    """
    errors: list[str] = []
    context = browser.new_context(**options)
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    yield page
    page.unroute_all(behavior="ignoreErrors")
    context.close()
    assert errors == []
