"""The page of models whose times are no days, in a real browser: their own unit, or no time."""

import csv
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from browser_pages import IN_BROWSER, covered, link
from fact_files import write
from playwright.sync_api import Page, expect
from test_timed_models import events

from apptek.config import preset
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world

pytestmark = IN_BROWSER
Opened = Callable[[Predictor], tuple[Page, str]]
OTHER_UNITS = re.compile(r"\b(days?|weeks?)\b", re.I)
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
    open_model: Opened, tmp_path: Path
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
    page.locator("#history summary").click()
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


def test_hours_are_asked_and_drawn(open_model: Opened, tmp_path: Path) -> None:
    text = events(datetime(2021, 5, 1), 400, timedelta(minutes=15))
    page, address = open_model(Predictor.fit(read_dataset(write(tmp_path / "events.csv", text))))
    page.goto(link(address, subject="e1", object="e2", time="2021-05-03 14:00"))
    expect(page.locator("#time")).to_have_value("2021-05-03 14:00")
    expect(page.locator("#time-hint")).to_have_text("2021-05-01 00:00 to 2021-05-05 03:00")
    expect(page.locator("#forecast .chance")).to_be_visible()
    expect(page.locator("#ribbon .axis text").first).to_have_text(re.compile(r"^(\d+ May|\d\d:00)"))
    assert covered(page, "#ribbon .axis text, #ribbon .handle rect") == []
    expect(page.locator("#forecast .chance")).to_be_visible()
    expect(page.locator("#forecast")).to_contain_text("24 hours: 2021-05-03 14:00 to")
    page.fill("#time", "2021-06-01 00:00")
    expect(page.locator("#time-hint")).to_contain_text("outside 2021-05-01 00:00")
    assert OTHER_UNITS.findall(words_of(page)) == []


@pytest.mark.slow
def test_years_are_called_years(open_model: Opened, tmp_path: Path) -> None:
    lines = events(datetime(1900, 1, 1), 900, timedelta(days=50)).splitlines()
    text = "\n".join([lines[0], *(line.partition("-")[0] for line in lines[1:])])
    page, address = open_model(Predictor.fit(read_dataset(write(tmp_path / "events.csv", text))))
    page.goto(address)
    expect(page.locator("#hero-link .hero-more")).to_have_text("See why, and drag the year →")
    assert OTHER_UNITS.findall(words_of(page)) == []
    page.locator("#hero-link").click()
    expect(page.locator("#forecast .chance")).to_be_visible()
    expect(page.get_by_role("button", name="5 years", exact=True)).to_be_visible()
    expect(page.get_by_role("button", name="Show fewer years")).to_be_visible()
    last = int(page.locator("#ribbon .handle").get_attribute("aria-valuemax") or 0)
    assert 2022 < last < 2040  # most of the ribbon is about what is known
    asked = page.locator("#asked")
    for year in (str(last), "1850"):
        page.fill("#time", year)
        page.get_by_role("button", name="Ask").click()
        expect(asked).to_contain_text(year)
    names = [page.locator(f"#{field}").input_value() for field in ("subject", "object")]
    page.get_by_role("button", name="Swap subject and object").click()
    expect(asked).to_contain_text(f"{names[1]} → {names[0]}, 1850")
    page.fill("#time", "")
    page.get_by_role("button", name="Swap subject and object").click()
    expect(page.locator("#subject")).to_have_value(names[1])  # all is swapped, or nothing
    assert OTHER_UNITS.findall(words_of(page)) == []
    page.get_by_role("link", name="Watch list").click()
    expect(page.locator("#list .lede")).to_contain_text("in the next year")
    nothing = "No chance that something happens changes by one percentage point or more"
    expect(page.locator("#list > .soft").last).to_contain_text(f"{nothing} in the next year")
    assert OTHER_UNITS.findall(words_of(page)) == []
