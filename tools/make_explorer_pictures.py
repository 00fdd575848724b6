"""Make the pictures of the explorer: docs/explorer*.png, docs/watch.png, and docs/explorer.gif.

    python -m tools.make_explorer_pictures MODEL

MODEL is the README's model: all ICEWS14 events in one file, fitted with the default preset.
"""

import io
import sys
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from browser_pages import CHROMIUM, FLAGS
from http_clients import running_service
from PIL import Image, ImageDraw
from playwright.sync_api import Browser, Page, sync_playwright

from apptek.predictor import Predictor

DOCS = Path(__file__).parents[1] / "docs"
SIZE = (1180, 738)  # pixels of the browser window
SHOWN = (800, 500)  # pixels of a frame
COLOURS = 144
# Colours that the palette must keep: the accent colour and the classes of predicates.
KEPT = ("#3b3fb6", "#5b5fd6", "#eeeefb", "#c13a32", "#e08a4b", "#5b9fd4", "#1f7a6d", "#b4453c")
QUERY = {"subject": "North Korea", "object": "South Korea", "time": "2014-08-15"}
AHEAD = {"subject": "Boko Haram", "object": "Citizen (Nigeria)", "time": "2015-01-02"}


PARTS = ("#ribbon .handle", "#reasons .reason", "#graph svg .edge", "#forecast .chance")


def settled(page: Page) -> None:
    """Wait until all answers have arrived."""
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(250)
    if page.locator("#result").is_visible():
        for part in PARTS:
            page.locator(part).first.wait_for()
    while page.locator("[data-waiting]").count():
        page.wait_for_timeout(100)
    page.wait_for_timeout(250)


@dataclass
class Film:
    """Frames of a page with their durations, and the position of the pointer."""

    page: Page
    frames: list[Image.Image] = field(default_factory=list)
    durations: list[int] = field(default_factory=list)
    pointer: tuple[float, float] | None = None

    def shoot(self, seconds: float) -> None:
        """Add a frame."""
        self.page.wait_for_timeout(60)
        picture = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        if self.pointer:
            draw, (x, y) = ImageDraw.Draw(picture), self.pointer
            arrow = [(0, 0), (0, 21), (5, 16), (9, 25), (13, 23), (9, 15), (16, 15)]
            shape = [(x + across, y + down) for across, down in arrow]
            draw.polygon(shape, fill="black", outline="white")
        self.frames.append(picture.resize(SHOWN, Image.Resampling.LANCZOS))
        self.durations.append(round(1000 * seconds))

    def move(self, x: float, y: float) -> None:
        """Move the pointer."""
        self.pointer = (x, y)
        self.page.mouse.move(x, y)

    def point_at(self, selector: str) -> None:
        """Move the pointer to the middle of an element."""
        box = self.page.locator(selector).first.bounding_box()
        assert box is not None, selector
        self.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)

    def click(self, selector: str) -> None:
        """Point at an element and click it."""
        self.point_at(selector)
        self.shoot(0.5)
        self.page.mouse.down()
        self.page.mouse.up()
        self.settle()

    def settle(self) -> None:
        """Wait until all answers have arrived."""
        settled(self.page)

    def scroll_to(self, selector: str) -> None:
        """Scroll an element to the top, in a few frames."""
        target = self.page.locator(selector).first.evaluate(
            "e => e.getBoundingClientRect().top + scrollY - 12"
        )
        start = self.page.evaluate("scrollY")
        self.pointer = None
        for step in range(1, 5):
            self.page.evaluate(f"scrollTo(0, {start + (target - start) * step / 4})")
            self.shoot(0.07)

    def save(self, path: Path) -> None:
        """Write a GIF whose frames share a palette."""
        strip = Image.new("RGB", (SHOWN[0], SHOWN[1] * len(self.frames[::3])))
        for row, frame in enumerate(self.frames[::3]):
            strip.paste(frame, (0, row * SHOWN[1]))
        patch = strip.height // (4 * len(KEPT))
        for row, colour in enumerate(KEPT):
            strip.paste(colour, (0, row * patch, 60, (row + 1) * patch))
        palette = strip.quantize(COLOURS)
        frames = [f.quantize(palette=palette, dither=Image.Dither.NONE) for f in self.frames]
        frames[0].save(
            path, save_all=True, append_images=frames[1:], duration=self.durations, loop=0,
            optimize=True,
        )  # fmt: skip


def address_of(address: str, **values: str) -> str:
    return f"{address}/?" + "&".join(f"{key}={quote(value)}" for key, value in values.items())


def make_film(browser: Browser, address: str) -> Film:
    page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
    film = Film(page)
    page.goto(address)
    film.settle()
    film.shoot(2.2)
    page.locator("#search").focus()
    for letter in "korea visit":
        page.keyboard.type(letter)
        film.shoot(0.07)
    page.get_by_role("option").first.wait_for()
    film.settle()
    film.shoot(0.9)
    both = page.get_by_role("option").filter(has_text="North Korea")
    both.filter(has_text="South Korea").first.click()
    film.settle()
    film.shoot(1.6)
    box = page.locator("#ribbon svg").bounding_box()
    assert box is not None
    height = box["y"] + box["height"] / 2
    film.move(box["x"] + 0.82 * box["width"], height)
    page.mouse.down()
    for step in range(16):
        film.move(box["x"] + (0.84 - 0.0175 * step) * box["width"], height)
        page.wait_for_timeout(120)
        film.shoot(0.11)
    page.mouse.up()
    page.goto(address_of(address, **QUERY))
    film.settle()
    film.shoot(1.5)
    film.click("#past-only")
    film.shoot(1.3)
    film.click("#all-facts")
    film.scroll_to("#reasons-card")
    film.point_at("#reasons .reason")
    film.shoot(1.2)
    film.click("#counterfactual")
    film.shoot(2.2)
    page.goto(address_of(address, **QUERY))
    film.settle()
    film.scroll_to("#graph-card")
    film.shoot(1.5)
    film.scroll_to("#forecast-card")
    film.shoot(1.7)
    page.goto(f"{address}/?page=watch")
    page.locator("table.list").wait_for()
    film.pointer = None
    film.settle()
    film.shoot(1.6)
    page.close()
    return film


def make_pictures(browser: Browser, address: str) -> None:
    def shoot(name: str, width: int, height: int, scheme: str, **values: str) -> None:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        page = context.new_page()
        page.goto(address_of(address, **values))
        settled(page)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        picture.quantize(192, dither=Image.Dither.NONE).save(DOCS / name, optimize=True)
        context.close()

    shoot("explorer.png", 1600, 1180, "light", **QUERY)
    shoot("explorer-narrow.png", 400, 860, "dark", **QUERY, view="past_only")
    shoot("explorer-ahead.png", 1200, 700, "light", **AHEAD)
    shoot("explorer-watch.png", 1200, 620, "light", page="watch", group="material conflict")
    shoot("explorer-actor.png", 1200, 900, "light", page="actor", subject="Egypt", members="1")


def make_watch_picture(browser: Browser, model: Path) -> None:
    """Shoot the HTML page that `apptek watch` writes."""
    page = browser.new_page(viewport={"width": 1000, "height": 620})
    page.set_content(Predictor.load(model, past_only=True).watch(days=7).html())
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(192, dither=Image.Dither.NONE).save(DOCS / "watch.png", optimize=True)
    page.close()


def main(model: Path) -> None:
    with running_service(model) as service, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        make_watch_picture(browser, model)
        make_pictures(browser, service.address)
        film = make_film(browser, service.address)
        browser.close()
    film.save(DOCS / "explorer.gif")
    seconds, size = sum(film.durations) / 1000, (DOCS / "explorer.gif").stat().st_size
    about = f"{len(film.frames)} frames, {seconds:.1f} s, {size / 1e6:.2f} MB"
    sys.stdout.write(f"docs/explorer.gif: {about}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
