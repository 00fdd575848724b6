"""The tools for assistants: the answers of the model, typed, with facts that the data has."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from http_clients import running_service
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from apptek.predictor import Predictor, Query
from apptek.present.wording import CONDITION, when_text
from apptek.results import ActorForecast, to_dict
from apptek.server.mcp_server import create_server
from apptek.server.mcp_tools import FACTS
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits

RUN = [sys.executable, "-c", "from apptek.cli import main; main()", "mcp"]
TOOLS = [
    "search_entities",
    "predict",
    "explain",
    "forecast",
    "partners",
    "rank_entities",
    "watch",
    "history",
]
Ask = Callable[..., dict[str, Any]]


def call(served: ServedModel, tool: str, arguments: dict[str, Any], **limits: Any) -> Any:
    """The result of a tool, through the client of the package in this process."""

    async def ask() -> CallToolResult:
        server = create_server(served, RequestLimits(**limits))
        async with Client(server) as client:
            return await client.call_tool(tool, arguments)

    return asyncio.run(ask())


@pytest.fixture
def ask(served: ServedModel) -> Ask:
    def answer(tool: str, **arguments: Any) -> dict[str, Any]:
        result = call(served, tool, arguments)
        assert not result.is_error, result.content
        content: dict[str, Any] = result.structured_content
        assert json.loads(result.content[0].text) == content  # for clients without typed results
        return content

    return answer


@pytest.fixture
def query(served: ServedModel) -> Query:
    return served.samples[0]


def named(query: Query, **more: Any) -> dict[str, Any]:
    return {"subject": query.subject, "object": query.object, **more}


def written_facts(served: ServedModel) -> list[tuple[str, str, str, str]]:
    """Every fact of the model in words; all of them have a first day."""
    data, facts = served.predictor.model.dataset, served.predictor.model.graph.facts
    written = []
    for subject, predicate, object_, *ends in zip(*map(list, facts.columns()), strict=True):
        date = when_text(*(data.axis.format(int(end)) for end in ends))
        names = (data.entities[subject], data.predicates[predicate], data.entities[object_])
        written.append((*names, date))
    return written


def as_tuple(fact: dict[str, str]) -> tuple[str, str, str, str]:
    return fact["subject"], fact["predicate"], fact["object"], fact["date"]


def test_a_prediction_is_that_of_the_model_and_says_what_it_presumes(
    ask: Ask, served: ServedModel, query: Query
) -> None:
    found = ask("predict", **named(query, time=query.time, top=3))
    (answer,) = served.predictor.predict([query], top=3)
    notes = [note["text"] for note in found.pop("notes")]
    assert found == to_dict(answer)
    assert CONDITION in notes[0]
    assert found["view"] == "all_facts"
    ahead = ask("predict", **named(query, time=query.time, view="past_only"))
    assert ahead["view"] == "past_only"
    assert any(query.time in note["text"] for note in ahead["notes"])


@pytest.mark.parametrize("view", ["all_facts", "past_only"])
def test_an_explanation_cites_facts_of_the_data_and_ahead_only_earlier_ones(
    ask: Ask, served: ServedModel, query: Query, view: str
) -> None:
    found = ask("explain", **named(query, time=query.time, view=view))
    cited = [fact for reason in found["reasons"] + found["against"] for fact in reason["facts"]]
    assert cited
    facts = set(written_facts(served))
    assert all(as_tuple(fact) in facts for fact in cited)
    assert all(len(reason["facts"]) <= FACTS for reason in found["reasons"] + found["against"])
    if view == "past_only":
        assert all(fact["date"] < query.time for fact in cited if fact["date"] != "undated")
    assert any(CONDITION in note["text"] for note in found["notes"])
    assert found["predicate"] in found["paragraph"]


def test_a_predicate_is_explained_against_another(ask: Ask, query: Query) -> None:
    answer = ask("predict", **named(query, time=query.time, top=2))
    first, second = answer["predicates"]
    found = ask("explain", **named(query, predicate=second, against=first, time=query.time))
    assert (found["predicate"], found["runner_up"]) == (second, first)
    assert found["probability"] == pytest.approx(answer["probabilities"][1])


def test_partners_and_missing_entities_are_those_of_the_model(forecasting: ServedModel) -> None:
    predictor, actor = forecasting.predictor, forecasting.samples[0].subject
    result = call(forecasting, "partners", {"actor": actor, "days": 7, "top": 2}).structured_content
    made = predictor.forecast(actor, days=7, top=2)
    assert isinstance(made, ActorForecast)
    assert result["acts_on"] == to_dict(made.acts_on)
    predicate = made.acts_on[0].predicates[0].predicate
    asked = {"subject": actor, "predicate": predicate, "time": made.first, "top": 3}
    ranked = call(forecasting, "rank_entities", asked).structured_content
    ranking = predictor.rank_entities(actor, predicate=predicate, time=made.first, top=3)
    assert ranked["ranked"] == to_dict(ranking.ranked)


def test_a_forecast_is_that_of_the_model_with_the_last_facts_before_it(
    forecasting: ServedModel,
) -> None:
    predictor: Predictor = forecasting.predictor
    sample = forecasting.samples[0]
    start = sample.time
    asked = {"from": start, "days": 7, "class": made_of(forecasting)}
    result = call(forecasting, "forecast", named(sample, **asked))
    found = result.structured_content
    made = predictor.forecast(sample.subject, sample.object, start, days=7)
    assert found["probability"] == pytest.approx(made.probability)
    assert found["first"] == made.first
    assert found["next_event"]["event"] == asked["class"]
    assert found["next_event"]["probability"] <= found["probability"]
    pair = {sample.subject, sample.object}
    earlier = [
        fact
        for fact in written_facts(forecasting)
        if {fact[0], fact[2]} == pair and fact[3] < start
    ]
    assert earlier
    last = sorted(fact[3] for fact in earlier)[-5:]
    assert [fact["date"] for fact in found["latest"]] == last
    assert all(as_tuple(fact) in earlier for fact in found["latest"])


def made_of(served: ServedModel) -> str:
    """A class of the predicates of a model."""
    return served.predictor.answerer.predicates.levels["class"].names[0]


def test_the_pairs_to_watch_are_those_of_the_model(forecasting: ServedModel) -> None:
    whole = forecasting.predictor.watch(days=7, most=200)
    found = call(forecasting, "watch", {"days": 7, "limit": 3}).structured_content
    assert found["ready"]
    assert found["rows"] == to_dict(whole.rows[:3])
    one = whole.rows[0].subject
    asked = {"days": 7, "entity": one, "alert": "chance > 1", "limit": 50}
    found = call(forecasting, "watch", asked).structured_content
    assert found["rows"]
    assert all(one in (row["subject"], row["object"]) for row in found["rows"])
    assert found["alerts"][0]["sentence"] in {
        each.sentence
        for each in forecasting.predictor.watch(days=7, entity=one, alerts="chance > 1").alerts
    }


def test_the_pages_of_a_history_are_all_facts_between_the_two(
    ask: Ask, served: ServedModel, query: Query
) -> None:
    expected = [
        fact
        for fact in written_facts(served)
        if {fact[0], fact[2]} == {query.subject, query.object}
    ]
    pages, offset = [], 0
    while offset is not None:
        page = ask("history", **named(query, offset=offset, limit=2))
        assert page["total"] == len(expected)
        pages += [as_tuple(fact) for fact in page["facts"]]
        offset = page["next_offset"]
    assert sorted(pages) == sorted(expected)
    assert [fact[3] for fact in pages] == sorted(fact[3] for fact in pages)
    day = pages[0][3]
    window = ask("history", **named(query, since=day, until=day))
    assert [as_tuple(f) for f in window["facts"]] == [fact for fact in pages if fact[3] == day]


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("predict", {"subject": "Nobody at all"}, "subject: 'Nobody at all' is not in this data."),
        ("explain", {"object": "Nobody at all"}, "Find names with search_entities"),
        ("predict", {"time": "yesterday"}, "time: Time 'yesterday': expected"),
        ("explain", {"predicate": "no such"}, "predicate: The model knows no predicate"),
        ("history", {"since": "2014-05-01", "until": "2014-04-01"}, "before it begins"),
        ("history", {"since": "?"}, "known times"),
        ("forecast", {}, "preset paper"),
        ("predict", {"top": 0}, "top: Input should be greater than or equal to 1, found 0"),
        ("predict", {"top": "many"}, "top: Input should be a valid integer"),
        ("predict", {"object": None}, "object: Input should be a valid string, found None"),
        ("predict", {"limit": 3}, "limit: Extra inputs are not permitted, found 3"),
        ("history", {"offset": -1}, "offset: Input should be greater than or equal to 0"),
        ("search_entities", {}, "text: Field required, found nothing."),
        ("no_such_tool", {}, "Unknown tool: no_such_tool"),
    ],
)
def test_a_wrong_input_is_an_error_of_the_tool_in_one_line(
    served: ServedModel, query: Query, tool: str, arguments: dict[str, Any], said: str
) -> None:
    usual = {} if tool == "search_entities" else named(query)
    result = call(served, tool, usual | arguments)
    assert result.is_error
    (content,) = result.content
    assert said in content.text
    assert "\n" not in content.text
    assert "Traceback" not in content.text


def test_an_answer_that_takes_too_long_is_an_error(served: ServedModel, query: Query) -> None:
    result = call(served, "predict", named(query), seconds=0)
    assert result.is_error
    assert "No answer within 0 seconds" in result.content[0].text


def test_an_assistant_starts_the_command_and_asks(served_model: Path, query: Query) -> None:
    async def ask() -> CallToolResult:
        parameters = StdioServerParameters(
            command=RUN[0], args=[*RUN[1:], str(served_model)], env=dict(os.environ)
        )
        async with Client(parameters) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
            assert "conditional on an event" in (client.instructions or "")
            return await client.call_tool("predict", named(query, time=query.time))

    result = asyncio.run(ask())
    assert not result.is_error
    assert result.structured_content is not None
    assert CONDITION in result.structured_content["notes"][0]["text"]


@pytest.mark.slow
def test_standard_output_has_nothing_but_the_protocol(served_model: Path) -> None:
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    sent: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "search_entities", "arguments": {"text": "a"}},
        },
        {"id": 3, "method": "tools/call", "params": {"name": "predict", "arguments": {}}},
    ]
    with subprocess.Popen(
        [*RUN, str(served_model)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("not a message\n")
        for message in sent:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        answers: dict[int, Any] = {}
        while set(answers) < {1, 2, 3}:
            answer = json.loads(process.stdout.readline())
            assert answer["jsonrpc"] == "2.0"
            if "result" in answer:
                answers[answer["id"]] = answer["result"]
        process.stdin.close()
        assert process.stdout.read() == ""
    assert process.returncode == 0
    assert not answers[2].get("isError")
    assert answers[3]["isError"]


@pytest.mark.slow
def test_over_http_a_token_is_needed_and_a_web_page_is_refused(
    served_model: Path, query: Query, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("secret\n")
    options = ("--http", "--token-file", str(tmp_path / "token"))

    async def ask(address: str, **headers: str) -> CallToolResult:
        async with (
            httpx2.AsyncClient(headers=headers) as connection,
            Client(streamable_http_client(address, http_client=connection)) as client,
        ):
            return await client.call_tool("predict", named(query, time=query.time))

    with running_service(served_model, *options, command="mcp") as service:
        assert service.address.endswith("/mcp")
        right = {"Authorization": "Bearer secret"}
        result = asyncio.run(ask(service.address, **right))
        assert result.structured_content is not None
        assert CONDITION in result.structured_content["notes"][0]["text"]
        post = partial(httpx2.post, service.address, json={"jsonrpc": "2.0", "id": 1})
        assert post().status_code == 401
        assert post(headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert post(headers={**right, "Host": "example.org"}).status_code == 400
        assert post(headers={**right, "Origin": "https://example.org"}).status_code == 403
        large = b"x" * (RequestLimits().body_bytes + 1)
        assert httpx2.post(service.address, content=large, headers=right).status_code == 413
        assert httpx2.get(service.address.removesuffix("/mcp")).status_code == 404
