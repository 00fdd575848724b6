"""Headers, and `--columns`."""

from pathlib import Path

import pytest
from fact_files import DAY, FACT, ReadFact, in_words, read_all, write

from apptek.reading.reader import read_dataset

HEADERS = (
    *("subject,predicate,object,time", "Head,Relation,Tail,Date", "actor1,event,actor2,year"),
    *(" source , event , target , timestamp ", '"subject","predicate","object","time"'),
)
UNDATED = ("a", "p", "b", "?", "?")
NUMBERS = [("3", "1", "2", "4", "4"), ("5", "1", "6", "7", "7")]


@pytest.mark.parametrize(
    ("columns", "text", "facts"),
    [
        *((None, f"{header}\na,p,b,{DAY}\n", [FACT]) for header in HEADERS),
        # Since and until in any order; of two fitting words the plainer one.
        (None, "until,since,object,note,predicate,subject\n2015,2014,b,x,p,a\n",
         [("a", "p", "b", "2014", "2015")]),
        (None, f"source,subject,predicate,object,year,date\nReuters,a,p,b,2014,{DAY}\n", [FACT]),
        ("subject=A,predicate=E,object=B,time=Day", f"id,Day,A,E,B\n1,{DAY},a,p,b\n", [FACT]),
        (" subject = A , predicate=E,object=B,time=Day", f"i,Day,A,E,B\n1,{DAY},a,p,b\n", [FACT]),
        ("subject=3,predicate=4,object=5,time=2", f"1,{DAY},a,p,b\n", [FACT]),
        ("-,time,subject,predicate,object", f"1,{DAY},a,p,b,more,and more\n", [FACT]),
        ("subject,predicate,object,-,time", f"a,p,b,0.5,{DAY}\n", [FACT]),
        ("subject=2,predicate=3,object=4,time=5",
         f"id,subject,predicate,object,time\n1,a,p,b,{DAY}\n", [FACT]),
        ("subject=A=B,predicate=E,object=B,time=Day", f"A=B,E,B,Day\na,p,b,{DAY}\n", [FACT]),
        ("subject=2,predicate=E,object=B,time=Day", f"B,2,E,Day\nb,a,p,{DAY}\n", [FACT]),
        ("subject,predicate,object", f"a,p,b,{DAY}\n", [UNDATED]),
        # A number in the first fact is not the name of a column.
        ("subject=1,predicate=2,object=3,time=4", "3,1,2,4\n5,1,6,7\n", NUMBERS),
    ],
)  # fmt: skip
def test_columns_are_found_by_a_header_or_chosen(
    tmp_path: Path, columns: str | None, text: str, facts: list[ReadFact]
) -> None:
    assert in_words(read_all(write(tmp_path / "facts.csv", text), columns=columns)) == facts


def test_the_guess_about_the_header_can_be_overruled(tmp_path: Path) -> None:
    path = write(tmp_path / "train.tsv", "subject\tevent\tobject\na\tp\tb\n")
    assert len(read_dataset(tmp_path).train) == 1
    assert len(read_dataset(tmp_path, header=False).train) == 2
    path.write_text("x\ty\tz\na\tp\tb\n")
    columns = "subject=1,predicate=2,object=3"
    assert len(read_dataset(tmp_path, columns=columns).train) == 2
    assert len(read_dataset(tmp_path, columns=columns, header=True).train) == 1
