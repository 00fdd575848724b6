"""Tables of predicates: reading a user's, and the shipped one of CAMEO."""

import os
from pathlib import Path

import pytest

from apptek.data.benchmarks import find_benchmark
from apptek.data.predicate_table import cameo_table, read_predicates, shipped_table
from apptek.data.reading.reader import read_dataset
from apptek.errors import DataError

NOTE = "predicate,phrase,class\nmet,met,talks\nhit,,war\nsaw,saw,\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "predicates.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_table_names_its_columns_in_any_order(tmp_path: Path) -> None:
    table = read_predicates(write(tmp_path, NOTE))
    assert [table.class_of(name) for name in ("met", "hit", "saw", "else")] == [
        "talks",
        "war",
        None,
        None,
    ]
    assert table.phrase("met") == "met"
    assert table.phrase("hit") is None
    assert table.label("hit") == "hit"
    assert table.source == "predicates.csv"


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("", "found the header \\[\\]"),
        ("predicate\nmet\n", "at least one of class"),
        ("name,class\nmet,talks\n", "the column predicate"),
        ("predicate,class,colour\nmet,talks,red\n", "expected a header"),
        ("predicate,class\nmet\n", "csv:2: found 1 cells, expected 2"),
        ("predicate,class\n,talks\n", "csv:2: the column predicate is empty"),
        ("predicate,class\nmet,talks\nmet,war\n", "csv:3: 'met' has a second, different row"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, about: str) -> None:
    with pytest.raises(DataError, match=about):
        read_predicates(write(tmp_path, text))


def test_a_code_and_its_name_say_the_same() -> None:
    table = cameo_table()
    for predicate in ("040", "Consult"):
        assert table.label(predicate) == "Consult"
        assert table.phrase(predicate) == "consulted"
        assert table.class_of(predicate) == "Consult"
        assert table.group_of(predicate) == "verbal cooperation"
    assert table.class_of("190") == table.class_of("Use conventional military force") == "Fight"


def test_the_groups_are_those_of_gdelt() -> None:
    roots = [f"{code:02d}" for code in range(1, 21)]
    groups = [cameo_table().group_of(root) for root in roots]
    assert groups == (
        ["verbal cooperation"] * 5
        + ["material cooperation"] * 4
        + ["verbal conflict"] * 5
        + ["material conflict"] * 6
    )


def test_every_entry_has_a_phrase_and_a_class() -> None:
    for predicate, entry in cameo_table().entries.items():
        assert entry.phrase, predicate
        assert entry.kind, predicate
        assert entry.phrase[0].islower(), predicate


def test_the_shipped_table_applies_where_nearly_all_names_are_known() -> None:
    assert len(shipped_table(["Consult", "Host a visit"])) == 2
    assert len(shipped_table(["010", "190", "---", *(f"{code}" for code in range(100, 109))])) == 11
    assert not shipped_table(["Consult", "born in"])
    assert not shipped_table(["10", "11", "12"])  # numbered, not coded
    assert not shipped_table([])


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "count"), [("icews14", 230), ("icews05-15", 251)])
def test_the_shipped_table_knows_every_predicate_of_the_benchmarks(name: str, count: int) -> None:
    if find_benchmark(name) is None:
        pytest.skip(f"{name} is not in $APPTEK_DATA ({os.environ.get('APPTEK_DATA', 'unset')})")
    assert len(shipped_table(read_dataset(name).predicates)) == count
