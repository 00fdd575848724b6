"""What is asked in lists and over the network: flags, counts, and errors that say what to do."""

import pickle
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from service_parts import client_of, problem

from apptek.errors import ApptekError, TimeFormatError, UnknownName
from apptek.predictor import Predictor, Query
from apptek.present.tables import to_arrow
from apptek.server.served_model import ServedModel

FAR = "2990-01-01"
IS_FAR = [False, True, False, True]  # of `queries`


@pytest.fixture(scope="module")
def served(explored_model: Path) -> ServedModel:
    return ServedModel.open(explored_model)


@pytest.fixture(scope="module")
def predictor(served: ServedModel) -> Predictor:
    return served.predictor


@pytest.fixture(scope="module")
def query(served: ServedModel) -> Query:
    return served.sample


@pytest.fixture(scope="module")
def queries(query: Query) -> list[Query]:
    """An ordinary query, a far time, an unknown name, and one at a far time."""
    return [
        query,
        Query(query.subject, query.object, FAR),
        Query("Someone", query.object, query.time),
        Query(query.subject, "Nobody at all", FAR),
    ]


@pytest.fixture(scope="module")
def client(served: ServedModel) -> TestClient:
    return client_of(served)


def test_lists_flag_and_count_far_times_and_unknown_names(
    predictor: Predictor, queries: list[Query]
) -> None:
    answers = predictor.predict(queries)
    assert [answer.far_time for answer in answers] == IS_FAR
    assert [answer.calibrated for answer in answers] == [True, False, True, False]
    assert [answer.unknown_names for answer in answers] == [[], [], ["Someone"], ["Nobody at all"]]
    assert (answers.far_count, answers.unknown_count) == (2, 2)
    assert "2 of 4 answers: This time is so far from all facts" in repr(answers)
    assert all(predictor.predict([each])._repr_html_() for each in queries)
    frame = pa.Table.from_pylist([asdict(each) for each in queries])
    assert [answer.far_time for answer in predictor.predict(frame)] == IS_FAR
    rows = predictor.predict_table(queries, top=2)
    assert rows.equals(to_arrow(predictor.predict(queries, top=2)))
    assert rows.column("far_time").to_pylist()[::2] == IS_FAR


def test_a_time_in_a_list_that_cannot_be_read_names_its_query(
    predictor: Predictor, query: Query
) -> None:
    wrong = Query(query.subject, query.object, "someday")
    with pytest.raises(TimeFormatError, match=r"^query 2: time 'someday': expected"):
        predictor.predict([query, wrong])
    with pytest.raises(TimeFormatError, match=r"^time 'someday': expected"):
        predictor.predict(wrong)


def test_an_answer_after_all_facts_says_how_old_they_are(
    predictor: Predictor, query: Query
) -> None:
    axis, last = predictor.model.dataset.axis, predictor.model.graph.last_start
    after = [Query(query.subject, query.object, axis.format(last + days)) for days in (1, 45)]
    one, many = predictor.predict(after)
    assert one.age_note == f"The newest fact is from {axis.format(last)}, 1 day before this time."
    assert f"The newest fact is from {axis.format(last)}, 45 days before" in repr(many)
    assert many.age_note in repr(predictor.explain(after[1]))
    assert "newest fact" not in repr(predictor.predict(query))
    undated = Query(query.subject, query.object, "?")
    assert "newest fact" not in repr(Predictor(predictor.model, past_only=True).predict(undated))


@pytest.mark.parametrize("top", [1.5, "3", -1, 0, True, np.float64(2)])
def test_a_count_that_is_none_is_a_value_error(
    predictor: Predictor, query: Query, top: Any
) -> None:
    pair, said = (query.subject, query.object), "; expected a whole number of at least"
    for ask in (
        lambda: predictor.predict(query, top=top),
        lambda: predictor.predict([query], top=top, hide_known=True),
        lambda: predictor.forecast(*pair, top=top),
        lambda: predictor.watch(most=top),
        lambda: predictor.forecast(*pair, days=top),
        lambda: predictor.watch([pair], steps=top),
        lambda: predictor.explain(query, most=top if top != 0 else -1),
    ):
        with pytest.raises(ValueError, match=said) as error:
            ask()
        assert isinstance(error.value, ApptekError)
    two: Any = np.int64(2)
    assert len(predictor.predict(query, top=two)[0].predicates) == 2


def test_both_unknown_names_are_reported_at_once(
    predictor: Predictor, query: Query, client: TestClient
) -> None:
    names = (f"{query.subject}x", f"{query.object}x")
    with pytest.raises(UnknownName) as raised:
        predictor.predict((*names, query.time))
    error = pickle.loads(pickle.dumps(raised.value))
    assert (error.name, error.suggestions[0]) == (names[0], query.subject)
    assert [(other.name, other.suggestions[0]) for other in error.others] == [
        (names[1], query.object)
    ]
    first, second = (f"{name!r} is not in this data." for name in names)
    assert str(error).startswith(f"{first} Did you mean ")
    assert f"? {second} Did you mean " in str(error)
    asked = {"subject": names[0], "object": names[1], "time": query.time}
    found = problem(client.post("/api/predict", json=asked), 404)
    assert (found["where"], found["detail"]) == ("subject", f"{first} {second}")
    assert found["unknown"][names[1]][0] == query.object


def test_no_text_of_the_golden_files_tells_one_of_something_as_many() -> None:
    wrong = re.compile(
        r"(?<![\d.,:])1 (more )?"
        "(facts|days|times|rows|queries|pairs|names|entities|predicates|columns|cells|rules|steps)"
        r"\b(?! (of|from))"
    )
    folder = Path(__file__).parent / "golden"
    texts = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.*")}
    assert texts
    assert [
        (path.name, found.group()) for path in texts for found in wrong.finditer(texts[path])
    ] == []
