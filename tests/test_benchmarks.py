"""The benchmarks print their keys, and refuse the options of another part."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apptek.ragged import Ragged
from apptek.research.result import read_results
from apptek.synthetic.world import make_world, write_world
from benchmarks.__main__ import main
from benchmarks.audit import bench_audit
from benchmarks.choices import worst_ranks


def measured(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """The ratios and figures that a benchmark prints."""
    main([*words, "--json"])
    report: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert list(report) == ["ratios", "figures"]
    return report


@pytest.mark.gate
def test_the_audit_is_measured_on_every_kind_of_error_beside_a_baseline(tmp_path: Path) -> None:
    write_world(make_world(1500, 5), tmp_path / "world")
    figures = bench_audit(data=str(tmp_path / "world")).figures
    for name in ("predicate_auc", "predicate_precision", "direction_auc", "direction_precision"):
        for ending in ("", "_baseline", "_in_list"):
            assert 0 <= figures[name + ending] <= 1
    assert figures["predicate_auc"] > figures["predicate_auc_baseline"]
    assert figures["direction_auc"] > figures["direction_auc_baseline"]


@pytest.mark.gate
@pytest.mark.parametrize(
    ("part", "ratios"),
    [
        ("predict", {"predict_vs_counting", "query_10m_vs_100k"}),
        pytest.param("graph", {"tknn_vs_oracle", "tknn_10m_vs_100k"}, marks=pytest.mark.slow),
        pytest.param("agent", {"rollout_vs_oracle", "episode_10m_vs_100k"}, marks=pytest.mark.slow),
    ],
)
def test_a_part_prints_its_ratios(
    capsys: pytest.CaptureFixture[str], part: str, ratios: set[str]
) -> None:
    report = measured(capsys, part, "--quick")
    assert ratios <= set(report["ratios"])
    assert all(ratio > 0 for ratio in report["ratios"].values())
    assert report["figures"].get("index_bytes_per_fact", 0) <= 48


@pytest.mark.slow
def test_every_size_of_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    main(["scale", "--facts", "2e3,1e4", "--json"])
    done = capsys.readouterr()
    told = done.err.splitlines()
    assert {"2,000 facts: make the world", "2,000 facts: read", "10,000 facts: rank"} <= set(told)
    shown = json.loads(done.out)
    for name in ("read_seconds", "index_seconds", "fit_seconds", "fit_peak_mb"):
        assert set(shown["figures"][name]) == {"2000", "10000"}
        assert all(value > 0 for value in shown["figures"][name].values())
    assert shown["figures"]["mrr"]["10000"] > 0.5
    assert {"fit_peak_10x", "fit_seconds_10x", "predict_10x"} <= set(shown["ratios"])


@pytest.mark.slow
def test_the_service(capsys: pytest.CaptureFixture[str], forecast_model: Path) -> None:
    figures = measured(capsys, "serve", "--quick", "--model", str(forecast_model))["figures"]
    times = ("predict_p95_ms", "explain_p95_ms", "forecast_p95_ms", "start_seconds")
    for name in (*times, "batch_queries_per_s"):
        assert figures[name] > 0
    assert set(figures["predict_ms"]) == {"1", "16"}


def test_the_worst_rank_counts_every_equal_score_but_known_predicates() -> None:
    scores = np.asarray([[1.0, 2.0, 2.0, 2.0], [0.0, 0.0, 0.0, 0.0]], np.float32)
    known = Ragged(np.asarray([0, 1, 1]), np.asarray([3], np.int32))
    ranks = worst_ranks(scores, np.asarray([1, 0], np.int32), known)
    assert ranks.tolist() == [2.0, 4.0]


def test_the_metrics_of_a_recorded_run_are_those_of_its_trial_without_changes() -> None:
    results = read_results(Path(__file__).parents[1] / "paper" / "results").values()
    recorded = [each for each in results if each.model == "choices"]
    assert recorded
    for result in recorded:
        assert result.metrics == result.extras["trials"]["ours"]["filtered"]
