"""The pages: links lead somewhere, and every public name, field and error is on one of them."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in [*ROOT.glob("*.md"), *DOCS.glob("*.md")]
}
NOTEBOOKS = {
    path.relative_to(ROOT).as_posix(): "\n".join(
        "".join(cell["source"])
        for cell in json.loads(path.read_text("utf-8"))["cells"]
        if cell["cell_type"] == "markdown"
    )
    for path in DOCS.glob("tutorials/*.ipynb")
}


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", [*PAGES, *NOTEBOOKS])
def test_every_link_leads_to_a_file_and_a_heading_of_the_repository(name: str) -> None:
    text = (PAGES | NOTEBOOKS)[name]
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    for link in links:
        file, _, anchor = link.partition("#")
        if re.match("[a-z]+:", file):
            continue
        target = (ROOT / name).parent / file if file else ROOT / name
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text("utf-8")), link
