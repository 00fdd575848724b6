"""The OpenAPI description against the service: what it promises holds, and nothing breaks."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from service_parts import client_of, question

from apptek.service.app import create_app
from apptek.service.served import Served

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.mark.slow
def test_the_description_holds(served: Served) -> None:
    described = schemathesis.openapi.from_asgi("/api/openapi.json", create_app(served))
    found = list(described.get_all_operations())
    operations = [one.ok() for one in found if isinstance(one, Ok)]
    assert len(operations) == len(found) == 9
    for operation in operations:

        @settings(max_examples=25, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def holds(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        holds()


def test_every_route_is_described_with_its_problems(served: Served) -> None:
    description = client_of(served).get("/api/openapi.json").json()
    expected = {
        "/api/health", "/api/model", "/api/entities", "/api/predicates", "/api/predict",
        "/api/explain", "/api/entity/{name}/timeline", "/api/pair", "/api/topologies",
    }  # fmt: skip
    assert set(description["paths"]) == expected
    for methods in description["paths"].values():
        for about in methods.values():
            assert about["description"]
            assert {"200", "401", "413", "422", "503"} <= set(about["responses"])
            assert "application/json" in about["responses"]["200"]["content"]
            for status, response in about["responses"].items():
                if status != "200":
                    assert list(response["content"]) == ["application/problem+json"]


def test_the_examples_of_the_description_have_the_form_of_a_query(served: Served) -> None:
    schemas = client_of(served).get("/api/openapi.json").json()["components"]["schemas"]
    for name in ("OneQuestion", "ManyQuestions", "ExplainBody"):
        (example,) = schemas[name]["examples"]
        asked = question(served)
        body = {"queries": [asked]} if "queries" in example else example | asked
        path = "/api/explain" if name == "ExplainBody" else "/api/predict"
        assert client_of(served).post(path, json=body).status_code == 200
