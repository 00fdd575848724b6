"""Every text that people or programs read, compared with the golden files in `tests/golden`."""

import asyncio
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import apptek
from golden_files import agree, answers, check, check_names, json_text, page_text, transcript

from apptek import Dataset, Predictor, __version__

DAY = "2020-09-20"
PAIR = "Koronia Kestaria"
QUERY = f"{PAIR} {DAY}"  # the answer is far ahead of the runner-up
KNOWN = "'Military (Eldvania)' Eldvania 2019-01-03"  # a fact of train
UNSEEN = "'Ada Eriksen' Wendonia"  # a pair without facts
PROTEST = "'Protester (Ylduna)' 'Police (Ylduna)' 2019-04-15"  # known to the model `paper`
LENGTHS = ("sentence", "paragraph", "full")

# A golden file, and the commands whose output it holds. They run in a folder with the models
# `model` (default), `paper` and `small` (default, of few facts), the data `world`, and two files.
TEXTS = {
    "data": ["data stats world"],
    "info": ["info model", "info paper"],
    "evaluate": [
        "evaluate small",
        "evaluate small --past-only",
        "evaluate small --rolling",
        "evaluate paper --split valid",
    ],
    "compare": [
        "evaluate small --result small.json",
        "fit world --model frequency --out frequency",
        "evaluate frequency --result frequency.json",
        "research compare frequency.json small.json --top 2",
    ],
    "update": [
        "update model world/test.tsv --out newer",
        "info newer",
        "update newer --retract world/test.tsv --in-place",
    ],
    "check": ["info model --check"],
    "rules": ["info small --rules rules.jsonl", "info small --rules rules.txt"],
    "topologies": [
        "paper topologies model --predicate Accuse",
        "paper topologies paper --predicate Accuse",
    ],
    "predict": [f"predict model {QUERY}"],
    "predict-known-fact": [f"predict model {KNOWN} --top 3"],
    "predict-beyond-the-data": [f"predict model {PAIR} 2022-03-01 --top 3"],
    "predict-undated": [f"predict model {PAIR} '?' --top 3"],
    "predict-unknown-name": [
        f"predict model Koroni Kestaria {DAY} --top 3",
        f"predict model Koroni Kestaria {DAY} --top 3 --allow-unknown",
    ],
    "predict-file": ["predict model --queries queries.csv --out answers.csv --top 1 --skip-bad"],
    "predict-paper": [f"predict paper {PROTEST}"],
    "explain-sentence": [f"explain model {QUERY} --length sentence"],
    "explain-paragraph": [f"explain model {QUERY}"],
    "explain-full": [f"explain model {QUERY} --length full"],
    "explain-only-the-past": [f"explain model {QUERY} --past-only --length full"],
    "explain-other-predicate": [f"explain model {QUERY} --predicate Consult --against Demand"],
    "explain-known-fact": [f"explain model {KNOWN}"],
    "explain-unseen-pair": [f"explain model {UNSEEN} {DAY}"],
    "explain-beyond-the-data": [f"explain model {PAIR} 2022-03-01"],
    "explain-undated": [f"explain model {PAIR} '?'"],
    "explain-unknown-name": [
        f"explain model A B {DAY}",
        f"explain model Koroni Kestaria {DAY} --allow-unknown",
        f"explain model A B {DAY} --allow-unknown",
    ],
    "explain-paper": [f"explain paper {PROTEST} --length {length}" for length in LENGTHS],
    "contrast": [f"explain model {QUERY} --versus 2021-06-20 --length {one}" for one in LENGTHS],
    "counterfactual": [
        f"explain model {QUERY} --counterfactual",
        f"explain model {QUERY} --counterfactual --past-only",
    ],
    "counterfactual-to": [f"explain model {QUERY} --counterfactual --to Consult"],
    "counterfactual-add": [f"explain model {QUERY} --counterfactual --add"],
    "forecast": [f"forecast model {PAIR}"],
    "forecast-window": [f"forecast model {PAIR} --from 2021-10-01 --months 2 --top 3"],
    "forecast-unseen-pair": [f"forecast model {UNSEEN} --days 30 --top 2"],
    "forecast-unknown-name": [
        "forecast model Nobody Kestaria --top 2",
        "forecast model Nobody Kestaria --top 2 --allow-unknown",
    ],
    "watch": ["watch model pairs.csv --days 30", "watch model --top 3"],
    "audit": ["audit small --out audit.csv --reasons 10"],
    "errors": [
        "nonsense",
        "predict nowhere A B 2020-01-01",
        "predict model",
        "predict model --queries queries.csv",
        f"predict model {PAIR}",
        f"predict model {PAIR} someday",
        f"predict model {PAIR} 2099-01-01",
        f"predict model Koronia '*' {DAY} --allow-unknown",
        f"predict model {QUERY} --strict-names",
        "predict model --queries queries.csv --out answers.csv --allow-unknown",
        "predict model --queries queries.csv --out answers.csv",
        f"explain model {QUERY} --predicate Accusing",
        f"explain model {QUERY} --html page.html --versus 2021-06-20",
        f"explain model {QUERY} --counterfactual --to Accusing",
        f"explain paper {PROTEST} --counterfactual",
        f"forecast model {PAIR} --days 0",
        f"forecast model {PAIR} --days 7 --months 1",
        "forecast paper Yldora Kestova",
        "watch model --skip-bad",
        "watch model nowhere.csv",
        "watch model --top 3 --out watch.doc",
        "audit small --out audit.doc",
        "paper topologies model --predicate Accusing",
        "fit nowhere --out new",
        "fit world --out small",
        "fit world --out new --model best",
        "fit world --out new --set classifier.epoch=1",
        "fit world --out new --set classifier.epochs=-1",
        "fit world --out new --model paper --set agent.tknn=0",
        "fit world --out new --model paper --set agent.hide_query=false",
        "paper train world --out new --set agent.tkn=1",
        "update model world/test.tsv",
        "update model world/test.tsv --out small",
        "evaluate nowhere",
        "evaluate model --split train",
        "evaluate paper --past-only",
        "info world --check",
    ],
    "errors-data": [
        "data stats",
        "data stats nowhere",
        "data stats notes.md",
        "data stats notes.md --read split=1/2",
        "data stats notes.md --read split=1/1/1",
        "data stats notes.md --read sheets=1",
        "data download nothing",
        "data make-world new --facts -5",
    ],
    "errors-baselines": [
        "fit world --model pair --out counted",
        "evaluate counted --result counted.json",
        "fit world --model fortune --out new",
        "fit world --model pair:paper --out new",
        "fit world --model pair --out new --final",
        "fit world --model pair --out new --set counting.flor=[1]",
        "fit world --model pair --out counted",
        f"explain counted {QUERY}",
        f"predict counted {PAIR} yesterday",
        "research compare counted.json",
        "research compare counted.json counted.json",
        "research compare counted.json nowhere.json",
    ],
}

# Golden files of JSON, and commands that run with --json. The first four hold 50 questions: pairs
# with and without facts, times beyond the data or unknown, unknown names, models of two presets.
OBJECTS = {
    "predict": [
        f"predict model {QUERY}",
        f"predict model {QUERY} --past-only",
        f"predict model {KNOWN}",
        f"predict model {KNOWN} --past-only",
        f"predict model {UNSEEN} {DAY}",
        f"predict model {UNSEEN} '?'",
        f"predict model {PAIR} 2022-03-01",
        f"predict model {PAIR} 2030-01-01",
        f"predict model {PAIR} 2010-01-01",
        f"predict model {PAIR} '?'",
        f"predict model koronia KESTARIA {DAY}",
        f"predict model Koroni Kestaria {DAY} --allow-unknown",
        f"predict model Koronia Nobody {DAY} --allow-unknown",
        "predict model Nobody 'No one' '?' --allow-unknown",
        f"predict model Koronia Koronia {DAY}",
        "predict model 'Police (Falstead)' Falstead '?'",
        "predict model 'Vera Schreiber' Vinstan 2021-10-15",
        "predict model Eldstead Zarora 2020-02-01 --top 3",
        f"predict paper {PROTEST}",
        "predict paper Yldora Kestova 2020-01-01 --top 3",
        "predict paper Nobody Yldora 2020-01-01 --top 3 --allow-unknown",
    ],
    "explain": [
        f"explain model {QUERY} --top 1",
        f"explain model {QUERY} --top 1 --past-only",
        f"explain model {QUERY} --top 1 --predicate Consult",
        f"explain model {KNOWN} --top 1",
        f"explain model {UNSEEN} {DAY} --top 1",
        f"explain model {PAIR} 2022-03-01 --top 1",
        f"explain model {PAIR} '?' --top 1",
        f"explain model Koroni Kestaria {DAY} --top 1 --allow-unknown",
        "explain model Nobody 'No one' '?' --top 1 --allow-unknown",
        "explain model 'Police (Falstead)' Falstead '?' --top 1",
        "explain model 'Vera Schreiber' Vinstan 2021-10-15 --top 1",
        f"explain paper {PROTEST}",
        "explain paper Yldora Kestova 2020-01-01",
        "explain paper Nobody Yldora 2020-01-01 --allow-unknown",
    ],
    "forecast": [
        f"forecast model {PAIR}",
        "forecast model Kestaria Koronia --top 3",
        f"forecast model {PAIR} --days 1 --top 3",
        f"forecast model {PAIR} --months 3 --top 3",
        f"forecast model {PAIR} --years 1 --top 3",
        f"forecast model {PAIR} --from 2021-10-01 --until 2021-10-31 --top 3",
        f"forecast model {PAIR} --from 2023-01-01 --top 3",
        "forecast model Eldstead Zarora --days 30 --top 3",
        "forecast model 'Protester (Verland)' Verland --days 30 --top 3",
        f"forecast model {UNSEEN} --top 3",
        "forecast model Nobody Kestaria --top 3 --allow-unknown",
        "forecast model koronia KESTARIA --top 3",
    ],
    "audit": [
        "audit small --out audit.json --reasons 5 --top 5",
        "audit small --out audit.csv --reasons 0 --top 2",
        "audit world/train.tsv --out audit.json --reasons 2 --top 2",
    ],
    "other": [
        "data stats world",
        "info model",
        "info paper",
        "evaluate small",
        "paper topologies paper --predicate Accuse --top 1",
        f"explain model {QUERY} --versus 2021-06-20",
        f"explain model {QUERY} --counterfactual --add",
        "watch model --top 2",
        "info small --rules rules.jsonl",
    ],
}
PAGES = {
    "explain": f"explain model {QUERY} --html page.html",
    "explain-paper": f"explain paper {PROTEST} --html page.html",
    "watch": "watch model pairs.csv --days 30 --out page.html",
    "audit": "audit small --reasons 10 --out page.html",
}
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
    tmp_path_factory: pytest.TempPathFactory, explored_model: Path, served_model: Path
) -> Iterator[str]:
    """Enter a folder with models and data, and tell what `fit` printed there.

    All names are relative, so that no text depends on where the tests run.
    """
    before = Path.cwd()
    folder = tmp_path_factory.mktemp("golden")
    (folder / "model").symlink_to(explored_model)
    (folder / "paper").symlink_to(served_model)
    (folder / "pairs.csv").write_text("subject,object\nKoronia,Kestaria\nNobody,Kestaria\n")
    (folder / "notes.md").touch()
    (folder / "queries.csv").write_text(
        f"subject,object,time\nKoronia,Kestaria,{DAY}\nNobody,Koronia,?\nA,B,someday\n"
    )
    os.chdir(folder)
    try:
        made = transcript("data", "make-world", "world", "--facts", "600")
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


def test_the_questions_are_fifty() -> None:
    kinds = ("predict", "explain", "forecast", "audit")
    assert sum(len(set(OBJECTS[kind])) for kind in kinds) == 50


@pytest.mark.usefixtures("fitted")
@pytest.mark.parametrize("name", PAGES)
def test_page(name: str) -> None:
    done = apptek(*shlex.split(PAGES[name]))
    assert done.returncode == 0, done.stderr
    lines = page_text(Path("page.html").read_text(encoding="utf-8")).splitlines()
    check(f"page/{name}.txt", "\n".join(lines[:PAGE_LINES]))


@pytest.mark.usefixtures("fitted")
def test_python() -> None:
    """How results show themselves in Python and in a notebook."""
    predictor = Predictor.load(Path("model"))
    query = ("Koronia", "Kestaria", DAY)
    results: list[object] = [
        predictor,
        predictor.model.dataset,
        Predictor.load(Path("paper")),
        Dataset.from_facts([("A", "met", "B", 2001)]),
        predictor.predict([query], top=3),
        predictor.predict([query, query], top=1),
        predictor.explain(query, most=1),
        predictor.forecast(*query[:2], days=7),
        predictor.watch([query[:2]], days=7),
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


def test_openapi(served_model: Path) -> None:
    from apptek.server.app import create_app
    from apptek.server.served_model import ServedModel

    described = create_app(ServedModel.open(served_model)).openapi()
    assert described["info"].pop("version") == __version__
    check("openapi.json", json_text(described))


def test_tools_for_assistants(served_model: Path) -> None:
    from mcp import Client

    from apptek.server.mcp_server import create_server
    from apptek.server.served_model import ServedModel
    from apptek.server.workers import RequestLimits

    async def describe() -> list[object]:
        async with Client(create_server(ServedModel.open(served_model), RequestLimits())) as client:
            listed = await client.list_tools()
            return [tool.model_dump(mode="json", exclude_none=True) for tool in listed.tools]

    check("mcp_tools.json", json_text(asyncio.run(describe())))


def test_every_golden_file_is_compared() -> None:
    names = {
        *(f"text/{name}.txt" for name in (*TEXTS, "fit", "python")),
        *(f"json/{name}.json" for name in OBJECTS),
        *(f"page/{name}.txt" for name in PAGES),
        *HELP,
        "openapi.json",
        "mcp_tools.json",
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
