"""The pages: links lead somewhere, and every public name, field and error is on one of them."""

import ast
import doctest
import json
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from apptek.server.problem_json import TITLES
from tools.make_figures import FOLDER, drawings

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

OTHER_FIELDS = {  # fields that the commands of the golden files do not print
    "classes", "backoff", "entity_decay", "floor", "pair", "pair_decay", "reversed", "smoothing",
    "against_best", "best", "folder", "metrics", "seconds", "digest", "bytes",
}  # fmt: skip


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


@pytest.mark.gate
@pytest.mark.parametrize(
    ("package", "page"),
    [
        ("apptek", "python"),
        ("apptek.research", "python-research"),
        ("apptek.paper", "python-paper"),
    ],
)
def test_every_public_name_has_a_description_and_an_example_that_runs(
    package: str, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for module in ("models.registry", "features.space"):
        monkeypatch.setattr(f"apptek.{module}._REGISTERED", {})
    text = PAGES[f"docs/{page}.md"]
    described = set(re.findall(r"^\.\. auto\w+:: (\w+)$", text, re.M))
    names = set(import_module(package).__all__)
    assert names - described <= {"__version__"}
    assert described <= names
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    examples = parser.get_doctest(re.sub("^```.*$", "", text, flags=re.M), {}, page, page, 0)
    used = {word for each in examples.examples for word in re.findall(r"\w+", each.source)}
    assert names <= used
    assert runner.run(examples).failed == 0


def problem_titles() -> set[str]:
    """The titles of all problems that the service can send."""
    titles = set(TITLES.values())
    for path in (ROOT / "src" / "apptek" / "server").glob("*.py"):
        for call in ast.walk(tree := ast.parse(path.read_text("utf-8"))):
            if isinstance(call, ast.Call) and "APPTeK" not in (text := ast.unparse(call)):
                for word in call.keywords if "title=" in text else ():
                    if word.arg == "title" and isinstance(word.value, ast.Constant):
                        titles.add(str(word.value.value))
                    elif word.arg == "title" and isinstance(word.value, ast.Name):
                        titles |= _constants(tree, word.value.id)
    return titles


def _constants(tree: ast.Module, name: str) -> set[str]:
    return {
        str(node.value.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
        if isinstance(node.value, ast.Constant)
    }


def test_every_titled_error_has_a_section() -> None:
    titles = problem_titles()
    assert len(titles) > 20
    parts = PAGES["docs/errors.md"].split("\n## ")
    question, data, service = (set(re.findall("^### (.+)$", part, re.M)) for part in parts[1:])
    assert titles <= question | data | service
    assert question | service <= titles  # a problem that is gone has no section


def test_every_route_that_a_page_names_exists() -> None:
    described = json.loads((ROOT / "tests" / "golden" / "openapi.json").read_text("utf-8"))
    known = {*described["paths"], "/api/openapi.json", "/api/metrics"}
    for name, text in PAGES.items():
        if name != "CHANGELOG.md":
            named = set(re.findall(r"`(?:GET |POST )?(/api/[a-z{}/.-]+)", text))
            assert named <= known, name


def test_the_figures_are_those_of_the_result_files() -> None:
    drawn = dict(drawings())
    assert {path.stem for path in FOLDER.iterdir()} == set(drawn)
    for name, svg in drawn.items():
        assert (FOLDER / f"{name}.svg").read_text("utf-8") == svg, "run `make figures`"
        assert any(f"figures/{name}.svg" in page for page in PAGES.values()), name


def keys_of(value: object) -> Iterator[str]:
    """Yield the names of all fields; objects whose keys are names of the data are left out."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key not in {"settings", "changed", "data"}:
            yield from keys_of(inner)
        yield key
    for inner in value if isinstance(value, list) else ():
        yield from keys_of(inner)


def test_every_field_that_a_command_prints_is_documented() -> None:
    pages = PAGES["docs/results-fields.md"] + PAGES["docs/command-fields.md"]
    known = set(re.findall(r"`(\w+)`", pages))
    printed: set[str] = set()
    for file in (ROOT / "tests" / "golden" / "json").iterdir():
        for command, answer in json.loads(file.read_text("utf-8")).items():
            keys = {key for key in keys_of(answer) if not key[0].isupper()}  # but for names
            assert keys <= known, command
            printed |= keys
    for part in PAGES["docs/command-fields.md"].split("\n## ")[1:]:
        if part.split()[0] in {"evaluate", "info", "update", "research"}:
            assert set(re.findall(r"`(\w+)`", part)) - printed <= OTHER_FIELDS
