import fcntl
import json
import re
import shutil
import struct
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner

from apptek.cli import app
from apptek.config import preset
from apptek.data.synthetic.world import make_world, write_world
from apptek.errors import ApptekError, ConfigError
from apptek.experiments import runner as running
from apptek.experiments.experiment import SHOWN, Experiment, read_experiment, read_experiments
from apptek.experiments.matching import find_differences, results_of
from apptek.experiments.quick_experiments import quick_versions
from apptek.experiments.reports.docs_tables import DOCS_TABLES
from apptek.experiments.reports.figures import FIGURES, nearest_names, write_figure
from apptek.experiments.reports.markdown import NOTHING, with_tables
from apptek.experiments.reports.overview import mark_best, overview
from apptek.experiments.reports.paper_tables import (
    all_tables,
    reproduced,
    table2,
    table3,
    table_m,
    table_search,
)
from apptek.experiments.reproduce import reproduce
from apptek.experiments.result import Result, read_result, write_result
from apptek.experiments.runner import Folders, Run, missing_runs, run_all

ROOT = Path(__file__).parents[1]
EXPERIMENTS = ROOT / "paper" / "experiments"
PAIR = Experiment(
    name="pair-world",
    what="baseline",
    serves=("table2",),
    dataset="w",
    baseline="pair",
    preset="default",
)


def quiet(_: str) -> None:
    """For runs that nobody watches."""


def made_up(experiment: Experiment, mrr: float, seed: int = 0, **more: Any) -> Result:
    """A result of an experiment that nobody ran."""
    metrics = {"mrr": mrr, "hits_at_1": mrr / 2, "hits_at_10": mrr / 2 + 0.5}
    entries = {**experiment.identity(), "seed": seed, "metrics": metrics}
    return Result.from_json(entries | more)


def experiment_file(folder: Path, text: str) -> Path:
    path = folder / "experiment.toml"
    path.write_text(text, encoding="utf-8")
    return path


# Experiments


def test_every_experiment_of_the_paper_is_sound() -> None:
    experiments = read_experiments(EXPERIMENTS)
    for experiment in experiments:
        experiment.config()
    assert {shown for experiment in experiments for shown in experiment.serves} == set(SHOWN)
    names = [
        experiment.result_name(seed) for experiment in experiments for seed in experiment.seeds
    ]
    assert len(set(names)) == len(names)


def test_table2_has_every_model_on_every_data_set() -> None:
    experiments = [
        experiment for experiment in read_experiments(EXPERIMENTS) if "table2" in experiment.serves
    ]
    asked = {
        (experiment.model, experiment.dataset)
        for experiment in experiments
        if experiment.protocol == "official"
    }
    models = {model for model, _ in asked}
    assert len(models) == 12
    assert asked == {(m, d) for m in models for d in ("icews14", "icews05-15", "yago15k")}
    assert {
        experiment.model for experiment in experiments if experiment.protocol == "paper"
    } == models


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('what = "dance"', "what is 'dance'; known: statistics, baseline"),
        ('what = "fit"\nserves = ["table2"]\ndataset = "d"', "needs preset"),
        ('what = "statistics"\nserves = ["table1"]\ndataset = "d"\nseed = 1', "has no seed"),
        ('what = "statistics"\nserves = ["table9"]\ndataset = "d"', "serves is 'table9'"),
        ('what = "statistics"\nserves = []\ndataset = "d"', "serves must be a non-empty list"),
        (
            'what = "baseline"\nserves = ["table2"]\ndataset = "d"\nname = "oracle"',
            "name is 'oracle'; known: frequency",
        ),
        (
            'what = "agent"\nserves = ["figure-actions"]\ndataset = "d"\nseeds = [1, 1]',
            "seeds must be distinct",
        ),
        (
            'what = "agent"\nserves = ["figure-actions"]\ndataset = "d"\nsettings = 3',
            "settings come in sections",
        ),
        ('what = "agent"\nserves = ["figure-actions"]\ndataset = 3', "dataset must be a name"),
        (
            'what = "agent"\nserves = ["table2"]\ndataset = "d"',
            "does not show experiments of agent",
        ),
        (
            'what = "search"\nserves = ["table-search"]\ndataset = "d"\nname = "re_gcn"',
            "needs minutes",
        ),
        (
            'what = "search"\nserves = ["table-search"]\ndataset = "d"\nname="re_gcn"\nminutes=0',
            "minutes must be a number above 0, not 0",
        ),
        ("what = ", "Invalid value"),
    ],
)
def test_a_wrong_experiment_is_refused_with_its_file(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=r"experiment\.toml") as caught:
        read_experiment(experiment_file(tmp_path, text))
    assert message in str(caught.value)


def test_an_unknown_setting_is_refused(tmp_path: Path) -> None:
    text = 'what = "agent"\nserves = ["figure-actions"]\ndataset = "d"\n[settings.agent]\ntknnn = 5'
    with pytest.raises(ConfigError, match=r"the experiment experiment: .*did you mean tknn"):
        read_experiment(experiment_file(tmp_path, text)).config()


def test_a_folder_without_experiments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ApptekError, match="holds no experiments"):
        read_experiments(tmp_path)


def test_the_command_of_an_experiment_says_all_that_differs() -> None:
    experiment = read_experiment(EXPERIMENTS / "re_gcn-icews05-15-official.toml")
    assert experiment.command(0) == (
        "apptek fit icews05-15 --model re_gcn --protocol official --seed 0 "
        "--out re_gcn-icews05-15-official --set model.size=64 --set training.batch_size=500 "
        "--set training.learning_rate=0.002"
    )
    assert read_experiment(EXPERIMENTS / "agent-icews14-paper-tknn5.toml").command(0) == (
        "apptek paper train icews14 --seed 0 --out agent-icews14-paper-tknn5 --set agent.tknn=5"
    )


def test_a_result_has_the_presets_value_of_a_setting_that_is_younger_than_it() -> None:
    entries = PAIR.identity()
    del entries["settings"]["counting"]["floor"]
    old = Result.from_json(entries)
    assert find_differences(PAIR, old) == []
    younger = replace(PAIR, settings=("counting.floor=[0.5]",))
    assert "counting.floor" in find_differences(younger, old)[0]  # the result had the preset's
    older = replace(old, settings={})
    assert find_differences(PAIR, older) == []
    assert "counting.floor" in find_differences(younger, older)[0]
    other = replace(old, settings={"counting": {"smoothing": [1.0]}})
    assert "counting.smoothing [1.0], not" in find_differences(PAIR, other)[0]


def test_a_retired_setting_must_have_had_the_value_that_stayed() -> None:
    fit = Experiment(name="f", what="fit", serves=("table2",), dataset="icews14", preset="paper")
    result = made_up(fit, 0.5)
    for reward, count in (("connection", 1), ("information", 0)):
        agent = {**result.settings["agent"], "reward": reward}
        old = replace(result, settings={**result.settings, "agent": agent})
        assert len(results_of(fit, [old])) == count


def test_answers_as_of_each_time_are_another_run() -> None:
    experiment = read_experiment(EXPERIMENTS / "apptek_default-icews14-official.toml")
    assert results_of(experiment, [made_up(experiment, 0.5, as_of=False)])
    assert not results_of(experiment, [made_up(experiment, 0.5, as_of=True)])
    past = replace(experiment, name="past", settings=("features.past_only=true",))
    assert results_of(past, [made_up(past, 0.5)])
    assert not results_of(past, [made_up(experiment, 0.5, as_of=True)])
    ordinary = made_up(experiment, 0.5)
    settings = {name: part for name, part in ordinary.settings.items() if name != "features"}
    ordinary = replace(ordinary, settings=settings)
    assert not results_of(past, [ordinary])


def test_ranks_by_another_filter_or_among_other_candidates_are_another_run() -> None:
    ordinary = made_up(PAIR, 0.5)
    assert results_of(PAIR, [ordinary])
    assert not results_of(PAIR, [replace(ordinary, filtering="raw")])
    assert not results_of(PAIR, [replace(ordinary, candidates="2R")])


def test_a_run_that_is_recorded_twice_counts_once() -> None:
    experiment = replace(PAIR, seeds=(0, 1))
    results = [made_up(experiment, 0.5), made_up(experiment, 0.5), made_up(experiment, 0.7, seed=1)]
    results.append(made_up(experiment, 0.9, seed=7))  # none of the experiment's seeds
    assert [result.seed for result in results_of(experiment, results)] == [0, 1]


def test_data_of_one_name_in_different_places_is_refused(tmp_path: Path) -> None:
    for place in ("a", "b"):
        text = f'what = "statistics"\nserves = ["table1"]\ndataset = "{place}/world"\n'
        (tmp_path / f"{place}.toml").write_text(text)
    with pytest.raises(ConfigError, match="experiments a and b have data of one name"):
        read_experiments(tmp_path)


# Results


RECORDED = sorted((ROOT / "paper" / "results").glob("*.json"))


def test_a_recorded_result_is_written_again_as_it_was_read(tmp_path: Path) -> None:
    assert RECORDED
    for path in RECORDED:
        copy = tmp_path / path.name
        write_result(copy, read_result(path))
        assert copy.read_bytes() == path.read_bytes(), path.name


def test_a_result_keeps_the_difference_between_nothing_changed_and_not_recorded(
    tmp_path: Path,
) -> None:
    for changed in (None, {}, {"agent.tknn": 5}):
        path = tmp_path / "result.json"
        write_result(path, Result(model="pair", changed=changed, extras={"types": None}))
        result = read_result(path)
        assert result.changed == changed
        assert result.as_json()["types"] is None


# Runs


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    return Folders(tmp_path / "paper")


def test_an_experiment_is_run_once_and_its_result_tells_how(world: Path, folders: Folders) -> None:
    experiment = replace(PAIR, dataset=str(world), seeds=(0, 1))
    runs = missing_runs([experiment], folders)
    said: list[str] = []
    assert run_all(runs, said.append) == []
    assert [line for line in said if line.startswith("run")] == [
        "run 1 of 2: pair-world-seed0",
        "run 2 of 2: pair-world-seed1",
    ]
    assert missing_runs([experiment], folders) == []
    result = read_result(folders.results / "pair-world-seed1.json")
    assert (result.model, result.seed, result.dataset) == ("pair", 1, "world")
    assert result.command == (
        f"apptek fit {world} --model pair --protocol official --seed 1 "
        "--out pair-world-seed1 && "
        "apptek evaluate pair-world-seed1 --result pair-world-seed1.json"
    )
    assert list(folders.work.iterdir()) == []


def test_an_interrupted_experiment_goes_on_and_counts_once(
    world: Path, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ("model.rank=8", "training.epochs=3", "training.patience=3")
    experiment = replace(
        PAIR, name="tnt", baseline="tnt_complex", dataset=str(world), settings=settings
    )

    def stop(*_words: object, **_more: object) -> None:
        raise KeyboardInterrupt

    for where in (
        "apptek.baselines.baseline.save_baseline",
        "apptek.experiments.runner.write_evaluation",
    ):
        with (
            monkeypatch.context() as patched
        ):  # first while it is fitted, then before it is written
            patched.setattr(where, stop)
            with pytest.raises(KeyboardInterrupt):
                run_all(missing_runs([experiment], folders), quiet)
        assert list(folders.results.iterdir()) == []
    assert (folders.work / "tnt").is_dir()  # the second time it was fitted to the end
    with monkeypatch.context() as patched:
        patched.setattr("apptek.baselines.baseline.Baseline.fit", stop)  # not again
        assert run_all(missing_runs([experiment], folders), quiet) == []
    assert [path.name for path in folders.results.glob("*.json")] == ["tnt.json"]
    assert missing_runs([experiment], folders) == []


def test_an_agent_that_was_stopped_goes_on(
    world: Path, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = Experiment(
        name="agent-w", what="agent", serves=("figure-actions",), dataset=str(world)
    )

    def stop(*_words: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("apptek.experiments.agent_run._result", stop)
        with pytest.raises(KeyboardInterrupt):
            run_all(missing_runs([experiment], folders), quiet)
    assert run_all(missing_runs([experiment], folders), quiet) == []
    assert read_result(folders.results / "agent-w.json").extras["episodes"] > 0


def test_a_model_of_another_run_is_not_taken(
    world: Path, folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = replace(PAIR, dataset=str(world))

    def stop(*_words: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("apptek.experiments.runner.write_evaluation", stop)
        with pytest.raises(KeyboardInterrupt):
            run_all(missing_runs([experiment], folders), quiet)
    other = replace(experiment, settings=("counting.smoothing=[1.0]",))
    (failure,) = run_all(missing_runs([other], folders), quiet)
    assert "belongs to another run (counting.smoothing" in failure
    assert run_all(missing_runs([experiment], folders), quiet) == []


def test_an_experiment_that_fails_does_not_stop_the_others(world: Path, folders: Folders) -> None:
    bad = replace(PAIR, name="bad", dataset="no such data")
    good = replace(PAIR, dataset=str(world))
    (failure,) = run_all(missing_runs([bad, good], folders), quiet)
    assert failure.startswith("bad: ")
    assert [path.stem for path in folders.results.glob("*.json")] == ["pair-world"]


def test_two_processes_do_not_run_one_experiment(world: Path, folders: Folders) -> None:
    experiment = replace(PAIR, dataset=str(world))
    folders.work.mkdir(parents=True)
    said: list[str] = []
    with (folders.work / ".pair-world.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        run_all(missing_runs([experiment], folders), said.append)
    assert said[-1] == "pair-world is being run by another process"
    assert missing_runs([experiment], folders) == [Run(experiment, 0, folders)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": 1', "is not a result file"),
        ('{"format": 99}', "of another format"),
        ('{"format": 1, "seed": "x"}', "is damaged: the seed 'x'"),
        ('{"format": 1, "settings": []}', "is damaged: its settings"),
        ('{"format": 1, "split": "test"}', "is damaged: its metrics"),
        ('{"format": 1, "split": "test", "metrics": {"mrr": NaN}}', "is damaged: its metrics"),
        ("[]", "of"),
    ],
)
def test_a_damaged_result_stops_everything_before_it_starts(
    folders: Folders, content: str, message: str
) -> None:
    folders.results.mkdir(parents=True)
    damaged = folders.results / "pair-world.json"
    damaged.write_text(content, encoding="utf-8")
    with pytest.raises(ApptekError, match=r"pair-world\.json") as caught:
        reproduce("table2", [PAIR], folders, quiet)
    assert message in str(caught.value)
    assert damaged.read_text(encoding="utf-8") == content


def test_a_result_of_another_run_keeps_its_file(folders: Folders) -> None:
    folders.results.mkdir(parents=True)
    path = folders.results / "pair-world.json"
    write_result(path, made_up(replace(PAIR, settings=("counting.smoothing=[1.0]",)), 0.5))
    before = path.read_bytes()
    with pytest.raises(ApptekError, match=r"another run \(counting.smoothing .*: move it away"):
        missing_runs([PAIR], folders)
    assert path.read_bytes() == before


def test_an_experiment_on_a_single_file_knows_its_result(world: Path, folders: Folders) -> None:
    experiment = replace(PAIR, dataset=str(world / "train.tsv"))
    assert run_all(missing_runs([experiment], folders), quiet) == []
    assert missing_runs([experiment], folders) == []
    assert read_result(folders.results / "pair-world.json").dataset == "train"


def test_a_model_of_other_facts_is_not_taken(
    world: Path, folders: Folders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = tmp_path / "world"
    shutil.copytree(world, data)

    def stop(*_words: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("apptek.experiments.runner.write_evaluation", stop)
        with pytest.raises(KeyboardInterrupt):
            run_all(missing_runs([replace(PAIR, dataset=str(data))], folders), quiet)
    write_world(make_world(500, 1), tmp_path / "elsewhere" / "world")
    other = replace(PAIR, dataset=str(tmp_path / "elsewhere" / "world"))
    (failure,) = run_all(missing_runs([other], folders), quiet)
    assert "belongs to another run (training facts " in failure


def test_a_place_for_figures_that_is_none_is_refused(folders: Folders) -> None:
    experiments, results = made_up_results()
    folders.root.mkdir()
    folders.figures.write_text("")
    with pytest.raises(ApptekError, match="figures cannot be written"):
        write_figure("figure-actions", experiments, results, folders.figures)


def test_a_table_without_experiments_says_so(folders: Folders) -> None:
    with pytest.raises(ApptekError, match="there is no experiment for table3"):
        reproduce("table3", [PAIR], folders, quiet)


def test_a_pattern_that_fits_no_experiment_lists_them(folders: Folders) -> None:
    with pytest.raises(ApptekError, match="table2 has no experiment 'x'; it has pair-world"):
        reproduce("table2", [PAIR], folders, quiet, only="x")


# Tables


def test_the_best_is_bold_and_the_second_italic() -> None:
    marked = mark_best({"a": 0.1, "b": 0.30001, "c": 0.2, "d": 0.3})
    assert marked == {"a": "0.1000", "b": "**0.3000**", "c": "*0.2000*", "d": "**0.3000**"}
    assert mark_best({"alone": 0.5}) == {"alone": "0.5000"}


def test_table2_shows_means_over_seeds_beside_the_printed() -> None:
    first = replace(PAIR, dataset="icews14", seeds=(0, 1, 2))
    experiments = [first, replace(PAIR, name="y", dataset="yago15k")]
    experiments.append(replace(PAIR, name="z", dataset="icews14", baseline="profile"))
    results = [
        made_up(experiments[0], 0.6),
        made_up(experiments[0], 0.8, seed=1),
        made_up(experiments[2], 0.5),
    ]
    text = table2(experiments, results)
    assert text.endswith(
        "Not recorded yet: pair on yago15k.\n\n"
        "Means of fewer seeds than asked for: pair on icews14 (2 of 3)."
    )
    assert "| pair | **0.7000** | **0.8500** | **0.3500** |  |  |  |" in text
    assert "| profile | *0.5000* |" in text
    assert "| DE-SimplE, as printed | 0.5074 | 0.7573 | 0.3882 | 0.2749 |" in text
    assert "The paper's protocol" not in text  # nothing is recorded for it


def test_models_that_see_only_the_past_have_rows_of_their_own() -> None:
    fit = Experiment(name="f", what="fit", serves=("table2",), dataset="icews14", preset="default")
    past = replace(fit, name="p", settings=("features.past_only=true",))
    results = [made_up(fit, 0.7), made_up(past, 0.5)]
    text = table2([fit, past], results)
    assert "| apptek_default | **0.7000** |" in text
    assert "| apptek_default, ahead | *0.5000* |" in text
    assert overview([fit, past], results).splitlines() == [  # alone in its view: unmarked
        "| model | ICEWS14 within | ICEWS14 ahead |",
        "| --- | --- | --- |",
        "| `fit --model default` | 0.7000 |  |",
        "| `fit --model default --past-only` |  | 0.5000 |",
    ]


def test_both_views_of_a_model_stand_beside_each_other() -> None:
    fit = Experiment(name="f", what="fit", serves=("table2",), dataset="icews14", preset="default")
    other = replace(PAIR, dataset="icews14")
    views = {"within": {"mrr": 0.7, "ece": 0.01}, "ahead": {"mrr": 0.6, "ece": 0.02}}
    of_other = made_up(other, 0.5)
    results = [replace(made_up(fit, 0.7), extras=views), replace(of_other, extras={"ahead": None})]
    assert overview([fit, other], results).splitlines()[2:] == [
        "| `baseline pair` | *0.5000* |  |",
        "| `fit --model default` | **0.7000** | 0.6000 |",
    ]


def test_the_overview_leaves_mirrored_queries_out_where_they_are_many() -> None:
    fit = Experiment(name="f", what="fit", serves=("table2",), dataset="icews14", preset="default")
    result = made_up(fit, 0.7)
    for queries, ends in ((30, " 0.7000 | 0.6000 |"), (5, " 0.7000 |")):
        groups = {
            "mirrored": {"queries": queries, "mrr": 0.9},
            "not_mirrored": {"queries": 70, "mrr": 0.6},
        }
        text = overview([fit], [replace(result, groups=groups)])
        assert text.splitlines()[2] == f"| `fit --model default` |{ends}"


def test_the_overview_holds_the_official_test_alone() -> None:
    paper = replace(PAIR, name="p", dataset="icews14", protocol="paper")
    results = [made_up(paper, 0.9)]
    assert overview([paper, replace(PAIR, dataset="icews14")], results) == NOTHING


def test_the_reproduction_stands_beside_the_printed_numbers() -> None:
    fit = Experiment(name="f", what="fit", serves=("table2",), dataset="icews14", preset="paper")
    experiments = [fit, replace(fit, name="p", protocol="paper")]
    results = [made_up(experiments[0], 0.9), made_up(experiments[1], 0.6)]
    assert reproduced(experiments, results).splitlines()[2:] == [
        "| ICEWS14 | 0.6000 | 0.4889 | 0.8000 | 0.7749 | 0.3000 | 0.3421 |"
    ]


def test_the_table_of_the_search_names_what_it_changed() -> None:
    experiment = Experiment(
        name="s", what="search", serves=("table-search",), dataset="icews14", minutes=5.0
    )
    experiment = replace(experiment, baseline="de_simple", preset="default")
    trials = [{"valid_mrr": 0.5}, {"valid_mrr": 0.6}]
    result = made_up(experiment, 0.6, trials=trials, best={"model.size": 50, "training.epochs": 3})
    assert table_search([experiment], [result]).splitlines()[2:] == [
        "| de_simple | ICEWS14 | 5 | 2 | 0.5000 | 0.6000 | `model.size=50`, `training.epochs=3` |"
    ]


def test_two_experiments_for_one_place_are_refused() -> None:
    other = replace(PAIR, name="other", settings=("counting.floor=[0.5]",))
    with pytest.raises(
        ConfigError, match="experiments other and pair-world fill the same row: pair"
    ):
        table2([PAIR, other], [])


def test_our_models_count_a_run_once() -> None:
    fit = Experiment(name="f", what="fit", serves=("table2",), dataset="icews14", preset="default")
    groups = {"mirrored": None, "not_mirrored": None}
    run = made_up(fit, 0.5, seconds={"fit": 1.0}, groups=groups, command="c")
    run = replace(run, metrics={**run.metrics, "ece": 0.01})
    assert DOCS_TABLES["models"]([run, run]) == DOCS_TABLES["models"]([run])


def test_table3_has_the_time_of_an_episode() -> None:
    fit = Experiment(name="f", what="fit", serves=("table3",), dataset="icews14", preset="paper")
    fit = replace(fit, protocol="paper", settings=("agent.tknn=5",))
    count = Experiment(name="c", what="statistics", serves=("table3",), dataset="icews14")
    results = [
        made_up(fit, 0.5, seconds={"train the agent": 20.0}),
        Result.from_json({**count.identity(), "official": {"train": 10_000}}),
    ]
    line = table3([fit, count], results).splitlines()[-1]
    assert line == "| 5 | 0.5000 | 0.4297 | 0.7500 | 0.7563 | 0.2500 | 0.2849 | 2.00 | 23 |"


def test_table_m_names_what_is_not_recorded() -> None:
    fit = Experiment(name="f", what="fit", serves=("table-m",), dataset="icews14", preset="paper")
    other = replace(fit, name="g", settings=("mining.top=15",))
    text = table_m([fit, other], [made_up(fit, 0.5, topologies={"number": 7})])
    assert text.endswith("Not recorded yet: g.")


def test_table_m_is_sorted_by_m() -> None:
    fit = Experiment(name="f", what="fit", serves=("table-m",), dataset="icews14", preset="paper")
    experiments = [replace(fit, name=f"f{m}", settings=(f"mining.top={m}",)) for m in (50, 15)]
    results = [made_up(experiment, 0.5, topologies={"number": 1000}) for experiment in experiments]
    rows = [line.split(" | ")[:3] for line in table_m(experiments, results).splitlines()[2:]]
    assert rows == [["| ICEWS14", "15", "1,000"], ["| ICEWS14", "50", "1,000"]]


def test_without_results_every_table_says_so() -> None:
    for make in all_tables(read_experiments(EXPERIMENTS)).values():
        assert make([]) == NOTHING


def test_rows_of_tknn_and_m_stay_out_of_the_table_of_predictions() -> None:
    fit = Experiment(name="f", what="fit", serves=("table3",), dataset="icews14", preset="paper")
    varied = replace(fit, settings=("agent.tknn=5",))
    assert DOCS_TABLES["prediction"]([made_up(varied, 0.5)]) == NOTHING
    assert preset("paper").agent.tknn != 5


def test_the_table_of_controls_has_a_row_for_each_reading() -> None:
    results = [
        Result(
            model="controls",
            dataset="icews14",
            settings={"agent": {"tknn": tknn, "hide_query": hides}},
            metrics={"train": {"random": 0.1, "commonest": tknn / 100}},
        )
        for tknn in (20, 5)
        for hides in (True, False)
    ]
    *_, hidden, left_in = DOCS_TABLES["controls"](results[:-1]).splitlines()
    assert hidden == "| icews14 | hidden | 0.1000 / 0.0500 | 0.1000 / 0.2000 |"
    assert left_in == "| icews14 | left in |  | 0.1000 / 0.2000 |"


def test_only_what_stands_between_marks_is_made_anew() -> None:
    text = "a\n<!-- table: models -->\nold\n<!-- end -->\nb\n"
    assert (
        with_tables(text, [], DOCS_TABLES)
        == f"a\n<!-- table: models -->\n{NOTHING}\n<!-- end -->\nb\n"
    )


# Figures


def agent_results(experiments: Sequence[Experiment]) -> list[Result]:
    return [
        Result.from_json(
            {
                **experiment.identity(),
                "seed": 0,
                "legal_actions": [3.0, 4.0, None],
                "rewards": {"episodes": [1, 2], "mean_500": [0.1, 0.2], "mean_10000": [0.1, 0.1]},
                "success": {
                    name: [7, 0.5] for name in ("Consult", "Reject", "Accuse", "Visit", "Riot")
                },
            }
        )
        for experiment in experiments
    ]


def topology_result(experiment: Experiment) -> Result:
    fact = {
        "subject": "A",
        "predicate": "p",
        "object": "B",
        "date": "2014",
        "side": "both",
        "step": 1,
    }
    example = {
        "subject": "A",
        "object": "C",
        "time": "2014",
        "meeting": ["B"],
        "facts": [fact, {**fact, "subject": "C"}],
        "bystanders": {"subject": 9, "object": 0},
    }
    one = {"topology": ["p", "q"], "connected": 3, "share": 0.5, "weight": 0.1, "example": example}
    found = {name: [one, {**one, "example": None}] for name in experiment.predicates}
    return Result.from_json({**experiment.identity(), "seed": 0, "topologies": found})


def made_up_results() -> tuple[list[Experiment], list[Result]]:
    experiments = read_experiments(EXPERIMENTS)
    agents = [experiment for experiment in experiments if experiment.what == "agent"]
    (topologies,) = (experiment for experiment in experiments if experiment.what == "topologies")
    return experiments, [*agent_results(agents), topology_result(topologies)]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_written_as_svg_and_png_the_same_each_time(name: str, tmp_path: Path) -> None:
    experiments, results = made_up_results()
    svg, png = write_figure(name, experiments, results, tmp_path / "one")
    again, _ = write_figure(name, experiments, results, tmp_path / "two")
    assert ET.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert svg.read_bytes() == again.read_bytes()
    head = png.read_bytes()[:24]
    assert head[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", head[16:])[0] >= 1000  # 300 dots an inch, one column


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_nothing_is_not_written(name: str, tmp_path: Path) -> None:
    assert write_figure(name, read_experiments(EXPERIMENTS), [], tmp_path / "figures") == []
    assert not (tmp_path / "figures").exists()


def test_a_predicate_that_does_not_exist_is_replaced_by_the_nearest() -> None:
    known = ["Appeal for military aid", "Consult", "Make a visit"]
    assert nearest_names(["Consult", "Demand military aid"], known) == [
        "Consult",
        "Appeal for military aid",
    ]


def test_without_matplotlib_figures_say_what_to_install(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apptek.extras.find_spec", lambda _: None)
    with pytest.raises(ApptekError, match=r"pip install 'apptek\[figures\]'"):
        reproduce("figure-actions", read_experiments(EXPERIMENTS), folders, quiet)


@pytest.mark.parametrize("name", FIGURES)
def test_the_figures_of_the_docs_are_there(name: str) -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert f"../paper/figures/{name}.svg" in page
    assert f"`apptek paper reproduce {name}`" in page
    assert (ROOT / "paper" / "figures" / f"{name}.svg").is_file()


# The command


def test_quick_versions_are_of_every_kind(tmp_path: Path) -> None:
    real, quick = (
        read_experiments(EXPERIMENTS),
        quick_versions(read_experiments(EXPERIMENTS), tmp_path),
    )
    assert {(c.what, c.model, c.preset) for c in quick} == {
        (c.what, c.model, c.preset) for c in real
    }
    assert {shown for experiment in quick for shown in experiment.serves} == set(SHOWN)
    for experiment in quick:
        experiment.config()


def test_the_quick_version_of_a_forecast_has_the_splits_of_the_world(tmp_path: Path) -> None:
    forecast = replace(PAIR, name="f", dataset="icews14", protocol="forecast")
    (quick,) = quick_versions([forecast], tmp_path)
    assert quick.protocol == "official"
    paper = replace(forecast, protocol="paper")
    assert quick_versions([paper], tmp_path)[0].protocol == "paper"


def test_what_is_recorded_is_shown_and_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "execute", lambda *_: pytest.fail("something was run"))
    done = CliRunner().invoke(app, ["paper", "reproduce", "table1", "--only-recorded"])
    assert done.exit_code == 0, done.output
    assert "72,826" in done.stdout


def test_the_folder_of_the_experiments_can_be_named() -> None:
    words = ["paper", "reproduce", "table1", "--only-recorded", "--experiments", str(EXPERIMENTS)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "72,826" in done.stdout


def test_only_has_no_place_where_nothing_is_run() -> None:
    words = ["paper", "reproduce", "table1", "--only-recorded", "--only", "stat*"]
    assert CliRunner().invoke(app, words).exit_code == 2


def test_a_place_without_records_is_named(tmp_path: Path) -> None:
    words = ["paper", "reproduce", "table2", "--only-recorded", "--out", str(tmp_path / "nowhere")]
    done = CliRunner().invoke(app, words)
    assert isinstance(done.exception, ApptekError)
    assert "no such folder" in str(done.exception)


def test_an_unknown_table_is_wrong_usage() -> None:
    assert CliRunner().invoke(app, ["paper", "reproduce", "table9"]).exit_code == 2


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


def test_the_package_brings_the_extra_for_figures() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "figures" in about["project"]["optional-dependencies"]


def test_a_new_result_says_when_and_with_what_it_was_made(tmp_path: Path) -> None:
    write_result(tmp_path / "new.json", Result(model="pair"))
    written = json.loads((tmp_path / "new.json").read_text(encoding="utf-8"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", written["date"])
    assert {"python", "numpy", "numba", "torch", "lightgbm"} <= set(written["machine"])
