"""Tables of aliases."""

from pathlib import Path

import pytest

from apptek.errors import DataError
from apptek.reading.name_tables import check_aliases, read_aliases, read_predicates
from apptek.reading.reader import read_dataset


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
