"""Results as data: descriptions, plain values, notes, and files of tables."""

import json
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from html_pages import assert_contained, read_page
from pyarrow import parquet
from pydantic import TypeAdapter

from apptek import results
from apptek.errors import DataError
from apptek.present.html import render_fragment
from apptek.present.tables import to_arrow, write_result
from apptek.present.text import render_text
from apptek.results import (
    NOTE_KINDS,
    AuditReport,
    ChanceUntil,
    DirectionForecast,
    Forecast,
    Note,
    OccurrenceReason,
    PredicateForecast,
    Result,
    SuspectFact,
    WatchList,
    WatchRow,
    to_dict,
)

EVIL = "<b>\u202eEvil</b>"
PART = PredicateForecast(
    subject="A", predicate="040", label="Consult", object=EVIL, probability=0.5, expected=0.7,
    share=0.9,
)  # fmt: skip
REASON = OccurrenceReason(family="pair", sentence=f"A acted towards {EVIL}", log_odds=1.5)


def direction(subject: str, object_: str) -> DirectionForecast:
    return DirectionForecast(
        subject=subject, object=object_, probability=0.4, expected=1.0, base=-2.0,
        reasons=(REASON,), have_met=True, base_sentence="the base rate of pairs with earlier facts",
    )  # fmt: skip


FORECAST = Forecast(
    subject="A", object=EVIL, first="2015-01-01", last="2015-01-07", length=7, unit="day", lead=0,
    observed_until="2014-12-31", probability=0.6, expected=1.0,
    directions=(direction("A", EVIL), direction(EVIL, "A")), predicates=(PART,),
    curve=(ChanceUntil(until="2015-01-07", probability=0.6),), unseen=(EVIL,),
    notes=(Note("view", "Only the past.", {"before": "2015-01-01"}),), similar={EVIL: ["Evilia"]},
)  # fmt: skip
WATCH = WatchList(
    first="2015-01-01", last="2015-01-07", length=7, unit="day", lead=0,
    observed_until="2014-12-31", data="world", notes=(),
    rows=(WatchRow(
        subject="=A", object=EVIL, probability=0.6, expected=1.0, previous=0.5, change=0.1,
        predicates=(PART,), reason="more facts", past=(0, 2, 1), unseen=(EVIL,),
    ),),
)  # fmt: skip
SUSPECT = SuspectFact(
    subject="A", predicate="040", object=EVIL, since="2014", until="2014", label="Consult",
    finding="predicate", suspicion=0.9, log_odds=2.2, probability=0.0001, expected="190",
    expected_label="Fight", expected_probability=0.8, reason="'Fight'",
)  # fmt: skip
AUDIT = AuditReport(
    dataset="world", facts=480, models=4, prior=0.01, bad_rows=3, bad_rows_listed=1,
    suspected={"predicate": 1, "direction": 0, "interval": 1}, suspects=(
        SUSPECT,
        replace(SUSPECT, finding="direction"),
        replace(SUSPECT, finding="interval", probability=None, until="?"),
    ),
)  # fmt: skip


def test_every_field_of_every_result_has_a_description() -> None:
    names = vars(results).values()
    own = [each for each in names if getattr(each, "__module__", "") == results.__name__]
    records = [each for each in own if hasattr(each, "__dataclass_fields__")]
    assert {Forecast, WatchList, Note} <= {*records}
    for each in records:
        schema = TypeAdapter(each).json_schema()["properties"]
        for field in fields(each):
            assert field.metadata["description"].endswith((".", "...")), (each, field.name)
            assert schema[field.name]["description"] == field.metadata["description"]


def test_results_become_plain_values() -> None:
    plain = to_dict(FORECAST)
    assert list(plain) == [field.name for field in fields(Forecast)]
    assert plain["curve"] == [{"until": "2015-01-07", "probability": 0.6}]
    assert plain["notes"][0] == {
        "kind": "view", "text": "Only the past.", "data": {"before": "2015-01-01"},
    }  # fmt: skip
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    numbers = {"probability": float("nan"), "expected": np.float32(0.5), "length": np.int64(7)}
    odd = replace(FORECAST, **numbers)  # type: ignore[arg-type]
    assert [to_dict(odd)[name] for name in ("probability", "expected", "length")] == [None, 0.5, 7]
    assert [type(to_dict(odd)[name]) for name in ("expected", "length")] == [float, int]
    assert to_dict({"list": [(np.arange(2), [PART])]})["list"][0][0] == [0, 1]


def test_a_note_has_a_known_kind() -> None:
    assert all(Note(kind, "text").data == {} for kind in NOTE_KINDS)
    with pytest.raises(ValueError, match="unknown kind of note 'nonsense'"):
        Note("nonsense", "text")


@pytest.mark.parametrize("result", [FORECAST, WATCH, AUDIT], ids=["forecast", "watch", "audit"])
def test_text_and_pages_show_names_as_text(result: Result) -> None:
    text, page = render_text(result, 120), result.html()
    assert repr(result) == render_text(result)
    assert "<b>\N{REPLACEMENT CHARACTER}Evil</b>" in text
    assert "\u202e" not in text + page
    assert_contained(page, read_page(page))
    for html in (page, result._repr_html_()):
        assert "&lt;b&gt;\N{REPLACEMENT CHARACTER}Evil&lt;/b&gt;" in html
    assert render_fragment(result).startswith('<div class="apptek-report"><style>.apptek-report {')


def test_tables_are_written_by_their_suffix(tmp_path: Path) -> None:
    table = to_arrow(WATCH)
    for suffix in ("csv", "tsv", "parquet", "jsonl", "xlsx"):
        write_result(tmp_path / f"t.{suffix}", table, "watch")
    assert parquet.read_table(tmp_path / "t.parquet").equals(table)
    assert json.loads((tmp_path / "t.jsonl").read_text(encoding="utf-8")) == table.to_pylist()[0]
    for suffix in ("csv", "tsv"):  # a spreadsheet must not compute a name
        assert '"\'=A"' in (tmp_path / f"t.{suffix}").read_text(encoding="utf-8")
    with pytest.raises(DataError, match=r"t\.html: unknown kind of file; expected \.csv, \.tsv"):
        write_result(tmp_path / "t.html", table)
    with pytest.raises(DataError, match=r"w\.doc: .* expected \.html, \.csv.*\.json$"):
        write_result(tmp_path / "w.doc", WATCH)
    write_result(tmp_path / "w.json", WATCH)
    assert json.loads((tmp_path / "w.json").read_text(encoding="utf-8")) == to_dict(WATCH)
    assert AUDIT.to_frame("arrow").column_names == [field.name for field in fields(SuspectFact)]
    with pytest.raises(TypeError, match="Forecast is no table"):
        FORECAST.to_frame("arrow")
