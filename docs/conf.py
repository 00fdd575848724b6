"""Settings of the documentation site: `make site` builds it, without the network."""

from pathlib import Path
from typing import Any

import apptek

project = "APPTeK"
author = "The APPTeK developers"
version = release = apptek.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
highlight_language = "text"  # a block without a language is a command line
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["theme.css"]
html_title = "APPTeK"
html_show_copyright = False
html_copy_source = False
myst_enable_extensions: list[str] = []  # no formulas: they would load a script of another host
myst_heading_anchors = 4
nb_execution_mode = "off"  # `make test-slow` executes the notebooks; the site shows their outputs
autodoc_member_order = "bysource"

# Pages of the repository's root: their text is read from there, so that there is no second copy.
ROOT_PAGES = {"contributing": "CONTRIBUTING", "changelog": "CHANGELOG", "security": "SECURITY"}


def read_root_page(_: Any, page: str, source: list[str]) -> None:
    """Read a page of the root, and let links to such pages stay within the site."""
    if page in ROOT_PAGES:
        text = Path(__file__).parents[1].joinpath(f"{ROOT_PAGES[page]}.md").read_text("utf-8")
        source[0] = text.replace("](docs/", "](")
    for here, name in ROOT_PAGES.items():
        for link in (f"](../{name}.md", f"]({name}.md"):
            source[0] = source[0].replace(link, f"]({here}.md")


def keep_lines(_: Any, __: str, ___: str, ____: Any, _____: Any, lines: list[str]) -> None:
    """Show a docstring below its first paragraph as it is written: parameters in columns."""
    if "" in lines[:-1]:
        first = lines.index("") + 1
        lines[first:] = ["::", "", *(f"    {line}" for line in lines[first:])]


def setup(app: Any) -> None:
    """Connect both to Sphinx."""
    app.connect("source-read", read_root_page)
    app.connect("autodoc-process-docstring", keep_lines)
