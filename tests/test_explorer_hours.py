"""The page of a model whose times are hours, in a real browser."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from fact_files import write
from playwright.sync_api import expect, sync_playwright
from test_explorer_page import CHROMIUM, FLAGS, link
from test_timed_models import events

from apptek.benches.http_clients import running_service
from apptek.data.reading.reader import read_dataset
from apptek.predictor import Predictor


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="the page was NOT tested: no chromium here")
def test_hours_are_asked_and_drawn(tmp_path: Path) -> None:
    text = events(datetime(2021, 5, 1), 400, timedelta(minutes=15))
    predictor = Predictor.fit(read_dataset(write(tmp_path / "events.csv", text)))
    predictor.save(tmp_path / "model")
    with running_service(tmp_path / "model") as service, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(link(service.address, subject="e1", object="e2", time="2021-05-03 14:00"))
        expect(page.locator("#time")).to_have_value("2021-05-03 14:00")
        expect(page.locator("#time-hint")).to_have_text("2021-05-01 00:00 to 2021-05-05 03:00")
        ticks = page.locator("#lanes .axis text")
        expect(ticks.first).to_contain_text("2021-05-0")
        expect(ticks.first).to_contain_text(":00")
        page.fill("#time", "2021-06-01 00:00")
        expect(page.locator("#time-hint")).to_contain_text("outside 2021-05-01 00:00")
        assert errors == []
        browser.close()
