"""What the page shows: ribbon, views, forecast, reasons, what if, search, lists, actors."""

import csv
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from browser_pages import (
    IN_BROWSER,
    Values,
    comes,
    comes_to,
    covered,
    fresh_page,
    hold_in,
    link,
    settles,
    state,
    too_wide,
)
from playwright.sync_api import Browser, Page, expect
from test_results import AUDIT, SUSPECT

from apptek.predictor import Predictor, Query
from apptek.present.wording import percent

pytestmark = IN_BROWSER
MODEL = "explored"  # of the fixture `predictor`


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page that asks nobody else."""
    asked: set[str] = set()
    with fresh_page(browser, viewport={"width": 1500, "height": 1000}) as page:
        page.on("request", lambda request: asked.add(request.url.split("?")[0]))
        yield page
    assert all(url.startswith((address, "data:", "blob:")) for url in asked)


def opened(page: Page, address: str, **values: str) -> Page:
    page.goto(link(address, **values))
    expect(page.locator("#ribbon .handle")).to_be_visible()
    expect(page.locator("#reasons .reason").first).to_be_visible()
    expect(page.locator("#forecast .chance")).to_be_visible()
    return page


def shown_answer(page: Page) -> str:
    return " ".join(page.locator("#answer span").all_inner_texts())


def test_the_day_is_dragged_along_the_ribbon_and_all_else_follows(
    page: Page, address: str, query: Values, predictor: Predictor
) -> None:
    opened(page, address, **query)
    titles = [f"{query['subject']} → {query['object']}", f"{query['object']} → {query['subject']}"]
    expect(page.locator("#ribbon .title").first).to_contain_text(titles[0])
    assert page.locator("#ribbon .dot").count() > 0
    expect(page.locator("#legend li").first).to_be_visible()
    box = page.locator("#ribbon svg").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    before = page.locator("#ribbon .handle text").text_content()
    page.mouse.move(box["x"] + 0.7 * box["width"], middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.4 * box["width"], middle)
    when = page.locator("#ribbon .handle text").text_content() or ""
    assert when != before
    comes_to(page, time=when)  # also before it is let go
    page.mouse.up()
    expect(page.locator("#time")).to_have_value(when)
    (answer,) = predictor.predict([Query(query["subject"], query["object"], when)], top=3)
    expected = f"{answer.labels[0]} {percent(answer.probabilities[0])}"
    comes(page, lambda: shown_answer(page), expected)
    names = page.locator("#bars .bar .name")
    expect(names.nth(1)).to_contain_text(answer.labels[1])
    expect(page.locator("#forecast")).to_contain_text(when)
    comes(page, lambda: when in page.locator("#graph .question-label").inner_html(), True)
    page.go_back()
    comes_to(page, time=query["time"])
    handle = page.get_by_role("slider", name="The day that is asked about")
    expect(handle).to_have_attribute("aria-valuetext", re.compile(f"^{query['time']}"))
    at = int(handle.get_attribute("aria-valuenow") or 0)
    handle.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowLeft")
    expect(handle).to_have_attribute("aria-valuenow", str(at - 6))
    page.get_by_role("button", name="Show fewer days").click()
    comes(page, lambda: ".." in state(page).get("span", ""), True)
    page.get_by_role("button", name="Swap subject and object").click()
    expect(page.locator("#ribbon .title")).to_contain_text(titles[::-1])


def test_a_direction_without_facts_has_no_band(
    page: Page, address: str, query: Values, predictor: Predictor
) -> None:
    facts, names = predictor.model.graph.facts, predictor.model.dataset.entities
    pairs = set(zip(facts.subjects.tolist(), facts.objects.tolist(), strict=True))
    subject, object_ = min((one, other) for one, other in pairs if (other, one) not in pairs)
    opened(page, address, subject=names[subject], object=names[object_], time=query["time"])
    expect(page.locator("#ribbon .title")).to_have_count(1)


def test_long_reasons_leave_room_for_the_facts_of_an_audit(page: Page) -> None:
    fact = replace(SUSPECT, label="Use unconventional mass violence", reason="a reason " * 60)
    page.set_viewport_size({"width": 800, "height": 600})
    page.set_content(replace(AUDIT, suspects=(fact,)).html())
    assert page.locator("td").first.evaluate("cell => cell.clientWidth") >= 16 * 16


def test_past_only_uses_only_what_was_known_then(
    page: Page, address: str, query: Values, predictor: Predictor
) -> None:
    opened(page, address, **query)
    all_facts = page.get_by_role("button", name="With all facts")
    past_only = page.get_by_role("button", name="Only the past")
    expect(all_facts).to_have_attribute("aria-pressed", "true")
    past_only.click()
    expect(past_only).to_have_attribute("aria-pressed", "true")
    comes_to(page, view="past_only")
    (answer,) = Predictor(predictor.model, past_only=True).predict([Query(**query)], top=1)
    comes(
        page, lambda: shown_answer(page), f"{answer.labels[0]} {percent(answer.probabilities[0])}"
    )
    all_facts.click()
    expect(all_facts).to_have_attribute("aria-pressed", "true")
    beyond = predictor.model.dataset.axis.format(int(predictor.model.graph.last_start) + 5)
    opened(page, address, **(query | {"time": beyond}))
    assert covered(page, "#ribbon .axis text, #ribbon .handle rect") == []
    expect(past_only).to_have_attribute("aria-pressed", "true")  # by itself
    expect(all_facts).to_be_disabled()


def test_a_question_takes_three_requests_and_its_forecast_has_a_chance(
    page: Page, address: str, query: Values, predictor: Predictor
) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    opened(page, address, **query)
    question = {path for path in asked if path.startswith("/api/") and path != "/api/model"}
    assert question == {"/api/explain", "/api/ribbon", "/api/forecast"}
    made = predictor.forecast(query["subject"], query["object"], query["time"], days=7)
    expect(page.locator("#forecast .chance b")).to_have_text(percent(made.probability))
    expect(page.locator("#occurrence")).to_have_text(
        f"{percent(made.probability)} that something happens within 7 days from {query['time']}"
    )
    expect(page.locator("#answer")).to_have_text(
        re.compile(r"^If something happens: .*\S [\d.]+ %$")
    )
    page.get_by_role("button", name="30 days").click()
    made = predictor.forecast(query["subject"], query["object"], query["time"], days=30)
    expect(page.locator("#forecast .chance b")).to_have_text(percent(made.probability))
    comes_to(page, days="30")


def test_a_reason_lights_its_facts_in_the_graph(page: Page, address: str, query: Values) -> None:
    opened(page, address, **query)
    expect(page.locator("#graph .edge").first).to_be_attached()
    page.locator("#reasons .reason").nth(0).hover()
    edges = page.locator("#graph .edge:not(.question)")
    lit = page.locator("#graph .edge:not(.question):not(.dim)")
    assert 0 < lit.count() <= edges.count()
    page.mouse.move(0, 0)
    expect(page.locator("#graph .dim")).to_have_count(0)
    further = page.locator("#further")
    further.locator("summary").first.click()
    expect(further.locator(".sum.total")).to_be_visible()
    further.locator(".group summary").first.click()
    expect(further.locator(".sum.member").first).to_be_visible()


def test_a_fact_is_struck_out_and_comes_back(page: Page, address: str, query: Values) -> None:
    opened(page, address, **query)
    before = shown_answer(page)
    strike = page.get_by_role("button", name=re.compile("^Strike out")).first
    expect(strike).to_have_css("text-decoration-line", "none")  # nothing is struck out yet
    expect(strike).to_have_css("border-top-width", "1px")
    strike.click()
    box = page.locator("#what-if")
    expect(box).to_contain_text("What if 1 fact had not happened?")
    expect(box).to_be_focused()
    comes(page, lambda: "without" in state(page), True)
    comes(page, lambda: shown_answer(page) != before, True)
    expect(page.locator("#asked")).to_contain_text("without 1 fact")
    struck = box.locator("s").inner_text()
    page.reload()
    expect(box.locator("s")).to_have_text(struck)
    box.get_by_role("button", name=re.compile("^Undo:")).click()
    expect(box).to_be_hidden()
    expect(page.locator("#answer-card")).to_be_focused()
    comes(page, lambda: shown_answer(page), before)
    expect(page.locator("#asked")).not_to_contain_text("without")
    page.get_by_role("button", name="What would change it?").click()
    told = page.locator("#what-if, #reasons-note").filter(has_text=re.compile("instead of|would"))
    expect(told.first).to_be_visible()


def test_what_was_asked_before_cannot_be_used_for_another_question(
    page: Page, address: str, query: Values
) -> None:
    opened(page, address, **query)
    held: list[Any] = []
    page.route("**/api/counterfactual", hold_in(held))
    page.get_by_role("button", name="What would change it?").click()
    comes(page, held.__len__, 1)
    page.route("**/api/explain", hold_in(held))
    page.get_by_role("button", name="Swap subject and object").click()
    comes(page, held.__len__, 2)
    result = page.locator("#result")
    expect(result).to_have_js_property("inert", True)
    held[1].continue_()
    expect(result).to_have_js_property("inert", False)
    expect(page.locator("#asked")).to_contain_text(f"{query['object']} → {query['subject']}")
    held[0].fulfill(json={"removed": [{"fact": 1}]})
    settles(page)
    assert "without" not in state(page)
    expect(page.locator("#what-if")).to_be_hidden()


def test_a_way_is_found_step_by_step(page: Page, address: str, query: Values) -> None:
    opened(page, address, **query)
    page.get_by_role("button", name="Explore paths").click()
    steps = page.locator("#steps .step")
    expect(steps.first).to_be_visible()
    first = steps.first.get_attribute("data-step") or ""
    steps.first.click()
    expect(page.locator("#steps .trail li")).to_have_count(1)
    comes_to(page, steps=first)
    page.get_by_role("button", name="Go back before step 1").click()
    expect(page.locator("#steps .trail")).to_have_count(0)
    page.get_by_role("button", name="The reasons").click()
    expect(page.locator("#steps")).to_be_hidden()


def test_the_first_screen_answers(page: Page, address: str) -> None:
    page.goto(address)
    search = page.get_by_role("combobox", name="Search")
    expect(search).to_have_attribute("placeholder", "Names and events")  # whatever the data is
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    hero = page.locator("#hero-link")
    expect(hero).to_be_visible()
    expect(hero.locator(".layer").first).to_be_attached()
    answer = " ".join(hero.locator(".hero-answer b").all_inner_texts())
    expect(page.locator(".sample").first).to_be_visible()
    hero.click()
    expect(page.locator("#answer")).to_be_visible()
    comes(page, lambda: shown_answer(page), answer)
    expect(page.get_by_role("button", name="Only the past")).to_have_attribute(
        "aria-pressed", "true"
    )


def each_view(page: Page, address: str, query: Values) -> Iterator[str]:
    """Open the views one after the other; none of them may be wider than the screen."""
    views = {
        address: "#hero-link",
        link(address, **query): "#forecast .chance",
        f"{address}/?page=watch": "table.list",
        link(address, page="actor", subject=query["subject"]): "table.list",
        f"{address}/?page=help": "#help dt",
    }
    for view, part in views.items():
        page.goto(view)
        expect(page.locator(part).first).to_be_visible()
        settles(page)
        assert too_wide(page) <= 0, view
        frames = page.locator(".table-frame")
        beyond = frames.evaluate_all("all => all.map((one) => one.scrollWidth - one.clientWidth)")
        assert max(beyond, default=0) <= 0, view  # nor is a list cut off
        yield view


def test_on_a_phone_a_chosen_predicate_shows_and_the_graph_fits(
    browser: Browser, address: str, query: Values
) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 800})
    opened(page, address, **query)
    strike = page.locator("#facts .strike").first
    expect(strike).to_have_css("margin-left", "10px")  # it does not touch the fact before it
    second = page.locator("#bars .bar").nth(1)
    label = second.locator(".name").inner_text().split("\n")[0]
    second.click()
    comes(page, lambda: label in shown_answer(page), True)
    comes(page, lambda: in_sight(page, "#answer"), True)
    expect(page.locator("#graph svg")).to_be_visible()
    frame = page.locator("#graph svg").bounding_box()
    assert frame is not None
    for node in page.locator("#graph .node circle").all():
        box = node.bounding_box()
        assert box is not None
        assert frame["x"] <= box["x"]
        assert box["x"] + box["width"] <= frame["x"] + frame["width"]
    page.close()


def in_sight(page: Page, selector: str) -> bool:
    top: Any = page.locator(selector).evaluate("e => [e.getBoundingClientRect().top, innerHeight]")
    return bool(0 <= top[0] < top[1])


# The rows of a list are alike, and the contrast of each text takes a while.
FEW_ROWS = "document.querySelectorAll('table.list tr:nth-child(n + 6)').forEach((e) => e.remove())"


AXE_OPTIONS = {"resultTypes": ["violations"], "rules": {"target-size": {"enabled": True}}}


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1000, "light")])
def test_every_view_fits_its_screen_and_has_no_barriers(
    browser: Browser, address: str, query: Values, width: int, scheme: Any
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    for view in each_view(page, address, query):
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        light = sum(map(int, re.findall(r"\d+", colour)[:3])) > 380
        assert light == (scheme == "light")
        page.evaluate(FEW_ROWS)
        found = Axe().run(page, options=AXE_OPTIONS)
        assert found.violations_count == 0, f"{view}\n{found.generate_report()}"
    context.close()


# The page of an actor, the filters of the watch list, supposed facts, and everyday words


@pytest.fixture
def actor(query: Values) -> str:
    return query["subject"]


def test_an_actor_has_counts_partners_and_changes(
    page: Page, address: str, actor: str, predictor: Predictor
) -> None:
    page.goto(link(address, page="actor", subject=actor))
    made = predictor.forecast(actor, days=7)
    tables = page.locator("table.list")
    row = tables.nth(0).locator("tbody tr").first
    expect(row).to_contain_text(made.acts_on[0].object)
    expect(row).to_contain_text(percent(made.acts_on[0].probability))
    expect(tables.nth(1).locator("tbody tr").first).to_contain_text(made.acted_on_by[0].subject)
    expect(page.locator("#list")).to_contain_text(percent(made.others_acted_on))
    data, facts = predictor.model.dataset, predictor.model.graph.facts
    own = facts.subjects == data.entities.find(actor)
    counts = page.locator(".counts").first.locator(".legend b").all_inner_texts()
    assert sum(map(int, counts)) == (own & facts.dated).sum()
    expect(page.locator(".counts svg rect").first).to_be_visible()
    page.get_by_role("button", name="30 days").click()
    comes_to(page, days="30")
    longer = predictor.forecast(actor, days=30).acts_on[0]
    expect(row).to_contain_text(percent(longer.probability))
    row.get_by_role("link").click()
    expect(page.locator("#asked")).to_contain_text(f"{longer.subject} → {longer.object}")
    page.locator("#asked").get_by_role("link", name=actor, exact=True).click()
    expect(page.locator("#list h1")).to_have_text(actor)


def test_the_watch_list_is_filtered_searched_and_saved(
    page: Page, address: str, predictor: Predictor
) -> None:
    whole = predictor.watch(days=7, most=200)
    one = whole.rows[0].subject
    group = predictor.answerer.labels.group_of(whole.rows[0].predicates[0].predicate)
    page.goto(link(address, page="watch"))
    rows = page.locator("table.list tbody tr")
    expect(rows.first).to_be_visible()
    page.get_by_label("Any entity").fill(one)
    page.keyboard.press("Enter")
    comes_to(page, entity=one)
    page.get_by_label("Events").select_option(f"group:{group}")
    comes_to(page, group=str(group))
    found = predictor.watch(days=7, most=200, entity=one, group=group).rows
    expect(rows).to_have_count(min(len(found), 60))
    expect(rows.first).to_contain_text(percent(found[0].probability))
    with page.expect_download() as waited:
        page.get_by_role("button", name="CSV").click()
    saved = list(csv.DictReader(waited.value.path().read_text("utf-8").splitlines()))
    assert [row["object"] for row in saved] == [row.object for row in found]
    with page.expect_download() as waited:
        page.get_by_role("button", name="Excel").click()
    assert waited.value.path().read_bytes().startswith(b"PK")
    page.get_by_label("Find in the list").fill("no such name")
    expect(rows).to_have_count(0)
    page.goto(link(address, page="watch", country="Atlantis"))
    expect(page.get_by_role("alert")).to_contain_text("No entity is from the country 'Atlantis'")
    page.get_by_role("button", name="Show the whole list").click()
    rows.first.get_by_role("link").click()
    expect(page.locator("#forecast .chance")).to_be_visible()


def test_a_supposed_fact_is_compared_and_undone(
    page: Page, address: str, query: Values, predictor: Predictor
) -> None:
    page.goto(link(address, **query))
    expect(page.locator("#reasons .reason").first).to_be_visible()
    page.get_by_role("button", name="Suppose a fact").click()
    page.get_by_label("Does what").fill("Consult")
    when = page.get_by_label("When", exact=True).input_value()
    page.keyboard.press("Enter")
    fact = (query["subject"], "Consult", query["object"], when)
    expected = predictor.explain(tuple(query.values()), suppose=[fact]).what_if
    assert expected is not None
    box = page.locator("#what-if")
    expect(box).to_contain_text(expected.sentence)
    first = next(each for each in expected.chances if each.kind == "predicate")
    expect(box.locator("tbody tr").first).to_contain_text(percent(first.supposed))
    expect(page.locator("#forecast")).to_contain_text("changes from")
    page.reload()  # the address has it
    expect(box).to_contain_text(expected.sentence)
    box.get_by_role("button", name="Undo").click()
    expect(box).to_be_hidden()


def test_after_the_last_fact_the_chance_comes_first(
    page: Page, address: str, query: Values, predictor: Predictor
) -> None:
    first = page.locator("#occurrence ~ #answer")
    last = predictor.forecast(query["subject"], query["object"]).first
    page.goto(link(address, **query))
    expect(page.locator("#occurrence b")).to_be_visible()
    expect(first).to_have_count(0)
    page.fill("#time", "next week")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("#occurrence")).to_contain_text("that something happens within 7 days")
    expect(first).to_have_count(1)
    page.goto(link(address, **(query | {"time": last})))
    expect(first).to_have_count(1)
    expect(page.locator("#forecast")).to_contain_text("Next event: ")


def test_words_find_questions_events_and_actors(
    page: Page, address: str, actor: str, query: Values
) -> None:
    page.goto(address)
    search = page.get_by_role("combobox", name="Search")
    search.fill(f"{actor} {query['object']}")
    expect(page.get_by_role("option").first).to_contain_text(actor)
    search.press("ArrowDown")
    search.press("Enter")
    expect(page.locator("#reasons .reason").first).to_be_visible()
    assert {state(page)["subject"], state(page)["object"]} == {actor, query["object"]}
    search.fill("talks")
    expect(page.get_by_role("option").first).to_contain_text("fact")
    search.fill(f"{actor} protest visit")
    expect(page.locator("#search-list .lead")).to_contain_text("Matching names:")
    page.get_by_role("option").filter(has_text=f"All about {actor}").first.click()
    expect(page.locator("#list h1")).to_have_text(actor)
    settles(page)
    page.get_by_role("link", name="Help").click()
    expect(page.get_by_role("heading", name="What do these numbers mean?")).to_be_visible()
