"""The commands of the README and of the how-to pages run, on a small world with their names."""

import gzip
import os
import re
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from command_line import apptek, succeeds
from fact_files import in_words
from golden_files import agree

from apptek import make_world
from apptek.facts.times import UNKNOWN

ROOT = Path(__file__).parents[1]
PAGES = ("README", "docs/start", "docs/data", "docs/databases", "docs/names", "docs/predicates",
         "docs/forecast", "docs/operations", "docs/audit", "docs/counterfactual", "docs/rules",
         "docs/reasons", "docs/calibration")  # fmt: skip
ENTITIES = ("Boko Haram", "Citizen (Nigeria)", "Ann", "Bob", "North Korea", "South Korea", "China",
            "Barack Obama", "Cameroon", "Sauli Niinistö", "Elmar Mammadyarov")  # fmt: skip
PREDICATES = {"Arrest, detain, or charge with legal action": "Abduct, hijack, or take hostage",
              "Mobilize or increase armed forces": "Use conventional military force"}  # fmt: skip
INSTEAD = {  # what this machine has
    "postgresql://me@host/crisis": "sqlite:///crisis.db",
    "postgresql:///crisis": "sqlite:///crisis.db",
    "events.csv --columns": "actors.csv --columns",
    "2024-06-01": "2014-12-01",
}
NOT_HERE = {  # commands that this test does not run, and why
    "data download": "needs the network",
    "^serve ": "does not end; tests/test_service_command.py starts it",
    "^run$": "works until yesterday; docs/operations.md has its own days",
    "nt.gz": "tests/test_rdf.py runs the page",
    "--format gdelt": "tests/test_file_kinds.py reads dumps",
}
LAST = date(2014, 12, 31)
YESTERDAY = "watch model --group 'material conflict' --out yesterday.json"


def crisis_rows() -> list[tuple[str, ...]]:
    """Return the dated facts of a small world with the names of the pages, until 2014."""
    world = make_world(700, 0).dataset
    facts = world.all_facts()
    facts = facts.take(np.flatnonzero((facts.since != UNKNOWN) & (facts.since == facts.until)))
    counts = np.bincount(facts.subjects, minlength=len(world.entities))
    busy = (world.entities[int(entity)] for entity in np.argsort(-counts, kind="stable"))
    names = dict(zip(busy, ENTITIES, strict=False))
    shift = (LAST - date.fromisoformat(world.axis.format(int(facts.times.max())))).days
    rows = []
    for s, p, o, day, _ in in_words(world, facts):
        moved = date.fromisoformat(day) + timedelta(shift)
        rows.append((names.get(s, s), PREDICATES.get(p, p), names.get(o, o), f"{moved}"))
    return sorted(rows, key=lambda row: row[3])


def write(
    path: Path, rows: list[tuple[str, ...]], header: str = "subject,predicate,object,time"
) -> None:
    lines = [header, *(",".join(f'"{cell}"' for cell in row) for row in rows)]
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(lines), "utf-8")


@pytest.fixture(scope="module")
def crisis(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file that a page names, and a model of events.csv."""
    folder, rows = tmp_path_factory.mktemp("crisis"), crisis_rows()
    write(folder / "events.csv", rows)
    write(folder / "actors.csv", rows, "Actor1,Event,Actor2,Date")
    write(folder / "2020.csv", rows[:250])
    write(folder / "2021.csv", rows[250:])
    (folder / "2021.csv.gz").write_bytes(gzip.compress((folder / "2021.csv").read_bytes()))
    january = [(*row[:3], f"2015-01-{day + 2:02}") for day, row in enumerate(rows[:20])]
    write(folder / "january.csv", january)
    write(folder / "queries.csv", [(r[0], r[2], r[3]) for r in rows[:5]], "subject,object,time")
    for name in ("folder", "icews14"):
        parts = {"train": rows[0::2], "valid": rows[1::4], "test": rows[3::4]}
        for split, part in parts.items():
            write(folder / name / f"{split}.csv", part)
    with sqlite3.connect(folder / "crisis.db") as database:
        database.execute("create table events (actor, action, target, day)")
        database.executemany("insert into events values (?, ?, ?, ?)", rows)
    for page, name, start in (
        ("names", "aliases.csv", "name,alias"),
        ("operations", "apptek.toml", "name = "),
    ):
        text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
        block = re.search(rf"^```\w*\n({start}.*?)^```", text, re.M | re.S)
        assert block is not None
        (folder / name).write_text(block[1], "utf-8")
    write(folder / "predicates.csv", [("Consult", "Talks", "consulted")], "predicate,class,phrase")
    before = Path.cwd()
    os.chdir(folder)
    try:
        succeeds("fit", "events.csv", "--out", "model")
        succeeds(*shlex.split(YESTERDAY))
    finally:
        os.chdir(before)
    return folder


def commands(page: str) -> Iterator[tuple[str, bool]]:
    """Yield the commands of a page's code blocks, and whether the page shows an error of each."""
    text = (ROOT / f"{page}.md").read_text("utf-8")
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S):
        if language not in {"", "bash", "console"}:
            continue
        for line, following in pairwise([*block.replace("\\\n", " ").splitlines(), ""]):
            if command := re.match(r"(?:\$ )?apptek (.*?)(?:  +.*| +#.*)?$", line):
                yield command[1], following.startswith("apptek:")


@pytest.mark.gate
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(
    page: str, crisis: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(crisis, tmp_path / "crisis"))
    monkeypatch.chdir(folder)
    ran = 0
    for command, is_error in commands(page):
        if any(re.search(part, command) for part in NOT_HERE):
            continue
        for found, instead in INSTEAD.items():
            command = command.replace(found, instead)  # noqa: PLW2901
        words = shlex.split(command)
        if words[0] == "fit":  # a page may fit the same folder twice
            shutil.rmtree(words[words.index("--out") + 1], ignore_errors=True)
        elif words[0] == "run" and not Path("model-forecasts").exists():  # it fits its own model
            shutil.rmtree("model", ignore_errors=True)
        done = apptek(*words, APPTEK_DATA=str(folder))
        expected = {1, 2} if is_error else {0, 3} if "--exit-code" in words else {0}
        assert done.returncode in expected, (command, done.stderr)
        ran += 1
    assert ran


@pytest.mark.slow
@pytest.mark.real_data
def test_the_readme_prints_what_its_commands_print(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "APPTEK_DATA" not in os.environ:
        pytest.skip("APPTEK_DATA is not set: the public data is not here")
    monkeypatch.chdir(tmp_path)
    splits = [
        Path(os.environ["APPTEK_DATA"], "icews14", f"{n}.txt") for n in ("train", "valid", "test")
    ]
    lines = [line for path in splits for line in path.read_text("utf-8").splitlines()]
    write(
        tmp_path / "events.csv", [tuple(line.replace('"', '""').split("\t")[:4]) for line in lines]
    )
    text = (ROOT / "README.md").read_text("utf-8")
    (block,) = re.findall(r"^```console\n(.*?)^```", text, re.M | re.S)
    for shown in re.split(r"^\$ apptek ", block, flags=re.M)[1:]:
        command, _, output = shown.partition("\n")
        done = apptek(*shlex.split(command), COLUMNS="110")
        printed = " ".join((done.stdout + done.stderr).split())
        for part in re.split(r"^\.\.\.$", output.strip(), flags=re.M):
            wanted = " ".join(part.split())
            near = re.search(
                re.sub(r"[\d.]+", r"[\\d.]+", re.escape(wanted).replace(r"\.", ".")), printed
            )
            assert near, (command, wanted, printed)
            assert agree(wanted, near[0]), command
