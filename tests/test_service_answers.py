"""Forecasts and counterfactuals over HTTP: those of the library, or problems."""

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient
from service_parts import client_of, problem, tuning_query

from apptek.predictor import Query
from apptek.results import to_dict
from apptek.server.forecasts import NO_FORECASTS
from apptek.server.served_model import ServedModel


@pytest.fixture(scope="module")
def client(forecasting: ServedModel) -> TestClient:
    return client_of(forecasting)


@pytest.fixture(scope="module")
def query(forecasting: ServedModel) -> dict[str, str]:
    return tuning_query(forecasting)


@pytest.fixture(scope="module")
def pair(query: dict[str, str]) -> dict[str, str]:
    return {"subject": query["subject"], "object": query["object"]}


def test_answers_are_those_of_the_predictor(
    client: TestClient, forecasting: ServedModel, query: dict[str, str], pair: dict[str, str]
) -> None:
    library, asked = forecasting.predictor, Query(**query)
    made = library.forecast(*pair.values(), days=10, top=4)
    for path, body, expected in (
        ("counterfactual", query | {"add": True}, library.counterfactual(asked, add=True)),
        ("forecast", pair | {"days": 10, "top": 4}, made),
    ):
        response = client.post(f"/api/{path}", json=body)
        assert response.status_code == 200, response.text
        assert response.json() == json.loads(json.dumps(to_dict(expected))) | {"similar": {}}
    curve = [point["probability"] for point in response.json()["curve"]]
    assert len(curve) == 10
    assert curve == sorted(curve)
    assert curve[-1] == pytest.approx(made.probability)
    target = library.predict([asked], top=3)[0].predicates[2]
    aimed = client.post("/api/counterfactual", json=query | {"to": target}).json()
    assert aimed["target"] == target
    assert aimed["outcome"] is None or aimed["outcome"]["predicate"] == target


def test_a_window_lies_in_the_past(
    client: TestClient, forecasting: ServedModel, pair: dict[str, str]
) -> None:
    axis, (first, last) = (
        forecasting.predictor.model.dataset.axis,
        forecasting.predictor.forecaster.span,
    )
    start, until = axis.format((first + last) // 2), axis.format((first + last) // 2 + 3)
    past = client.post("/api/forecast", json={**pair, "from": start, "until": until}).json()
    assert (past["first"], past["last"], past["length"]) == (start, until, 4)
    assert any(note["kind"] == "view" for note in past["notes"])


def test_unknown_names_are_flagged_or_refused(
    client: TestClient, query: dict[str, str], pair: dict[str, str]
) -> None:
    unknown = query["object"] + "q"
    for path, body in (
        ("counterfactual", query),
        ("forecast", pair),
    ):
        wrong = body | {"object": unknown}
        found = client.post(f"/api/{path}", json=wrong | {"allow_unknown": True}).json()
        assert query["object"] in found["similar"][unknown]
        assert unknown in found["notes"][0]["text"]
        refused = problem(client.post(f"/api/{path}", json=wrong), 404)
        assert (refused["where"], refused["title"]) == ("object", "Unknown entity")


@pytest.mark.parametrize(
    ("path", "more", "where"),
    [
        ("counterfactual", {"to": "Nothing"}, "to"),
        ("counterfactual", {"time": "soon"}, "time"),
        ("explain", {"against": "Nothing"}, "against"),
        ("explain", {"without": [10**23]}, "without"),
        ("explain", {"without": [10**9]}, "without"),
        ("forecast", {"days": 0}, "days"),
        ("forecast", {"days": 10_000_000}, "days"),
        ("forecast", {"days": 3, "months": 1}, "days"),
        ("forecast", {"from": "2999-01-01"}, "from"),
        ("forecast", {"from": "soon"}, "from"),
        ("forecast", {"from": "?"}, "from"),
        ("forecast", {"from": "2019-05-01", "until": "2019-04-01"}, "until"),
    ],
)
def test_what_makes_no_sense_is_a_problem(
    client: TestClient, query: dict[str, str], pair: dict[str, str], path: str,
    more: dict[str, Any], where: str,
) -> None:  # fmt: skip
    body = (pair if path == "forecast" else query) | more
    assert where in problem(client.post(f"/api/{path}", json=body), 422)["where"]


def test_an_answer_cannot_become_what_it_is(client: TestClient, query: dict[str, str]) -> None:
    answer = client.post("/api/counterfactual", json=query).json()["answer"]
    said = problem(client.post("/api/counterfactual", json={**query, "to": answer}), 422)
    assert "already" in said["detail"]


def test_a_model_of_the_paper_has_neither_counterfactuals_nor_forecasts(
    served: ServedModel,
) -> None:
    client, query = client_of(served), tuning_query(served)
    said = problem(client.post("/api/counterfactual", json=query), 422)
    assert "preset default or max" in said["detail"]
    del query["time"]
    assert problem(client.post("/api/forecast", json=query), 422)["title"] == NO_FORECASTS
    assert problem(client.get("/api/watch"), 422)["title"] == NO_FORECASTS
