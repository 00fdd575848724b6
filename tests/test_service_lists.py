"""Over HTTP: watch lists with filters and as files, an actor's counts, search words."""

import csv
import io

import numpy as np
import pytest
from fastapi.testclient import TestClient
from python_calamine import CalamineWorkbook
from service_parts import client_of, when_ready

from apptek.features.traits import split_name
from apptek.results import to_dict
from apptek.server.served_model import ServedModel


@pytest.fixture
def client(forecasting: ServedModel) -> TestClient:
    return client_of(forecasting)


def country_of(served: ServedModel) -> str:
    """The country of most entities."""
    parts = filter(None, map(split_name, served.model.dataset.entities))
    countries = [country for _, country in parts]
    return max(set(countries), key=countries.count)


def test_a_watch_list_has_the_filters_of_the_command(
    client: TestClient, forecasting: ServedModel
) -> None:
    predictor = forecasting.predictor
    rows = predictor.watch(days=7, most=200).rows
    first, named = rows[0], [name for row in rows for name in (row.subject, row.object)]
    predicate = first.predicates[0].predicate
    group = predictor.answerer.labels.group_of(predicate)
    kind = predictor.answerer.labels.class_of(predicate)
    country = next(part[1] for part in map(split_name, named) if part)
    for asked, meant in (
        ({"entity": first.object}, {"entity": first.object}),
        ({"country": country}, {"country": country}),
        ({"group": group}, {"group": group}),
        ({"class": kind}, {"class_": kind}),
        ({"predicate": predicate}, {"predicate": predicate}),
        ({"alert": "rise > 1"}, {"alerts": "rise > 1"}),
    ):  # fmt: skip
        expected = to_dict(predictor.watch(days=7, most=200, **meant))
        found = when_ready(client, "/api/watch", days=7, limit=200, **asked)
        del found["ready"]
        assert found == expected, asked
        assert expected["rows"], asked


def test_a_watch_list_is_saved_as_a_file(client: TestClient) -> None:
    found = when_ready(client, "/api/watch", days=7, limit=5)
    asked = {"days": 7, "limit": 5}
    response = client.get("/api/watch", params={**asked, "format": "csv"})
    assert response.headers["content-type"] == "text/csv; charset=utf-8"
    assert response.headers["content-disposition"] == 'attachment; filename="watch.csv"'
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["subject"] for row in rows] == [row["subject"] for row in found["rows"]]
    content = client.get("/api/watch", params={**asked, "format": "xlsx"}).content
    sheet = CalamineWorkbook.from_filelike(io.BytesIO(content)).get_sheet_by_index(0).to_python()
    assert [row[1] for row in sheet[1:]] == [row["object"] for row in found["rows"]]


def test_what_an_actor_does_and_receives_is_counted_by_group(
    client: TestClient, forecasting: ServedModel
) -> None:
    data, facts = forecasting.model.dataset, forecasting.model.graph.facts
    country = country_of(forecasting)
    members = [country] if data.entities.find(country) is not None else []
    members += [name for name in data.entities if (part := split_name(name)) and part[1] == country]
    ids = np.asarray([data.entities.find(name) for name in members])
    found = client.get(f"/api/entity/{country}/timeline", params={"members": True}).json()
    assert found["members"] == members
    labels = forecasting.predictor.answerer.labels
    groups = np.asarray([labels.group_of(data.predicates[p]) or "other" for p in facts.predicates])
    for side, ends in (("does", facts.subjects), ("receives", facts.objects)):
        own = groups[np.isin(ends, ids) & facts.dated]
        counts = {layer: sum(row) for layer, row in zip(found["layers"], found[side], strict=True)}
        assert counts == {layer: int((own == layer).sum()) for layer in found["layers"]}
        assert sum(counts.values()) == len(own) > 0
    one = client.get(f"/api/entity/{members[-1]}/timeline").json()
    assert one["total"] < found["total"]
    assert one["members"] == [members[-1]]


def test_everyday_words_find_events_and_names_are_offered_besides(
    client: TestClient, forecasting: ServedModel
) -> None:
    def search(text: str) -> tuple[set[str], list[str]]:
        found = client.get("/api/questions", params={"q": text, "limit": 50}).json()
        names = [each["name"] for each in found["names"]]
        return {each["predicate"] for each in found["questions"]}, names

    labels = forecasting.predictor.answerer.labels
    talks, _ = search("talks")
    assert talks
    assert {labels.class_of(name) for name in talks} <= {"Consult", "Express intent to cooperate"}
    actor = forecasting.samples[0].subject
    some, names = search(f"{actor} talks")
    assert some <= talks
    assert names[0] == actor
    nothing, names = search(f"{actor} protest visit")
    assert nothing == set()
    assert names[0] == actor
