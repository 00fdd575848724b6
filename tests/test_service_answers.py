"""Answers over HTTP: those of the library, or problems that name the field that is wrong."""

import json

import pytest
from fastapi.testclient import TestClient
from service_parts import client_of, tuning_query

from apptek.predictor import Query
from apptek.results import to_dict
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
