"""Answers over HTTP: those of the library, or problems that name the field that is wrong."""

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
    library, asked, actor = forecasting.predictor, Query(**query), query["subject"]
    shouted = query | {"subject": query["subject"].upper()}  # its name is found all the same
    answer, meant = library.predict([asked, Query(**shouted)], top=3)
    second = answer.predicates[1]
    partners = library.forecast(actor, days=7, top=2)
    slot = {"object": actor, "predicate": second, "time": partners.first}
    ranking = library.rank_entities(object_=actor, predicate=second, time=partners.first)
    for path, body, expected in (
        ("predict", query | {"top": 3}, {"answers": [answer]}),
        ("predict", shouted | {"top": 3}, {"answers": [meant]}),
        ("explain", query | {"predicate": second}, library.explain(asked, second)),
        ("counterfactual", query | {"add": True}, library.counterfactual(asked, add=True)),
        ("counterfactual", query | {"to": second}, library.counterfactual(asked, second)),
        ("forecast", pair | {"days": 10}, library.forecast(*pair.values(), days=10)),
        ("partners", {"actor": actor, "days": 7, "top": 2}, partners),
        ("rank-entities", slot, ranking),
    ):  # fmt: skip
        response = client.post(f"/api/{path}", json=body)
        assert response.status_code == 200, response.text
        plain = json.loads(json.dumps(to_dict(expected)))
        same = {key: response.json()[key] for key in plain}
        assert same == plain, path


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


@pytest.mark.parametrize("path", ["predict", "explain", "steps", "counterfactual", "forecast"])
def test_an_unknown_name_is_refused_with_near_ones_or_flagged(
    client: TestClient, query: dict[str, str], path: str
) -> None:
    unknown = query["object"] + "q"
    wrong = query | {"object": unknown}
    if path == "forecast":
        del wrong["time"]
    refused = problem(client.post(f"/api/{path}", json=wrong), 404)
    assert (refused["where"], refused["title"]) == ("object", "Unknown entity")
    assert refused["detail"] == f"'{unknown}' is not in this data."
    assert query["object"] in refused["suggestions"]
    if path != "steps":  # it needs both entities
        found = client.post(f"/api/{path}", json=wrong | {"allow_unknown": True}).json()
        assert query["object"] in found["similar"][unknown]


NOBODY = {"actor": "Nobody at all"}
SLOT = {"subject": "KNOWN", "predicate": "Consult", "time": "2019-05-05"}  # KNOWN: a known subject


@pytest.mark.parametrize(
    ("path", "more", "status", "where"),
    [
        ("predict", {"time": "yesterday"}, 422, "time"),
        ("predict", {"time": "2099-01-01"}, 422, "time"),
        ("explain", {"time": "2099-01-01"}, 422, "time"),
        ("explain", {"predicate": "Sing"}, 422, "predicate"),
        ("explain", {"against": "Nothing"}, 422, "against"),
        ("explain", {"without": [10**23]}, 422, "without"),
        ("explain", {"without": [10**9]}, 422, "without"),
        ("counterfactual", {"to": "Nothing"}, 422, "to"),
        ("counterfactual", {"time": "soon"}, 422, "time"),
        ("forecast", {"days": 0}, 422, "days"),
        ("forecast", {"days": 3, "months": 1}, 422, "days"),
        ("forecast", {"from": "soon"}, 422, "from"),
        ("forecast", {"from": "2019-05-01", "until": "2019-04-01"}, 422, "until"),
        ("partners", NOBODY, 404, "actor"),
        ("partners", NOBODY | {"members": True}, 404, "actor"),
        ("partners", {"actor": "KNOWN", "predicate": "Dance"}, 422, "predicate"),
        ("partners", {"actor": "KNOWN", "group": "dancing"}, 422, "group"),
        ("rank-entities", SLOT | {"subject": None}, 422, "subject"),
        ("rank-entities", SLOT | {"object": "KNOWN"}, 422, "object"),
        ("rank-entities", SLOT | {"time": "?"}, 422, "time"),
        ("rank-entities", SLOT | {"predicate": "Sing"}, 422, "predicate"),
    ],
)
def test_what_makes_no_sense_is_a_problem(
    client: TestClient, query: dict[str, str], pair: dict[str, str], path: str,
    more: dict[str, Any], status: int, where: str,
) -> None:  # fmt: skip
    usual = {"forecast": pair, "partners": {}, "rank-entities": {}}.get(path, query)
    named = {key: query["subject"] if value == "KNOWN" else value for key, value in more.items()}
    said = problem(client.post(f"/api/{path}", json=usual | named), status)
    assert where in said["where"]
    assert "\n" not in said["detail"]


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
