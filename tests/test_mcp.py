"""The tools for assistants: the answers of the model, typed, with facts that the data has."""

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fact_files import in_words
from golden_files import check, json_text
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult

from apptek.predictor import Query
from apptek.present.wording import CONDITION, when_text
from apptek.results import to_dict
from apptek.server.mcp_server import FACTS, create_server
from apptek.server.served_model import ServedModel
from apptek.server.workers import RequestLimits

COMMANDS = Path(__file__).with_name("golden_commands.toml")
RUN = [sys.executable, "-c", "from apptek.cli import main; main()", "mcp"]
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
    return served.sample


def named(query: Query, **more: Any) -> dict[str, Any]:
    return {"subject": query.subject, "object": query.object, **more}


def written_facts(served: ServedModel) -> list[tuple[str, str, str, str]]:
    """Every fact of the model in words; all of them have a first day."""
    rows = in_words(served.model.dataset, served.model.graph.facts)
    return [(s, p, o, when_text(since, until)) for s, p, o, since, until in rows]


def as_tuple(fact: dict[str, str]) -> tuple[str, str, str, str]:
    return fact["subject"], fact["predicate"], fact["object"], fact["date"]


def test_answers_are_those_of_the_model(forecasting: ServedModel) -> None:
    predictor, query = forecasting.predictor, forecasting.sample
    pair, dated = named(query), named(query, time=query.time)
    (answer,) = predictor.predict([query], top=3)
    first, second, _ = answer.predicates
    partners = predictor.forecast(query.subject, days=7, top=2)
    missing = {"subject": query.subject, "predicate": first, "time": partners.first, "top": 3}
    for tool, arguments, expected, fields in (
        ("predict", dated | {"top": 3}, answer, ("predicates", "probabilities", "known", "view")),
        ("explain", dated | {"predicate": second, "against": first},
         predictor.explain(query, second, against=first),
         ("predicate", "runner_up", "probability", "log_odds")),
        ("forecast", pair | {"from": query.time, "days": 7},
         predictor.forecast(query.subject, query.object, query.time, days=7),
         ("first", "probability", "predicates")),
        ("partners", {"actor": query.subject, "days": 7, "top": 2}, partners,
         ("acts_on", "acted_on_by")),
        ("rank_entities", missing, predictor.rank_entities(
            query.subject, predicate=first, time=partners.first, top=3), ("ranked",)),
        ("watch", {"days": 7, "limit": 3}, predictor.watch(days=7, most=3), ("rows",)),
    ):  # fmt: skip
        result = call(forecasting, tool, arguments)
        assert not result.is_error, result.content
        found, plain = result.structured_content, to_dict(expected)
        assert {name: found[name] for name in fields} == {name: plain[name] for name in fields}


def test_a_prediction_says_what_it_presumes(ask: Ask, query: Query) -> None:
    found = ask("predict", **named(query, time=query.time))
    assert CONDITION in found["notes"][0]["text"]
    ahead = ask("predict", **named(query, time=query.time, view="past_only"))
    assert (found["view"], ahead["view"]) == ("all_facts", "past_only")
    assert any(query.time in note["text"] for note in ahead["notes"])
    why = ask("explain", **named(query, time=query.time))
    assert any(CONDITION in note["text"] for note in why["notes"])
    assert why["predicate"] in why["paragraph"]
    assert all(1 <= len(reason["facts"]) <= FACTS for reason in why["reasons"] + why["against"])


def test_a_forecast_has_the_next_event(forecasting: ServedModel) -> None:
    sample, start = forecasting.sample, forecasting.sample.time
    kind = forecasting.predictor.answerer.predicates.levels["class"].names[0]
    asked = named(sample, **{"from": start, "steps": 7, "class": kind})
    found = call(forecasting, "forecast", asked).structured_content
    assert found["next_event"]["event"] == kind
    assert found["length"] == 7
    assert found["next_event"]["probability"] <= found["probability"]


def test_watched_pairs_are_filtered_and_alerted(forecasting: ServedModel) -> None:
    one = forecasting.predictor.watch(days=7, most=1).rows[0].subject
    expected = forecasting.predictor.watch(days=7, entity=one, alerts="chance > 1")
    asked = {"days": 7, "entity": one, "alert": "chance > 1", "limit": 50}
    found = call(forecasting, "watch", asked).structured_content
    assert found["ready"]
    assert found["rows"]
    assert all(one in (row["subject"], row["object"]) for row in found["rows"])
    assert found["alerts"][0] in to_dict(expected.alerts)


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
    window = ask("history", **named(query, **{"from": day, "until": day}))
    assert [as_tuple(f) for f in window["facts"]] == [fact for fact in pages if fact[3] == day]


def test_a_wrong_input_is_an_error_of_the_tool_in_one_line(
    served: ServedModel, forecasting: ServedModel
) -> None:
    found = {}
    for request in tomllib.loads(COMMANDS.read_text("utf-8"))["mcp"]["problems"]:
        tool, _, fields = request.partition(" ")
        usual = {} if tool == "search_entities" else {"subject": "Yldora", "object": "Kestova"}
        model = forecasting if request.startswith('forecast {"') else served
        result = call(model, tool, usual | json.loads(fields))
        assert result.is_error
        (content,) = result.content
        assert not re.search("\n|/api/|/docs", content.text)  # of tools, not of addresses
        found[request] = content.text
    check("mcp_problems.json", json_text(found))


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
            assert len((await client.list_tools()).tools) == 8
            assert "conditional on an event" in (client.instructions or "")
            return await client.call_tool("predict", named(query, time=query.time))

    result = asyncio.run(ask())
    assert not result.is_error
    assert result.structured_content is not None
    assert CONDITION in result.structured_content["notes"][0]["text"]


@pytest.mark.slow
def test_standard_output_has_nothing_but_the_protocol(served_model: Path) -> None:
    hello: dict[str, Any] = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello["clientInfo"] = {"name": "test", "version": "1"}
    search = {"name": "search_entities", "arguments": {"q": "a"}}
    sent: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": search},
        {"id": 3, "method": "tools/call", "params": {"name": "predict", "arguments": {}}},
    ]
    with subprocess.Popen(
        [*RUN, str(served_model)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines = ["not a message", *(json.dumps({"jsonrpc": "2.0"} | each) for each in sent)]
        process.stdin.write("\n".join([*lines, ""]))
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
