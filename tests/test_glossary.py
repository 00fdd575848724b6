"""One name for each concept: the variants that docs/glossary.md rules out do not return."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "apptek"
GOLDEN = Path(__file__).with_name("golden")


def _ruled_out() -> tuple[set[str], set[str]]:
    """Return the names and the phrases of the last column."""
    lines = (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines()
    cells = [line.split("|")[4] for line in lines if line.startswith("| ")][1:]
    names = {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    words = (re.split("[,;]", re.sub("`[^`]+`", "", cell)) for cell in cells)
    return names, {word.strip() for row in words for word in row if word.strip()}


NAMES, PHRASES = _ruled_out()


def _walk(value: object) -> Iterator[tuple[str, object]]:
    """Yield every key and value of a JSON document."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        yield key, inner
        yield from _walk(inner)
    for inner in value if isinstance(value, list) else ():
        yield from _walk(inner)


def _python_names() -> set[str]:
    """Return every public name that the package defines: functions, classes, arguments, fields."""
    names = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.arg):
                names.add(node.arg)
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                names.add(node.target.id)
    return names


HTTP = [
    json.loads((GOLDEN / name).read_text("utf-8")) for name in ("openapi.json", "mcp_tools.json")
]
HELP = "\n".join(path.read_text("utf-8") for path in sorted((GOLDEN / "help").glob("*.txt")))
EXPLORER = SOURCE / "server" / "explorer"
PAGE = "\n".join(path.read_text("utf-8") for path in sorted(EXPLORER.glob("*.[hj]*")))


@pytest.mark.parametrize(
    ("where", "used"),
    [
        ("Python", _python_names()),
        ("JSON and HTTP", {key for document in HTTP for key, _ in _walk(document)}),
        ("options", {option.replace("-", "_") for option in re.findall(r"--([a-z-]+)", HELP)}),
    ],
)
def test_no_name_that_is_ruled_out(where: str, used: set[str]) -> None:
    assert len(NAMES) > 8
    assert NAMES & used == set(), where


@pytest.mark.parametrize("phrase", sorted(PHRASES))
def test_no_phrase_that_is_ruled_out(phrase: str) -> None:
    described = " ".join(text for d in HTTP for _, text in _walk(d) if isinstance(text, str))
    for where, text in (("help", HELP), ("HTTP", described), ("page", PAGE)):
        found = re.search(rf"\b{re.escape(phrase)}\b", " ".join(text.split()), re.IGNORECASE)
        assert not found, where


ARCHITECTURE = ROOT / "docs" / "architecture.md"


def test_every_file_and_folder_that_it_names_exists() -> None:
    page = ARCHITECTURE.read_text(encoding="utf-8")
    words = set(re.findall(r"`([\w./-]+)`", page)) - {"src/apptek"}
    paths = {word for word in words if "/" in word or word.endswith(".py")}
    packages = set(re.findall(r"^\| `([\w/]+)` \|", page, re.MULTILINE))
    assert len(paths) > 30
    assert len(packages) > 10
    assert [name for name in sorted(paths | packages) if not (SOURCE / name).exists()] == []


def test_every_package_and_every_module_beside_them_is_in_its_drawing() -> None:
    drawing = ARCHITECTURE.read_text(encoding="utf-8").split("## The packages")[1].split("```")[1]
    named = set(re.findall(r"\w+", drawing))
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__"}
    assert sorted((packages | modules) - named) == []
