"""The search for a baseline's settings on valid."""

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from apptek.cli import app
from apptek.config import no_progress
from apptek.errors import ApptekError, DivergedError, StoppedError
from apptek.facts.benchmarks import BENCHMARKS
from apptek.facts.facts import Dataset
from apptek.models.registry import LEARNED_NAMES, preset_of
from apptek.models.scorers import BaselineDefinition, FitTask, OwnScorer
from apptek.reading.reader import read_dataset
from apptek.research.provenance import read_runs
from apptek.research.result import read_result, read_results
from apptek.research.search import (
    Search,
    Trial,
    next_settings,
    run_trials,
    search_result,
    search_space,
    space_values,
)
from apptek.setting_rules import setting_texts, with_settings

ROOT = Path(__file__).parents[1]
SPACE = {"model.size": (1, 2, 3, 4), "model.rate": (0.1, 0.2, 0.3), "model.kind": ("a", "b")}


@dataclass(frozen=True)
class Model:
    size: int = 1
    rate: float = 0.1
    kind: str = "a"


@dataclass(frozen=True)
class Settings:
    model: Model = field(default_factory=Model)


def mrr_of(model: Model) -> float:
    """The best is size 4, rate 0.2, kind b."""
    return model.size / 8 - abs(model.rate - 0.2) + (model.kind == "b") / 8


def trial(mrr: float | None, **settings: Any) -> Trial:
    named = {f"model.{key}": value for key, value in settings.items()}
    return Trial(settings=named, valid_mrr=mrr, epoch=1, seconds=1.0)


@pytest.fixture(scope="module")
def data(world: Path) -> Dataset:
    return read_dataset(str(world))


def made_up_baseline(fit: Callable[..., Any] = pytest.fail) -> BaselineDefinition:
    def no_folder(*_: object) -> Any:
        pytest.fail("a search loads no model")

    return BaselineDefinition(presets={"default": Settings()}, fit=fit, load=no_folder, space=SPACE)


@pytest.fixture
def slow_baseline(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets the search run a made-up baseline that takes 20 seconds of its own clock a trial."""
    clock = [0.0]

    def put(fails: Callable[[Model], bool] = lambda _: False) -> None:
        def fit(task: FitTask) -> tuple[Any, dict[str, Any]]:
            clock[0] += 20
            if fails(task.config.model):
                raise DivergedError("training has diverged")
            width = len(task.dataset.predicates)
            scorer = OwnScorer(lambda queries: np.zeros((len(queries), width)), width)
            report = {"valid_mrr": mrr_of(task.config.model), "epoch": task.config.model.size}
            return scorer, report

        for module in ("research.search", "models.fitting.pipeline", "models.registry"):
            found = f"apptek.{module}.find_baseline"
            monkeypatch.setattr(found, lambda _: made_up_baseline(fit))
        monkeypatch.setattr("apptek.research.search.time.process_time", lambda: clock[0])

    return put


def search(data: Dataset, minutes: float, *, seed: int = 0) -> list[Trial]:
    return list(run_trials(made_up_search(minutes, seed), data, no_progress))


def made_up_search(minutes: float, seed: int = 0) -> Search:
    return Search(baseline="made_up", config=Settings(), minutes=minutes, seed=seed)


# Which settings are tried


@given(st.integers(0, 2**32))
def test_a_trial_has_settings_of_the_space_and_is_new_until_it_is_exhausted(seed: int) -> None:
    rng = np.random.default_rng(seed)
    space = SPACE | {"model.only": (1,)}
    trials = [trial(0.0, size=1, rate=0.1, kind="a", only=1)]
    while (settings := next_settings(space, trials, rng)) is not None:
        assert all(settings[key] in space[key] for key in space)
        assert settings not in [trial.settings for trial in trials]
        trials.append(Trial(settings=settings, valid_mrr=rng.random(), epoch=1, seconds=1.0))
    assert len(trials) > 12  # of 24: the last ones may not be drawn


def test_the_first_of_equals_is_the_best() -> None:
    trials = [trial(None, size=3), trial(0.5, size=1), trial(0.5, size=2)]
    found = search_result(made_up_search(1.0), trials)
    assert (found.metrics["mrr"], found.extras["best"]) == (0.5, {})  # size 1 is where it began


@pytest.mark.parametrize("name", LEARNED_NAMES)
@pytest.mark.parametrize("preset", ["default", "paper"])
def test_the_spaces_hold_settings_that_are_sound(name: str, preset: str) -> None:
    config, space = preset_of(name, preset), search_space(name)
    for key, own in space_values(config, space).items():
        assert own in space[key]
        assert len(set(space[key])) == len(space[key]) > 1
        for value in space[key]:
            changed = with_settings(config, setting_texts({key: value}))
            assert space_values(changed, space)[key] == value


# How long it goes on


def test_trials_begin_while_there_is_time(data: Dataset, slow_baseline: Any) -> None:
    slow_baseline()
    trials = search(data, 1.0)
    assert [trial.seconds for trial in trials] == [20.0, 20.0, 20.0]
    assert trials[0].settings == {"model.size": 1, "model.rate": 0.1, "model.kind": "a"}
    assert len(search(data, 1.01)) == 4  # begun within the time, and finished
    assert len(search(data, 0.01)) == 1
    assert search(data, 1.0) == trials
    assert search(data, 1.0, seed=1)[1:] != trials[1:]


def test_a_trial_that_fails_is_told_and_the_others_go_on(data: Dataset, slow_baseline: Any) -> None:
    slow_baseline(fails=lambda model: model.size == 1)
    trials = search(data, 2.0)
    assert (trials[0].valid_mrr, trials[0].error) == (None, "training has diverged")
    assert any(trial.valid_mrr for trial in trials)
    slow_baseline(fails=lambda _: True)
    with pytest.raises(ApptekError, match="every trial of made_up has failed; the first: training"):
        search_result(made_up_search(1.0), search(data, 1.0))


# What the paper's runs use


def test_the_runs_of_the_baselines_have_the_settings_that_the_search_has_chosen() -> None:
    """ICEWS05-15 takes over those of ICEWS14, but for what its runs say themselves."""
    runs, results = (
        read_runs(ROOT / "paper" / "runs.toml"),
        read_results(ROOT / "paper" / "results"),
    )
    official = [name for name in runs.shown["table-search"] if not name.endswith("-paper")]
    searches = [results[name] for name in official]
    searched = {(r.extras["baseline"], r.dataset): r.extras["best"] for r in searches}
    everywhere = {(name, data) for name in LEARNED_NAMES for data in ("icews14", "yago15k")}
    assert set(searched) == everywhere - {("re_gcn", "yago15k")}  # that one has the preset's
    checked = 0
    for name, line in runs.commands.items():
        words = shlex.split(line)
        baseline = next((word for word in words if word in LEARNED_NAMES), None)
        if baseline is None or "search" in words or "preset_paper" in name:
            continue
        data = next(word for word in words if word in BENCHMARKS)
        chosen = searched.get((baseline, data.replace("icews05-15", "icews14")), {})
        settings = [text for option, text in pairwise(words) if option == "--set"]
        if "paper" in words:  # the settings of a search under the paper's protocol, by its name
            known = {f"@search-{baseline}-{one}-paper" for one in (data, "icews14")}
            assert len(known & set(settings)) == 1, name
            checked += 1
            continue
        own, space = preset_of(baseline, "default"), search_space(baseline)
        expected = space_values(own, space) | chosen
        present = space_values(with_settings(own, settings), space)
        free = {"model.size", "training.batch_size"} if data == "icews05-15" else set()
        assert {k: v for k, v in present.items() if k not in free} == {
            k: v for k, v in expected.items() if k not in free
        }, name
        checked += 1
    assert checked > 20


@pytest.mark.gate
def test_the_command_tells_its_trials_and_the_command_to_fit(world: Path, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    words = ["research", "search", "de_distmult", str(world), "--result", str(path)]
    words += ["--minutes", "0.02"]
    words += ["--set", "training.epochs=1", "--set", "model.size=8"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    result = read_result(path)
    about = (result.extras["baseline"], result.split, result.extras["minutes"])
    assert about == ("de_distmult", "valid", 0.02)
    assert f"trial {len(result.extras['trials'])}: MRR" in done.stderr
    assert "--seed 0 --set" in done.stdout
    line = done.stdout.strip()
    assert line.startswith(f"apptek fit {world} --model de_distmult")
    for key, value in result.extras["best"].items():
        assert f"--set {key}={json.dumps(value)}" in line
    best = max(trial["valid_mrr"] for trial in result.extras["trials"])
    assert result.metrics["mrr"] == best


def test_a_search_that_is_stopped_leaves_what_it_has_found(
    world: Path, tmp_path: Path, slow_baseline: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, messages = tmp_path / "result.json", list[str]()

    def stop(text: str) -> None:
        messages.append(text)
        if len(messages) == 3:
            raise KeyboardInterrupt

    slow_baseline()
    monkeypatch.setattr("apptek.terminal.tell", stop)
    words = ["research", "search", "x", str(world), "--minutes", "9", "--result", str(path)]
    assert isinstance(CliRunner().invoke(app, words).exception, StoppedError)
    assert len(read_result(path).extras["trials"]) == 3
