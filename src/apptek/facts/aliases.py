"""A user's table of aliases: the name of an entity in the data, then one or more others for it.

name,alias
United States,USA,America
Federal Republic of Germany,Germany
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from apptek.errors import DataError
from apptek.facts.facts import Dataset, Names
from apptek.reading.small_tables import read_rows


def read_aliases(path: Path) -> dict[str, str]:
    """Alias -> name, from a text or Parquet file; empty cells are skipped.

    The first row is a header where its first cell is `name`. Rows may be of different lengths.
    """
    aliases: dict[str, str] = {}
    for line, row in read_rows(path):
        name, *others = row
        if line == 1 and name == "name":
            continue
        if not name or not any(others):
            raise DataError(f"{path.name}:{line}: expected a name and its aliases, found {row}")
        for alias in filter(None, others):
            if aliases.setdefault(alias, name) != name:
                raise DataError(
                    f"{path.name}:{line}: {alias!r} stands for two names: {aliases[alias]!r} and "
                    f"{name!r}"
                )
    if not aliases:
        raise DataError(f"{path.name}: there are no aliases in it")
    return aliases


def with_aliases(dataset: Dataset, given: Mapping[str, str] | str | Path | None) -> Dataset:
    """The data set with aliases: a table of them, or alias -> name."""
    if given is None:
        return dataset
    aliases = dict(given) if isinstance(given, Mapping) else read_aliases(Path(given))
    check_aliases(aliases, dataset.entities)
    return replace(dataset, aliases=aliases)


def check_aliases(aliases: Mapping[str, str], entities: Names) -> None:
    """Refuses an alias that is a name of the data: a name always means itself."""
    for alias, name in aliases.items():
        if alias != name and entities.find(alias) is not None:
            raise DataError(
                f"the alias {alias!r} of {name!r} is itself a name of the data, and means that: "
                "take it out of the table of aliases"
            )
