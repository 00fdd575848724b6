"""What the explorer asks for beyond single answers: the same as from Python, many at once."""

import re
from concurrent.futures import Future
from itertools import product
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from fact_files import in_words
from fastapi.testclient import TestClient
from fitted_models import SharedModel
from plain_queries import query_about
from service_parts import client_of, problem, tuning_query, when_ready

from apptek.config import preset
from apptek.facts.times import UNKNOWN
from apptek.forecast.learning import codes_at
from apptek.paper.features import topologies_of
from apptek.predictor import Predictor, Query
from apptek.server import watch
from apptek.server.problem_json import ServiceError
from apptek.server.questions import example_questions
from apptek.server.served_model import ServedModel
from apptek.server.workers import MAX_PENDING, MAX_RESULTS, BackgroundWork, within
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world


@pytest.fixture(scope="module")
def client(served: ServedModel) -> TestClient:
    return client_of(served)


@pytest.fixture(scope="module")
def query(served: ServedModel) -> dict[str, str]:
    return tuning_query(served)


def pair_of(query: dict[str, str]) -> dict[str, str]:
    return {"subject": query["subject"], "object": query["object"]}


@pytest.mark.parametrize("view", ["all_facts", "past_only"])
def test_a_ribbon_is_the_answers_of_its_days(
    client: TestClient, served: ServedModel, query: dict[str, str], view: Any
) -> None:
    body = client.get("/api/ribbon", params=pair_of(query) | {"view": view}).json()
    times, names = body["times"], [layer["name"] for layer in body["layers"]]
    assert body["positions"][-1] == served.span.last + 30
    assert body["views"][-1] == "past_only"
    assert set(body["views"][:-31]) == {view}
    library = Predictor(served.predictor.model, past_only=view == "past_only")
    for place, way in product((0, len(times) // 2, len(times) - 1), ("forward", "backward")):
        direction = body[way]
        asked = Query(direction["subject"], direction["object"], times[place])
        answer = library.predict([asked], top=8)[0]
        listed = [body["predicates"][p]["name"] for p, _ in direction["first"][place]]
        assert tuple(listed) == answer.predicates
        chances = [chance for _, chance in direction["first"][place]]
        assert chances == pytest.approx(answer.probabilities, abs=1e-4)
        shares = dict(zip(names, direction["shares"][place], strict=True))
        assert sum(shares.values()) == pytest.approx(1, abs=1e-3)
        for each in answer.by_group or answer.by_class:
            assert shares[each.name] == pytest.approx(each.probability, abs=1e-4)
    marks = body["forward"]["marks"]
    facts = served.predictor.model.graph.facts
    ids = served.pair(query["subject"], query["object"])
    expected = np.flatnonzero(
        (facts.subjects == ids[0]) & (facts.objects == ids[1]) & (facts.times != UNKNOWN)
    )
    assert sorted(mark["fact"] for mark in marks) == expected.tolist()
    for mark in marks:
        predicate = served.predictor.model.dataset.predicates[int(facts.predicates[mark["fact"]])]
        assert body["predicates"][mark["predicate"]]["name"] == predicate


def test_a_long_range_has_evenly_spread_days(
    client: TestClient, served: ServedModel, query: dict[str, str]
) -> None:
    axis = served.predictor.model.dataset.axis
    last = axis.format(int(codes_at(axis, np.asarray([served.span.first + 3999]))[0]))
    first = axis.format(int(codes_at(axis, np.asarray([served.span.first]))[0]))
    asked = pair_of(query) | {"from": first, "until": last}
    body = client.get("/api/ribbon", params=asked).json()
    steps = np.diff(body["positions"])
    assert len(body["positions"]) == 400
    assert {int(steps.min()), int(steps.max())} <= {9, 10, 11}
    assert body["positions"][-1] - body["positions"][0] == 3999


@pytest.mark.parametrize("name", ["explored", "one_file"])
def test_the_examples_are_said_to_be_selected(shared_model: SharedModel, name: str) -> None:
    """Both for a model of a part of the facts and for one that answers from all of them."""
    served = ServedModel.open(shared_model(name))
    found, data = example_questions(served), served.model.dataset
    assert "selected because the model answered them correctly" in found.note
    assert re.search(
        r"Overall, the top prediction was correct for \d+ of 100 (recent )?held", found.note
    )
    words = in_words(data, data.valid)
    recorded = {(s, p, o, until if since == "?" else since) for s, p, o, since, until in words}
    assert 2 <= len(found.questions) <= 9
    names = [name for each in found.questions for name in (each.subject, each.object)]
    assert len(set(names)) == len(names)
    assert {each.view for each in found.questions} == {"past_only"}
    asked = [Query(each.subject, each.object, each.time) for each in found.questions]
    ahead = served.predictor.answerer.past_view()
    answers = ahead.table(ahead.ranked(ahead.queries_of(asked)), top=1).answers(asked)
    for each, answer in zip(found.questions, answers, strict=True):  # so it was recorded
        assert (each.subject, each.predicate, each.object, each.time) in recorded
        assert answer.predicates[0] == each.predicate
        assert answer.probabilities[0] == pytest.approx(each.probability)


def test_a_struck_out_fact_is_as_if_it_had_not_been(forecasting: ServedModel) -> None:
    """The same as a model that was told to retract the fact."""
    client = client_of(forecasting)
    sample = forecasting.sample
    asked = {"subject": sample.subject, "object": sample.object, "time": sample.time}
    whole = client.post("/api/explain", json=asked).json()
    fact = next(fact for reason in whole["reasons"] for fact in reason["facts"])
    struck = client.post("/api/explain", json=asked | {"without": [fact["fact"]]}).json()
    assert [each["fact"] for each in struck["without"]] == [fact["fact"]]
    assert struck["without"][0]["date"] == fact["date"]
    assert whole["without"] == []
    cited = [each for reason in struck["reasons"] + struck["against"] for each in reason["facts"]]
    assert fact["fact"] not in {each["fact"] for each in cited}
    facts, data = forecasting.predictor.model.graph.facts, forecasting.predictor.model.dataset
    for each in cited:  # the numbers are those of the whole graph
        assert data.entities[int(facts.subjects[each["fact"]])] == each["subject"]
        assert data.entities[int(facts.objects[each["fact"]])] == each["object"]
    gone = [(fact["subject"], fact["predicate"], fact["object"], fact["date"])]
    changed, report = forecasting.predictor.update(retract=gone)
    assert report.retracted == 1
    expected = changed.explain(Query(**asked), struck["predicate"])
    assert struck["probability"] == pytest.approx(expected.probability, rel=1e-4)
    assert whole["probability"] != struck["probability"]


def test_all_facts_between_two_are_told(client: TestClient, served: ServedModel) -> None:
    data, facts = served.predictor.model.dataset, served.predictor.model.graph.facts
    written = {row[:4] for row in in_words(data, facts)}
    for row in range(0, len(facts), len(facts) // 40):
        query = query_about(data, facts, row)
        one, other = query.subject, query.object
        pair = {"subject": one, "object": other}
        body = client.get("/api/pair", params=pair | {"limit": 1000}).json()
        told = body["facts"]
        found = {tuple(map(fact.get, ("subject", "predicate", "object", "since"))) for fact in told}
        assert found == {fact for fact in written if {fact[0], fact[2]} == {one, other}}
        dated = [fact["since"] for fact in told if fact["date"] != "undated"]
        assert body["latest"] == max(dated, default=None)
        assert body["total"] == len(told)


def test_what_takes_longer_than_a_request_may_is_said_not_to_be_ready(
    forecasting: ServedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On large data the first answer takes minutes; no request waits for it to the end."""
    pending: Future[Any] = Future()
    monkeypatch.setattr(BackgroundWork, "start", lambda *_: pending)
    monkeypatch.setattr(watch, "PATIENCE", 0.05)
    client = client_of(forecasting)
    body = client.get("/api/watch").json()
    assert body["ready"] is False
    assert body["rows"] == []
    pending.set_exception(TimeoutError("of the work itself"))
    with pytest.raises(TimeoutError):
        within(0.05, pending)


def test_both_sides_are_expanded_step_by_step_until_they_meet(
    client: TestClient, served: ServedModel, query: dict[str, str]
) -> None:
    """As the topologies of an explanation say: the same steps make them meet."""
    found = served.predictor.explain(Query(**query))
    topology = next(reason for reason in found.reasons if reason.kind == "topology")
    steps = list(topology.topology)[: topology.steps]
    for count in range(len(steps)):
        body = client.post("/api/steps", json=query | {"steps": steps[:count]}).json()
        assert not body["met"]
        assert body["left"] == served.predictor.model.config.agent.max_steps - count
        choice = next(each for each in body["choices"] if each["name"] == steps[count])
        assert choice["meets"] == (count == len(steps) - 1)
        assert choice["facts"] > 0
    body = client.post("/api/steps", json=query | {"steps": steps}).json()
    assert body["met"]
    assert body["over"]
    assert body["choices"] == []
    assert set(body["meeting"]) == {met.entity for met in topology.meeting}
    drawn = {node["name"] for node in body["drawing"]["nodes"]}
    assert drawn & ({met.entity for met in topology.meeting} | {query["subject"]})
    said = problem(client.post("/api/steps", json=query | {"steps": [*steps, steps[0]]}), 422)
    assert "not possible" in said["title"]


def test_the_trained_agent_says_what_it_would_choose(tmp_path: Path) -> None:
    config = with_settings(preset("paper"), ["agent.epochs=0.02", "classifier.epochs=1"])
    data = make_world(1500, 0).dataset
    Predictor.fit(data, model="paper", config=config, folder=tmp_path / "model")
    model = ServedModel.open(tmp_path / "model")
    part = topologies_of(model.predictor.model)
    assert part is not None
    assert part.agent is not None
    client = client_of(model)
    body = client.post("/api/steps", json=tuning_query(model)).json()
    assert body["agent"] in {choice["name"] for choice in body["choices"]}


def test_a_failure_is_told_once_and_then_tried_again() -> None:
    tries: list[int] = []

    def work() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise MemoryError
        return len(tries)

    background = BackgroundWork()
    for _ in range(2):  # a request that came later is told, too
        with pytest.raises(MemoryError):
            background.start("fails once", work).result(20)
    assert [background.start("fails once", work).result(20) for _ in range(2)] == [2, 2]


def test_kept_results_and_pending_work_are_bounded() -> None:
    background, go_on = BackgroundWork(), Event()
    for number in range(2 * MAX_RESULTS):
        background.start(f"number {number}", lambda: 1).result(20)
        background.start("often", lambda: 2).result(20)
    assert len(background._results) <= MAX_RESULTS
    assert "often" in background._results
    waiting = [background.start(f"waits {n}", go_on.wait) for n in range(MAX_PENDING)]
    with pytest.raises(ServiceError, match="Too many lists"):
        background.start("one too many", lambda: 3)
    go_on.set()
    assert all(work.result(20) for work in waiting)
    assert background.start("one too many", lambda: 3).result(20) == 3


def test_watch_lists_of_one_length_are_computed_once(forecasting: ServedModel) -> None:
    client = client_of(forecasting)
    longest = when_ready(client, "/api/watch", days=9, limit=200)["rows"]
    for limit in (1, 7):
        assert when_ready(client, "/api/watch", days=9, limit=limit)["rows"] == longest[:limit]
    assert when_ready(client, "/api/watch", steps=9, limit=7)["rows"] == longest[:7]
    names = [name for name in forecasting.background._results if name.startswith("watch 9 ")]
    assert len(names) == 1
    when_ready(client, "/api/watch", days=9, entity=longest[0]["subject"])
    names = [name for name in forecasting.background._results if name.startswith("watch 9 ")]
    assert len(names) == 2
