"""Measures the page with 100,000 names: first paint, and how long it takes to follow the hand.

    python -m benchmarks.explorer 100000 MODEL      fits MODEL first, where it is not there

Prints milliseconds, as a browser on this machine saw them. Nothing is asserted: it may be busy.
"""

import statistics
import sys
from pathlib import Path
from urllib.parse import quote

import numpy as np
from browser_pages import CHROMIUM, FLAGS
from http_clients import running_service
from playwright.sync_api import Page, sync_playwright

from apptek.config import preset
from apptek.predictor import Predictor
from apptek.setting_rules import with_settings

FACTS, PREDICATES, DAYS = 300_000, 40, 365
ROUNDS = 15


def invented_events(names: int) -> list[tuple[str, str, str, str]]:
    """Facts between many entities, a few of which have most of them."""
    rng = np.random.default_rng(0)
    ends = (rng.pareto(0.6, (FACTS, 2)) * 10).astype(np.int64) % names
    ends[: names // 2] = np.arange(names // 2 * 2).reshape(-1, 2)  # every name occurs
    predicates, days = rng.integers(PREDICATES, size=FACTS), rng.integers(DAYS, size=FACTS)
    dates = np.datetime64("2014-01-01") + np.arange(DAYS)
    return [
        (f"Name {a} of {a % 97}", f"predicate {p}", f"Name {b} of {b % 97}", str(dates[d]))
        for (a, b), p, d in zip(ends.tolist(), predicates.tolist(), days.tolist(), strict=True)
        if a != b
    ]


TIMED = """([act, until]) => new Promise((done) => {
  const start = performance.now();
  const look = () => (eval(until) ? done(performance.now() - start) : requestAnimationFrame(look));
  eval(act);
  look();
})"""
KEY = "new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true })"
NEXT_DAY = f"document.querySelector('#ribbon .handle').dispatchEvent({KEY})"
HEADLINE = "document.querySelector('#asked').textContent"
GRAPH = "document.querySelector('#graph svg .question-label').innerHTML"


def measure(page: Page, address: str) -> dict[str, list[float]]:
    """Milliseconds by what is waited for; inside the page, from the event to the next frame."""
    found: dict[str, list[float]] = {
        "first paint": [], "a day further, answer and ranking": [],
        "a day further, reasons and graph": [], "names after a letter": [],
    }  # fmt: skip
    pair = f"subject={quote('Name 0 of 0')}&object={quote('Name 1 of 1')}&time=2014-06-01"
    for _ in range(ROUNDS):
        page.goto(f"{address}/")
        page.wait_for_load_state("networkidle")
        paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        found["first paint"].append(page.evaluate(paint))
    page.goto(f"{address}/?{pair}")
    page.wait_for_load_state("networkidle")
    days = {"answer and ranking": HEADLINE, "reasons and graph": GRAPH}
    for _ in range(ROUNDS):
        for name, part in days.items():
            page.evaluate(f"window.before = {part}")
            took = page.evaluate(TIMED, [NEXT_DAY, f"{part} !== window.before"])
            found[f"a day further, {name}"].append(took)
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(300)
    for number in range(ROUNDS):
        field = "document.querySelector('#subject')"
        text = f"Name {number}"
        act = (
            f"{field}.focus(); {field}.value = {text!r}; {field}.dispatchEvent(new Event('input'))"
        )
        options = "[...document.querySelectorAll('#subject-list .option')]"
        seen = f"{options}.some((option) => option.textContent.startsWith({text!r}))"
        found["names after a letter"].append(page.evaluate(TIMED, [act, seen]))
        page.keyboard.press("Escape")
        page.wait_for_timeout(200)
    return found


def main(names: int, model: Path) -> None:
    if not model.exists():
        config = with_settings(preset("default"), ["classifier.epochs=1"])
        Predictor.fit(invented_events(names), config=config, folder=model)
    with running_service(model) as service, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        # The policy of the page forbids what waiting for an expression needs.
        page = browser.new_page(viewport={"width": 1400, "height": 900}, bypass_csp=True)
        for name, times in measure(page, service.address).items():
            middle, worst = statistics.median(times), max(times)
            sys.stdout.write(f"{name}: median {middle:.0f} ms, most {worst:.0f} ms\n")
        browser.close()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
