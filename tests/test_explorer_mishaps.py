"""What goes wrong while the page is used: late replies, failures, odd addresses, other hands."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from browser_pages import (
    IN_BROWSER,
    comes,
    comes_to,
    fresh_page,
    hold_in,
    link,
    settles,
    state,
)
from playwright.sync_api import Browser, Page, expect
from test_explorer_views import opened

pytestmark = [*IN_BROWSER, pytest.mark.slow]


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on a screen that can be touched."""
    with fresh_page(browser, viewport={"width": 1500, "height": 1000}, has_touch=True) as page:
        yield page


@pytest.fixture
def address(explored_address: str) -> str:
    return explored_address


@pytest.fixture
def query(explored_query: dict[str, str]) -> dict[str, str]:
    return explored_query


def swap(page: Page) -> None:
    page.get_by_role("button", name="Swap subject and object").click()


def strike_first(page: Page) -> None:
    strike = page.get_by_role("button", name=re.compile("^Strike out")).first
    strike.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#what-if")).to_contain_text("had not happened?")


def is_inert(page: Page, card: str) -> bool:
    return bool(page.locator(f"#{card}").evaluate("card => card.inert"))


def test_a_finger_moves_the_day_like_the_mouse(
    page: Page, address: str, query: dict[str, str]
) -> None:
    opened(page, address, **query)
    handle = page.locator("#ribbon .handle text")

    def place(share: float) -> dict[str, float]:
        box = page.locator("#ribbon svg").bounding_box()
        assert box is not None
        return {"x": box["x"] + share * box["width"], "y": box["y"] + box["height"] / 2}

    page.touchscreen.tap(**place(0.7))
    comes(page, lambda: handle.text_content() != query["time"], True)
    tapped = handle.text_content() or ""
    comes_to(page, time=tapped)
    touches = page.context.new_cdp_session(page)
    for kind, share in (("touchStart", 0.7), ("touchMove", 0.5), ("touchMove", 0.3)):
        touches.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [place(share)]})
    touches.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    comes(page, lambda: (handle.text_content() or "") < tapped, True)
    comes_to(page, time=handle.text_content() or "")


def test_what_was_asked_before_cannot_be_used_for_another_question(
    page: Page, address: str, query: dict[str, str]
) -> None:
    opened(page, address, **query)
    held: list[Any] = []
    page.route("**/api/counterfactual", hold_in(held))
    page.get_by_role("button", name="What would change it?").click()
    comes(page, held.__len__, 1)
    page.route("**/api/explain", hold_in(held))
    swap(page)
    comes(page, held.__len__, 2)
    assert is_inert(page, "result")
    held[1].continue_()
    comes(page, lambda: is_inert(page, "result"), False)
    expect(page.locator("#asked")).to_contain_text(f"{query['object']} → {query['subject']}")
    held[0].fulfill(json={"removed": [{"fact": 1}]})
    settles(page)
    assert "without" not in state(page)
    expect(page.locator("#what-if")).to_be_hidden()


def test_nothing_is_asked_before_the_model_is_known(page: Page, address: str) -> None:
    held: list[Any] = []
    page.route("**/api/model*", hold_in(held))
    page.goto(address)
    comes(page, held.__len__, 1)
    controls = [page.locator("#subject"), page.locator("#search"), page.locator("#swap")]
    controls.append(page.get_by_role("button", name="Ask"))
    for control in controls:
        expect(control).to_be_disabled()
    held[0].continue_()
    for control in controls:
        expect(control).to_be_enabled()


def test_each_click_zooms_the_ribbon_also_after_a_failure(
    page: Page, address: str, query: dict[str, str]
) -> None:
    opened(page, address, **query)
    ends = [page.locator("#ribbon .handle").get_attribute(f"aria-value{end}") for end in
            ("min", "max")]  # fmt: skip
    whole = int(ends[1] or 0) - int(ends[0] or 0)
    held: list[Any] = []
    page.route("**/api/ribbon*", hold_in(held))
    more = page.get_by_role("button", name="Show fewer days")
    for count in range(1, 5):
        more.click()
        comes(page, held.__len__, count)
    first, last = map(int, state(page)["span"].split(".."))
    assert last - first == max(round(whole / 16), 14) or abs(last - first - whole / 16) < 2
    asked = parse_qs(urlsplit(held[-1].request.url).query)
    assert asked["from"] < asked["to"]
    held[-1].abort()
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.unroute("**/api/ribbon*")
    page.get_by_role("button", name="Show more days").click()
    expect(page.locator("#ribbon .handle")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_list_that_fails_is_not_looked_for(page: Page, address: str) -> None:
    page.route("**/api/watch*", lambda route: route.abort())
    page.goto(link(address, page="watch"))
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    expect(page.locator("#list")).to_be_empty()


def test_the_focus_stays_where_something_was_done(
    page: Page, address: str, query: dict[str, str]
) -> None:
    opened(page, address, **query)
    strike_first(page)
    expect(page.locator("#what-if")).to_be_focused()
    page.get_by_role("button", name=re.compile("^Undo:")).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#answer-card")).to_be_focused()
    page.get_by_role("button", name="Explore paths").click()
    page.locator("#steps .step").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#steps .trail li")).to_have_count(1)
    expect(page.locator("#steps button:focus")).to_have_count(1)
