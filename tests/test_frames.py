"""Frames of pandas, polars, DuckDB and pyarrow, and lists of tuples, become a data set."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fact_files import ReadFact, in_words, write
from hypothesis import given
from hypothesis import strategies as st

from apptek import Predictor, Query, Splitting, read_dataset
from apptek.config import preset
from apptek.errors import ApptekError, DataError
from apptek.facts.facts import SPLITS
from apptek.reading.frames import time_text
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world

ROWS = {
    "subject": ["a", "b", "a"],
    "predicate": ["p", "q", "p"],
    "object": ["b", "a", "c"],
    "time": ["2014-05-13", "2014-05-14", "2014-05-15"],
}
FACTS = list(zip(*ROWS.values(), strict=True))
EXPECTED = [(*fact, fact[3]) for fact in FACTS]
QUICK = with_settings(preset("default"), ["classifier.epochs=2", "classifier.l2=[3.0]"])
ALL = Splitting(train=1.0, valid=0.0)


def words(frame: Any, **options: Any) -> list[ReadFact]:
    return in_words(read_dataset(frame, splitting=ALL, **options))


def with_days(*kinds: str) -> list[Any]:
    """The same rows with times as texts, as dates and as timestamps."""
    days = [dt.date.fromisoformat(text) for text in ROWS["time"]]
    moments = [dt.datetime.combine(day, dt.time()) for day in days]
    return [
        {**ROWS, "time": {"text": ROWS["time"], "date": days, "moment": moments}[k]} for k in kinds
    ]


@pytest.mark.parametrize("rows", with_days("text", "date", "moment"))
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_kind_of_frame_gives_the_facts(make: Any, rows: dict[str, Any]) -> None:
    assert words(make(rows)) == EXPECTED


def test_read_dataset_takes_frames_and_tuples_and_splits_them_as_a_file() -> None:
    frame = pd.DataFrame(ROWS)
    assert in_words(read_dataset(FACTS, splitting=ALL)) == EXPECTED
    names = frame.rename(columns={"subject": "A", "predicate": "E", "object": "B", "time": "Day"})
    columns = "subject=A,predicate=E,object=B,time=Day"
    assert in_words(read_dataset(names, columns=columns, splitting=ALL)) == EXPECTED
    many = pd.DataFrame({**{role: ["x"] * 100 for role in ROWS}, "time": range(100)})
    data = read_dataset(many)
    assert [len(data.split(split)) for split in SPLITS] == [80, 10, 10]
    assert data.was_split


def test_columns_are_named_or_guessed() -> None:
    frame = pl.DataFrame({"A": ["a"], "Event": ["p"], "B": ["b"], "from": [2001], "x": [2003]})
    named = {"subject": "A", "predicate": "Event", "object": "B"}
    interval = named | {"since": "from", "until": "x"}
    assert words(frame, columns=interval) == [("a", "p", "b", "2001", "2003")]
    numbers = {"subject": 0, "predicate": 1, "object": 2, "time": 3}
    assert words(pd.DataFrame(FACTS), columns=numbers) == EXPECTED


def test_categories_and_missing_values() -> None:
    frame = pd.DataFrame(ROWS)
    for role in ("subject", "predicate"):
        frame[role] = frame[role].astype("category")
    assert words(frame) == EXPECTED
    enum = pl.DataFrame(ROWS).with_columns(pl.col("predicate").cast(pl.Categorical))
    assert words(enum) == EXPECTED
    for nothing in (None, float("nan")):
        holes = frame.assign(object=["b", nothing, "c"])
        with pytest.raises(DataError, match=r"frame:2: column 3 .object.: found nothing, expected"):
            read_dataset(holes)
        data = read_dataset(holes, splitting=ALL, skip_bad=True)
        assert (len(data.train), data.report.defect_count) == (2, 1)
        undated = frame.assign(time=["2014-05-13", nothing, "2014-05-15"])
        assert [fact[3] for fact in words(undated)] == ["2014-05-13", "?", "2014-05-15"]
    years = pd.DataFrame({**ROWS, "time": [1999, None, 2001]})
    assert years["time"].dtype == np.float64
    assert [fact[3] for fact in words(years)] == ["1999", "?", "2001"]


FRAME = pd.DataFrame(ROWS)
UNREADABLE: dict[str, Any] = {
    "Duplicate column names": pd.concat([FRAME, FRAME[["time"]]], axis=1),
    "2 columns have the name 'time'": pa.table(ROWS).append_column(
        "time", pa.array(["x", "y", "z"])
    ),
    r"cannot be read .*Conversion failed for column subject": FRAME.assign(subject=["a", 1, 2.5]),
    r"LazyFrame does not export Arrow data; collect\(\) it": pl.DataFrame(ROWS).lazy(),
    "int does not export Arrow data; expected a frame": 5,
    "frame: the frame is empty": FRAME.head(0),
    "the column 'object' is of type (large_)?list": pl.DataFrame({**ROWS, "object": [["b"]] * 3}),
    r"of type .*[Pp]eriod": FRAME.assign(time=pd.period_range("2020-01", periods=3, freq="M")),
}


@pytest.mark.parametrize("message", UNREADABLE)
def test_a_frame_that_cannot_be_read_is_a_clear_error(message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_dataset(UNREADABLE[message])


NO_FACTS: list[tuple[Any, str]] = [
    ([("a", "p", "b"), ("a", "p")], r"facts:2: found \('a', 'p'\), expected .subject, pred"),
    ([("a", None, "b", 1)], r"facts:1: column 2 .predicate.: found nothing"),
    ([("a\ud800", "p", "b", 1)], r"facts:1: column 1 .*ud800.*, expected text"),
    ([5], r"facts:1: found 5, expected \(subject, predicate"),
    ([("a", "p", "b", 2.5)], r"found the time 2.5, expected a text"),
]


def test_tuples_have_a_time_or_none_or_two() -> None:
    facts = [("a", "p", "b"), ("a", "p", "c", 2001), ("a", "q", "b", dt.date(1999, 5, 6), None)]
    data = read_dataset([*facts[:2], ("a", "q", "b", 1999, None)], splitting=ALL)
    assert in_words(data) == [
        ("a", "p", "b", "?", "?"), ("a", "p", "c", "2001", "2001"), ("a", "q", "b", "1999", "?"),
    ]  # fmt: skip
    for wrong, message in NO_FACTS:
        with pytest.raises(DataError, match=message):
            read_dataset(wrong)


@pytest.mark.parametrize(
    ("when", "text"),
    [
        ("2014-05", "2014-05"), (2014, "2014"), (np.int64(-3), "-3"), (7.0, "7"),
        (dt.date(2014, 5, 13), "2014-05-13"), (dt.datetime(2014, 5, 13), "2014-05-13T00:00:00"),
        (dt.datetime(2014, 5, 13, 1, 2, 3, 4), "2014-05-13T01:02:03"),
        (pd.Timestamp("2014-05-13 01:00", tz="Asia/Tokyo"), "2014-05-13T01:00:00+09:00"),
        (np.datetime64("2014-05-13"), "2014-05-13"), (np.datetime64("2014-05"), "2014-05"),
        (np.datetime64("2014-05-13T01:02", "ns"), "2014-05-13T01:02:00"),
        (None, ""), (float("nan"), ""), (pd.NaT, ""), (np.datetime64("NaT"), ""),
    ],
)  # fmt: skip
def test_a_time_of_python_is_written_as_the_data_would(when: Any, text: str) -> None:
    assert time_text(when) == text


@pytest.mark.parametrize("when", [True, False, np.bool_(False), 1.5, object(), [1]])
def test_what_is_no_time_is_refused(when: Any) -> None:
    with pytest.raises(DataError, match="found the time"):
        time_text(when)


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor.fit(frame_of_a_world(), config=QUICK)


def frame_of_a_world() -> pd.DataFrame:
    data = make_world(2000, 0).dataset
    return pd.DataFrame(in_words(data)).rename(
        columns={0: "subject", 1: "predicate", 2: "object", 3: "time"}
    )


def test_a_fit_takes_labels_aliases_and_types_as_the_command_does(tmp_path: Path) -> None:
    frame = frame_of_a_world().head(600)
    name, predicate = str(frame["subject"][0]), str(frame["predicate"][0])
    table = write(tmp_path / "aliases.csv", f"name;alias\n{name};The first\n")
    types = write(tmp_path / "types.csv", f"entity,sector\n{name},Media\n")
    fitted = Predictor.fit(
        frame,
        config=QUICK,
        predicates={predicate: {"label": "A label", "class": "A class"}},
        aliases=table,
        types=types,
        folder=tmp_path / "m",
    )
    (answer,) = fitted.predict(("The first", name.upper(), None), top=100)
    assert (answer.meant_subject, answer.meant_object) == (name, name)
    assert "A label" in answer.labels
    assert Predictor.load(tmp_path / "m").model.dataset.aliases == {"The first": name}
    with pytest.raises(DataError, match="expected some of label, phrase, class and group"):
        Predictor.fit(frame, predicates={predicate: {"colour": "red"}})
    with pytest.raises(DataError, match="is itself a name in the data"):
        Predictor.fit(frame, aliases={str(frame["object"][1]): name})


def test_a_frame_can_be_fitted_and_asked(predictor: Predictor) -> None:
    frame = frame_of_a_world().head(5)
    asked = [tuple(row) for row in frame[["subject", "object", "time"]].to_numpy().tolist()]
    expected = predictor.predict([Query(*words) for words in asked])
    assert len(expected) == 5
    assert predictor.predict(asked) == expected
    assert predictor.predict(pl.DataFrame(frame.iloc[:, :4])) == expected
    assert predictor.predict(frame.assign(time=pd.to_datetime(frame["time"]))) == expected
    assert predictor.predict(asked[0]) == predictor.predict(Query(*asked[0])) == expected[:1]
    subject, object_, time = asked[0]
    day = dt.date.fromisoformat(time)
    for when in (day, dt.datetime.combine(day, dt.time()), pd.Timestamp(day), np.datetime64(day)):
        assert predictor.predict([(subject, object_, when)]) == expected[:1]
        first = predictor.explain((subject, object_, when)).ranked[0]
        assert first.predicate == expected[0].predicates[0]
    baseline = Predictor.fit(frame_of_a_world(), model="frequency")
    assert baseline.predict(asked) == baseline.predict(frame)


def test_a_model_is_updated_from_tuples_and_frames(predictor: Predictor) -> None:
    facts = [("new", "Consult", "newer", dt.datetime(2022, 1, 1))]
    updated, _ = predictor.update(facts)
    assert len(updated.model.graph.facts) == len(predictor.model.graph.facts) + 1
    frame = pd.DataFrame(facts, columns=["subject", "predicate", "object", "time"])
    again, _ = predictor.update(frame)
    assert again.model.graph.facts.equals(updated.model.graph.facts)
    taken_back, _ = updated.update(retract=frame)
    assert len(taken_back.model.graph.facts) == len(predictor.model.graph.facts)


def arrays(count: int) -> list[pa.Array]:
    """Columns of every kind that a frame may have, some of them senseless."""
    whole = [0, 86_400, None, 2**40][:count]
    columns = [
        pa.array(["a", "2014-05-13", None, ""][:count]),
        pa.array(["2014-05-13", "03.05.2014", "2014-05-13T10:00:00Z", "5"][:count]),
        pa.array(["x\0", "b", "c", "d"][:count]).cast(pa.string_view()),
        pa.array(["a", "b", None, "a"][:count]).dictionary_encode(),
        pa.array(whole).dictionary_encode(),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 1][:count], pa.int8()), ["a", None]),
        pa.array([1.0, float("nan"), 2014.0, None][:count]),
        pa.array([float("inf"), 1.5, 1.0, 2.0][:count]),
        pa.array([True, False, None, True][:count]),
        pa.array([b"a", b"\xff", b"", None][:count]),
        pa.array([["a"], [], None, ["b"]][:count]),
        pa.array([2**64 - 1, 1, 2, 3][:count], pa.uint64()),
        pa.nulls(count),
        pa.array([0, 2**31 - 1, -(2**31), 5][:count], pa.int32()).cast(pa.date32()),
        pa.array(whole, pa.duration("s")),
    ]
    zones = (None, "UTC", "Asia/Tokyo", "+05:30")
    columns += [pa.array(whole, pa.timestamp("s", zone)) for zone in zones]
    columns += [pa.array([2**62, -(2**62), 0, None][:count], pa.timestamp("us", "UTC"))]
    return columns


@given(st.data())
def test_any_frame_is_read_or_refused_in_one_line(draw: st.DataObject) -> None:
    count = draw.draw(st.sampled_from([0, 1, 4]))
    roles = draw.draw(st.sampled_from([[], ["time"], ["since", "until"], ["time", "split"]]))
    names = ["subject", "predicate", "object", *roles]
    table = pa.table([draw.draw(st.sampled_from(arrays(count))) for _ in names], names=names)
    split = "split" if "split" in names else None
    said = "facts"
    try:
        data = read_dataset(table, split=split, skip_bad=draw.draw(st.booleans()))
        assert len(data.all_facts())
    except ApptekError as error:
        said = str(error)
    assert said
    assert "\n" not in said


def test_an_explanation_is_of_one_query(predictor: Predictor) -> None:
    query = ("a", "b", "2014-05-13")
    for asked in ([query, query], [query], (Query(*query), Query(*query)), pd.DataFrame([query])):
        for ask in (predictor.explain, predictor.counterfactual):
            with pytest.raises(ApptekError, match=r"explain, .* take one query; predict takes"):
                ask(asked)


@pytest.mark.parametrize(
    "asked",
    [
        "a", 5, ["a"], {"subject": "a"}, [(1, 2, 3)], ("a", "b"), [("a", "b")],
        ("a", "p", "b", "2014-05-13"),
    ],
)  # fmt: skip
def test_what_is_no_query_is_refused(predictor: Predictor, asked: Any) -> None:
    with pytest.raises(ApptekError, match=r"expected a query: Query or tuple \(subject"):
        predictor.predict(asked)


def test_a_frame_without_the_columns_of_queries_is_refused(predictor: Predictor) -> None:
    with pytest.raises(DataError, match="found the columns 'subject', 'to'; expected subject, obj"):
        predictor.predict(pd.DataFrame({"subject": ["a"], "to": ["b"]}))
    frame = pd.DataFrame({"subject": ["a", None], "object": ["b", "c"], "time": ["", ""]})
    with pytest.raises(DataError, match=r"frame:2: column 1 .subject.: found nothing"):
        predictor.predict(frame)
