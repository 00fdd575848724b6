"""The page of a model whose facts have no dates, in a real browser: it says nothing about time."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

from browser_pages import IN_BROWSER, link, scroll_to
from playwright.sync_api import Page, expect

from apptek.config import preset
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world

pytestmark = IN_BROWSER
ABOUT_TIME = re.compile(
    r"\b(days?|dates?|dated|undated|(?<!1 )time|past|last|then|before)\b|\? ·|· \?",
    re.I,
)


def undated_file(folder: Path) -> Path:
    data = make_world(1500, 0).dataset
    facts = zip(
        data.train.subjects.tolist(), data.train.predicates.tolist(), data.train.objects.tolist(),
        strict=True,
    )  # fmt: skip
    rows = {(data.entities[s], data.predicates[p], data.entities[o]) for s, p, o in facts}
    path = folder / "relations.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("subject", "predicate", "object"), *sorted(rows)])
    return path


def words_of(page: Page) -> str:
    """All that is said: what is seen, and what is read aloud."""
    labels = page.locator("[aria-label]:visible, [title]:visible").evaluate_all(
        "all => all.map((one) => `${one.ariaLabel ?? ''} ${one.title ?? ''}`)"
    )
    return "\n".join([page.locator("body").inner_text(), page.title(), *labels])


def said_about_time(page: Page) -> list[str]:
    """The lines with such words; "how many times" is no such word.

    The note on the view has no kind yet by which the page could leave it out.
    """
    lines = words_of(page).split("\n")
    return [line for line in lines if ABOUT_TIME.search(line)]


def test_nothing_is_said_about_time_where_no_fact_has_one(
    open_model: Callable[[Predictor], tuple[Page, str]], tmp_path: Path
) -> None:
    config = with_settings(preset("default"), ["classifier.epochs=1"])
    data = read_dataset(undated_file(tmp_path))
    page, address = open_model(Predictor.fit(data, model="default", config=config))
    page.goto(address)
    expect(page.locator("#hero-link")).to_contain_text("See why")
    assert said_about_time(page) == []
    page.locator("#hero-link").click()
    expect(page.locator("#reasons .reason").first).to_be_visible()
    expect(page.locator("#graph svg .node").first).to_be_visible()
    scroll_to(page, "#timelines", "#history tr")
    expect(page.locator("#history tr").first).to_be_visible()
    page.locator("#reasons .reason").last.click()
    page.locator("#graph svg .node circle").first.click()
    expect(page.locator(".menu")).to_be_visible()
    assert said_about_time(page) == []
    page.keyboard.press("Escape")
    names = [page.locator(f"#{field}").input_value() for field in ("object", "subject")]
    page.goto(link(address, subject=names[0], object=names[1], time="?", steps=""))
    expect(page.locator("#steps")).to_contain_text("both sides")
    assert said_about_time(page) == []
    page.goto(link(address, page="audit"))
    expect(page.locator("#list tbody tr").first).to_be_visible()
    assert said_about_time(page) == []
