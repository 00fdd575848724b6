"""Forecasts over HTTP: the same as from Python, and problems for windows that make no sense."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from service_parts import client_of, problem

from apptek.results import to_dict
from apptek.server.forecasts import NO_FORECASTS
from apptek.server.served_model import ServedModel


@pytest.fixture(scope="module")
def forecasting(forecast_model: Path) -> ServedModel:
    return ServedModel.open(forecast_model)


@pytest.fixture(scope="module")
def client(forecasting: ServedModel) -> TestClient:
    return client_of(forecasting)


@pytest.fixture(scope="module")
def pair(forecasting: ServedModel) -> dict[str, str]:
    sample = forecasting.samples[0]
    return {"subject": sample.subject, "object": sample.object}


def test_it_is_the_forecast_of_the_predictor(
    client: TestClient, forecasting: ServedModel, pair: dict[str, str]
) -> None:
    made = forecasting.predictor.forecast(pair["subject"], pair["object"], days=10, top=4)
    response = client.post("/api/forecast", json={**pair, "days": 10, "top": 4})
    assert response.status_code == 200, response.text
    assert response.json() == json.loads(json.dumps(to_dict(made))) | {"similar": {}}
    curve = [point["probability"] for point in response.json()["curve"]]
    assert len(curve) == 10
    assert curve == sorted(curve)
    assert curve[-1] == pytest.approx(made.probability)


def test_a_window_in_the_past_and_an_unknown_name(
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
    body = {**pair, "object": "Nobody at all"}
    answered = client.post("/api/forecast", json={**body, "allow_unknown": True}).json()
    assert answered["unseen"] == ["Nobody at all"]
    assert list(answered["similar"]) == ["Nobody at all"]
    refused = problem(client.post("/api/forecast", json=body), 404)
    assert refused["title"] == "Unknown entity"


@pytest.mark.parametrize(
    ("window", "where"),
    [
        ({"days": 0}, "days"),
        ({"days": 10_000_000}, "days"),
        ({"days": 3, "months": 1}, "days"),
        ({"from": "2999-01-01"}, "from"),
        ({"from": "soon"}, "from"),
        ({"from": "?"}, "from"),
        ({"from": "2019-05-01", "until": "2019-04-01"}, "until"),
    ],
)
def test_windows_that_make_no_sense_are_problems(
    client: TestClient, pair: dict[str, str], window: dict[str, Any], where: str
) -> None:
    assert where in problem(client.post("/api/forecast", json={**pair, **window}), 422)["where"]


def test_a_model_of_the_paper_makes_no_forecasts(served: ServedModel) -> None:
    sample = served.samples[0]
    body = {"subject": sample.subject, "object": sample.object, "days": 7}
    found = problem(client_of(served).post("/api/forecast", json=body), 422)
    assert found["title"] == NO_FORECASTS
