from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from apptek import Predictor, Query
from apptek.config import preset
from apptek.data.facts import Dataset
from apptek.data.queries import held_out_queries
from apptek.data.splitting import Splitting, split_facts
from apptek.data.synthetic.world import make_world
from apptek.data.times import UNKNOWN
from apptek.errors import ApptekError
from apptek.setting_rules import with_settings


@pytest.fixture(scope="module")
def data() -> Dataset:
    return make_world(4000, 1).dataset


@pytest.fixture(scope="module")
def predictor(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    folder = tmp_path_factory.mktemp("views") / "model"
    Predictor.fit(data, folder=folder)
    return Predictor.load(folder)


@pytest.fixture(scope="module")
def by_time(data: Dataset) -> Dataset:
    """The same facts, with valid and test after train."""
    return split_facts(replace(data, train=data.all_facts()), Splitting(by="time"))


@pytest.fixture(scope="module")
def forecaster(by_time: Dataset) -> Predictor:
    return Predictor.fit(by_time)


def day_after(data: Dataset, days: int = 1) -> str:
    """A day after the last one of the training facts."""
    return data.axis.format(int(data.train.times.max()) + days)


def test_a_query_after_the_last_fact_is_answered_ahead(data: Dataset, predictor: Predictor) -> None:
    names = data.entities[0], data.entities[1]
    last = data.axis.format(int(data.train.times.max()))
    answers = predictor.predict(
        [Query(*names, last), Query(*names, day_after(data)), Query(*names, "?")]
    )
    assert [answer.view for answer in answers] == ["within", "ahead", "within"]
    explanation = predictor.explain(Query(*names, day_after(data)))
    assert explanation.view == "ahead"
    assert explanation.as_json()["view"] == "ahead"
    assert explanation.predicate == answers[1].predicates[0]
    assert explanation.probability == pytest.approx(answers[1].probabilities[0], abs=1e-6)


def test_answers_of_many_are_those_of_each_alone(data: Dataset, predictor: Predictor) -> None:
    names = [(data.entities[row], data.entities[row + 3]) for row in range(12)]
    times = ["2019-05-05", day_after(data), "?", day_after(data, 40)] * 3
    queries = [Query(*pair, time) for pair, time in zip(names, times, strict=True)]
    together = predictor.predict(queries)
    assert {answer.view for answer in together} == {"within", "ahead"}
    for query, answer in zip(queries, together, strict=True):
        (alone,) = predictor.predict([query])
        assert alone.predicates == answer.predicates
        assert alone.probabilities == pytest.approx(answer.probabilities, abs=1e-6)
        assert alone.view == answer.view


def test_the_view_ahead_is_what_a_fit_for_the_past_alone_gives(
    data: Dataset, predictor: Predictor
) -> None:
    config = with_settings(preset("default"), ["features.past_only=true"])
    alone = Predictor.fit(data, config=config)
    assert list(alone.model.views) == ["ahead"]
    ours, theirs = predictor.model.views["ahead"], alone.model.views["ahead"]
    assert np.array_equal(ours.classifier.weights, theirs.classifier.weights)
    assert ours.classifier.calibration == theirs.classifier.calibration
    assert alone.views_of("test") == ("ahead",)
    with pytest.raises(ApptekError, match="cannot be evaluated 'within' on test"):
        alone.evaluate("test", "within")


def test_as_of_answers_everything_ahead(data: Dataset, tmp_path: Path) -> None:
    Predictor.fit(data, folder=tmp_path / "model")
    past = Predictor.load(tmp_path / "model", as_of=True)
    queries = [Query(data.entities[0], data.entities[1], time) for time in ("2019-05-05", "?")]
    assert [answer.view for answer in past.predict(queries)] == ["ahead", "ahead"]
    assert past.evaluate("test").metrics == past.evaluate("test", "ahead").metrics


def test_both_views_are_evaluated_where_the_split_allows_it(predictor: Predictor) -> None:
    assert predictor.views_of("test") == ("within", "ahead")
    within, ahead = (predictor.evaluate("test", view) for view in ("within", "ahead"))
    assert predictor.evaluate("test").metrics == within.metrics
    assert within.metrics.mrr > ahead.metrics.mrr > 0.3


def test_a_split_beyond_train_can_only_be_looked_at_ahead(
    by_time: Dataset, forecaster: Predictor
) -> None:
    assert by_time.lies_beyond_train("valid")
    assert by_time.lies_beyond_train("test")
    assert not by_time.lies_beyond_train("train")
    assert forecaster.views_of("test") == ("ahead",)
    assert forecaster.evaluate("test").metrics == forecaster.evaluate("test", "ahead").metrics
    with pytest.raises(ApptekError, match="cannot be evaluated 'within' on test; possible: ahead"):
        forecaster.evaluate("test", "within")


def test_where_valid_lies_beyond_train_the_view_within_is_tuned_inside_it(
    data: Dataset, by_time: Dataset, forecaster: Predictor
) -> None:
    """Tuned on valid, it would be judged without the facts after a query that it relies on."""
    within, ahead = (forecaster.model.views[view].report for view in ("within", "ahead"))
    assert within["valid_mrr"] > ahead["valid_mrr"]
    assert ahead["valid_mrr"] == pytest.approx(forecaster.evaluate("valid").metrics.mrr)
    assert not data.lies_beyond_train("valid")
    undated = replace(by_time, valid=by_time.valid.take(by_time.valid.times == UNKNOWN))
    assert not undated.lies_beyond_train("valid")


def test_no_forecast_changes_with_facts_of_its_day_or_later(
    by_time: Dataset, forecaster: Predictor
) -> None:
    """What valid and test hold is planted in the graph: the scores of the first day stay."""
    first = by_time.valid.times[by_time.valid.dated].min()
    facts = by_time.valid.take(by_time.valid.times == first)
    queries = held_out_queries(facts)
    view = forecaster.answerer.views["ahead"]
    everything = replace(by_time, train=by_time.all_facts())
    sources = replace(forecaster.model.sources, graph=type(forecaster.model.graph).of(everything))
    planted = replace(view, space=sources.space("ahead", view.fitted.kinds))
    assert len(queries) > 0
    assert np.array_equal(planted.scores(queries), view.scores(queries))
    later = replace(queries, times=queries.times + np.int32(30))
    assert not np.array_equal(planted.scores(later), view.scores(later))
