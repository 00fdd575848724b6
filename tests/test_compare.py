"""Comparing models: their results query by query, and contests on data of one's own."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
from command_line import answered, refusal, succeeds
from fitted_models import SharedModel

from apptek.config import VIEWS
from apptek.errors import ApptekError
from apptek.models.registry import model_settings
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.research import contest as contests
from apptek.research.compare import bootstrap_interval, compare_results
from apptek.research.contest import run_contest
from apptek.research.evaluator import evaluate_model
from apptek.research.result import read_result
from apptek.synthetic.world import make_world
from tools.docs_tables import comparison_table


@pytest.fixture(scope="module")
def folder(shared_model: SharedModel) -> Path:
    return shared_model("recency")


@pytest.fixture(scope="module")
def frequency(shared_model: SharedModel) -> Path:
    return shared_model("frequency")


def write_result(folder: Path, path: Path, **changes: object) -> None:
    """The result of a baseline on test, with some entries changed."""
    baseline = Predictor.load(folder)
    evaluate_model(baseline, "test").save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_results_of_other_queries_or_without_ranks_cannot_be_compared(
    folder: Path, frequency: Path, tmp_path: Path
) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    write_result(folder, one)
    write_result(frequency, other)
    assert compare_results([one, other]).differences[0].name == "frequency"
    about, ranks = json.loads(other.read_text()), tmp_path / "other.ranks.npy"
    changes: tuple[tuple[dict[str, object], str], ...] = (
        ({"split": "valid"}, "cannot be compared"),
        ({"ranks": about["ranks"] | {"queries": "others"}}, "different queries"),
        ({"ranks": None}, "contains no ranks"),
    )
    for change, message in changes:
        other.write_text(json.dumps(about | change))
        with pytest.raises(ApptekError, match=message):
            compare_results([one, other])
    other.write_text(json.dumps(about))
    np.save(ranks, np.load(ranks) + 1)
    with pytest.raises(ApptekError, match="does not contain the ranks"):
        compare_results([one, other])
    for damaged in (b"nothing", b"PK\x03\x04nothing", None):
        ranks.unlink() if damaged is None else ranks.write_bytes(damaged)
        with pytest.raises(ApptekError, match="missing or damaged"):
            compare_results([one, other])


def test_seeds_of_one_model_are_taken_together(
    folder: Path, frequency: Path, tmp_path: Path
) -> None:
    paths = [tmp_path / f"{number}.json" for number in range(3)]
    write_result(frequency, paths[0])
    for seed, path in enumerate(paths[1:]):
        write_result(folder, path, seed=seed)
    comparison = compare_results(paths)
    assert [model.seeds for model in comparison.models] == [(0,), (0, 1)]
    assert comparison.models[1].deviation == 0.0
    assert len(comparison.differences) == 1
    with pytest.raises(ApptekError, match="at least two models"):
        compare_results(paths[1:])


def test_a_comparison_is_kept_and_shown_in_a_table(
    folder: Path, frequency: Path, tmp_path: Path
) -> None:
    paths = [tmp_path / "one.json", tmp_path / "other.json"]
    for path, model in zip(paths, (folder, frequency), strict=True):
        write_result(model, path)
    kept = tmp_path / "compared.json"
    words = ["research", "compare", *map(str, paths), "--result"]
    succeeds(*words, str(kept))
    recorded, (gap,) = read_result(kept), compare_results(paths).differences
    assert [model["files"] for model in recorded.extras["models"]] == [["one.json"], ["other.json"]]
    first, row = comparison_table({"new": recorded}).splitlines()[2:]
    assert first.startswith(f"| {recorded.dataset} | {recorded.extras['models'][0]['name']} | ")
    assert f" | {gap.mean:+.4f} | {gap.low:+.4f} to {gap.high:+.4f} | " in row
    assert f"{gap.better:,} / {gap.worse:,}" in row
    assert "nowhere" in refusal(*words, str(tmp_path / "nowhere" / "compared.json"))


def test_models_that_share_a_name_are_told_apart(folder: Path, tmp_path: Path) -> None:
    paths = [tmp_path / parent / "r.json" for parent in ("a", "b", "c")]
    changes: tuple[dict[str, object], ...] = ({}, {"types": "x"}, {"data": {"train": "other"}})
    for path, change in zip(paths, changes, strict=True):
        path.parent.mkdir()
        write_result(folder, path, **({"types": None} | change))
    comparison = compare_results(paths)
    assert [model.name for model in comparison.models] == [str(path) for path in paths]
    assert [difference.against for difference in comparison.differences] == [str(paths[0])] * 2
    shown = succeeds("research", "compare", *map(str, paths), COLUMNS="300")
    assert shown.stdout.count("+0.0000 .. +0.0000") == 2  # none for the first


def test_results_whose_names_have_dots_keep_their_own_ranks(folder: Path, tmp_path: Path) -> None:
    for name in ("lr0.1", "lr0.3"):
        write_result(folder, tmp_path / name)
    names = {path.name for path in tmp_path.glob("*.npy")}
    assert names == {"lr0.1.ranks.npy", "lr0.3.ranks.npy"}


def test_the_interval_holds_the_mean_and_narrows_with_more_queries() -> None:
    rng = np.random.default_rng(0)
    few, many = rng.normal(0.1, 1, 100), rng.normal(0.1, 1, 10_000)
    intervals = [bootstrap_interval(gains, rng=np.random.default_rng(1)) for gains in (few, many)]
    for gains, (low, high) in zip((few, many), intervals, strict=True):
        assert low < gains.mean() < high
        error = gains.std() / np.sqrt(len(gains))
        assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)


def test_two_views_of_one_model_are_no_seeds_of_one_another(tmp_path: Path) -> None:
    predictor = Predictor.fit(make_world(2000, 0).dataset)
    paths = {view: tmp_path / f"{view}.json" for view in VIEWS}
    for view, path in paths.items():
        evaluate_model(predictor, "test", view).save(path)
    compared = compare_results(list(paths.values()))
    assert [one.name for one in compared.models] == ["apptek_default", "apptek_default, past_only"]
    tunings = [json.loads(path.read_text())["tuning"]["valid_mrr"] for path in paths.values()]
    reports = [predictor.model.views[view].report["valid_mrr"] for view in VIEWS]
    assert tunings == reports


# Contests


QUICK = ("frequency", "pair")


@pytest.fixture(scope="module")
def events(world: Path) -> Path:
    """The same facts in a single file."""
    parts = [(world / f"{split}.tsv").read_text().splitlines() for split in ("train", "test")]
    path = world.parent / "events.tsv"
    path.write_text("\n".join([*parts[0], *parts[1][1:]]) + "\n")
    return path


def contest(*words: object) -> list[str]:
    """The words of a contest."""
    return ["research", "contest", *map(str, words)]


def test_the_best_comes_first_and_the_others_are_held_against_it(
    events: Path, tmp_path: Path
) -> None:
    out = tmp_path / "contest"
    words = contest(events, "--out", out, "--models", "frequency,pair")
    first, second = answered(*words)["models"]
    assert first["metrics"]["mrr"] > second["metrics"]["mrr"]
    assert first["against_best"] is None
    against = second["against_best"]
    assert against["mean"] == pytest.approx(second["metrics"]["mrr"] - first["metrics"]["mrr"])
    assert against["low"] <= against["mean"] <= against["high"]
    for contestant in (first, second):
        fitted = Predictor.load(Path(contestant["folder"]))
        assert fitted.evaluate("test").metrics.mrr == contestant["metrics"]["mrr"]
        assert read_result(out / "results" / f"{contestant['name']}-seed0.json").split == "test"


def test_several_seeds_are_one_contestant(world: Path, tmp_path: Path) -> None:
    words = contest(world, "--out", tmp_path / "c", "--models")
    assert len(answered(*words, "pair,frequency", "--seeds", "2")["models"]) == 2
    names = {path.name for path in (tmp_path / "c" / "results").glob("*.json")}
    assert names == {f"{name}-seed{seed}.json" for name in QUICK for seed in (0, 1)}
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "c" / "results").iterdir()}
    # Another one joins, and what was done is not done again.
    succeeds(*words, "pair,frequency,profile", "--seeds", "1")
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    refusal(*words, "pair,pair", code=2)


def test_a_folder_about_other_data_is_refused(world: Path, events: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    how = ("--out", out, "--models", "pair")
    succeeds(*contest(events, *how))
    for words in ([world], [events, "--split-by", "time"]):
        told = refusal(*contest(*words, *how))
        assert "contains a contest with different data, split or protocol" in told
    (out / "contest.json").write_text("{")
    assert "contest.json is damaged" in refusal(*contest(events, *how))


def test_a_failure_says_so_and_keeps_the_rest(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = read_dataset(world)

    def fail(*_: object) -> None:
        raise ApptekError("out of luck")

    with monkeypatch.context() as patched:
        patched.setattr(contests, "fit_and_evaluate", fail)
        with pytest.raises(
            ApptekError, match="frequency-seed0: out of luck; finished runs are kept"
        ):
            run_contest(data, QUICK, tmp_path / "c", lambda _: None)
    assert len(run_contest(data, QUICK, tmp_path / "c", lambda _: None)) == 2


def test_without_torch_the_others_take_part(monkeypatch: pytest.MonkeyPatch) -> None:
    assert contests.usual_models() == contests.USUAL
    monkeypatch.setattr("apptek.extras.find_spec", lambda _: None)
    assert contests.usual_models() == contests.WITHOUT_TORCH
    for name in contests.WITHOUT_TORCH:
        model_settings(name)


# Reading


def test_a_contest_names_how_its_data_was_read(events: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    how = ("--columns", "subject=1,predicate=2,object=3,time=4", "--split-by", "time")
    succeeds(*contest(events, "--out", out, "--models", "pair", *how, "--read", "header=yes"))
    command = read_result(out / "results" / "pair-seed0.json").command
    assert command is not None
    words = shlex.split(command.split(" && ")[0])
    assert words[-10:] == ["--seed", "0", "--out", "pair-seed0", *how, "--read", "header=yes"]
    data = Predictor.load(out / "models" / "pair-seed0").model.dataset
    assert data.train.since.max() <= data.test.since.min()


def test_a_contest_has_the_protocol_that_is_asked_for(events: Path, tmp_path: Path) -> None:
    words = contest(events, "--out", tmp_path / "c", "--models", "pair", "--protocol")
    succeeds(*words, "paper")
    assert read_result(tmp_path / "c" / "results" / "pair-seed0.json").protocol == "paper"
    assert "different data, split or protocol" in refusal(*words, "official")
    assert "events has no protocol forecast" in refusal(*words, "forecast")
