"""The page about the architecture names only files and folders that exist, and every package."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
SOURCES = ROOT / "src" / "apptek"


def test_every_file_and_folder_that_it_names_exists() -> None:
    page = PAGE.read_text(encoding="utf-8")
    words = set(re.findall(r"`([\w./-]+)`", page)) - {
        "src/apptek"
    }  # what the paths are relative to
    paths = {word for word in words if "/" in word or word.endswith(".py")}
    packages = set(re.findall(r"^\| `([\w/]+)` \|", page, re.MULTILINE))
    assert len(paths) > 30
    assert len(packages) > 10
    assert [name for name in sorted(paths | packages) if not (SOURCES / name).exists()] == []


def test_every_package_and_every_module_beside_them_is_in_its_drawing() -> None:
    drawing = PAGE.read_text(encoding="utf-8").split("## The packages")[1].split("```")[1]
    named = set(re.findall(r"\w+", drawing))
    packages = {path.parent.name for path in SOURCES.glob("*/__init__.py")}
    modules = {path.stem for path in SOURCES.glob("*.py")} - {"__init__"}
    assert sorted((packages | modules) - named) == []
