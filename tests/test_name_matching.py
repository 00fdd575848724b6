"""What the names of users mean: exact, by alias, folded, or nothing."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from worlds import names_of

from apptek.commands.answer_file import answer_file
from apptek.errors import ApptekError, DataError, UnknownName
from apptek.facts.facts import Dataset
from apptek.facts.name_matching import NameResolver, folded, folded_names
from apptek.facts.predicate_table import PredicateEntry, PredicateTable
from apptek.predictor import Predictor
from apptek.reading.options import ReadOptions
from apptek.reading.reader import read_dataset
from apptek.server.model_info import search_entities
from apptek.server.requests import EntitiesQuery
from apptek.server.served_model import ServedModel

FACTS = [
    ("São Tomé", "visits", "New_Land", 1),
    ("New_Land", "visits", "São Tomé", 2),
    ("alpha one", "hosts", "Alpha_One", 3),
    ("Alpha_One", "hosts", "<Old_Land>", 4),
    ("<Old_Land>", "visits", "alpha one", 5),
] * 4
ALIASES = {"The New Country": "New_Land", "Gone": "Nowhere"}
LABELS = PredicateTable({"visits": PredicateEntry(label="To visit")}, "labels.csv")


@pytest.fixture(scope="module")
def data() -> Dataset:
    facts = [(*fact[:3], number) for number, fact in enumerate(FACTS)]
    made = read_dataset(facts)
    return replace(made, aliases=ALIASES, labels=LABELS)


@pytest.fixture(scope="module")
def folder(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("names") / "model"
    Predictor.fit(data, folder=folder)
    return folder


texts = st.text(
    st.sampled_from("aAbÅåéÉe\u0301_ \t\u00a0<>.ßİıﬁΣς") | st.characters(exclude_categories=["Cs"])
)


@given(st.lists(texts, max_size=5))
def test_many_names_fold_as_each_one_does(names: list[str]) -> None:
    assert folded_names(pa.array(names, pa.string())).to_pylist() == [folded(n) for n in names]


@given(st.sets(texts.filter(bool), min_size=1, max_size=6), texts)
def test_a_name_means_itself_or_the_only_one_that_folds_to_it(names: set[str], asked: str) -> None:
    known = names_of(names)
    found = NameResolver(known).find(asked)
    like = [name for name in known if folded(name) == folded(asked) and folded(name)]
    if asked in names:
        assert found == known.find(asked)
    elif len(like) == 1:
        assert found == known.find(like[0])
    else:
        assert found is None


def test_an_alias_of_no_name_is_none(data: Dataset) -> None:
    entities = NameResolver.of_entities(data)
    assert entities.find("Gone") is None  # what it stands for is not in the data


@pytest.mark.parametrize(
    ("asked", "meant"),
    [
        ("New_Land", "New_Land"),
        ("new land", "New_Land"),
        (" New_Land ", "New_Land"),
        ("the new country", "New_Land"),
        ("old land", "<Old_Land>"),
        ("ALPHA ONE", None),  # alpha one, or Alpha_One
        ("alpha one", "alpha one"),
        ("nobody", None),
    ],
)
def test_an_answer_says_what_was_meant(folder: Path, asked: str, meant: str | None) -> None:
    predictor = Predictor.load(folder)
    (answer,) = predictor.predict((asked, "sao tome", 3), allow_unknown=True)
    assert (answer.meant_subject, answer.meant_object) == (meant, "São Tomé")
    assert answer.query.subject == asked
    (exact,) = predictor.predict((meant or "nobody", "São Tomé", 3), allow_unknown=True)
    assert answer.probabilities == exact.probabilities
    explained = predictor.explain((asked, "sao tome", 3), allow_unknown=True)
    assert (explained.subject, explained.asked_subject) == (meant or asked, asked)
    said = f"{asked} was read as {meant}."
    assert (said in repr(answer)) == (meant is not None and meant != asked.strip())


def refuses_unknown_names(ask: Callable[..., Any]) -> None:
    """Whether a single question about an unknown name is refused, unless that is allowed."""
    with pytest.raises(UnknownName) as unknown:
        ask(("new lend", "sao tome", 3))
    assert (unknown.value.name, unknown.value.suggestions[0]) == ("new lend", "New_Land")
    assert str(unknown.value).startswith("'new lend' is not in this data. Did you mean 'New_Land'")
    assert ask(("new lend", "sao tome", 3), allow_unknown=True)
    for wildcard in ("?", "*", " ? ", ""):
        for allow_unknown in (False, True):
            with pytest.raises(UnknownName, match="is not a name"):
                ask(("sao tome", wildcard, 3), allow_unknown=allow_unknown)
    for time, side in ((40, "21 steps after the last fact"), (-21, "21 steps before the first")):
        with pytest.raises(ApptekError, match=side):
            ask(("new land", "sao tome", time))
    assert ask(("new land", "sao tome", 39))


def test_single_questions_are_refused_and_lists_are_flagged(folder: Path) -> None:
    predictor = Predictor.load(folder)
    for ask in (predictor.predict, predictor.explain, predictor.counterfactual):
        refuses_unknown_names(ask)
    with pytest.raises(UnknownName):
        predictor.contrast(("new lend", "sao tome", 3), "4")
    with pytest.raises(ApptekError, match="after the last fact"):
        predictor.contrast(("new land", "sao tome", 3), "400")
    answers = predictor.predict([("new lend", "sao tome", 3), ("new land", "sao tome", 400)])
    assert [answer.unknown_names for answer in answers] == [["new lend"], []]
    assert answers.unknown_count == 1
    assert [answer.far_time for answer in answers] == [False, True]
    good = ("new land", "sao tome", 3)
    for name in ("*", "?", "", " "):
        asked = [good, ("new land", name, 3)]
        for many in (predictor.predict, predictor.predict_table):
            with pytest.raises(UnknownName, match=r"^query 2: '[ ?*]?' is not a name\.$"):
                many(asked)


def test_an_unknown_name_can_be_pickled_and_is_shortened() -> None:
    error = pickle.loads(pickle.dumps(UnknownName("x" * 10_000, ["a", "b", "c"])))
    assert (len(error.name), error.suggestions) == (10_000, ("a", "b", "c"))
    assert str(error) == f"'{'x' * 79}…' is not in this data. Did you mean 'a', 'b' or 'c'?"
    assert str(UnknownName("x")) == "'x' is not in this data."


def test_a_baseline_reads_names_in_the_same_way(data: Dataset, tmp_path: Path) -> None:
    Predictor.fit(data, model="recency", folder=tmp_path / "recency")
    (answer,) = Predictor.load(tmp_path / "recency").predict(("new land", "the new country", 3))
    assert (answer.meant_subject, answer.meant_object) == ("New_Land", "New_Land")
    refuses_unknown_names(Predictor.load(tmp_path / "recency").predict)


def test_a_file_of_queries_is_refused_by_its_row(folder: Path, tmp_path: Path) -> None:
    asked, out = tmp_path / "asked.tsv", tmp_path / "answers.parquet"
    asked.write_text("new land\tsao tome\t3\nnew land\t?\t4\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"^asked\.tsv:2: '\?' is not a name$"):
        answer_file(Predictor.load(folder), asked, out, top=1)
    skipping = ReadOptions(skip_bad=True)
    answered = answer_file(Predictor.load(folder), asked, out, reading=skipping)
    assert (answered.queries, answered.skipped) == (1, ["asked.tsv:2: '?' is not a name"])


def test_the_service_finds_an_entity_by_an_alias_and_offers_similar_names(folder: Path) -> None:
    served = ServedModel.open(folder)
    (found,) = search_entities(served, EntitiesQuery(q="the new country")).entities
    assert found.name == "New_Land"
    assert search_entities(served, EntitiesQuery(q="new lend")).near[0] == "New_Land"
    similar = served.similar(["ALPHA ONE"], [-1])["ALPHA ONE"]
    assert set(similar[:2]) == {"Alpha_One", "alpha one"}
