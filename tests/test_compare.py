"""Comparing the results of models, query by query."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fitted_models import SharedModel
from typer.testing import CliRunner

from apptek.cli import app
from apptek.config import VIEWS
from apptek.errors import ApptekError
from apptek.predictor import Predictor
from apptek.research.compare import bootstrap_interval, compare_results
from apptek.research.model_result import evaluate_model
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
    write_result(frequency, other, split="valid")
    with pytest.raises(ApptekError, match="cannot be compared"):
        compare_results([one, other])
    write_result(frequency, other)
    about = json.loads(other.read_text())
    other.write_text(json.dumps(about | {"ranks": about["ranks"] | {"queries": "others"}}))
    with pytest.raises(ApptekError, match="different queries"):
        compare_results([one, other])
    write_result(frequency, other, ranks=None)
    with pytest.raises(ApptekError, match="names no ranks"):
        compare_results([one, other])
    write_result(frequency, other)
    ranks = tmp_path / "other.ranks.npy"
    np.save(ranks, np.load(ranks) + 1)
    with pytest.raises(ApptekError, match="does not hold the ranks"):
        compare_results([one, other])
    for damaged in (b"nothing", b"PK\x03\x04nothing"):
        ranks.write_bytes(damaged)
        with pytest.raises(ApptekError, match="missing or damaged"):
            compare_results([one, other])
    with ranks.open("wb") as file:
        np.savez(file, rows=np.zeros(3))
    with pytest.raises(ApptekError, match="missing or damaged"):
        compare_results([one, other])
    ranks.unlink()
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
    words = ["research", "compare", *map(str, paths), "--result", str(kept)]
    assert CliRunner().invoke(app, words).exit_code == 0
    recorded, (gap,) = read_result(kept), compare_results(paths).differences
    assert [model["files"] for model in recorded.extras["models"]] == [["one.json"], ["other.json"]]
    first, row = comparison_table({"new": recorded}).splitlines()[2:]
    assert first.startswith(f"| {recorded.dataset} | {recorded.extras['models'][0]['name']} | ")
    assert f" | {gap.mean:+.4f} | {gap.low:+.4f} to {gap.high:+.4f} | " in row
    assert f"{gap.better:,} / {gap.worse:,}" in row
    # A comparison of fewer models is the one that counts for what it compares again.
    models, gaps = recorded.extras["models"], recorded.extras["differences"]
    third = {"models": [*models, {"name": "third", "mrr": 0.5}], "differences": [*gaps, gaps[0]]}
    older = replace(recorded, extras={**recorded.extras, **third})
    shown = comparison_table({"old": older, "new": recorded}).splitlines()[2:]
    names = [line.split(" | ")[1] for line in shown]
    assert names == [models[0]["name"], models[1]["name"], "third"]
    missing = [*words[:-1], str(tmp_path / "nowhere" / "compared.json")]
    assert isinstance(CliRunner().invoke(app, missing).exception, ApptekError)


def test_models_that_share_a_name_are_told_apart(folder: Path, tmp_path: Path) -> None:
    paths = [tmp_path / parent / "r.json" for parent in ("a", "b", "c")]
    changes: tuple[dict[str, object], ...] = ({}, {"types": "x"}, {"data": {"train": "other"}})
    for path, change in zip(paths, changes, strict=True):
        path.parent.mkdir()
        write_result(folder, path, **({"types": None} | change))
    comparison = compare_results(paths)
    assert [model.name for model in comparison.models] == [str(path) for path in paths]
    assert [difference.against for difference in comparison.differences] == [str(paths[0])] * 2
    shown = CliRunner().invoke(
        app, ["research", "compare", *map(str, paths)], env={"COLUMNS": "300"}
    )
    assert shown.stdout.count("+0.0000 .. +0.0000") == 2  # none for the first


def test_results_whose_names_have_dots_keep_their_own_ranks(folder: Path, tmp_path: Path) -> None:
    for name in ("lr0.1", "lr0.3"):
        write_result(folder, tmp_path / name)
    assert {path.name for path in tmp_path.glob("*.npy")} == {
        "lr0.1.ranks.npy",
        "lr0.3.ranks.npy",
    }


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
