"""Over HTTP: watch lists with filters and as files, an actor's counts, search words."""

import csv
import io

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
