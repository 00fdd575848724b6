"""Tables of predicates: reading a user's, and the shipped one of CAMEO."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from apptek.errors import DataError
from apptek.facts.benchmarks import find_benchmark
from apptek.facts.predicate_table import PredicateEntry, PredicateTable, cameo_table
from apptek.predictor import Predictor
from apptek.reading.reader import read_dataset
from apptek.synthetic.world import make_world


def test_every_entry_has_a_phrase_and_a_class() -> None:
    for predicate, entry in cameo_table().entries.items():
        assert entry.phrase, predicate
        assert entry.kind, predicate
        assert entry.phrase[0].islower(), predicate


def test_a_data_set_takes_its_own_table_before_the_shipped_one() -> None:
    world = make_world(2000, 0).dataset
    shipped, own = world.labelled().labels, PredicateTable({"Consult": PredicateEntry(kind="x")})
    assert shipped is not None
    assert shipped.source == "CAMEO"
    assert shipped.class_of("Make a visit") == "Consult"
    assert world.labelled(own).labelled().labels == own
    assert not world.labelled(PredicateTable()).labelled().labels  # switched off
    with pytest.raises(DataError, match=r"notes\.csv has none of the predicates in world"):
        world.labelled(PredicateTable({"else": PredicateEntry(kind="x")}, "notes.csv"))


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "count"), [("icews14", 230), ("icews05-15", 251)])
def test_the_shipped_table_knows_every_predicate_of_the_benchmarks(name: str, count: int) -> None:
    if find_benchmark(name) is None:
        pytest.skip(f"{name} is not in $APPTEK_DATA ({os.environ.get('APPTEK_DATA', 'unset')})")
    labels = read_dataset(name).labelled().labels
    assert labels is not None
    assert len(labels) == count


def test_a_model_keeps_its_tables_and_an_update_too(tmp_path: Path) -> None:
    world = replace(make_world(2000, 0).dataset, aliases={"The Place": "Falgard"})
    fitted = Predictor.fit(world, folder=tmp_path / "model")
    kept = Predictor.load(tmp_path / "model").model.dataset
    assert kept.labels == fitted.model.dataset.labels == world.labelled().labels
    assert kept.aliases == {"The Place": "Falgard"}
    updated, _ = fitted.update(world)
    updated.save(tmp_path / "updated")
    again = Predictor.load(tmp_path / "updated").model.dataset
    assert (again.labels, again.aliases) == (kept.labels, kept.aliases)
    manifest = json.loads((tmp_path / "model" / "manifest.json").read_text(encoding="utf-8"))
    assert {"labels.json", "aliases.json"} <= manifest["files"].keys()
