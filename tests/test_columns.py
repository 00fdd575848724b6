"""Headers, and `--columns`."""

from pathlib import Path

import pytest
from fact_files import DAY, FACT, in_words, read_all, read_text, write

from apptek.errors import DataError
from apptek.reading.reader import read_dataset


@pytest.mark.parametrize(
    "header",
    [
        "subject,predicate,object,time",
        "Head,Relation,Tail,Date",
        " source , event , target , timestamp ",
        '"subject","predicate","object","time"',
        "actor1,event,actor2,year",
    ],
)
def test_a_header_is_recognised(tmp_path: Path, header: str) -> None:
    assert in_words(read_text(tmp_path, f"{header}\na,p,b,{DAY}\n", "facts.csv")) == [FACT]


def test_a_header_may_name_since_and_until_in_any_order(tmp_path: Path) -> None:
    text = "until\tsince\tobject\tnote\tpredicate\tsubject\n2015\t2014\tb\tx\tp\ta\n"
    assert in_words(read_text(tmp_path, text)) == [("a", "p", "b", "2014", "2015")]


def test_of_two_fitting_header_words_the_plainer_is_taken(tmp_path: Path) -> None:
    text = "source,subject,predicate,object,year,date\nReuters,a,p,b,2014,2014-05-13\n"
    assert in_words(read_text(tmp_path, text, "facts.csv")) == [FACT]


def test_the_guess_about_the_header_can_be_overruled(tmp_path: Path) -> None:
    path = write(tmp_path / "train.tsv", "subject\tevent\tobject\na\tp\tb\n")
    assert len(read_dataset(tmp_path).train) == 1
    assert len(read_dataset(tmp_path, header=False).train) == 2
    path.write_text("x\ty\tz\na\tp\tb\n")
    columns = "subject=1,predicate=2,object=3"
    assert len(read_dataset(tmp_path, columns=columns).train) == 2
    assert len(read_dataset(tmp_path, columns=columns, header=True).train) == 1


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        ("subject=A,predicate=E,object=B,time=Day", f"id,Day,A,E,B\n1,{DAY},a,p,b\n"),
        (" subject = A , predicate=E,object=B,time=Day", f"id,Day,A,E,B\n1,{DAY},a,p,b\n"),
        ("subject=3,predicate=4,object=5,time=2", f"1,{DAY},a,p,b\n"),
        ("-,time,subject,predicate,object", f"1,{DAY},a,p,b,more,and more\n"),
        ("subject,predicate,object,-,time", f"a,p,b,0.5,{DAY}\n"),
        (
            "subject=2,predicate=3,object=4,time=5",
            f"id,subject,predicate,object,time\n1,a,p,b,{DAY}\n",
        ),
        ("subject=A=B,predicate=E,object=B,time=Day", f"A=B,E,B,Day\na,p,b,{DAY}\n"),
        ("subject=2,predicate=E,object=B,time=Day", f"B,2,E,Day\nb,a,p,{DAY}\n"),
    ],
)
def test_columns_are_chosen_by_name_or_place(tmp_path: Path, columns: str, text: str) -> None:
    assert in_words(read_all(write(tmp_path / "facts.csv", text), columns=columns)) == [FACT]


def test_a_number_in_the_first_fact_is_not_the_name_of_a_column(tmp_path: Path) -> None:
    path = write(tmp_path / "facts.tsv", "3\t1\t2\t4\n5\t1\t6\t7\n")
    dataset = read_all(path, columns="subject=1,predicate=2,object=3,time=4")
    assert in_words(dataset) == [("3", "1", "2", "4", "4"), ("5", "1", "6", "7", "7")]


def test_columns_without_a_time_make_undated_facts(tmp_path: Path) -> None:
    path = write(tmp_path / "facts.tsv", f"a\tp\tb\t{DAY}\n")
    assert in_words(read_all(path, columns="subject,predicate,object")) == [
        ("a", "p", "b", "?", "?")
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ("subject=1,predicate=2", "--columns: no object; expected "),
        (
            "who=1,predicate=2,object=3",
            "--columns: 'who' is not one of subject, predicate, object,",
        ),
        ("subject=,predicate=2,object=3", "--columns: subject= names no column; expected "),
        ("subject=1,subject=2,predicate=3,object=4", "--columns names a role twice: "),
        ("subject=1,predicate=2,object=3,time=4,since=4", "--columns: either time, or since and "),
        ("subject=1,predicate=1,object=3", "facts.tsv:1: --columns uses one column twice"),
        ("subject=1,predicate=2,object=9", "facts.tsv:1: there is no column '9'; there are 4: "),
        ("subject=A,predicate=E,object=B", "facts.tsv:1: there is no column 'A'; there are 4: "),
    ],
)
def test_senseless_columns_are_refused(tmp_path: Path, columns: str, message: str) -> None:
    path = write(tmp_path / "facts.tsv", f"a\tp\tb\t{DAY}\n")
    with pytest.raises(DataError) as caught:
        read_all(path, columns=columns)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_header_that_names_a_wanted_column_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "facts.csv", "name,event,name\na,p,b\n")
    with pytest.raises(DataError, match=r"^facts.csv:1: 2 columns are called 'name'$"):
        read_all(path, columns="subject=name,predicate=event,object=3")
