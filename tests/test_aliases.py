"""Tables of aliases."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from apptek.data.aliases import read_aliases
from apptek.errors import DataError


def write(folder: Path, text: str) -> Path:
    path = folder / "aliases.csv"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("header", ["", "name,alias\n"])
def test_a_name_has_any_number_of_aliases(tmp_path: Path, header: str) -> None:
    path = write(tmp_path, f'{header}United States,USA,"America, the"\nGermany,BRD,\n')
    assert read_aliases(path) == {
        "USA": "United States",
        "America, the": "United States",
        "BRD": "Germany",
    }


def test_a_table_may_be_parquet(tmp_path: Path) -> None:
    columns = {"name": ["Germany", "France"], "alias": ["BRD", "FR"], "more": [None, "Gaul"]}
    parquet.write_table(pa.table(columns), tmp_path / "aliases.parquet")
    assert read_aliases(tmp_path / "aliases.parquet") == {
        "BRD": "Germany",
        "FR": "France",
        "Gaul": "France",
    }


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("", "no aliases in it"),
        ("name,alias\n", "no aliases in it"),
        ("Germany\n", "csv:1: expected a name and its aliases"),
        ("Germany,BRD\n,FR\n", "csv:2: expected a name and its aliases"),
        ("A,x\nB,x\n", "csv:2: 'x' stands for two names: 'A' and 'B'"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, about: str) -> None:
    with pytest.raises(DataError, match=about):
        read_aliases(write(tmp_path, text))
