from pathlib import Path
from typing import Any
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
from apptek.features.traits import (
    COUNTRY,
    SECTOR,
    THE_COUNTRY,
    Kind,
    Traits,
    types_from_names,
    types_from_table,
)
from apptek.reading.name_tables import read_types

NOTHING = facts_of([])


def types_of(kinds: list[Kind], names: Names, kind: str) -> dict[str, str]:
    """Entity -> type of one kind, where it has one."""
    (found,) = [one for one in kinds if one.name == kind]
    pairs = zip(names, found.of_entity.tolist(), strict=True)
    return {name: found.values[place] for name, place in pairs if place >= 0}


def read(names: list[str], facts: list[tuple[str, str]] = [], **options: Any) -> dict[str, Any]:  # noqa: B006
    """The types of these names, by kind; `facts` are (subject, object)."""
    known = names_of(names)
    ids = {name: place for place, name in enumerate(known)}
    train = facts_of([PlainFact(ids[one], 0, ids[other], 0, 0) for one, other in facts])
    kinds = types_from_names(known, train, **options)
    return {kind.name: types_of(kinds, known, kind.name) for kind in kinds}


def everywhere(pattern: str, places: str = "ABC") -> list[str]:
    return [pattern.format(place) for place in places]


# Names


def test_a_name_says_its_sector_and_its_country() -> None:
    sectors = ("Police", "Citizen", "Media")
    names = [f"{sector} ({country})" for sector in sectors for country in ("India", "Iran", "Peru")]
    found = read(names)
    assert found[SECTOR]["Police (India)"] == "Police"
    assert found[COUNTRY]["Police (India)"] == "India"
    assert set(found[SECTOR]) == set(found[COUNTRY]) == set(names)


def test_a_type_needs_three_entities() -> None:
    names = [*everywhere("Police ({})"), *everywhere("Media ({})", "AB"), "Navy (A)"]
    found = read(names)
    assert set(found[SECTOR].values()) == {"Police"}
    assert found[COUNTRY] == {name: "A" for name in names if name.endswith("(A)")}


def test_an_entity_named_like_a_country_is_the_country_itself() -> None:
    found = read([*("Police (Peru)", "Media (Peru)", "Navy (Peru)"), "Peru", "Chile"])
    assert found[SECTOR] == {"Peru": THE_COUNTRY}
    assert found[COUNTRY]["Peru"] == "Peru"
    assert "Chile" not in found[COUNTRY]


@pytest.mark.parametrize(
    ("name", "sector", "country"),
    [
        ("Police (India)", "Police", "India"),
        ("<Police_(India)>", "Police", "India"),
        ("<The_Ring_(film)>", "The_Ring", "film"),
        ("Head (of (all) things)", "Head", "of (all) things"),
        ("Force (Army) (Peru)", "Force (Army)", "Peru"),
        ("Media (Côte d'Ivoire)", "Media", "Côte d'Ivoire"),
    ],
)
def test_the_last_bracket_is_the_country(name: str, sector: str, country: str) -> None:
    alike = [name, name.replace(sector, f"{sector} x", 1), name.replace(sector, f"{sector} y", 1)]
    assert read(alike)[COUNTRY] == dict.fromkeys(alike, country)
    ending = name.index(country, len(sector))
    alike = [name, *(f"{name[:ending]}{place}{name[ending:]}" for place in "xy")]
    assert read(alike)[SECTOR] == dict.fromkeys(alike, sector)


@pytest.mark.parametrize(
    "name", ["({})", " ({})", "Police({})", "{}", "a) ({}))", "Police ({}", ""]
)
def test_other_names_have_no_type(name: str) -> None:
    assert read(sorted({name.format(place) for place in "ABC"})) == {}


# Neighbours

BASE = [f"{sector} ({country})" for sector in ("Police", "Media", "Navy") for country in "ABC"]


NEIGHBOURS = {  # facts of Ann and Bob, and the countries that they take
    "that of most facts": (
        [("Ann", "Police (B)"), ("Media (B)", "Ann"), ("Ann", "Navy (A)")],
        {"Ann": "B"},
    ),
    "of equally many the first name": ([("Ann", "Police (B)"), ("Ann", "Navy (A)")], {"Ann": "A"}),
    "in any order of facts": ([("Ann", "Navy (A)"), ("Ann", "Police (B)")], {"Ann": "A"}),
    "not what others took": ([("Ann", "Police (B)"), ("Bob", "Ann"), ("Bob", "Bob")], {"Ann": "B"}),
    "a name is believed first": ([("Police (A)", "Police (B)")] * 5, {}),
}


@pytest.mark.parametrize("case", NEIGHBOURS)
def test_an_entity_without_a_country_takes_that_of_its_neighbours(case: str) -> None:
    facts, taken = NEIGHBOURS[case]
    found = read([*BASE, "Ann", "Bob"], facts)
    assert found[COUNTRY] == {name: name[-2] for name in BASE} | taken
    assert found[SECTOR].keys() == {*BASE}


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


def test_without_neighbours_only_names_count() -> None:
    facts = [("Ann", "Police (B)")]
    assert "Ann" not in read([*BASE, "Ann"], facts, from_neighbours=False)[COUNTRY]


# A user's table


def test_types_of_a_table_are_taken_as_they_are_and_unknown_entities_left_out() -> None:
    names = names_of(["Ann", "Bob", "Cem"])
    table = {"party": {"Ann": "red", "Bob": "blue", "nobody": "green"}, "age": {"Cem": "old"}}
    kinds = types_from_table(table, names, NOTHING)
    assert [kind.name for kind in kinds] == ["party", "age"]
    assert types_of(kinds, names, "party") == {"Ann": "red", "Bob": "blue"}
    assert types_of(kinds, names, "age") == {"Cem": "old"}


TABLE = {"sector": {"Reuters": "Media", "Red Cross": "Aid"}, "country": {"Reuters": "UK"}}
LINES = ["entity,sector,country", "Reuters,Media,UK", "Red Cross,Aid,", "nobody,,"]


def test_a_table_is_read_from_every_kind_of_file(tmp_path: Path) -> None:
    text = "\n".join(LINES) + "\n"
    for name, content in (
        ("a.csv", text),
        ("b.csv", "\ufeff" + text.replace("\n", "\r\n")),
        ("c.tsv", text.replace(",", "\t")),
        ("d.txt", text.replace(",", "\t")),
        ("e.csv", text.replace("Reuters", '"Reuters"')),
        ("f.csv", text + "Reuters,Media,UK\n"),
    ):
        assert read_types(write(tmp_path / name, content)) == TABLE, name


def test_a_kind_without_types_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "entity,a,b\nx,1,\n")
    assert read_types(path) == {"a": {"x": "1"}}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.csv", "", "t.csv: expected a header, the entity in the first column"),
        ("t.csv", "entity\nReuters\n", r"found the header \['entity'\]"),
        ("t.csv", "entity,,b\nx,1,2\n", "found the header"),
        ("t.csv", "entity,a,a\nx,1,2\n", "found the header"),
        ("t.csv", "entity,a\nx,1\ny,1,2\n", "t.csv:3: found 3 cells, expected 2"),
        ("t.csv", "entity,a\nx\n", "t.csv:2: found 1 cell, expected 2"),
        (
            "t.csv",
            "entity,a\nx,1\nx,2\n",
            "t.csv:3: 'x' has two types of the kind 'a': '1' and '2'",
        ),
        ("t.csv", "entity,a\n", "t.csv: there are no types in it"),
        ("t.csv", "entity,a\nx,\n", "t.csv: there are no types in it"),
        ("t.json", "{}", "t.json: expected a .csv, .tsv or .txt file"),
        ("t.csv", b"entity,a\n\xff,1\n", "cannot be read"),
    ],
)
def test_a_bad_table_is_refused_in_one_line(
    tmp_path: Path, name: str, content: str | bytes, said: str
) -> None:
    with pytest.raises(DataError, match=said) as caught:
        read_types(write(tmp_path / name, content))
    assert "\n" not in str(caught.value)


def test_a_table_that_is_not_there_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name in ("nowhere.csv", "folder.csv"):
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
    plain: list[PlainFact],
    types: dict[str, dict[int, str]],
    most: int,
    data: st.DataObject,
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
