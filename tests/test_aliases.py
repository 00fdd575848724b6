"""Tables of aliases."""

from pathlib import Path

import pytest
from fact_files import write

from apptek.errors import DataError
from apptek.reading.name_tables import check_aliases, read_aliases, read_predicates
from apptek.reading.reader import read_dataset


@pytest.mark.parametrize("header", ["", "name,alias\n"])
def test_a_name_has_any_number_of_aliases(tmp_path: Path, header: str) -> None:
    path = write(
        tmp_path / "aliases.csv", f'{header}United States,USA,"America, the"\nGermany,BRD,\n'
    )
    assert read_aliases(path) == {
        "USA": "United States",
        "America, the": "United States",
        "BRD": "Germany",
    }


@pytest.mark.parametrize("delimiter", [",", ";", "|", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("suffix", [".csv", ".txt"])
def test_delimiter_and_encoding_of_a_small_table_are_found(
    tmp_path: Path, delimiter: str, encoding: str, suffix: str
) -> None:
    rows = [("name", "alias"), ("T\u00fcrkiye", "Turkey"), ("C\u00f4te d'Ivoire", "Ivory Coast")]
    path = tmp_path / f"aliases{suffix}"
    path.write_bytes("".join(delimiter.join(row) + "\n" for row in rows).encode(encoding))
    assert read_aliases(path) == {alias: name for name, alias in rows[1:]}
    table = b"predicate;label\n040;Consult, or so\n"
    path.write_bytes(table)
    assert read_predicates(path).label("040") == "Consult, or so"


def test_an_alias_that_is_a_name_of_the_data_is_refused() -> None:
    entities = read_dataset([("US", "meets", "Iran", 2001)] * 3).entities
    check_aliases({"United States": "US", "US": "US", "Persia": "Iran"}, entities)
    with pytest.raises(DataError, match=r"^the alias 'Iran' of 'US' is itself a name in the data"):
        check_aliases({"Iran": "US"}, entities)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("", "no aliases in it"),
        ("name,alias\n", "no aliases in it"),
        ("Germany\n", "csv:1: expected a name and its aliases"),
        ("Germany,BRD\n,FR\n", "csv:2: expected a name and its aliases"),
        ("A,x\nB,x\n", "csv:2: 'x' is an alias of both 'A' and 'B'"),
    ],
)
def test_a_table_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, about: str) -> None:
    with pytest.raises(DataError, match=about):
        read_aliases(write(tmp_path / "aliases.csv", text))
