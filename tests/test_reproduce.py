import json
import re
import shlex
import struct
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from apptek.cli import app
from apptek.commands.paper import What
from apptek.errors import ApptekError, ConfigError
from apptek.paper.figures import FIGURES, write_figure
from apptek.paper.reproduce import quick_runs, reproduce
from apptek.paper.trainer import History, success_course
from apptek.research.provenance import RunList, read_runs
from apptek.research.result import Result, read_result, read_results, write_result
from apptek.research.tables import NOTHING, mark_best, table2
from apptek.synthetic.world import make_world
from tools.docs_tables import docs_tables

ROOT = Path(__file__).parents[1]
RUNS, QUICK = ROOT / "paper" / "runs.toml", ROOT / "paper" / "quick.toml"
SHOWN = tuple(name for name in get_args(What) if name != "all")
PAIR = (
    "apptek fit {} --model pair --seed 0 --out pair-world && "
    "apptek evaluate pair-world --result pair-world.json"
)


def quiet(_: str) -> None:
    """Ignore messages."""


# The list of runs


@pytest.mark.parametrize("path", [RUNS, QUICK])
def test_every_run_of_the_paper_has_commands_that_the_command_line_takes(path: Path) -> None:
    sections = tomllib.loads(path.read_text(encoding="utf-8"))
    names = [name for what, runs in sections.items() if what != "also" for name in runs]
    assert len(set(names)) == len(names)
    runs = read_runs(path)
    assert set(runs.shown) == set(SHOWN)
    assert {name for of_table in runs.shown.values() for name in of_table} == set(names)
    for name, line in runs.commands.items():
        for command in line.split(" && "):
            program, *words = shlex.split(command)
            assert program == "apptek"
            parent: Any = typer.main.get_command(app)
            while hasattr(parent, "commands"):
                parent, words = parent.commands[words[0]], words[1:]
            with parent.make_context("apptek", words, resilient_parsing=False):
                pass
        fits_or_writes = {f"--out {name}", f"{name}.json", "data stats"}
        assert any(words in line for words in fits_or_writes), name


def test_table2_has_every_model_on_every_data_set() -> None:
    data = ("icews14", "icews05-15", "yago15k")
    pattern = rf"(\w+)-({'|'.join(data)})-(official|paper)(-seed\d|-preset_paper)?"
    found = [re.fullmatch(pattern, name) for name in read_runs(RUNS).shown["table2"]]
    runs = {match.groups()[:3] for match in found if match}
    assert None not in found
    models = {model for model, _, _ in runs}
    assert len(models) == 12
    assert {run[:2] for run in runs if run[2] == "official"} == {
        (model, name) for model in models for name in data
    }
    assert {model for model, _, protocol in runs if protocol == "paper"} == models


@pytest.mark.parametrize("text", ["runs = ", "runs = 3", None])
def test_a_file_that_is_no_list_of_runs_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "runs.toml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"runs\.toml is not a list of runs"):
        read_runs(path)


# Runs


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a list of runs, in which commands are run."""
    (tmp_path / "paper").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "paper"


def reproduces(checkout: Path, what: str = "table2", *words: str, **lines: str) -> Any:
    """Run `reproduce` with these lines as the runs of what is shown."""
    runs = "".join(
        f"{name.replace('_', '-')} = {json.dumps(line)}\n" for name, line in lines.items()
    )
    (checkout / "runs.toml").write_text(f"[{what}]\n{runs}", encoding="utf-8")
    return CliRunner().invoke(app, ["paper", "reproduce", what, *words])


def results_of(checkout: Path) -> list[str]:
    return sorted(path.name for path in (checkout / "results").glob("*.json"))


def stop(*_words: object, **_more: object) -> None:
    raise KeyboardInterrupt


def test_a_run_is_done_once_and_its_result_tells_how(world: Path, checkout: Path) -> None:
    line = PAIR.format(world)
    done = reproduces(checkout, pair_world=line)
    assert done.exit_code == 0, done.output
    assert "run 1 of 1: pair-world" in done.stderr
    assert done.stdout.startswith("table2\n\n**Official protocol**")
    result = read_result(checkout / "results" / "pair-world.json")
    assert (result.model, result.seed, result.dataset) == ("pair", 0, "world")
    assert result.command == line
    assert (checkout / "results" / str(result.ranks["file"])).is_file()
    assert list((checkout / "work").iterdir()) == []
    again = reproduces(checkout, pair_world=line)
    assert again.stdout == done.stdout
    assert "run 1" not in again.stderr


def test_a_run_that_was_stopped_goes_on(
    world: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = "--set model.rank=8 --set training.epochs=3 --set training.patience=3"
    line = f"apptek fit {world} --model tnt_complex --out tnt {settings}"
    line += " && apptek evaluate tnt --result tnt.json"
    for where in (
        "apptek.predictor.save_model",  # while it is fitted ...
        "apptek.research.evaluator.write_result",  # ... and before it is written
    ):
        with monkeypatch.context() as patched:
            patched.setattr(where, stop)
            assert reproduces(checkout, tnt=line).exit_code == 1
        assert results_of(checkout) == []
    assert (checkout / "work" / "tnt").is_dir()  # the second time it was fitted to the end
    with monkeypatch.context() as patched:
        patched.setattr("apptek.predictor.Predictor.fit", stop)  # not again
        done = reproduces(checkout, tnt=line)
    assert done.exit_code == 0, done.output
    assert results_of(checkout) == ["tnt.json"]
    assert read_result(checkout / "results" / "tnt.json").command == line


def test_a_run_takes_the_settings_that_a_search_has_chosen(world: Path, checkout: Path) -> None:
    line = f"apptek fit {world} --model tnt_complex --out tnt --set @chosen --set training.epochs=1"
    line += " && apptek evaluate tnt --result tnt.json"
    search = f"apptek research search pair {world} --result chosen.json"
    failed = reproduces(checkout, tnt=line, chosen=search)
    assert "pair has nothing to search for" in str(failed.exception)
    best = Result(model="search", extras={"best": {"model.rank": 8}})
    write_result(checkout / "results" / "chosen.json", best)
    done = reproduces(checkout, tnt=line, chosen=search)
    assert "run 1 of 1: tnt" in done.stderr
    result = read_result(checkout / "results" / "tnt.json")
    assert result.command == line.replace("@chosen", "model.rank=8")
    assert result.settings["model"]["rank"] == 8


def test_a_model_of_another_run_is_not_taken(
    world: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = PAIR.format(world)
    with monkeypatch.context() as patched:
        patched.setattr("apptek.research.evaluator.write_result", stop)
        assert reproduces(checkout, pair_world=line).exit_code == 1
    other = line.replace("--seed 0", "--seed 0 --set counting.smoothing=[1.0]")
    done = reproduces(checkout, pair_world=other)
    assert "belongs to another run (apptek fit " in str(done.exception)
    assert reproduces(checkout, pair_world=line).exit_code == 0


def test_statistics_are_kept_without_examples(world: Path, checkout: Path) -> None:
    done = reproduces(checkout, "table1", statistics_w=f"apptek data stats {world} --json")
    assert "| train | " in done.stdout, done.output
    result = read_result(checkout / "results" / "statistics-w.json")
    assert (result.model, result.seed) == ("statistics", 0)
    assert {"first_facts", "reading", "bad_row_list"} & result.extras.keys() == set()


def test_a_run_that_fails_does_not_stop_the_others(world: Path, checkout: Path) -> None:
    bad = "apptek data stats nowhere --json"
    done = reproduces(checkout, bad=bad, pair_world=PAIR.format(world))
    assert str(done.exception).startswith("bad: nowhere")
    assert "finished runs are kept" in str(done.exception)
    assert results_of(checkout) == ["pair-world.json"]


def test_a_damaged_result_stops_everything_before_it_starts(tmp_path: Path) -> None:
    damaged = tmp_path / "results" / "pair-world.json"
    damaged.parent.mkdir()
    damaged.write_text('{"format": 1', encoding="utf-8")
    runs = RunList({"pair-world": "apptek"}, {"table2": ["pair-world"]})
    with pytest.raises(ApptekError, match=r"pair-world\.json is not a result file"):
        list(reproduce("table2", runs, tmp_path, quiet, execute=lambda *_: pytest.fail("it ran")))
    assert damaged.read_text(encoding="utf-8") == '{"format": 1'


def test_a_pattern_that_fits_no_run_lists_them(tmp_path: Path) -> None:
    runs = RunList({"pair-world": "apptek"}, {"table2": ["pair-world"]})
    for what, only, known in (("table2", "x", "pair-world"), ("table3", "*", "none")):
        with pytest.raises(ApptekError, match=rf"{what} has no run '{only[0]}?.*its runs: {known}"):
            list(reproduce(what, runs, tmp_path, quiet, execute=lambda *_: "", only=only))


# Tables


def test_the_best_is_bold_and_the_second_italic() -> None:
    marked = mark_best({"a": 0.1, "b": 0.30001, "c": 0.2, "d": 0.3})
    assert marked == {"a": "0.1000", "b": "**0.3000**", "c": "*0.2000*", "d": "**0.3000**"}
    assert mark_best({"alone": 0.5}) == {"alone": "0.5000"}


def test_two_runs_for_one_place_are_refused() -> None:
    one = Result(model="pair", dataset="icews14", protocol="official", metrics={"mrr": 0.5})
    with pytest.raises(ConfigError, match="the runs run0 and run1 fill the same row: pair"):
        table2({"run0": one, "run1": one})


def test_without_results_every_table_says_so() -> None:
    for make in docs_tables(read_runs(RUNS)).values():
        assert make({}) == NOTHING


# Figures


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_written_as_svg_and_png_the_same_each_time(name: str, tmp_path: Path) -> None:
    results = read_results(ROOT / "paper" / "results")
    shown = [results[run] for run in read_runs(RUNS).shown[name] if run in results]
    svg, png = write_figure(name, shown, tmp_path / "one")
    again, _ = write_figure(name, shown, tmp_path / "two")
    assert ET.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert svg.read_bytes() == again.read_bytes()
    recorded = ROOT / "paper" / "figures" / svg.name  # drawn from the same results
    words = [re.findall("<!-- (.*?) -->", path.read_text("utf-8")) for path in (svg, recorded)]
    assert len(words[0]) > 5
    assert words[0] == words[1]
    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:])[0] >= 1000  # 300 dots an inch, one column


def test_data_without_the_predicates_of_the_figure_shows_its_first_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = make_world(400, 0).dataset
    rows = np.arange(200, dtype=np.int32)
    history = History(rows, rows % 2 == 0)
    course = success_course(history, data)
    assert "Demand military aid" not in data.predicates
    assert len(course) == 4
    predicate, counts = next(iter(course.items()))
    own = data.train.predicates[rows] == data.predicates.find(predicate)
    assert sum(counts["episodes"]) == own.sum()
    assert sum(counts["connected"]) == (own & history.met).sum()
    monkeypatch.setattr("apptek.paper.trainer.SUCCESS", ("Greet", "Wave"))
    assert list(success_course(history, data)) == list(data.predicates)[:2]


@pytest.mark.parametrize(
    ("library", "what", "advice"),
    [
        ("matplotlib", "figure-actions", r"pip install 'apptek\[figures\]'"),
        ("pandas", "table1", r"pip install 'apptek\[dev\]'"),
    ],
)
def test_a_missing_library_is_named_before_anything_is_run(
    library: str, what: str, advice: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apptek.extras.find_spec", lambda name: None if name == library else name)
    runs = read_runs(RUNS)
    with pytest.raises(ApptekError, match=advice):
        list(reproduce(what, runs, tmp_path, quiet, execute=lambda *_: pytest.fail("it ran")))


# The command


def test_quick_runs_are_of_every_kind(tmp_path: Path) -> None:
    real, quick = read_runs(RUNS), quick_runs(QUICK, tmp_path)

    def models(runs: RunList) -> set[str]:
        words = " ".join(runs.commands.values()).split()
        return {word for option, word in pairwise(words) if option == "--model"}

    assert models(real) == models(quick)
    assert set(quick.shown) == set(SHOWN)
    assert {name for names in quick.shown.values() for name in names} == set(quick.commands)
    lines = " ".join(quick.commands.values())
    for gone in ("icews", "yago15k", "WORLD", "--protocol forecast", "--minutes 15", "--seed 1"):
        assert gone not in lines


def test_what_is_recorded_is_shown_and_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apptek.paper.reproduce._run", lambda *_: pytest.fail("something was run"))
    done = CliRunner().invoke(app, ["paper", "reproduce", "table1", "--only-recorded"])
    assert done.exit_code == 0, done.output
    assert "72,826" in done.stdout


@pytest.mark.parametrize("words", [["table1", "--only-recorded", "--only", "stat*"], ["table9"]])
def test_options_that_contradict_and_unknown_tables_are_wrong_usage(words: list[str]) -> None:
    assert CliRunner().invoke(app, ["paper", "reproduce", *words]).exit_code == 2


@pytest.mark.slow
def test_all_of_it_runs_on_a_small_world(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["paper", "reproduce", "all", "--quick", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    for name in SHOWN:
        assert name in done.stdout
    assert NOTHING not in done.stdout
    models = {read_result(path).model for path in (tmp_path / "results").glob("*.json")}
    assert {"apptek_paper", "apptek_default", "apptek_max", "re_gcn", "recency"} <= models
    assert len(list((tmp_path / "figures").iterdir())) == 2 * len(FIGURES)
    again = CliRunner().invoke(
        app, ["paper", "reproduce", "all", "--quick", "--out", str(tmp_path)]
    )
    assert again.stdout == done.stdout
    assert "run 1" not in again.output


def test_a_new_result_says_when_and_with_what_it_was_made(tmp_path: Path) -> None:
    write_result(tmp_path / "new.json", Result(model="pair"))
    written = json.loads((tmp_path / "new.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", written["date"])
    assert {"python", "numpy", "numba", "torch", "lightgbm"} <= set(written["machine"])
