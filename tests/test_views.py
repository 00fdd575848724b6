from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from fitted_models import SharedModel
from plain_queries import query_about

from apptek import Predictor, Query, read_dataset
from apptek.config import preset
from apptek.errors import ApptekError
from apptek.evaluation.scorer import evaluate_forecast
from apptek.facts.facts import SPLITS, Dataset, Facts
from apptek.facts.protocols import Splitting, split_facts
from apptek.facts.queries import held_out_queries
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.model import with_earlier_facts
from apptek.setting_rules import with_settings


@pytest.fixture(scope="module")
def by_time(data: Dataset) -> Dataset:
    """The same facts, with valid and test after train."""
    return split_facts(replace(data, train=data.all_facts()), Splitting(by="time"))


@pytest.fixture(scope="module")
def forecaster(shared_model: SharedModel) -> Predictor:
    return Predictor.load(shared_model("by_time"))


def test_the_view_ahead_is_what_a_fit_for_the_past_alone_gives(
    predictor: Predictor, shared_model: SharedModel
) -> None:
    alone = Predictor.load(shared_model("past_only"))
    assert list(alone.model.views) == ["past_only"]
    ours, theirs = predictor.model.views["past_only"], alone.model.views["past_only"]
    assert np.array_equal(ours.classifier.weights, theirs.classifier.weights)
    assert ours.classifier.calibration == theirs.classifier.calibration
    for past_only in (alone, Predictor(predictor.model, past_only=True)):
        assert past_only.views_of("test") == ("past_only",)
    with pytest.raises(ApptekError, match="cannot be evaluated with 'all_facts' on test"):
        alone.evaluate("test", "all_facts")


def test_a_split_beyond_train_can_only_be_looked_at_ahead(
    by_time: Dataset, forecaster: Predictor
) -> None:
    assert by_time.lies_beyond_train("valid")
    assert by_time.lies_beyond_train("test")
    assert not by_time.lies_beyond_train("train")
    assert forecaster.views_of("test") == ("past_only",)
    assert forecaster.evaluate("test").metrics == forecaster.evaluate("test", "past_only").metrics
    with pytest.raises(
        ApptekError,
        match="cannot be evaluated with 'all_facts' on test, only with 'past_only': the test",
    ):
        forecaster.evaluate("test", "all_facts")


def test_where_valid_lies_beyond_train_the_view_within_is_tuned_inside_it(
    data: Dataset, by_time: Dataset, forecaster: Predictor
) -> None:
    """Tuned on valid, it would be judged without the facts after a query that it relies on."""
    within, ahead = (forecaster.model.views[view].report for view in ("all_facts", "past_only"))
    assert within["valid_mrr"] > ahead["valid_mrr"]
    assert ahead["valid_mrr"] == pytest.approx(
        forecaster.evaluate("valid", rolling=True).metrics.mrr
    )
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
    view = forecaster.answerer.view_in_use("past_only")
    everything = replace(by_time, train=by_time.all_facts())
    model = replace(forecaster.model, graph=TemporalGraph.of(everything))
    planted = replace(view, space=model.space("past_only"))
    assert len(queries) > 0
    assert np.array_equal(planted.scores(queries), view.scores(queries))
    later = replace(queries, times=queries.times + np.int32(30))
    assert not np.array_equal(planted.scores(later), view.scores(later))


# All facts for answering, training facts for evaluating


def test_a_model_of_one_file_answers_from_all_facts_and_is_evaluated_on_train(
    data: Dataset, tmp_path: Path
) -> None:
    file = split_facts(replace(data, train=data.all_facts()), Splitting())
    assert file.was_split
    assert not data.was_split
    plain = Predictor.fit(file, final=False)
    final = Predictor.fit(file, folder=tmp_path / "model")
    loaded = Predictor.load(tmp_path / "model")
    everything = len(file.train) + len(file.valid) + len(file.test)
    for predictor in (final, loaded):
        assert len(predictor.model.graph.facts) == everything
        assert predictor.model.dataset.train.digest() == file.train.digest()
        for view in ("all_facts", "past_only"):
            evaluation = predictor.evaluate("test", view)
            assert np.array_equal(evaluation.ranks, plain.evaluate("test", view).ranks)
    dated = file.test.take(file.test.dated)
    row = int(np.argmax(file.axis.positions(dated.times)))
    query = query_about(file, dated, row)
    (answer,) = loaded.predict([query])
    assert file.predicates[int(dated.predicates[row])] in answer.known
    assert plain.predict([query])[0].known == ()


# Rolling


def test_rolling_is_better_than_standing_still(forecaster: Predictor) -> None:
    still, rolling = (
        forecaster.evaluate("test", rolling=rolling).metrics.mrr for rolling in (False, True)
    )
    assert rolling > still
    scorer = forecaster.scorer("test", "past_only", rolling=True)
    figures = evaluate_forecast(scorer, forecaster.model.dataset, rolling=True)
    assert figures["filtered_r"]["mrr"] == pytest.approx(rolling)
    assert figures["raw_2r"]["mrr"] < figures["raw_r"]["mrr"] <= figures["filtered_r"]["mrr"]


def test_an_undated_fact_of_test_is_before_no_query(data: Dataset, predictor: Predictor) -> None:
    rolled = with_earlier_facts(predictor.model)
    added = rolled.graph.facts.times[len(data.train) :]
    assert (data.test.times == UNKNOWN).any()
    assert len(added) > 0
    assert not (added == UNKNOWN).any()


def test_there_is_nothing_to_roll_through_without_times(data: Dataset) -> None:
    undated = {split: data.split(split).take(~data.split(split).dated) for split in SPLITS}
    timeless = replace(data, **undated)  # type: ignore[arg-type]
    predictor = Predictor.fit(timeless)
    with pytest.raises(ApptekError, match="no dated facts after the training set"):
        predictor.evaluate("test", rolling=True)


# What an answer ahead shows


CAREERS = """subject,predicate,object,since,until
ann,leads,acme,1990,2000
ann,advises,bolt,1985,1988
bob,leads,bolt,1986,
bob,advises,acme,1980,1984
cid,leads,core,1981,1989
cid,advises,bolt,1991,1995
dee,leads,dune,1983,1999
dee,advises,core,1984,1990
"""


def careers(folder: Path, last: str = "2000") -> Dataset:
    """People in office, many times over, the first until `last`."""
    header, *rows = CAREERS.strip().splitlines()
    lines = [f"{n}{row}".replace(",acme", f",{n}acme") for n in range(12) for row in rows]
    lines[0] = lines[0].replace("2000", last)
    file = folder / f"careers-{last}.csv"
    file.write_text("\n".join([header, *lines]) + "\n")
    return read_dataset(file)


def test_an_end_that_is_to_come_shows_in_no_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apptek.explain.reasons.LEAST", 0.0)  # small reasons count here, too
    explanations = []
    for last in ("2000", "1996"):
        data = careers(tmp_path, last)
        assert data.open_end == "ongoing"
        assert data.axis.unit == "year"
        config = with_settings(preset("default"), ["features.past_only=true"])
        predictor = Predictor.fit(data, config=config)
        explanation = predictor.explain(Query("0ann", "0acme", "1995"), most=99)
        (fact,) = {
            fact
            for reason in explanation.all_reasons()
            for fact in reason.facts
            if (fact.subject, fact.predicate) == ("0ann", "leads")
        }
        assert (fact.since, fact.until, fact.date) == ("1990", "?", "since 1990")
        assert (fact.distance, fact.apart) == (0, "at that time")
        explanations.append([reason.sentence for reason in explanation.all_reasons()])
    assert explanations[0] == explanations[1]


def test_a_few_facts_on_the_day_of_the_cut_make_no_random_split(by_time: Dataset) -> None:
    last = by_time.train.times[by_time.train.dated].max()
    moved = by_time.test.times.copy()
    moved[: len(moved) // 20] = last
    facts = by_time.test
    test = Facts(facts.subjects, facts.predicates, facts.objects, moved, moved)
    assert replace(by_time, test=test).lies_beyond_train("test")
    moved = moved.copy()
    moved[: len(moved) // 2] = last
    test = Facts(facts.subjects, facts.predicates, facts.objects, moved, moved)
    assert not replace(by_time, test=test).lies_beyond_train("test")
