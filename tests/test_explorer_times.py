"""The page of models whose times are no days, in a real browser: their own unit, or no time."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from browser_pages import IN_BROWSER, covered, fresh_page, link
from fact_files import write
from http_clients import running_service
from playwright.sync_api import Browser, Page, expect
from test_timed_models import events
from worlds import without_times

from apptek.config import preset
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world

pytestmark = IN_BROWSER
OTHER_UNITS = re.compile(r"\b(days?|weeks?)\b", re.I)
ABOUT_TIME = re.compile(
    r"\b(days?|dates?|dated|undated|(?<!1 )time|past|last|then|before)\b|\? ·|· \?", re.I
)


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with fresh_page(browser) as page:
        yield page


@contextmanager
def served(predictor: Predictor, folder: Path) -> Iterator[str]:
    """Serve a model for the length of a block; yield the address."""
    predictor.save(folder / "model")
    with running_service(folder / "model") as service:
        yield service.address


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


def test_nothing_is_said_about_time_where_no_fact_has_one(page: Page, tmp_path: Path) -> None:
    config = with_settings(preset("default"), ["classifier.epochs=1"])
    data = without_times(make_world(1500, 0).dataset)
    with served(Predictor.fit(data, model="default", config=config), tmp_path) as address:
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


def test_hours_are_asked_and_drawn(page: Page, tmp_path: Path) -> None:
    text = events(datetime(2021, 5, 1), 400, timedelta(minutes=15))
    data = read_dataset(write(tmp_path / "events.csv", text))
    with served(Predictor.fit(data), tmp_path) as address:
        page.goto(link(address, subject="e1", object="e2", time="2021-05-03 14:00"))
        expect(page.locator("#time")).to_have_value("2021-05-03 14:00")
        expect(page.locator("#time-hint")).to_have_text("2021-05-01 00:00 to 2021-05-05 03:00")
        expect(page.locator("#forecast .chance")).to_be_visible()
        expect(page.locator("#ribbon .axis text").first).to_have_text(
            re.compile(r"^(\d+ May|\d\d:00)")
        )
        assert covered(page, "#ribbon .axis text, #ribbon .handle rect") == []
        expect(page.locator("#forecast .chance")).to_be_visible()
        expect(page.locator("#forecast")).to_contain_text("24 hours: 2021-05-03 14:00 to")
        page.fill("#time", "2021-06-01 00:00")
        expect(page.locator("#time-hint")).to_contain_text("outside 2021-05-01 00:00")
        assert OTHER_UNITS.findall(words_of(page)) == []
