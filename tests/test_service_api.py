import json
import re
from collections import Counter
from unittest.mock import patch

import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from service_parts import client_of, problem, tuning_query

from apptek.facts.name_matching import NameResolver
from apptek.facts.times import TimeAxis
from apptek.models.model import summarize
from apptek.predictor import Query
from apptek.present.drawing import draw_answer
from apptek.results import to_dict
from apptek.server.served_model import ServedModel


@pytest.fixture(scope="module")
def client(served: ServedModel) -> TestClient:
    return client_of(served)


def test_the_model_describes_itself(client: TestClient, served: ServedModel) -> None:
    assert client.get("/api/health").json()["status"] == "ok"
    found = client.get("/api/model").json()
    data = served.predictor.model.dataset
    assert found["summary"] == to_dict(summarize(served.predictor.model))
    assert found["summary"]["training_facts"] == len(data.train)
    assert found["span"]["unit"] == "day"
    assert found["span"]["first"] < found["span"]["last"]


def test_a_batch_is_answered_as_its_queries_are(client: TestClient, served: ServedModel) -> None:
    queries = [tuning_query(served, row) for row in range(300)]
    batch = client.post("/api/predict", json={"queries": queries, "top": 3}).json()["answers"]
    assert len(batch) == 300
    for row in (0, 1, 299):
        alone = client.post("/api/predict", json=queries[row] | {"top": 3}).json()["answers"][0]
        assert batch[row]["predicates"] == alone["predicates"]
    for body, said in (
        ({"queries": queries[:1] * 5001}, "at most 5000"),
        ({"queries": queries[:101], "top": 1000}, "101 x 1,000"),
    ):
        assert said in problem(client.post("/api/predict", json=body), 422)["detail"]


def test_an_explanation_comes_with_its_drawing(client: TestClient, served: ServedModel) -> None:
    query = tuning_query(served, 3)
    found = client.post("/api/explain", json=query).json()
    expected = served.predictor.explain(Query(**query))
    plain = json.loads(json.dumps(to_dict(expected)))
    sides = ("reasons", "against")
    assert {key: found[key] for key in plain if key not in sides} == {
        key: value for key, value in plain.items() if key not in sides
    }
    ours, theirs = ([*side["reasons"], *side["against"]] for side in (found, plain))
    for reason, other in zip(ours, theirs, strict=True):
        assert {"kind": "topology"} | other == reason
    assert found["drawing"] == json.loads(json.dumps(to_dict(draw_answer(expected))))
    cited = {fact["fact"] for reason in ours for fact in reason["facts"]}
    edges = found["drawing"]["edges"]
    assert len(edges) > 1
    assert {fact for edge in edges for fact in edge["facts"]} <= cited


def test_the_timeline_of_an_entity_is_complete_and_in_order(
    client: TestClient, served: ServedModel
) -> None:
    model = served.predictor.model
    name = tuning_query(served)["subject"]
    entity = model.dataset.entities.find(name)
    facts = model.dataset.train
    mine = (facts.subjects == entity) | (facts.objects == entity)
    found = client.get(f"/api/entity/{name}/timeline", params={"limit": 5000}).json()
    assert found["total"] == len(found["facts"]) == mine.sum() > 3
    dated = [fact for fact in found["facts"] if fact["date"] != "undated"]
    assert found["facts"][: len(dated)] == dated
    counted = [sum(sum(row) for row in found[side]) for side in ("does", "receives")]
    own = ((facts.subjects == entity) & (facts.objects == entity) & facts.dated).sum()
    assert sum(counted) == len(dated) + own
    starts = [fact["since"] for fact in dated]
    assert starts == sorted(starts)
    middle = starts[len(starts) // 2]
    part = client.get(f"/api/entity/{name}/timeline", params={"from": middle, "limit": 2}).json()
    assert part["total"] < found["total"]
    assert len(part["facts"]) == min(2, part["total"])


@pytest.mark.parametrize(
    "body", ["", "{", "[]", "null", "7", '"text"', "{}", '{"subject": "\\ud800", "object": "b"}',
             "[" * 100_000],
)  # fmt: skip
def test_a_body_that_makes_no_sense_is_a_problem(client: TestClient, body: str) -> None:
    for path in ("/api/predict", "/api/explain"):
        response = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert response.status_code in (400, 422)
        problem(response, response.status_code)


names = st.one_of(
    st.text(min_size=1),
    st.sampled_from(
        [
            "../../etc/passwd", "<script>alert(1)</script>", "\x00\x01\x1b[31m", "é" * 5000,
            "\u202eabc", "'; DROP TABLE facts; --", "a" * 10_000, "%2e%2e%2f", "\ud800", "{{7*7}}",
        ]
    ),
)  # fmt: skip


@pytest.mark.gate
@settings(max_examples=60)
@given(name=names)
def test_any_text_is_a_name_and_nothing_else(
    client: TestClient, served: ServedModel, name: str
) -> None:
    query = tuning_query(served)
    refused = json.dumps(query | {"subject": name})
    answered = json.dumps(query | {"subject": name, "allow_unknown": True})
    headers = {"Content-Type": "application/json"}
    for path in ("/api/predict", "/api/explain"):
        is_name = name and not re.search("[\ud800-\udfff]", name)
        problem(client.post(path, content=refused, headers=headers), 404 if is_name else 422)
        response = client.post(path, content=answered, headers=headers)
        expected = 404 if name.strip() in ("", "?", "*") else 200
        assert response.status_code == (expected if is_name else 422)
    clean = name.encode("utf-8", "replace").decode()
    assert client.get("/api/entities", params={"q": clean}).status_code == 200
    assert client.get("/api/pair", params={"subject": clean, "object": clean}).status_code == 404


@pytest.mark.parametrize("path", ["/api/predict", "/api/explain", "/api/steps"])
@pytest.mark.parametrize("view", [None, "past_only"])
def test_names_and_times_are_looked_up_once(
    served: ServedModel, path: str, view: str | None
) -> None:
    query, predicates = tuning_query(served), served.predictor.model.dataset.predicates
    with (
        patch.object(NameResolver, "find", autospec=True, side_effect=NameResolver.find) as find,
        patch.object(TimeAxis, "parse", autospec=True, side_effect=TimeAxis.parse) as parse,
    ):
        assert client_of(served).post(path, json=query | {"view": view}).status_code == 200
    looked_up = Counter(call.args[1] for call in (*find.mock_calls, *parse.mock_calls))
    names = {name: count for name, count in looked_up.items() if predicates.find(name) is None}
    assert names == dict.fromkeys(query.values(), 1)
