from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from fact_files import write
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import plain_traits
from plain_queries import plain_queries, queries_of
from reference import PlainFact
from worlds import ENTITIES, dataset_of, facts_of, names_of, plain_facts

from apptek.config import TraitsConfig
from apptek.errors import DataError
from apptek.facts.facts import Names
from apptek.features.traits import Kind, Traits, types_from_names, types_from_table
from apptek.reading.name_tables import read_types

NOTHING = facts_of([])


def types_of(kinds: list[Kind], names: Names, kind: str) -> dict[str, str]:
    """Entity -> type of one kind, where it has one."""
    (found,) = [one for one in kinds if one.name == kind]
    pairs = zip(names, found.of_entity.tolist(), strict=True)
    return {name: found.values[place] for name, place in pairs if place >= 0}


@given(st.lists(plain_facts(), max_size=30), st.integers(1, 7))
def test_facts_looked_at_in_parts_give_the_same_types(plain: list[PlainFact], part: int) -> None:
    names = [f"{sector} ({country})" for sector in ("Police", "Army") for country in "AB"]
    people = names_of([*names, *(f"Person {number}" for number in range(ENTITIES))][:ENTITIES])
    whole = types_from_names(people, facts_of(plain))
    with patch("apptek.features.traits.PART", part):
        parts = types_from_names(people, facts_of(plain))
    for one, other in zip(parts, whole, strict=True):
        assert (one.of_entity.tolist(), one.pairs.tolist()) == (
            other.of_entity.tolist(), other.pairs.tolist(),
        )  # fmt: skip


# A user's table


def test_types_of_a_table_are_taken_as_they_are_and_unknown_entities_left_out() -> None:
    names = names_of(["Ann", "Bob", "Cem"])
    table = {"party": {"Ann": "red", "Bob": "blue", "nobody": "green"}, "age": {"Cem": "old"}}
    kinds = types_from_table(table, names, NOTHING)
    assert [kind.name for kind in kinds] == ["party", "age"]
    assert types_of(kinds, names, "party") == {"Ann": "red", "Bob": "blue"}
    assert types_of(kinds, names, "age") == {"Cem": "old"}


def test_a_table_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    write(tmp_path / "latin.csv", b"entity,a\n\xff,1\n")
    for name in ("nowhere.csv", "folder.csv", "latin.csv"):
        with pytest.raises(DataError, match="cannot be read"):
            read_types(tmp_path / name)


# Tokens

type_tables = st.dictionaries(
    st.sampled_from(["party", "age"]),
    st.dictionaries(st.integers(0, ENTITIES - 1), st.sampled_from(["x", "y"]), min_size=1),
)


@settings(max_examples=200)
@given(st.lists(plain_facts(), min_size=1, max_size=25), type_tables, st.integers(0, 6), st.data())
def test_agrees_with_the_definition(
    plain: list[PlainFact], types: dict[str, dict[int, str]], most: int, data: st.DataObject
) -> None:
    dataset = dataset_of(plain)
    table = {kind: {f"e{e}": value for e, value in of.items()} for kind, of in types.items()}
    kinds = types_from_table(table, dataset.entities, dataset.train)
    traits = Traits.of(dataset, TraitsConfig(weight=0.3, entities=most), kinds)
    asked = [data.draw(plain_queries(plain)) for _ in range(3)]
    rows = traits.rows(queries_of(asked))
    assert rows.width == len(traits)
    for row, query in enumerate(asked):
        columns, values = rows.row(row)
        found = [traits.trait(int(column), dataset.entities) for column in columns]
        assert len({(one.whose, one.kind, one.value) for one in found}) == len(found)
        expected = plain_traits(plain, query, types, most)
        assert {(one.whose, one.kind, one.value) for one in found} == expected
        assert values.tolist() == pytest.approx([0.3] * len(found))


def test_a_kind_does_not_name_a_type_that_is_none() -> None:
    with pytest.raises(ValueError, match="party that does not exist"):
        Kind("party", ("x",), np.asarray([1], np.int32), np.zeros(0, np.int64))
