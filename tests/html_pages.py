"""HTML reports, parsed and checked."""

import re
from html.parser import HTMLParser

from apptek.present.drawing import Drawing
from apptek.present.template import render

NAMESPACE = "http://www.w3.org/2000/svg"


class Page(HTMLParser):
    """The elements of a page, which must be balanced, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
        if tag not in ("meta", "br"):  # they have no end tag
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data


def read_page(text: str) -> Page:
    """Parse a page and check that every element is closed."""
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return page


def assert_contained(text: str, page: Page) -> None:
    """Check that the page loads nothing and runs nothing."""
    assert not page.tags & {"script", "link", "img", "iframe", "object", "base", "form"}
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert not {name for name, _ in page.attributes} & {"src", "href", "xlink:href", "action"}
    links = set(re.findall(r"https?://[^\s\"'<]*", text)) | set(
        re.findall(r"@import|url\([^#]", text)
    )
    assert links <= {NAMESPACE}


def assert_mailable(page: str) -> None:
    """Check that Gmail and Outlook remove nothing: style sheets, variables, SVG, layout classes."""
    for dropped in ("<style", "<svg", "<link", "<script", "var(--", "display:grid", "display:flex"):
        assert dropped not in page
    assert "<table" in page
    assert " style=" in page


def draw_svg(drawing: Drawing) -> str:
    """Return a drawing as one <svg> element."""
    return render("drawing.svg.j2", drawing=drawing)
