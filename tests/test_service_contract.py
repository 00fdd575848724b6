"""The OpenAPI description against the service: what it promises holds, and nothing breaks."""

import json
import re
import shlex
import time
import tomllib
from pathlib import Path
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
from service_parts import client_of

from apptek.server.app import create_app
from apptek.server.forecasts import NO_FORECASTS
from apptek.server.http_server import GRACE, HEAD_SECONDS
from apptek.server.requests import MAX_BATCH
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits

COMMANDS = Path(__file__).with_name("golden_commands.toml")
PAGE = Path(__file__).parents[1] / "docs" / "http.md"

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def described(explored_model: Path) -> ServedModel:
    """A default model: every route has something to answer."""
    return ServedModel.open(explored_model)


def test_every_route_answers_as_its_description_says(described: ServedModel) -> None:
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", create_app(described))
    requests = tomllib.loads(COMMANDS.read_text("utf-8"))["contract"]
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        sent = requests.pop(operation.path)
        case = operation.Case(media_type="application/json")
        if "{name}" in operation.path:
            case.path_parameters = {"name": sent.pop("name")}
        if operation.method == "post":
            case.body = sent
        else:
            case.query = sent
        response = case.call()
        while response.status_code == 200 and response.json().get("ready") is False:
            time.sleep(0.05)
            response = case.call()
        assert response.status_code == 200, (operation.path, response.text)
        case.validate_response(response, checks=CHECKS)
    assert not requests


@pytest.mark.slow
def test_the_description_holds(described: ServedModel) -> None:
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", create_app(described))
    found = list(schema.get_all_operations())
    operations = [one.ok() for one in found if isinstance(one, Ok)]
    assert len(operations) == len(found) == 16
    for operation in operations:

        @settings(max_examples=25, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy())
        def holds(case: Any) -> None:
            case.call_and_validate(checks=CHECKS)

        holds()


def test_the_page_about_the_interface_names_what_there_is(served: ServedModel) -> None:
    client = client_of(served)
    description = client.get("/api/openapi.json").json()
    paths, schemas = description["paths"], description["components"]["schemas"]
    page = PAGE.read_text(encoding="utf-8")
    bodies = {path: json.dumps(each["post"]) for path, each in paths.items() if "post" in each}
    strict = {
        path
        for path, body in bodies.items()
        if not any(
            "allow_unknown" in schemas[name].get("properties", {})
            for name in re.findall(r"schemas/(\w+)", body)
        )
    }
    said = re.search(r'`"allow_unknown": true`.+? (`/api/.+?) do not support this option', page)
    assert said is not None
    assert set(re.findall(r"/api/[\w-]+", said[1])) == strict
    rows = re.findall(r"^\| `(GET|POST) (/api/[^?`]+)", page, re.MULTILINE)
    assert {path for _, path in rows} == set(paths)
    assert all(method.lower() in paths[path] for method, path in rows)
    lines = [line for line in page.replace("\\\n", " ").splitlines() if line.startswith("curl ")]
    assert len(lines) == 15
    for words in map(shlex.split, lines):
        path = words[1].removeprefix("http://127.0.0.1:8000")
        body = json.loads(words[words.index("-d") + 1]) if "-d" in words else None
        response = client.get(path) if body is None else client.post(path, json=body)
        content = response.json()
        if response.status_code != 200:
            of_paper = content["title"] == NO_FORECASTS or "preset default" in content["detail"]
            assert content["title"].startswith("Unknown") or of_paper, (words, content)


def test_the_limits_on_the_page_are_those_of_the_service() -> None:
    page, limits = PAGE.read_text(encoding="utf-8"), RequestLimits()
    assert f"larger than {limits.body_bytes >> 20} MiB" in page
    assert f"more than {MAX_BATCH:,} queries" in page
    assert f"within {limits.seconds:g} s" in page
    assert f"| {HEAD_SECONDS:g} s, then the connection is closed" in page
    assert f"takes up to {limits.seconds + GRACE:g} s to finish" in page
