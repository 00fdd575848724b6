"""Every text that people or programs read, compared with the golden files in `tests/golden`."""

import asyncio
import json
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import succeeds
from golden_files import agree, answers, check, check_names, json_text, page_text, transcript
from service_parts import client_of, problem

from apptek import Predictor, Splitting, __version__, read_dataset
from apptek.results import Answers
from apptek.server.served_model import ServedModel

COMMANDS = tomllib.loads(Path(__file__).with_name("golden_commands.toml").read_text("utf-8"))
TEXTS, OBJECTS, PAGES = COMMANDS["text"], COMMANDS["json"], COMMANDS["page"]
REQUESTS = COMMANDS["http"]
CASES = tomllib.loads(Path(__file__).with_name("golden_cases.toml").read_text("utf-8"))
PAIR = {"subject": "Koronia", "object": "Kestaria"}
DAY = "2020-09-20"
PAGE_LINES = 150  # of the words of a page: the audit lists every fact


def _command_paths() -> list[str]:
    """The words of every command and group, as the command line has them now."""
    import typer

    from apptek.cli import app

    def walk(command: object, path: str) -> Iterator[str]:
        yield path
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, f"{path} {name}".strip())

    return [*walk(typer.main.get_command(app), "")]


HELP = {f"help/{path.replace(' ', '-') or 'apptek'}.txt": path for path in _command_paths()}


@pytest.fixture(scope="module")
def fitted(
    tmp_path_factory: pytest.TempPathFactory,
    explored_model: Path,
    served_model: Path,
    forecast_model: Path,
) -> Iterator[str]:
    """Enter a folder with models and data, and tell what `fit` printed there.

    All names are relative, so that no text depends on where the tests run.
    """
    before = Path.cwd()
    folder = tmp_path_factory.mktemp("golden")
    (folder / "model").symlink_to(explored_model)
    (folder / "paper").symlink_to(served_model)
    (folder / "ahead").symlink_to(forecast_model)
    for name, text in COMMANDS["files"].items():
        (folder / name).write_text(text, encoding="utf-8")
    os.chdir(folder)
    try:
        made = transcript("data", "make-world", "world", "--facts", "600")
        succeeds("fit", "world", "--model", "recency", "--out", "recency")
        quick = ("--set", "classifier.epochs=1")
        yield made + transcript("fit", "world", "--out", "small", *quick)
    finally:
        os.chdir(before)


def test_fit(fitted: str) -> None:
    check("text/fit.txt", fitted)


@pytest.mark.usefixtures("fitted")
@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    text = "\n".join(transcript(*shlex.split(command)) for command in TEXTS[name])
    if name == "check":  # bytes and digest depend on the last bits of weights
        text = re.sub(r"[\d,]+ bytes(.*digest) \w+", r"N bytes\1 DIGEST", text)
    check(f"text/{name}.txt", text)


@pytest.mark.usefixtures("fitted")
@pytest.mark.parametrize("name", OBJECTS)
def test_json(name: str) -> None:
    check(f"json/{name}.json", answers(OBJECTS[name]))


@pytest.mark.usefixtures("fitted")
@pytest.mark.parametrize("name", PAGES)
def test_page(name: str) -> None:
    succeeds(*shlex.split(PAGES[name]))
    lines = page_text(Path("page.html").read_text(encoding="utf-8")).splitlines()
    check(f"page/{name}.txt", "\n".join(lines[:PAGE_LINES]))


@pytest.mark.usefixtures("fitted")
def test_daily_run() -> None:
    """The plan, the log and the page of a daily run; times of day are left out."""
    project = 'name = "world"\n[source]\ndata = ["world/train.tsv", "world/valid.tsv"]\n'
    project += '[model]\nfolder = "daily"\nset = ["classifier.epochs=1"]\n[watch]\n'
    project += 'pairs = "pairs.csv"\ndays = 60\n[outputs]\nwatch = ["watch.json"]\n'
    Path("apptek.toml").write_text(project, encoding="utf-8")
    first, second = ["--observed-until", "2021-06-01"], ["--observed-until", "2021-08-01"]
    runs = [["--dry-run", *first], first, second, ["--dry-run", *second]]
    text = "\n".join(transcript("run", *words) for words in runs)
    text = re.sub(r'"time": "[^"]+"', '"time": "TIME"', text)
    check("text/run.txt", re.sub(r'"seconds": [\d.]+', '"seconds": 0', text))
    check("page/run.txt", page_text(Path("how-good.html").read_text(encoding="utf-8")))


@pytest.mark.usefixtures("fitted")
def test_python() -> None:
    """How results show themselves in Python and in a notebook."""
    predictor = Predictor.load(Path("model"))
    query = ("Koronia", "Kestaria", DAY)
    facts = [("a", "p", "b", 1999), ("a", "q", "b", 2001), ("c", "p", "d")]
    small = read_dataset(facts, splitting=Splitting(train=1, valid=0))
    results: list[object] = [
        predictor,
        predictor.model.dataset,
        Predictor.load(Path("paper")),
        read_dataset([("A", "met", "B", 2001)]),
        predictor.predict([query], top=3),
        predictor.predict([query, query], top=1),
        predictor.explain(query, most=1),
        predictor.forecast(*query[:2], days=7),
        predictor.watch([query[:2]], days=7),
        small.entities,
        small.predicates,
        (small.entities[:3], small.entities[-1:]),
        small.train,
        small.train.first(1),
        Answers(),
    ]
    parts = []
    for result in results:
        parts.append(f">>> {type(result).__name__}\n{result!r}")
        if to_html := getattr(result, "_repr_html_", None):
            parts.append(f"--- in a notebook\n{page_text(to_html())}")
    check("text/python.txt", "\n\n".join(parts))


@pytest.mark.parametrize("name", HELP)
def test_help(name: str) -> None:
    check(name, transcript(*HELP[name].split(), "--help"))


@pytest.mark.parametrize("name", REQUESTS)
def test_http(name: str, explored_model: Path, served_model: Path) -> None:
    """Problems, and what is said of unknown names that are allowed."""
    client = client_of(ServedModel.open(served_model if name == "paper" else explored_model))
    usual = {"forecast": PAIR, "partners": {}, "rank-entities": {}, "health": {}}
    found = {}
    for request in REQUESTS[name]:
        method, path, *fields = request.split(" ", 2)
        body, headers = None, {}
        if fields and fields[0].startswith("{"):
            whole = usual.get(path.rpartition("/")[2], PAIR | {"time": DAY}) | json.loads(fields[0])
            body = {key: value for key, value in whole.items() if value is not None}
        elif fields:
            headers = dict([fields[0].split(": ")])
        response = client.request(method, path, json=body, headers=headers)
        content = response.json() if response.is_success else problem(response)
        found[request] = {"allow": response.headers.get("allow", "")} | content
    check(f"http/{name}.json", json_text(found))


def test_openapi(served_model: Path) -> None:
    from apptek.server.app import create_app

    described = create_app(ServedModel.open(served_model)).openapi()
    assert described["info"].pop("version") == __version__
    check("openapi.json", json_text(described))


def test_tools_for_assistants(served_model: Path) -> None:
    from mcp import Client

    from apptek.server.mcp_server import create_server
    from apptek.server.workers import RequestLimits

    async def describe() -> list[object]:
        async with Client(create_server(ServedModel.open(served_model), RequestLimits())) as client:
            listed = await client.list_tools()
            return [tool.model_dump(mode="json", exclude_none=True) for tool in listed.tools]

    check("mcp_tools.json", json_text(asyncio.run(describe())))


def test_every_golden_file_is_compared() -> None:
    names = {
        *(f"text/{name}.txt" for name in (*TEXTS, *CASES, "fit", "python", "run", "damages")),
        *(f"json/{name}.json" for name in OBJECTS),
        *(f"page/{name}.txt" for name in (*PAGES, "run")),
        *HELP,
        *(f"http/{name}.json" for name in REQUESTS),
        "openapi.json",
        "mcp_tools.json",
        "mcp_problems.json",
    }
    check_names(names)


@pytest.mark.parametrize(
    ("golden", "now", "same"),
    [
        ("Accuse (37.8 %), 3 times", "Accuse (37.9 %), 3 times", True),
        ("Accuse (37.8 %), 3 times", "Accuse (38.0 %), 3 times", False),
        ("Accuse (37.8 %), 3 times", "Accuse (37.8 %), 4 times", False),
        ("Accuse (37.8 %), 3 times", "Blame (37.8 %), 3 times", False),
        ("a chance of 9 %", "a chance of 8 %", True),
        ("2020-09-20", "2020-09-21", False),
        ("\N{MINUS SIGN}0.01  others", "+0.00  others", True),
        ('{"p": 0.500000}', '{"p": 0.500040}', True),
        ('{"p": 0.500000}', '{"p": 0.500100}', False),
        ('{"p": 1.00000e-07}', '{"p": 1.20000e-07}', True),
        ("│ ███   │", "│ ████  │", True),
        ("│ ███   │", "│ █████ │", False),
    ],
)
def test_only_rounding_may_differ(golden: str, now: str, *, same: bool) -> None:
    assert agree(golden, now) is same
