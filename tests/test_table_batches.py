"""Batches as Arrow streams: the answers of JSON, and no body that does harm."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import PlainFact
from pyarrow import ipc
from service_parts import client_of, problem, tuning_query
from worlds import ENTITIES, graph_of, moments, plain_facts

from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.graph.lookups import between, ends_of, known_among
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answer_tables import SCHEMA, best_predicates
from apptek.predictor import Predictor
from apptek.present.tables import to_arrow
from apptek.results import Query
from apptek.server import requests
from apptek.server.arrow_batches import ARROW, write_stream
from apptek.server.served_model import ServedModel

BATCH = "/api/predict"


def read(content: bytes) -> pa.Table:
    return ipc.open_stream(content).read_all()


@pytest.fixture(scope="module")
def client(served: ServedModel) -> TestClient:
    return client_of(served)


def send(client: TestClient, body: bytes, query: str = "", kind: str = ARROW) -> Any:
    headers = {"Content-Type": kind}
    return client.post(f"{BATCH}{query}", content=body, headers=headers)


@pytest.fixture
def queries(served: ServedModel) -> list[dict[str, str]]:
    asked = [tuning_query(served, row) for row in range(40)]
    asked[3]["time"] = "?"
    asked[4]["subject"] = "Nobody at all"
    asked[5]["object"] = asked[5]["object"].upper()
    asked[6]["time"] = "2031-01-01"
    return asked


entities = st.integers(-1, ENTITIES - 1)


def predicates_at(
    graph: TemporalGraph, subject: int, object_: int, moment: int, *, ahead: bool = False
) -> list[int]:
    """The predicates that hold from one entity to another at a position, ascending: an oracle."""
    if min(subject, object_) < 0:
        return []
    facts = between(graph, subject, object_)
    if not len(facts):
        return []
    first, last = ends_of(graph, facts)
    started = first < moment if ahead and moment != UNKNOWN else first <= moment
    holding = facts[started & (moment <= last)]
    return sorted(set(graph.facts.predicates[holding].tolist()))


@given(
    st.lists(plain_facts(), min_size=1, max_size=30),
    st.lists(st.tuples(entities, entities, st.none() | moments, st.booleans()), max_size=8),
)
def test_what_is_known_of_many_queries_is_what_is_known_of_each(
    plain: list[PlainFact], asked: list[tuple[int, int, int | None, bool]]
) -> None:
    graph = graph_of(plain)
    whens = [UNKNOWN if when is None else when for _, _, when, _ in asked]
    columns = ([one for one, *_ in asked], [other for _, other, *_ in asked], whens)
    subjects, objects, times = (np.asarray(column, np.int32) for column in columns)
    queries = Queries(subjects, objects, times, np.full(len(asked), -1, np.int32))
    ahead = np.asarray([last for *_, last in asked], np.bool_)
    every = np.tile(np.arange(graph.predicate_count), (len(asked), 1))
    flags = known_among(graph, queries, ahead, every)
    for row, (subject, object_, _, from_past) in enumerate(asked):
        known = predicates_at(graph, subject, object_, whens[row], ahead=from_past)
        assert np.flatnonzero(flags[row]).tolist() == known


@given(st.integers(1, 9), st.integers(1, 12), st.data())
def test_the_best_predicates_are_those_of_a_stable_order(
    width: int, top: int, data: st.DataObject
) -> None:
    values = st.sampled_from([0.0, 1e-40, 1e-9, 0.25, 0.5, 1.0])
    rows = data.draw(st.lists(st.lists(values, min_size=width, max_size=width), max_size=5))
    matrix = np.asarray(rows, np.float32).reshape(-1, width)
    order, largest = best_predicates(matrix, top)
    expected = np.argsort(-matrix, axis=1, kind="stable")[:, :top]
    np.testing.assert_array_equal(order, expected)
    np.testing.assert_array_equal(largest, np.take_along_axis(matrix, expected, 1))


@pytest.mark.parametrize("top", [1, 3, 100])
def test_the_table_is_that_of_the_answers_one_by_one(
    served: ServedModel, queries: list[dict[str, str]], top: int
) -> None:
    asked = [Query(**query) for query in queries]
    slow = to_arrow(served.predictor.predict(asked, top=top))
    fast = served.predictor.predict_table(asked, top=top)
    assert fast.equals(slow)
    assert {"all_facts", "past_only"} == set(slow["view"].to_pylist())


def test_past_only_flags_what_comes_later(
    served: ServedModel, queries: list[dict[str, str]]
) -> None:
    ahead = Predictor(served.predictor.model, past_only=True)
    asked = [Query(**query) for query in queries]
    early = [Query(query.subject, query.object, "2019-01-02") for query in asked]
    slow = to_arrow(ahead.predict([*asked, *early], top=2))
    assert ahead.predict_table([*asked, *early], top=2).equals(slow)
    assert slow["unseen_object"].to_pylist().count(True) > 4


def test_classes_and_labels_are_in_the_table(forecast_model: Path) -> None:
    predictor = Predictor.load(forecast_model)
    data = predictor.model.dataset
    asked = [
        Query(data.entities[int(s)], data.entities[int(o)], data.axis.format(int(t)))
        for s, o, t in zip(data.valid.subjects, data.valid.objects, data.valid.times, strict=True)
    ][:30]
    slow = to_arrow(predictor.predict(asked, top=4))
    assert slow["class_probability"].null_count < len(slow)
    assert predictor.predict_table(asked, top=4).equals(slow)


def test_a_table_is_answered_as_json_is(client: TestClient, queries: list[dict[str, str]]) -> None:
    body = write_stream(pa.Table.from_pylist(queries))
    response = send(client, body, "?top=4", f"{ARROW.upper()}; charset=utf-8")
    assert response.status_code == 200
    assert response.headers["content-type"] == ARROW
    table = read(response.content)
    assert table.column_names == SCHEMA.names
    whole = client.post(BATCH, json={"queries": queries, "top": 4}).json()
    rows = [
        (number, rank, predicate, probability, predicate in answer["known"])
        for number, answer in enumerate(whole["answers"], 1)
        for rank, (predicate, probability) in enumerate(
            zip(answer["predicates"], answer["probabilities"], strict=True), 1
        )
    ]
    names = ("query", "rank", "predicate", "probability", "known")
    assert list(zip(*(table[name].to_pylist() for name in names), strict=True)) == rows


def test_a_table_of_parquet_is_no_body(client: TestClient) -> None:
    kind = "application/vnd.apache.parquet"
    assert problem(send(client, b"PAR1 and more", kind=kind), 422)["where"] == "body"


@pytest.mark.parametrize(
    ("names", "times"),
    [
        (pa.string_view(), pa.date32()),
        (pa.large_string(), pa.timestamp("ns")),
        (pa.dictionary(pa.int8(), pa.string()), pa.date64()),
    ],
)
def test_columns_may_be_of_other_types(
    client: TestClient, served: ServedModel, names: pa.DataType, times: pa.DataType
) -> None:
    asked = [query for row in range(40) if len((query := tuning_query(served, row))["time"]) == 10]
    table = pa.Table.from_pylist(asked)
    days = [date.fromisoformat(query["time"]) for query in asked]
    moments = [datetime(day.year, day.month, day.day) for day in days]
    typed = pa.table(
        {
            "subject": pa.array(table["subject"].to_pylist(), pa.string()).cast(names),
            "OBJECT": pa.array(table["object"].to_pylist(), pa.string()).cast(names),
            "note": pa.array([[1]] * len(asked)),
            "date": pa.array(moments, pa.timestamp("ns")).cast(times),
        }
    )
    plain = read(send(client, write_stream(table)).content)
    other = read(send(client, write_stream(typed)).content)
    assert other.cast(SCHEMA).equals(plain.cast(SCHEMA))


def ipc_body(table: pa.Table, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with ipc.new_stream(
        sink, table.schema, options=ipc.IpcWriteOptions(compression=compression)
    ) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def same_views(text: str, count: int) -> pa.Array:
    """A text that is stored once and seen many times."""
    _, views, data = pa.array([text], pa.string_view()).buffers()
    many = pa.py_buffer(views.to_pybytes()[:16] * count)
    return pa.Array.from_buffers(pa.string_view(), count, [None, many, data])


ROW = {"subject": ["a"], "object": ["b"], "time": ["?"]}
MANY, MANY_VALUES = 30_000_000, 1_000_000
LONG = "n" * 3_000_000
BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "cannot be read"),
    "no rows": (ipc_body(pa.table(ROW).slice(0, 0)), "no rows"),
    "no column of times": (
        ipc_body(pa.table({"subject": ["a"], "object": ["b"]})),
        "expected subject, object and time",
    ),
    "an empty name": (
        ipc_body(pa.table(ROW | {"object": [None]}, schema=pa.table(ROW).schema)),
        "the body:1: column 2 (object): found nothing",
    ),
    "a time that is none": (
        ipc_body(pa.table({name: cells * 2 for name, cells in ROW.items()} | {"time": ["?", "x"]})),
        "'x' cannot be read",
    ),
    "lists": (ipc_body(pa.table(ROW | {"subject": [["a"]]})), "expected texts"),
    "zstd": (ipc_body(pa.table(ROW), "zstd"), "compressed"),
    "lz4": (ipc_body(pa.table(ROW), "lz4"), "compressed"),
    "rows that cost no bytes": (
        ipc_body(pa.table({"subject": pa.nulls(MANY), "object": pa.nulls(MANY)})),
        "at most 5,000 queries",
    ),
    "a long name in many rows": (
        ipc_body(
            pa.table(
                {
                    "subject": pa.DictionaryArray.from_arrays(np.zeros(5000, np.int32), [LONG]),
                    "object": ["b"] * 5000,
                    "time": ["?"] * 5000,
                }
            )
        ),
        "3,000,000 bytes",
    ),
    "a long name in many views": (
        ipc_body(
            pa.table(
                {
                    "subject": same_views(LONG, 5000),
                    "object": ["b"] * 5000,
                    "time": ["?"] * 5000,
                }
            )
        ),
        "3,000,000 bytes",
    ),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_answered_is_a_problem(client: TestClient, what: str) -> None:
    body, said = BAD[what]
    response = send(client, body)
    assert said in problem(response, 422)["detail"]


def test_the_limits_of_json_hold_for_tables(
    client: TestClient, queries: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = write_stream(pa.Table.from_pylist(queries))
    for query in ("?top=0", "?top=1001"):
        problem(send(client, body, query), 422)
    monkeypatch.setattr(requests, "MAX_PAIRS", 100)
    assert "40 queries x top 3" in problem(send(client, body, "?top=3"), 422)["detail"]
    monkeypatch.setattr(requests, "MAX_BATCH", 39)
    assert "at most 39" in problem(send(client, body), 422)["detail"]


def test_a_pattern_is_not_a_name(client: TestClient, queries: list[dict[str, str]]) -> None:
    wrong = [queries[0], queries[0] | {"subject": "*"}]
    body = write_stream(pa.Table.from_pylist(wrong))
    answers = (send(client, body), client.post(BATCH, json={"queries": wrong}))
    for response, where in zip(answers, ("subject of row 2", "queries.1.subject"), strict=True):
        said = problem(response, 404)
        assert (said["detail"], said["where"]) == ("'*' is not a name.", where)


@settings(max_examples=150)
@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), min_size=1, max_size=4),
    st.floats(0, 1),
)
def test_a_damaged_body_is_answered_or_refused(
    client: TestClient, changes: list[tuple[float, int]], cut: float
) -> None:
    whole = write_stream(pa.table({name: cells * 3 for name, cells in ROW.items()}))
    damaged = bytearray(whole)
    for place, value in changes:
        damaged[int(place * (len(whole) - 1))] = value
    for body in (bytes(damaged), whole[: int(cut * len(whole))]):
        assert send(client, body).status_code in (200, 404, 422)


def test_a_table_is_answered_in_the_view_that_was_asked_for(
    client: TestClient, queries: list[dict[str, str]]
) -> None:
    body = {"queries": queries, "top": 2, "view": "past_only"}
    answers = client.post(BATCH, json=body).json()["answers"]
    wanted = [share for answer in answers for share in answer["probabilities"]]
    sent = send(client, write_stream(pa.Table.from_pylist(queries)), "?top=2&view=past_only")
    table = read(sent.content)
    assert set(table["view"].to_pylist()) == {"past_only"}
    assert table["probability"].to_pylist() == pytest.approx(wanted)


def test_an_unknown_parameter_is_refused(client: TestClient, queries: list[dict[str, str]]) -> None:
    body = write_stream(pa.Table.from_pylist(queries))
    sent = problem(send(client, body, "?veiw=ahead"), 422)
    assert sent["detail"].startswith("This address has no parameter 'veiw'. It has coverage, top")
    assert "It has none" in problem(client.post(f"{BATCH}?top=3", json=queries[0]), 422)["detail"]
    assert client.get("/?any=thing").status_code == 200
