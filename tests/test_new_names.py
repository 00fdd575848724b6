"""Names that the data does not know: what stands in them counts, and is told as just that."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from fact_files import write
from hypothesis import given
from hypothesis import strategies as st
from worlds import facts_of, names_of

from apptek import Predictor, Query
from apptek.config import AgentConfig, TraitsConfig
from apptek.facts.queries import Queries
from apptek.features.traits import COUNTRY, SECTOR, Kind, NewNames, Origin, Traits, types_from_names
from apptek.paper.connection import connect
from apptek.paper.environment import DecisionProcess, Environment
from apptek.present.explanation_text import explanation_text
from apptek.reading.reader import read_dataset

COUNTRIES = ("India", "Iran", "Peru", "Chad", "Cuba", "Mali")
DAYS = [str(date(2014, 1, 1) + timedelta(days=day)) for day in range(120)]
NEW, KNOWN, DAY = "Navy (India)", "Citizen (India)", "2014-03-01"
NOTHING = "Zorro"


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    """Navies protect citizens and the police arrest them; India has no navy."""
    rng, lines = np.random.default_rng(0), list[str]()
    for day in DAYS:
        for sector, predicate in (("Police", "Arrest"), ("Navy", "Protect"), ("Media", "Praise")):
            country, other = rng.choice(COUNTRIES, 2)
            if (sector, country) != ("Navy", "India"):
                lines.append(f"{sector} ({country})\t{predicate}\tCitizen ({other})\t{day}")
    facts = "\n".join(lines) + "\n"
    return Predictor.fit(read_dataset(write(tmp_path_factory.mktemp("new") / "facts.tsv", facts)))


NAMES = st.builds(
    "{} ({})".format, st.sampled_from(["Navy", "Police", "Party (Old)"]), st.sampled_from("ABC")
) | st.sampled_from(["A", "B", "<A>", "<Navy_(A)>", "Navy(A)", "Zorro", "(A)", ""])


@given(st.lists(NAMES, unique=True))
def test_a_new_name_has_the_types_that_it_would_have_in_the_data(names: list[str]) -> None:
    known = names_of(names)
    kinds = types_from_names(known, facts_of([]), from_neighbours=False)
    told = NewNames(kinds, strict=True)
    for entity, name in enumerate(known):
        assert told.types(name) == {kind.name: kind.of_entity[entity] for kind in kinds}
        new = told.id(name)
        assert new < 0
        assert [kind.value(new) for kind in kinds] == [kind.value(entity) for kind in kinds]
    ids = np.arange(len(known), dtype=np.int32)
    new_ids = np.asarray([told.id(name) for name in known], np.int32)
    nothing = np.zeros(len(known), np.int32)
    traits = Traits(TraitsConfig().weight, ids[:0], False, tuple(kinds))
    if kinds:
        rows = traits.rows(Queries(ids, ids[::-1], nothing, nothing - 1))
        new_rows = traits.rows(Queries(new_ids, new_ids[::-1], nothing, nothing - 1))
        assert np.array_equal(rows.offsets, new_rows.offsets)
        assert np.array_equal(rows.columns, new_rows.columns)


def kind(name: str, values: tuple[str, ...], origin: Origin = "name") -> Kind:
    none = np.zeros(0, np.int32)
    return Kind(name, values, none, none.astype(np.int64), origin)


def test_a_text_that_could_mean_several_means_none() -> None:
    told = NewNames([kind(SECTOR, ("Navy", "navy", "Police"))])
    assert told.types("NAVY (X)") == {SECTOR: -1}
    assert told.types("POLICE (X)") == {SECTOR: 2}


def test_a_table_of_types_says_nothing_about_new_names() -> None:
    own = kind(SECTOR, ("Navy",), origin="table")
    told = NewNames([own, kind(COUNTRY, ("India",))])
    new = told.id(NEW)
    assert told.types(NEW) == {COUNTRY: 0}
    assert own.value(new) is None


@pytest.mark.parametrize("past_only", [False, True])
def test_a_new_name_is_answered_as_one_of_its_kind(predictor: Predictor, past_only: bool) -> None:
    model = Predictor(predictor.model, past_only=past_only)
    new, other, nothing = model.predict([(name, KNOWN, DAY) for name in (NEW, "Navy (X)", NOTHING)])
    assert new.view == ("past_only" if past_only else "all_facts")
    assert new.unseen_subject
    assert new.meant_subject is None
    assert new.predicates[0] == other.predicates[0] == "Protect"
    assert new.probabilities[0] > nothing.probabilities[nothing.predicates.index("Protect")]


@pytest.mark.parametrize("past_only", [False, True])
def test_its_types_are_told_as_read_from_the_name(predictor: Predictor, past_only: bool) -> None:
    model = Predictor(predictor.model, past_only=past_only)
    explained = model.explain((NEW, KNOWN, DAY), most=99, allow_unknown=True)
    sentences = [part.sentence for part in explained.further if part.kind == "trait"]
    words = f"the name {NEW} suggests 'Navy'"
    assert words in sentences
    assert [note.data["name"] for note in explained.notes if note.kind == "from_name"] == [NEW]
    assert "comes from its name" in explanation_text(explained)
    unread = model.explain((NOTHING, KNOWN, DAY), allow_unknown=True)
    assert not any(note.kind == "from_name" for note in unread.notes)
    assert f"what {NEW} usually does" not in sentences
    assert not any(reason.family.startswith("subject") for reason in explained.reasons)
    parts = explained.contributions()
    assert explained.bias + sum(p.log_odds for p in parts) == pytest.approx(explained.log_odds)
    assert sum(f"the name {NEW} suggests" in text for text in sentences) >= 2


def test_a_forecast_reads_the_name_too(predictor: Predictor) -> None:
    forecast = predictor.forecast(NEW, KNOWN, days=7, top=100, allow_unknown=True)
    (answer,) = predictor.predict([(NEW, KNOWN, forecast.first)])
    shares = {p.predicate: p.share for p in forecast.predicates if p.subject == NEW}
    assert shares == pytest.approx(
        dict(zip(answer.predicates, answer.probabilities, strict=True)), rel=1e-4
    )
    nothing = predictor.forecast(NOTHING, KNOWN, days=7, allow_unknown=True)
    assert forecast.probability == nothing.probability  # whether anything happens is counted
    assert forecast.unseen == (NEW,)


def test_an_update_gives_new_entities_the_types_in_their_names(
    predictor: Predictor, tmp_path: Path
) -> None:
    facts = write(tmp_path / "facts.tsv", f"{NEW}\tPraise\tZorro\t2014-04-30\n")
    updated, _ = predictor.update(facts)
    entity, other = (updated.answerer.entity_id(name) for name in (NEW, NOTHING))
    for view in updated.model.views.values():
        types = {kind.name: kind.value(entity) for kind in view.kinds}
        assert types == {SECTOR: "Navy", COUNTRY: "India"}
        assert {kind.value(other) for kind in view.kinds} == {None}
        assert not any(kind.is_guess(entity) for kind in view.kinds)
    words = [part.sentence for part in updated.explain((NEW, KNOWN, DAY)).further]
    assert f"{NEW} has 'Navy' in its name" in words


def test_to_the_agent_every_new_name_is_unknown(predictor: Predictor) -> None:
    process = DecisionProcess(predictor.model.graph, AgentConfig())
    queries = predictor.answerer.queries_of([Query(NEW, KNOWN, DAY)])
    unknown = replace(queries, subjects=np.full(1, -1, np.int32))
    one, other = (Environment(process, asked) for asked in (queries, unknown))
    assert np.array_equal(one.edges, other.edges)
    assert one.edges.any()
    assert connect(process, queries, np.flatnonzero(one.edges[0]).tolist()) is None
