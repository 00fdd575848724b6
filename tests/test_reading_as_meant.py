"""Files are read as they are meant, or the error says what to do: facts in, facts or a line out."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import apptek, succeeds
from fact_files import DAY, FACT, fault_of, in_words, parquet_bytes, read_text, write
from pyarrow import csv as pa_csv
from sheets import Cell, write_sheets

from apptek.errors import DataError
from apptek.facts.benchmarks import DATA_VARIABLE
from apptek.facts.calendar import Unit
from apptek.facts.facts import SPLITS, Facts
from apptek.facts.protocols import Splitting
from apptek.facts.times import TimeAxis
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset, read_more

ALL = Splitting(train=1, valid=0)
DAYS = [(date(2014, 1, 1) + timedelta(days=number)).strftime("%Y%m%d") for number in range(60)]


def fault_in(folder: Path, text: str, name: str = "facts.csv", **options: Any) -> str:
    """The error of reading a file with this content."""
    return fault_of(write(folder / name, text), splitting=ALL, **options)


def rows_of(*times: str) -> str:
    """A row of its own for each time."""
    return "".join(f"s{number},p,o,{time}\n" for number, time in enumerate(times))


def test_skipping_is_not_advised_where_only_the_first_row_is_bad(tmp_path: Path) -> None:
    good = "".join(f"s{number},p,o,{DAY}\n" for number in range(20))
    message = fault_in(tmp_path, f"a,p,b,Day 1\n{good}")
    assert message.startswith("facts.csv:1: column 4 (time): found 'Day 1'")
    assert "--skip-bad" not in message
    assert "--columns" in message
    assert "--skip-bad would leave 20" in fault_in(tmp_path, f"{good}a,p,b,Day 1\n")


# Times


YEARS = [str(year) for year in range(1900, 2000)]
ODD_TIMES = [
    *((DAYS, odd, "day") for odd in ("20140231", "0", "00000000", "20141301")),
    *((YEARS, odd, "year") for odd in ("0", "19999", "-1")),
]


@pytest.mark.parametrize(("good", "odd", "unit"), ODD_TIMES)
@pytest.mark.parametrize("first", [False, True])
def test_one_odd_time_among_dates_is_a_bad_row(
    tmp_path: Path, good: list[str], odd: str, unit: Unit, first: bool
) -> None:
    times = [odd, *good] if first else [*good, odd]
    message = fault_in(tmp_path, rows_of(*times))
    assert f"found '{odd}', expected a calendar date, as in most facts" in message
    assert f"1 bad of {len(times)} rows" in message
    data = read_dataset(tmp_path / "facts.csv", skip_bad=True, splitting=ALL)
    assert data.axis == TimeAxis(unit)
    assert np.diff(np.sort(data.train.times)).tolist() == [1] * (len(good) - 1)


@pytest.mark.parametrize(
    "times",
    [range(995, 1100), range(3000), [*range(1000, 9000), 10_000], [*map(int, DAYS[:5]), 0, 1]],
)
def test_numbers_that_are_counted_stay_integers(tmp_path: Path, times: list[int]) -> None:
    data = read_text(tmp_path, rows_of(*map(str, times)), "facts.csv")
    assert data.axis.unit == "integer"


def test_integer_times_have_a_stride(tmp_path: Path) -> None:
    data = read_text(tmp_path, rows_of(*map(str, range(0, 745, 24))), "facts.csv")
    assert data.axis == TimeAxis("integer", stride=24)
    assert "0 to 744 in steps of 24" in apptek("data", "stats", str(tmp_path / "facts.csv")).stdout
    assert read_text(tmp_path, rows_of("0", "1", "3"), "facts.csv").axis.stride == 1
    assert read_text(tmp_path, rows_of("0", "24"), "facts.csv").axis.stride == 1


def test_events_of_one_day_that_are_merged_are_counted(tmp_path: Path) -> None:
    days = [f"2014-{month:02d}-{day:02d}" for month in (1, 2) for day in range(1, 29)]
    rows = [f"a,p,b,{day} {hour}:00\n" for day in days for hour in ("09", "15")]
    path = write(tmp_path / "facts.csv", "".join([*rows, rows[0]]))
    data = read_dataset(path, splitting=ALL)
    assert (data.report.duplicates["train"], data.report.merged) == (57, 56)
    told = apptek("data", "stats", str(path)).stderr
    assert "events within the same day that were merged: 56" in told
    assert read_dataset(path, granularity="hour", splitting=ALL).report.merged == 0
    twice = write(tmp_path / "twice.csv", f"a,p,b,{DAY}\na,p,b,20140513\n")
    assert read_dataset(twice, splitting=ALL).report.merged == 0


# Rows that something is wrong with


def test_numbers_beyond_what_floats_hold_are_refused(tmp_path: Path) -> None:
    rows: list[list[Cell]] = [
        [12345678901234567, "p", "b", date(2014, 5, 13)],
        ["a", "p", "b", date(2014, 5, 13)],
    ]
    path = write_sheets(tmp_path / "facts.xlsx", {"a": rows})
    with pytest.raises(DataError, match=r"facts.xlsx:1: .*beyond 2\^53 as text"):
        read_dataset(path, splitting=ALL)
    frame = pd.DataFrame({"subject": [2.0**53, 1.0], "predicate": "p", "object": "b", "time": DAY})
    with pytest.raises(DataError, match=r"'subject' .*beyond 2\^53"):
        read_dataset(frame, splitting=ALL)


def test_the_counts_of_an_error_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apptek.reading.collector.MAX_DEFECTS_KEPT", 5)
    text = f"a,p,b,{DAY}\n" + "a,p\n" * 12 + "a,p,b,2014-13-01\n" * 30
    message = fault_in(tmp_path, text)
    assert "42 bad of 43 rows: 12 bad row, 30 bad time;" in message


# Splits


def split_table(word: str = "test") -> dict[str, list[str]]:
    return {
        "subject": list("abcd"),
        "predicate": ["p"] * 4,
        "object": ["z"] * 4,
        "time": [DAY] * 4,
        "split": ["train", "Valid", word, "train"],
    }


@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".parquet", "frame"])
def test_a_column_split_is_used(tmp_path: Path, kind: str) -> None:
    table = pd.DataFrame(split_table())
    source: object = table
    if kind != "frame":
        content = {
            ".csv": table.to_csv(index=False).encode(),
            ".jsonl": table.to_json(orient="records", lines=True).encode(),
            ".parquet": parquet_bytes(**split_table()),
        }[kind]
        source = write(tmp_path / f"facts{kind}", content)
    data = read_dataset(source)
    subjects = ["".join(fact[0] for fact in in_words(data, data.split(s))) for s in SPLITS]
    assert subjects == ["ad", "b", "c"]
    assert not data.was_split
    # Who splits otherwise says so.
    assert len(read_dataset(source, splitting=ALL).train) == 4


def test_a_predictor_is_fitted_by_a_column_of_splits() -> None:
    days = [f"2014-05-{day:02d}" for day in range(1, 31)]
    facts = [("abc"[n % 3], "pq"[n % 2], "bca"[n % 3], day) for n, day in enumerate(days)]
    frame = pd.DataFrame(facts, columns=["subject", "predicate", "object", "time"])
    frame["fold"] = ["train"] * 20 + ["valid"] * 5 + ["test"] * 5
    model = Predictor.fit(frame, split="fold").model
    assert [len(model.dataset.split(split)) for split in SPLITS] == [20, 5, 5]
    assert len(model.graph.facts) == 20
    with pytest.raises(DataError, match="split has no effect on a Dataset"):
        Predictor.fit(model.dataset, split="fold")


# Options


@pytest.mark.parametrize(
    ("option", "value"),
    [("delimiter", ";"), ("sheet", "x"), ("encoding", "utf-8"), ("format", "gdelt")],
)
def test_options_of_files_are_refused_for_tuples_and_frames(option: str, value: str) -> None:
    facts = [("a", "p", "b", DAY), ("b", "p", "c", DAY)]
    options: dict[str, Any] = {option: value}
    for source in (facts, pd.DataFrame(facts, columns=["subject", "predicate", "object", "time"])):
        with pytest.raises(DataError, match=f"--{option} does not apply"):
            read_dataset(source, **options)
        with pytest.raises(DataError, match="no fact has a start but no end"):
            read_dataset(source, open_end="ongoing")
    with pytest.raises(DataError, match="--columns does not apply"):
        read_dataset(facts, columns="subject,predicate,object")


def test_a_folder_in_the_home_of_data_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "home" / "icews18" / "train.txt", f"a\tp\tb\t{DAY}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "home"))
    assert read_dataset("icews18").name == "icews18"
    with pytest.raises(DataError, match="no such file or folder"):
        read_dataset("home/icews18/../../nothing")


def test_further_files_are_read_like_the_first(tmp_path: Path) -> None:
    first = write(tmp_path / "one.txt", f"Who;What;Whom;Day\na;p;b;{DAY}\n")
    columns = "subject=Who,predicate=What,object=Whom,time=Day"
    data = read_dataset(first, columns=columns, delimiter=";", splitting=ALL)
    assert data.read_with == {"columns": columns, "delimiter": ";"}
    later = write(tmp_path / "two.txt", f"id;Day;Whom;What;Who\n1;{DAY};b;p;a\n")
    more = read_more(data, later, splitting=ALL)
    assert in_words(more) == [FACT]
    assert any("with the model's own" in note for note in more.report.notes)
    # Files of another kind are read as they would be.
    for plain in (
        write(tmp_path / "plain.tsv", f"a\tp\tb\t{DAY}\n"),
        write(tmp_path / "plain.json", '[{"subject": "a", "predicate": "p", "object": "b"}]'),
    ):
        assert len(in_words(read_more(data, plain, splitting=ALL))) == 1
    assert len(in_words(read_more(data, [("a", "p", "b", DAY)], splitting=ALL))) == 1


def test_a_model_remembers_the_columns_for_an_update(tmp_path: Path) -> None:
    days = [f"2014-05-{day:02d}" for day in range(1, 29)]
    rows = [f"{'abc'[n % 3]},{day},{'pq'[n % 2]},{'bca'[n % 3]}\n" for n, day in enumerate(days)]
    header = "Who,Day,What,Whom\n"
    path = write(tmp_path / "facts.csv", header + "".join(rows) + "a,,p,c\n")
    columns = "subject=Who,predicate=What,object=Whom,time=Day"
    model, newer = str(tmp_path / "model"), str(tmp_path / "newer")
    fitted = succeeds("fit", str(path), "--columns", columns, "--out", model)
    assert "facts without a time: 1" in fitted.stderr
    more = write(tmp_path / "more.csv", f"{header}a,2014-06-01,p,b\n")
    done = succeeds("update", model, str(more), "--out", newer, "--json")
    assert json.loads(done.stdout)["added"] == 1


# Facts and names in Python


def test_a_first_row_whose_names_do_not_occur_again_may_be_a_header(tmp_path: Path) -> None:
    rows = [f"a{i % 4},p{i % 2},b{i % 3}" for i in range(24)]
    path = write(tmp_path / "facts.csv", "\n".join(["wer,was,wen", *rows[:3], ""]))
    (note,) = read_dataset(path).report.notes
    assert note.startswith("facts.csv:1: the first row looks like a header: 'wer', 'was', 'wen'; ")
    more = write(tmp_path / "more.csv", "\n".join(["wer,was,wen", *rows, ""]))
    for source in (more, [path, more]):
        with pytest.raises(DataError, match=r"--columns subject=NAME.*or --read header=no if"):
            read_dataset(source)
    facts = read_dataset(more, header=False, splitting=ALL).train
    assert len(facts) == len(set(rows)) + 1
    write(path, "\n".join([*rows, rows[0]]))
    assert read_dataset(path).report.notes == ()


def test_one_wrong_cell_in_a_column_of_splits_is_a_bad_row(tmp_path: Path) -> None:
    splits = ["train"] * 16 + ["valid", "test", "test", "tset"]
    rows = [f"a{n},p,b,2014-01-{1 + n:02},{split}\n" for n, split in enumerate(splits)]
    file = write(tmp_path / "events.csv", "subject,predicate,object,time,split\n" + "".join(rows))
    for source in (file, pa_csv.read_csv(file)):
        with pytest.raises(DataError, match=r"'tset', expected train, valid or test"):
            read_dataset(source)
        data = read_dataset(source, skip_bad=True)
        assert [len(data.split(split)) for split in SPLITS] == [16, 1, 2]
        assert data.report.defect_count == 1
        drawn = read_dataset(source, splitting=Splitting())  # then the column is not looked at
        assert len(drawn.all_facts()) == 20


def test_further_files_have_the_day_first_as_the_facts_before_them(tmp_path: Path) -> None:
    days = read_text(tmp_path, rows_of("13/01/2024", "14/01/2024"), "days.csv")
    months = write(tmp_path / "months.csv", rows_of("02/03/2024", "01/13/2024"))
    with pytest.raises(DataError, match=r"^months.csv:2: .*the day first"):
        read_more(days, months, skip_bad=True)


MONTHS = [f"{year}{month:02d}" for year in range(2015, 2020) for month in range(1, 13)]


@pytest.mark.parametrize("granularity", ["auto", "month"])
def test_months_without_a_dash_are_months(tmp_path: Path, granularity: Any) -> None:
    path = write(tmp_path / "facts.csv", rows_of(*MONTHS))
    data = read_dataset(path, granularity=granularity, splitting=ALL)
    assert data.axis == TimeAxis("month")
    assert np.diff(data.train.times).tolist() == [1] * 59
    assert data.axis.parse("202001") == data.axis.parse("2020-01")
    assert "found '201913', expected a calendar date" in fault_in(
        tmp_path, rows_of(*MONTHS, "201913")
    )
    counted = read_text(tmp_path, rows_of(*map(str, range(201495, 201530))), "facts.csv")
    assert counted.axis.unit == "integer"


def test_the_index_of_a_frame_is_no_column() -> None:
    frame = pd.DataFrame([FACT[:4]], columns=["subject", "predicate", "object", "time"], index=[7])
    with pytest.raises(DataError, match="there is no column 'nope'; there are 4: ") as caught:
        read_dataset(frame, split="nope")
    assert "index" not in str(caught.value)


def test_facts_leave_the_arrays_of_the_caller_writable() -> None:
    ids, days = np.zeros(3, np.int32), np.zeros(3, np.int32)
    facts = Facts(ids, ids, ids, days, days)
    assert facts.until is facts.since
    ids[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        facts.subjects[0] = 1
