"""RDF as a source of facts: every form of time, names of IRIs, and files that are wrong."""

import contextlib
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pyoxigraph
import pytest
from command_line import apptek, succeeds
from fact_files import ALL_IN_TRAIN, ReadFact, compress, in_words, write
from pyarrow import parquet
from rdf_parts import HEAD, read_rdf
from wikidata_sample import WIKIDATA, write_sample
from wikidata_sample import facts as sample_facts

from apptek import Predictor
from apptek.errors import ApptekError, DataError, NoFactsError
from apptek.reading.rdf_names import DIRECT
from apptek.reading.reader import read_dataset, read_more

PAGE = Path(__file__).parents[1] / "docs" / "rdf.md"
UNDATED = ("?", "?")
# One statement of Wikidata, as its dumps write it, with what they say about it.


def facts_of(folder: Path, text: str, name: str = "facts.ttl", **options: Any) -> list[ReadFact]:
    return in_words(read_rdf(folder, text, name, **options))


def fault_of(folder: Path, text: str, name: str = "facts.ttl", **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        read_rdf(folder, text, name, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "place"),
    [
        ("facts.nq", '<http://e.org/a> <http://e.org/p> "\n', "facts.nq:1:35: "),
        ("facts.trig", "ex:a ex:p ex:b", "facts.trig:13:"),
        ("facts.ttl.gz", "subject,predicate,object\n", "facts.ttl.gz:13:1: "),
    ],
)
def test_an_error_of_the_parser_has_its_place(
    tmp_path: Path, name: str, text: str, place: str
) -> None:
    (said,) = fault_of(tmp_path, text, name).splitlines()
    assert said.startswith(place)


LABELS = """
ex:a rdfs:label "Anna"@de, "Ann"@en, "Annie"@en-gb . ex:b skos:prefLabel "Bob" .
ex:c rdfs:label "Club"@en . ex:d rdfs:label "Club"@en . ex:e rdfs:label "Emil"@de .
ex:a ex:p ex:b, ex:c, ex:d, ex:e .
"""


def test_further_facts_get_the_names_of_the_first(tmp_path: Path) -> None:
    data = read_rdf(tmp_path, LABELS)
    more = write(
        tmp_path / "more.nt",
        "<http://example.org/a> <http://example.org/p> <http://example.org/c> .\n"
        "<http://example.org/a> <http://example.org/p> <http://example.org/new> .\n"
        '<http://example.org/new> <http://www.w3.org/2000/01/rdf-schema#label> "Ann" .\n',
    )
    assert set(read_more(data, more).entities) == {"Ann", "Club (ex:c)", "Ann (ex:new)"}


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_files_are_streamed_and_damage_is_noticed(tmp_path: Path, suffix: str) -> None:
    text = HEAD.encode() + b"ex:a ex:p ex:b .\n" * 5000 + b"ex:a ex:p ex:c .\n"
    halves = (text[:4000], text[4000:])
    content = b"".join(
        compress(half, suffix) for half in halves
    )  # two streams, as parallel packers write them
    path = tmp_path / f"facts.ttl{suffix}"
    path.write_bytes(content)
    assert len(read_dataset(path, splitting=ALL_IN_TRAIN).train) == 2
    path.write_bytes(content[:-20])
    with pytest.raises(DataError, match="the file is truncated or damaged"):
        read_dataset(path)
    path.write_bytes(content)
    with pytest.raises(DataError, match="allow more with --read max_bytes=N"):
        read_dataset(path, max_bytes=1000)


def test_the_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(ApptekError, match=r"RDF needs pyoxigraph: pip install 'apptek\[rdf\]'"):
        read_rdf(tmp_path, "ex:a ex:p ex:b .")


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CompletedProcess[str]]:
    """A folder with the sample and its model, and the run that fitted it."""
    folder = tmp_path_factory.mktemp("league")
    write_sample(folder / "league.nt.gz")
    with contextlib.chdir(folder):
        words = ["league.nt.gz", "--out", "model", "--read", "granularity=year"]
        return folder, apptek("fit", *words, COLUMNS="100")


League = tuple[Path, CompletedProcess[str]]


def test_the_sample_of_wikidata_has_its_facts(league: League) -> None:
    labels, expected = sample_facts()
    data = read_dataset(league[0] / "league.nt.gz", granularity="year", splitting=ALL_IN_TRAIN)
    assert in_words(data) == [
        (labels[s], f"wdt:{p}", labels[o], str(since or "?"), str(until or "?"))
        for s, p, o, since, until in expected
    ]


def test_the_page_shows_what_the_commands_print(
    league: League, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, fitted = league
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    write(folder / "questions.csv", "subject,object,time\nIda Berg,Island FC,2010\n")

    def printed(block: re.Match[str]) -> str:
        program, *words = shlex.split(block[1])
        if program == "cat":
            text = Path(words[0]).read_text("utf-8")
        else:
            run = fitted if words[0] == "fit" else apptek(*words)
            assert run.returncode == 0, run.stderr
            text = run.stdout + run.stderr
        lines = (line.rstrip() for line in text.splitlines() if not line.startswith("stage: "))
        return f"```\n$ {block[1]}\n" + "".join(f"{line}\n" for line in lines) + "```"

    page = PAGE.read_text("utf-8")
    actual = re.sub(r"^```\n\$ (.*?)\n.*?^```", printed, page, flags=re.DOTALL | re.MULTILINE)
    if os.environ.get("GOLDEN") == "write":
        PAGE.write_text(actual, encoding="utf-8")
    else:  # the last digits of a probability differ between processors
        assert re.sub(r"(0\.\d\d)\d+", r"\1", actual) == re.sub(r"(0\.\d\d)\d+", r"\1", page)


@pytest.mark.parametrize("suffix", [".ttl", ".nt", ".trig"])
def test_written_answers_are_read_back_with_their_probabilities(
    league: League, tmp_path: Path, suffix: str
) -> None:
    model = str(league[0] / "model")
    lines = ["subject,object,time", "Ida Berg,Island FC,2010", "wd:Q3000,Island FC,2001"]
    lines += ['"<No> ""one""",Mill FC,2001-03-04']
    queries = write(tmp_path / "q.csv", "\n".join(lines))
    files = {name: tmp_path / f"answers{name}" for name in (suffix, ".parquet")}
    for file in files.values():
        succeeds("predict", model, "--queries", str(queries), "--out", str(file))
    found: dict[str, dict[str, Any]] = {}
    labels = {}
    for subject, predicate, value, *_ in pyoxigraph.parse(path=files[suffix]):
        name = predicate.value.rpartition("#")[2].removeprefix("urn:apptek:")
        if name == "label":
            labels[subject.value] = value.value
        else:
            found.setdefault(subject.value, {})[name] = value
    rows = parquet.read_table(files[".parquet"]).to_pylist()
    assert len(found) == len(rows)
    for node, row in zip(found.values(), rows, strict=True):
        triple = node["reifies"]
        assert float(node["probability"].value) == row["probability"]
        assert node["time"].value == row["time"]
        assert triple.predicate.value == DIRECT + row["predicate"].removeprefix("wdt:")
        assert labels[triple.predicate.value] == row["label"]
        assert labels[triple.subject.value] == (row["meant_subject"] or row["subject"])
        assert labels[triple.object.value] == row["meant_object"]
    assert next(iter(found.values()))["reifies"].subject.value == f"{WIKIDATA}entity/Q3017"
    with pytest.raises(NoFactsError, match="labels but no facts"):  # predictions are not facts
        read_dataset(files[suffix])


def test_an_update_knows_entities_by_their_iris(league: League, tmp_path: Path) -> None:
    text = (
        f'<< <{WIKIDATA}entity/Q3017> <{DIRECT}P1830> <{WIKIDATA}entity/Q1007> >> '
        f'<http://schema.org/startDate> "2011" .\n'
        f'<< <{WIKIDATA}entity/Q9> <{DIRECT}P54> <{WIKIDATA}entity/Q1007> >> '
        f'<http://schema.org/startDate> "2012" .\n'
        f'<{WIKIDATA}entity/Q9> <http://www.w3.org/2000/01/rdf-schema#label> "Ida Berg"@en .\n'
    )  # fmt: skip
    more = write(tmp_path / "more.ttl", text)
    old = Predictor.load(league[0] / "model")
    new, report = old.update(read_more(old.model.dataset, more))
    assert (report.added, report.new_entities) == (2, 1)
    assert new.model.dataset.aliases["wd:Q9"] == "Ida Berg (wd:Q9)"


@pytest.mark.slow
def test_a_million_triples_take_less_than_a_minute_and_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "many.nt"
    with path.open("w", encoding="utf-8") as file:
        for number in range(1_000_000 // 6 + 1):
            node = f"<{WIKIDATA}entity/statement/{number:032x}>"
            entity, name = f"<{WIKIDATA}entity/Q{number}>", f"P{number % 40}"
            lines = [
                f"<{WIKIDATA}entity/Q{number % 50_000}> <{WIKIDATA}prop/{name}> {node}",
                f"{node} <{WIKIDATA}prop/statement/{name}> <{WIKIDATA}entity/Q{number % 40_009}>",
                f'{node} <{WIKIDATA}prop/qualifier/P580> "{1950 + number % 70}-01-01"',
                f"{node} <http://wikiba.se/ontology#rank> <http://wikiba.se/ontology#NormalRank>",
                f'{node} <{WIKIDATA}prop/qualifier/P1545> "{number}"',
                f'{entity} <http://www.w3.org/2000/01/rdf-schema#label> "{number}"',
            ]  # fmt: skip
            file.writelines(f"{line} .\n" for line in lines)
    code = (
        "import sys, time; from apptek.reading.reader import read_dataset\n"
        "from peak_memory import peak_bytes\n"
        "before, data = peak_bytes(), read_dataset(sys.argv[1])\n"
        "print(len(data.all_facts()), time.process_time(), (peak_bytes() - before) / 1e6)"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    count, seconds, megabytes = map(float, run.stdout.split())
    assert count == 1_000_000 // 6 + 1
    assert seconds < 60
    assert megabytes < 600
