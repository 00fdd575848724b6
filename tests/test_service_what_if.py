"""Counterfactuals and contrasts over HTTP: those of the library."""

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from service_parts import client_of, problem, tuning_query

from apptek.predictor import Predictor, Query
from apptek.results import to_dict
from apptek.server.served_model import ServedModel

OTHER = "2018-03-01"


@pytest.fixture(scope="module")
def default(forecast_model: Path) -> ServedModel:
    return ServedModel.open(forecast_model)


@pytest.fixture(scope="module")
def client(default: ServedModel) -> TestClient:
    return client_of(default)


@pytest.fixture(scope="module")
def query(default: ServedModel) -> dict[str, str]:
    return tuning_query(default)


def test_a_counterfactual_is_that_of_the_predictor(
    client: TestClient, default: ServedModel, query: dict[str, str]
) -> None:
    response = client.post("/api/counterfactual", json={**query, "add": True})
    assert response.status_code == 200, response.text
    found = default.predictor.counterfactual(Query(**query), add=True)
    assert response.json() == json.loads(json.dumps(to_dict(found))) | {"similar": {}}
    target = default.predictor.predict([Query(**query)], top=3)[0].predicates[2]
    aimed = client.post("/api/counterfactual", json={**query, "to": target}).json()
    assert aimed["target"] == target
    assert aimed["outcome"] is None or aimed["outcome"]["predicate"] == target


def test_a_contrast_is_that_of_the_predictor(
    client: TestClient, default: ServedModel, query: dict[str, str]
) -> None:
    response = client.post("/api/contrast", json={**query, "versus": OTHER})
    assert response.status_code == 200, response.text
    found = default.predictor.contrast(Query(**query), OTHER)
    assert response.json() == json.loads(json.dumps(to_dict(found))) | {"similar": {}}
    assert response.json()["second"]["time"] == OTHER


def test_unknown_names_are_flagged_or_refused(client: TestClient, query: dict[str, str]) -> None:
    wrong = query | {"object": query["object"] + "q"}
    for path, more in (("counterfactual", {}), ("contrast", {"versus": OTHER})):
        body = {**wrong, **more, "allow_unknown": True}
        found = client.post(f"/api/{path}", json=body).json()
        said = f"General answer: {wrong['object']} is not in the facts of the model."
        assert found["notes"][0]["text"] == said
        assert query["object"] in found["similar"][wrong["object"]]
        refused = problem(client.post(f"/api/{path}", json={**wrong, **more}), 404)
        assert (refused["where"], refused["title"]) == ("object", "Unknown entity")


def test_what_makes_no_sense_is_a_problem(client: TestClient, query: dict[str, str]) -> None:
    for path, more, where in (
        ("counterfactual", {"to": "Nothing"}, "to"),
        ("counterfactual", {"time": "soon"}, "time"),
        ("contrast", {"versus": "soon"}, "versus"),
        ("contrast", {"versus": OTHER, "against": "Nothing"}, "against"),
    ):
        assert problem(client.post(f"/api/{path}", json={**query, **more}), 422)["where"] == where
    answer = client.post("/api/counterfactual", json=query).json()["answer"]
    said = problem(client.post("/api/counterfactual", json={**query, "to": answer}), 422)
    assert "already" in said["detail"]


def test_a_model_of_the_paper_has_no_counterfactuals(served: ServedModel) -> None:
    said = problem(client_of(served).post("/api/counterfactual", json=tuning_query(served)), 422)
    assert "preset default or max" in said["detail"]


def test_a_fact_that_no_graph_can_have_is_a_problem(
    client: TestClient, query: dict[str, str]
) -> None:
    response = client.post("/api/explain", json={**query, "without": [10**23]})
    assert response.status_code == 422
    assert "without" in response.json()["where"]


def test_a_contrast_can_look_at_the_past_alone(
    client: TestClient, default: ServedModel, query: dict[str, str]
) -> None:
    other = tuning_query(default, 1)["time"]
    sent = client.post("/api/contrast", json=query | {"versus": other, "view": "past_only"})
    ahead = Predictor(default.predictor.model, past_only=True)
    asked = (query["subject"], query["object"], query["time"])
    assert sent.json()["sentence"] == ahead.contrast(asked, other).sentence
