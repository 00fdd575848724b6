"""The page about the method names only files and functions that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
QUOTED = re.compile(r"`([^`\n]+)`")


def sources(text: str) -> list[Path]:
    """The files that a text names, relative to the package or to the checkout."""
    names = [name for name in QUOTED.findall(text) if name.endswith(".py")]
    folder = {True: ROOT, False: ROOT / "src" / "apptek"}
    return [folder[name.startswith("tests/")] / name for name in names]


def test_every_file_exists() -> None:
    files = sources(PAGE)
    assert len(files) > 30
    assert [file for file in files if not file.is_file()] == []


@pytest.mark.parametrize("row", [line for line in PAGE.splitlines() if line.startswith("|")])
def test_every_name_in_a_table_occurs_in_a_file_of_its_row(row: str) -> None:
    code = row.rstrip(" |").rpartition("|")[2]
    files = sources(code)
    names = [name for name in QUOTED.findall(code) if not name.endswith(".py")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    words = set(re.findall(r"\w+", text))
    assert {word for name in names for word in name.split(".")} <= words


def test_every_name_in_a_sentence_occurs_in_the_file_after_it() -> None:
    places = re.findall(r"`([\w.]+)` (?:in |\()`([\w/]+\.py)`", PAGE.replace("\n", " "))
    assert len(places) > 8
    for name, file in places:
        text = sources(f"`{file}`")[0].read_text(encoding="utf-8")
        assert set(name.split(".")) <= set(re.findall(r"\w+", text)), name
