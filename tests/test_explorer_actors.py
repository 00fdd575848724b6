"""The page of an actor, the filters of the watch list, supposed facts, and everyday words."""

import csv
from collections.abc import Iterator

import pytest
from browser_pages import IN_BROWSER, Values, comes_to, fresh_page, link, settles
from playwright.sync_api import Browser, Page, expect

from apptek.predictor import Predictor
from apptek.present.wording import percent

pytestmark = IN_BROWSER
MODEL = "explored"  # of the fixture `predictor`


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with fresh_page(browser, viewport={"width": 1400, "height": 1000}) as page:
        yield page


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


def test_everyday_words_find_events_and_names_lead_to_an_actor(
    page: Page, address: str, actor: str
) -> None:
    page.goto(address)
    search = page.get_by_role("combobox", name="Search")
    search.fill("talks")
    expect(page.get_by_role("option").first).to_contain_text("fact")
    search.fill(f"{actor} protest visit")
    expect(page.locator("#search-list .lead")).to_contain_text("Matching names:")
    page.get_by_role("option").filter(has_text=f"All about {actor}").first.click()
    expect(page.locator("#list h1")).to_have_text(actor)
    settles(page)
    page.get_by_role("link", name="Help").click()
    expect(page.get_by_role("heading", name="What do these numbers mean?")).to_be_visible()
