"""Any scorer is ranked as our own models are, joins the comparisons, and is checked."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learned_parts import LEARNED, settings_of
from ranking_oracles import expected_rank, other_known
from reference import PlainFact
from worlds import PREDICATES, dataset_of, plain_facts

from apptek import Evaluator, Predictor, Splitting
from apptek.arrays import Matrix
from apptek.config import preset
from apptek.errors import ApptekError
from apptek.evaluation.calibration import softmax
from apptek.evaluation.scorer import ViewScorer, evaluate_forecast
from apptek.facts.facts import Dataset
from apptek.facts.protocols import split_facts
from apptek.facts.queries import Queries
from apptek.research import check_baseline, check_scorer
from apptek.research.compare import compare_results
from apptek.research.evaluator import evaluate_model
from apptek.research.result import read_result
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world, write_world

PAGE = Path(__file__).parents[1] / "docs" / "own-models.md"
QUICK = with_settings(preset("default"), ["classifier.epochs=2", "classifier.l2=[3.0]"])
MODEL = "explored"  # of the fixture `predictor`
some_facts = st.lists(plain_facts(), min_size=1, max_size=8)


@pytest.fixture(scope="module")
def by_time() -> Dataset:
    return split_facts(make_world(2000, 0).dataset, Splitting(by="time"))


def hashed(queries: Queries, width: int = PREDICATES) -> Matrix:
    """Scores that depend on the query alone, with ties."""
    seeds = queries.subjects * 7 + queries.objects * 3 + queries.times % 11
    return ((seeds[:, None] * np.arange(1, width + 1)) % 5).astype(np.float32)


def test_a_model_of_ours_and_its_scores_give_the_same_report(
    predictor: Predictor, data: Dataset
) -> None:
    evaluator = Evaluator(data)
    ours = evaluator.evaluate(predictor)
    expected = predictor.evaluate("test")
    assert np.array_equal(ours.ranks, expected.ranks)
    assert ours.metrics == expected.metrics
    assert ours.groups == expected.groups
    assert ours.result.model == "apptek_default"
    foreign = evaluator.evaluate(
        predictor.answerer.main.scores,
        name="copied",
        probabilities=predictor.scorer().probabilities,
    )
    assert np.array_equal(foreign.ranks, expected.ranks)
    # A scorer of someone else has no prediction sets.
    assert foreign.metrics == replace(expected.metrics, coverage=None, set_size=None)
    ahead = Evaluator(data, view="past_only").evaluate(predictor)
    assert np.array_equal(ahead.ranks, predictor.evaluate("test", "past_only").ranks)
    baseline = Predictor.fit(data, model="recency")
    report = evaluator.evaluate(baseline)
    assert report.metrics == baseline.evaluate("test").metrics
    scorer = baseline.model.main.scorer
    assert evaluator.evaluate(scorer, name="the same").metrics == report.metrics


@pytest.mark.parametrize("filtering", ["raw", "static", "time-aware"])
@settings(max_examples=25)
@given(train=some_facts, test=some_facts)
def test_ranks_agree_with_the_definition(
    filtering: Any, train: list[PlainFact], test: list[PlainFact]
) -> None:
    evaluator = Evaluator(dataset_of(train, test), filtering=filtering, view="past_only")
    facts, width = [*train, *test], PREDICATES
    expected = [
        expected_rank(row.tolist(), query.predicate, set(other_known(query, facts, filtering)))
        for row, query in zip(hashed(evaluator.queries, width), test, strict=True)
    ]
    ranks = evaluator.evaluate(lambda queries: hashed(queries, width)).ranks
    assert ranks.tolist() == expected


def test_a_scorer_with_probabilities_has_the_figures_of_forecasts(by_time: Dataset) -> None:
    count = len(by_time.predicates)

    def scores(queries: Queries) -> Matrix:
        return hashed(queries, count)

    figures = evaluate_forecast(ViewScorer(scores, softmax), by_time, rolling=False)
    assert Evaluator(by_time).evaluate(scores, probabilities=softmax).forecast == figures


@pytest.mark.parametrize("rolling", [False, True])
def test_forecasts_of_our_models_are_the_same_by_either_way(
    by_time: Dataset, rolling: bool
) -> None:
    evaluator = Evaluator(by_time, rolling=rolling)
    for fitted in (Predictor.fit(by_time, config=QUICK), Predictor.fit(by_time, model="pair")):
        report = evaluator.evaluate(fitted)
        expected = evaluate_model(fitted, "test", rolling=rolling)
        assert report.result.view == "past_only"
        heading = repr(report).splitlines()[0]
        assert heading.endswith(", test, rolling" if rolling else ", test, past_only")
        assert report.forecast == expected.forecast
        assert np.array_equal(report.ranks, expected.ranks)


def test_a_result_joins_the_comparisons(
    predictor: Predictor, data: Dataset, tmp_path: Path
) -> None:
    def frequency(queries: Queries) -> Matrix:
        counts = np.bincount(data.train.predicates, minlength=len(data.predicates))
        return np.tile(counts, (len(queries), 1))

    evaluator = Evaluator(data)
    files = [tmp_path / "frequency.json", tmp_path / "default.json"]
    reports = [evaluator.evaluate(scorer) for scorer in (frequency, predictor)]
    for report, file in zip(reports, files, strict=True):
        report.save(file)
    comparison = compare_results(files)
    assert [model.name for model in comparison.models] == ["frequency", "apptek_default"]
    (gain,) = comparison.differences
    assert gain.mean == pytest.approx(reports[1].metrics.mrr - reports[0].metrics.mrr)
    read = read_result(files[0])
    assert read.metrics["mrr"] == reports[0].metrics.mrr
    assert read.groups["seen_pair"]["queries"] == reports[0].groups["seen_pair"].queries  # type: ignore[union-attr]
    Evaluator(data, filtering="raw").evaluate(frequency).save(tmp_path / "raw.json")
    with pytest.raises(ApptekError, match=r"raw.json has filtering raw, .* has time-aware"):
        compare_results([files[0], tmp_path / "raw.json"])


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (lambda q: np.zeros((len(q), 3)), r"returned shape \(\d+, 3\), expected \(\d+, 26\)"),
        (lambda q: np.zeros(len(q)), r"returned shape \(\d+,\), expected"),
        (lambda q: np.full((len(q), 26), np.nan), "returned NaN"),
        (lambda q: np.full((len(q), 26), "x"), "expected numbers"),
        (5, "a scorer is a function of queries"),
    ],
)
def test_what_is_no_scorer_is_a_clear_error(data: Dataset, scorer: Any, message: str) -> None:
    with pytest.raises(ApptekError, match=message):
        Evaluator(data).evaluate(scorer)


def test_masks_of_infinity_rank_last_and_tie(data: Dataset) -> None:
    def masked(queries: Queries) -> Matrix:
        scores = hashed(queries, len(data.predicates))
        scores[queries.subjects % 2 == 0] = -np.inf  # everything
        scores[:, 0] = -np.inf
        return scores

    report = Evaluator(data).evaluate(masked)
    assert np.isfinite(report.metrics.mrr)
    assert report.metrics.ece is not None
    assert np.isfinite(report.metrics.ece)


def test_what_cannot_be_evaluated_is_refused(
    data: Dataset, by_time: Dataset, predictor: Predictor
) -> None:
    options: tuple[tuple[Dataset, dict[str, Any], str], ...] = (
        (
            by_time,
            {"view": "all_facts"},
            "cannot be 'all_facts': the test facts are later than the training set",
        ),
        (data, {"view": "all_facts", "rolling": True}, "a rolling evaluation sees only the past"),
        (data, {"filtering": "none"}, "filtering is 'none'; known: raw, static, time-aware"),
    )
    for dataset, chosen, message in options:
        with pytest.raises(ApptekError, match=message):
            Evaluator(dataset, **chosen)
    with pytest.raises(ApptekError, match="rolling needs a fitted model: register_baseline"):
        Evaluator(by_time, rolling=True).evaluate(lambda q: hashed(q, len(by_time.predicates)))
    with pytest.raises(ApptekError, match="was fitted on different splits"):
        Evaluator(by_time).evaluate(predictor)


def scripts() -> list[str]:
    page = PAGE.read_text(encoding="utf-8")
    return re.findall(r"<!-- script -->\n```python\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize("number", range(len(scripts())))
def test_the_scripts_of_the_page_run(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("apptek.models.registry._REGISTERED", {})
    write_world(make_world(800, 0), tmp_path / "world")
    exec(compile(scripts()[number], str(PAGE), "exec"), {"__name__": "page"})
    shown = capsys.readouterr().out
    assert shown
    if "naive_bayes" in scripts()[number]:
        gain = float(re.findall(r"apptek_default minus naive_bayes: MRR ([+-][0-9.]+)", shown)[0])
        assert gain > 0.05


@pytest.fixture(scope="module")
def small() -> Dataset:
    return make_world(1000, 0).dataset


@pytest.mark.parametrize("name", ["frequency", "profile", "pair", "recency", *LEARNED])
def test_the_baselines_keep_the_contract(name: str, small: Dataset) -> None:
    config = settings_of(name, "training.epochs=1") if name in LEARNED else None
    check_baseline(name, small, config=config)


def zeros(queries: Queries) -> Any:
    return np.zeros((len(queries), 26))


def test_a_function_can_be_checked(small: Dataset) -> None:
    assert len(small.predicates) == 26
    check_scorer(zeros, small)


class Remembering:
    """The scores of a call depend on how many there were."""

    calls = 0

    def scores(self, queries: Queries) -> Any:
        self.calls += 1
        return zeros(queries) + self.calls


@pytest.mark.parametrize(
    ("scorer", "problem"),
    [
        (lambda queries: zeros(queries)[:, :-1], "returned shape"),
        (lambda queries: zeros(queries) * np.nan, "NaN"),
        (lambda queries: zeros(queries) + np.arange(len(queries))[:, None], "order of the queries"),
        (lambda queries: zeros(queries) + len(queries), "other queries"),
        (Remembering(), "differ between two calls"),
    ],
)
def test_a_broken_scorer_is_found_out(scorer: Any, problem: str, small: Dataset) -> None:
    with pytest.raises(ApptekError, match=problem):
        check_scorer(scorer, small)
