"""Supposed facts: the answers with them are those of an updated model, and no fact leaks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import apptek
from fact_files import in_words
from service_parts import client_of

from apptek.errors import ArgumentError
from apptek.explain.what_if import compared_in
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.results import Answer, Explanation, Forecast, WhatIf, to_dict
from apptek.server import mcp_server as tools
from apptek.server.requests import ExplainBody, PredictQuery
from apptek.server.served_model import ServedModel

MODEL, PAST_ONLY = "forecast", True
Fact = tuple[str, str, str, str]


@pytest.fixture(scope="module")
def last(predictor: Predictor) -> Fact:
    """The last fact of the data, as (subject, another predicate, object, its day)."""
    model = predictor.forecaster.model
    row = model.dataset.axis.positions(model.graph.facts.times).argmax()
    facts = model.graph.facts.take(np.asarray([row]))
    ((subject, _, object_, day, _),) = in_words(model.dataset, facts)
    names = model.dataset.predicates
    return subject, names[(int(facts.predicates[0]) + 1) % len(names)], object_, day


def day(predictor: Predictor, fact: Fact, later: int) -> str:
    axis = predictor.model.dataset.axis
    return axis.format(axis.parse(fact[3]) + later)


def what_if_of(result: Answer | Explanation | Forecast) -> WhatIf:
    assert result.what_if is not None
    return result.what_if


def chances(what_if: WhatIf, kind: str = "predicate") -> dict[tuple[str, str], float]:
    return {(e.subject, e.name): e.supposed for e in what_if.chances if e.kind == kind}


def test_a_supposed_answer_is_that_of_an_updated_model(predictor: Predictor, last: Fact) -> None:
    before = predictor.model.graph.facts.digest()
    query = (last[0], last[2], day(predictor, last, 1))
    (answer,) = predictor.predict(query, suppose=[last], top=None)
    told = what_if_of(answer)
    updated, report = predictor.update(read_dataset([last]))
    assert report.added == 1
    (expected,) = updated.predict(query, top=None)
    known = dict(zip(expected.predicates, expected.probabilities, strict=True))
    without = dict(zip(answer.predicates, answer.probabilities, strict=True))
    for row in told.chances:
        assert row.supposed == pytest.approx(known[row.name], abs=1e-5)
        assert row.without == pytest.approx(without[row.name], abs=1e-5)
        assert row.change == pytest.approx(row.supposed - row.without)
    assert max(abs(row.change) for row in told.chances) > 0.001
    assert told.facts[0].counts
    assert any(last[0] in change.second_sentence for change in told.changes)
    why = predictor.explain(query, suppose=[" | ".join(last)])
    assert what_if_of(why) == told
    assert predictor.model.graph.facts.digest() == before


def test_the_answer_is_compared_with_the_predicate_that_gains_most(predictor: Predictor) -> None:
    without, supposed = np.zeros((2, len(predictor.model.dataset.predicates)), np.float32)
    without[[4, 7, 2]], supposed[[4, 7, 2]] = (0.6, 0.3, 0.1), (0.5, 0.28, 0.22)
    both = np.stack([without, supposed])
    assert compared_in(predictor.answerer, both) == (4, 2)
    name = predictor.model.dataset.predicates[7]
    assert compared_in(predictor.answerer, both, against=name) == (4, 7)
    assert compared_in(predictor.answerer, both[::-1]) == (4, 7)  # the only one that gains
    assert compared_in(predictor.answerer, both[[0, 0]]) == (4, 7)  # the runner-up


def test_a_supposed_forecast_is_that_of_an_updated_model(predictor: Predictor, last: Fact) -> None:
    told = what_if_of(predictor.forecast(last[0], last[2], days=7, suppose=last))
    expected = predictor.update(read_dataset([last]))[0].forecast(last[0], last[2], days=7)
    event = next(row for row in told.chances if not row.subject)
    assert event.supposed == pytest.approx(expected.probability, abs=1e-6)
    assert event.without == pytest.approx(predictor.forecast(last[0], last[2]).probability)
    first = expected.predicates[0]
    assert chances(told)[first.subject, first.predicate] == pytest.approx(
        first.probability, abs=1e-5
    )


def test_a_supposed_fact_after_the_last_one_moves_the_window(
    predictor: Predictor, last: Fact
) -> None:
    tomorrow = (*last[:3], day(predictor, last, 2))
    made = predictor.forecast(last[0], last[2], days=7, suppose=[tomorrow])
    assert (made.first, made.lead) == (day(predictor, last, 3), 2)
    plain = predictor.forecast(last[0], last[2], made.first, days=7)
    told = what_if_of(made)
    assert plain.probability == made.probability == told.chances[0].without
    assert any(abs(row.change) > 1e-4 for row in told.chances)


def test_no_supposed_fact_leaks_into_the_past(predictor: Predictor, last: Fact) -> None:
    time = day(predictor, last, -1)
    results: list[Any] = [
        predictor.predict((last[0], last[2], time), suppose=[last, (*last[:3], time)])[0],
        predictor.explain((last[0], last[2], time), suppose=[last]),
        predictor.forecast(last[0], last[2], time, days=3, suppose=[last, (*last[:3], time)]),
    ]
    for told in map(what_if_of, results):
        assert all(row.change == pytest.approx(0, abs=1e-6) for row in told.chances)
        assert not told.changes
        assert not any(fact.counts for fact in told.facts)
        assert len(told.notes) == len(told.facts)
        assert f"Only facts before {time} are used" in told.notes[0].text
        assert "None of the supposed facts is used" in told.sentence


def test_a_fact_of_the_data_is_not_counted_twice(predictor: Predictor, last: Fact) -> None:
    model = predictor.model
    fact = in_words(model.dataset, model.graph.facts.first(1))[0][:4]
    told = what_if_of(predictor.predict((fact[0], fact[2], last[3]), suppose=[fact])[0])
    assert not told.facts[0].counts
    assert "data already contains" in told.notes[0].text


def test_suppose_is_for_single_questions(predictor: Predictor, last: Fact) -> None:
    query = (last[0], last[2], last[3])
    for many in ([query, query], [query]):
        with pytest.raises(ArgumentError, match="requires a single query"):
            predictor.predict(many, suppose=[last])
    with pytest.raises(ArgumentError, match="no supposed fact"):
        predictor.predict(query, suppose=[])


def test_the_command_line_the_service_and_the_tools_say_the_same(
    predictor: Predictor, forecasting: ServedModel, forecast_model: Path, last: Fact, tmp_path: Path
) -> None:
    pair, time = {"subject": last[0], "object": last[2]}, day(predictor, last, 1)
    query = pair | {"time": time}
    row = dict(zip(("subject", "predicate", "object", "time"), last, strict=True))
    expected = to_dict(what_if_of(predictor.predict(tuple(query.values()), suppose=[last])[0]))
    made = to_dict(what_if_of(predictor.forecast(last[0], last[2], suppose=[last])))
    client = client_of(forecasting)
    bodies = {"predict": query | {"view": "past_only"}, "explain": query | {"view": "past_only"}}
    for path, body in bodies.items():
        response = client.post(f"/api/{path}", json=body | {"suppose": [row]}).json()
        answer = response["answers"][0] if path == "predict" else response
        assert answer["what_if"] == expected
        assert client.post(f"/api/{path}", json=body).json().get("what_if") is None
    assert client.post("/api/forecast", json=pair | {"suppose": [row]}).json()["what_if"] == made
    asked: dict[str, Any] = {**query, "view": "past_only", "suppose": [row]}
    answer = tools.predict(forecasting, PredictQuery(**asked))
    assert to_dict(answer.what_if) == expected
    assert to_dict(tools.explain(forecasting, ExplainBody(**asked)).what_if) == expected
    file = tmp_path / "facts.csv"
    file.write_text("subject,predicate,object,time\n" + ",".join(f'"{cell}"' for cell in last))
    words = ("predict", str(forecast_model), *query.values(), "--past-only")
    assert expected["sentence"] in apptek(*words, "--suppose", str(file)).stdout
    page = predictor.explain(tuple(query.values()), suppose=[last]).html()
    assert expected["facts"][0]["sentence"] in page
