"""The page as a person uses it, in a real browser."""

import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest
from browser_pages import IN_BROWSER, Values, comes, comes_to, fresh_page, hold_in, link, settles
from html_pages import draw_svg
from http_clients import running_service
from playwright.sync_api import Browser, Page, expect
from service_parts import tuning_query

from apptek.predictor import Query
from apptek.present.drawing import draw_answer
from apptek.server.served_model import ServedModel

pytestmark = IN_BROWSER


@pytest.fixture(scope="module")
def address(served: ServedModel) -> Iterator[str]:
    with running_service(served.folder) as service:
        yield service.address


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page that keeps to its security policy."""
    lines: list[str] = []
    size = {"width": 1280, "height": 900}
    with fresh_page(browser, viewport=size, accept_downloads=True) as page:
        page.on("console", lambda line: lines.append(line.text))
        yield page
    assert [line for line in lines if "Content Security" in line] == []


@pytest.fixture(scope="module")
def query(served: ServedModel) -> Values:
    """A query whose first reason connects by several entities."""
    for row in range(200):
        query = tuning_query(served, row)
        found = served.predictor.explain(Query(**query))
        if found.reasons and len({f.subject for f in found.reasons[0].facts}) > 3:
            return query
    raise AssertionError("no such query")


def test_from_the_first_letter_to_the_shared_view(
    page: Page, browser: Browser, address: str, query: Values
) -> None:
    page.goto(address)
    expect(page.get_by_role("heading", name="What happens between two")).to_be_visible()
    subject = page.get_by_role("combobox", name="Who acts")
    subject.press_sequentially(query["subject"])
    option = page.get_by_role("option").filter(has_text=query["subject"]).first
    expect(option).to_be_visible()
    subject.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    subject.press("Enter")
    expect(subject).to_have_value(query["subject"])
    expect(page.get_by_role("listbox", name="Who acts")).to_be_hidden()
    page.get_by_role("combobox", name="Toward").fill(query["object"])
    page.get_by_label("Time", exact=True).fill(query["time"])
    page.get_by_role("button", name="Ask").click()

    bars = page.locator("#bars .bar")
    expect(bars).to_have_count(10)
    expect(bars.nth(0)).to_have_attribute("aria-pressed", "true")
    second = bars.nth(1).locator(".name").inner_text().split("\n")[0]
    bars.nth(1).click()
    expect(page.locator("#answer")).to_contain_text(second)
    expect(page.locator("#story")).to_contain_text(f"Not {second}")
    comes_to(page, predicate=second)
    expect(page.locator("#graph svg .node")).not_to_have_count(0)
    page.locator("#reasons .reason").nth(1).click()
    comes_to(page, reason="2")

    again = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
    again.goto(page.url)
    expect(again.locator("#answer")).to_contain_text(second)
    page.mouse.move(0, 0)  # nothing is pointed at, and no reason has the focus
    page.locator("#answer-card").focus()
    one, other = (each.locator("#graph svg") for each in (page, again))
    comes(page, lambda: one.inner_html() == other.inner_html(), True)
    again.context.close()

    page.go_back()
    expect(bars.nth(0)).to_have_attribute("aria-pressed", "true")


def test_the_page_saves_the_drawing_of_the_report(
    page: Page, address: str, served: ServedModel, query: Values
) -> None:
    page.goto(link(address, **query))
    expect(page.locator("#graph svg .node").first).to_be_attached()
    with page.expect_download() as waited:
        page.get_by_role("button", name="Save as SVG").click()
    assert waited.value.suggested_filename.endswith(".svg")
    svg = waited.value.path().read_text("utf-8")
    assert "--query: #f2a33a" in svg
    assert "<script" not in svg
    width = float(page.locator("#graph svg").get_attribute("data-width") or 0)
    drawing = draw_answer(served.predictor.explain(Query(**query)), width=width)
    assert drawn(ElementTree.fromstring(svg)) == drawn(ElementTree.fromstring(draw_svg(drawing)))


def drawn(svg: ElementTree.Element) -> dict[str, list[Any]]:
    """Where the circles are, what the curves are, and what is written, whatever the order."""
    space = "{http://www.w3.org/2000/svg}"
    paths = [path for path in svg.iter(f"{space}path") if path.get("class") not in ("head", "grip")]
    curves = [path.get("d", "") for path in paths]
    circles = [
        tuple(float(circle.get(key, 0)) for key in ("cx", "cy", "r"))
        for circle in svg.iter(f"{space}circle")
    ]
    numbers = [[float(number) for number in re.findall(r"-?[\d.]+", curve)] for curve in curves]
    texts = ["".join(text.itertext()) for text in svg.iter(f"{space}text")]
    return {"circles": sorted(circles), "curves": sorted(numbers), "texts": sorted(texts)}


# Pairs of texts of different groups that cover each other, as the browser has drawn them.
COVERED = """svg => {
  const texts = [...svg.querySelectorAll(".node text, .label text")];
  const boxes = texts.map((text) => [text, text.getBBox()]);
  return boxes.flatMap(([one, a], place) => boxes.slice(place + 1)
    .filter(([other, b]) => one.parentNode !== other.parentNode
      && a.x < b.x + b.width && b.x < a.x + a.width
      && a.y + 2 < b.y + b.height && b.y + 2 < a.y + a.height)
    .map(([other]) => `${one.textContent} / ${other.textContent}`));
}"""


def test_the_graph_covers_no_text_and_is_explored_by_keyboard(
    page: Page, address: str, query: Values
) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto(link(address, **query))
    expect(page.locator("#graph svg .label").first).to_be_attached()
    assert page.locator("#graph svg").evaluate(COVERED) == []
    node = page.locator("#graph svg .node:not(.subject):not(.object)").first
    name = node.locator("title").text_content() or ""
    node.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".menu")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".menu")).to_have_count(0)
    page.keyboard.press("Enter")  # the entity has the focus again
    page.keyboard.press("Tab")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("combobox", name="Who acts")).to_have_value(name)
    comes_to(page, subject=name, object=query["object"])


def test_an_unknown_name_leads_to_the_right_one_and_is_answered_on_request(
    page: Page, address: str, query: Values
) -> None:
    unknown = query["subject"] + "q"
    page.goto(link(address, steps="", **(query | {"subject": unknown})))
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text(f"'{unknown}' is not in this data. Did you mean …?")
    expect(page.locator("#result")).to_be_hidden()
    console: list[str] = []
    page.on("console", lambda line: console.append(line.text))
    alert.get_by_role("button", name="Show the generic answer").click()
    comes_to(page, general="1")
    expect(page.locator("#bars .bar").first).to_be_visible()
    notice = page.locator("#notice")
    expect(notice).to_contain_text(
        f"Generic answer, because the model has no facts about {unknown}."
    )
    expect(page.locator("#answer-card")).to_have_class(re.compile("general"))
    expect(page.locator("#ribbon-card")).to_be_hidden()
    expect(page.locator("#show-steps")).to_be_disabled()
    expect(page.locator("#timelines")).to_be_hidden()
    expect(page.get_by_role("alert")).to_have_count(0)
    settles(page)
    assert console == []
    page.go_back()
    alert.get_by_role("button", name=query["subject"], exact=True).click()
    comes_to(page, subject=query["subject"])
    expect(page.locator("#answer-card")).not_to_have_class(re.compile("general"))
    expect(page.locator("#ribbon .handle")).to_be_visible()
    expect(notice).not_to_contain_text("a guess based only on")
    expect(page.locator("#show-steps")).to_be_enabled()


def test_a_half_typed_name_opens_the_list_of_matches_or_says_that_there_is_none(
    page: Page, address: str, query: Values
) -> None:
    page.goto(link(address, **query))
    field, listed = page.locator("#subject"), page.locator("#subject-list")
    field.fill(query["subject"][:-1])
    field.press("Escape")
    page.get_by_role("button", name="Ask").click()
    expect(listed).to_contain_text(query["subject"])
    expect(field).to_be_focused()
    expect(page.locator("#result")).to_be_hidden()
    listed.get_by_role("option").first.click()
    expect(field).to_have_value(re.compile(re.escape(query["subject"])))
    page.route("**/api/entities*", lambda route: route.abort())
    field.fill("S")
    expect(listed).to_contain_text("Names could not be loaded")
    expect(field).not_to_have_attribute("aria-busy", "true")


def test_a_name_is_text_and_never_runs(page: Page, address: str) -> None:
    name = "'\"><img src=x onerror=alert(1)><script>alert(1)</script>"
    opened: list[str] = []
    page.on("dialog", lambda dialog: opened.append(dialog.message))
    page.goto(link(address, subject=name, object=name, time="2019-01-01"))
    expect(page.get_by_role("alert")).to_contain_text("is not in this data.")
    page.goto(link(address, subject=name, object=name, time="2019-01-01", general="1"))
    expect(page.locator("#notice")).to_contain_text(f"the model has no facts about {name}")
    expect(page.locator("#bars .bar").first).to_be_visible()
    assert page.locator("#result img, #result script").count() == 0
    assert opened == []


@pytest.mark.slow
def test_the_token_is_asked_for(browser: Browser, served: ServedModel) -> None:
    with running_service(served.folder, "--token", "secret") as service:
        page = browser.new_page()
        page.goto(service.address)
        page.get_by_label("The token").fill("wrong")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_label("The token")).to_have_value("")  # asked for again
        expect(page.get_by_role("alert")).to_contain_text("missing or wrong")
        page.get_by_label("The token").fill("secret")
        page.get_by_role("button", name="Continue").click()
        expect(page.locator(".sample").first).to_be_visible()
        page.locator(".sample").first.click()
        expect(page.locator("#bars .bar").first).to_be_visible()
        page.close()


def test_a_late_answer_does_not_replace_a_newer_one(
    page: Page, address: str, query: Values
) -> None:
    held: list[Any] = []
    given_up: list[str] = []
    page.on("requestfailed", lambda request: given_up.append(request.url))
    page.goto(address)
    expect(page.locator(".sample").first).to_be_visible()
    page.route("**/api/explain", hold_in(held))
    swapped = {"subject": query["object"], "object": query["subject"]}
    for number, names in enumerate((query, query | swapped), 1):
        page.get_by_role("combobox", name="Who acts").fill(names["subject"])
        page.get_by_role("combobox", name="Toward").fill(names["object"])
        page.get_by_label("Time", exact=True).fill(names["time"])
        page.get_by_role("button", name="Ask").click()
        comes(page, held.__len__, number)
    late, newer = held
    newer.continue_()
    expect(page.locator("#bars .bar").first).to_be_visible()
    before = page.locator("#bars").inner_text()
    comes(page, lambda: late.request.url in given_up, True)
    late.fulfill(json={"ranked": [], "known": [], "similar": {}})
    settles(page)
    assert page.locator("#bars").inner_text() == before
    assert page.title().startswith(query["object"])
    page.unroute("**/api/explain")
    page.goto(address)
    expect(page).to_have_title("APPTeK Explorer")


def test_waiting_and_problems_of_a_part_are_shown_and_leave_nothing_old_beside_them(
    page: Page, address: str, query: Values
) -> None:
    page.route("**/api/pair*", lambda route: route.abort())
    page.goto(link(address, **query))
    expect(page.locator("#reasons .reason").first).to_be_visible()
    settles(page)
    page.locator("#history summary").click()
    expect(page.get_by_role("alert")).to_have_count(1)
    page.unroute("**/api/pair*")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.locator("#reasons .reason").first).to_be_visible()

    held: list[Any] = []
    page.route("**/api/explain", hold_in(held))
    page.locator("#bars .bar").nth(2).click()
    expect(page.locator("#graph-card")).to_have_attribute("data-waiting", "")
    comes(page, held.__len__, 1)
    held[0].continue_()
    expect(page.locator("#graph-card")).not_to_have_attribute("data-waiting", "")
    page.unroute("**/api/explain")
    page.route("**/api/explain", lambda route: route.abort())
    second = page.locator("#bars .bar").nth(1)
    second.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    expect(second).to_be_focused()
    expect(page.locator("#answer")).to_be_empty()
    expect(page.locator("#reasons .reason")).to_have_count(0)
    expect(page.locator("#graph svg")).to_have_count(0)
    expect(page.get_by_role("button", name="Save as SVG")).to_be_disabled()
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_contain_text("still running")
    page.unroute("**/api/explain")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator("#bars .bar").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
