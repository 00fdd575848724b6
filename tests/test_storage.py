"""A graph from stored arrays: the same graph, and no id or offset leads out of an array."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_folders import change_array
from reference import PlainFact
from worlds import ENTITIES, PREDICATES, dataset_of, graph_of, plain_facts, random_intervals

from apptek.arrays import Arrays
from apptek.errors import GraphError, ModelError
from apptek.facts.facts import Dataset
from apptek.graph.lookups import PairIndex
from apptek.graph.stored_graph import graph_about, graph_arrays, graph_from
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models import manifest
from apptek.models.manifest import open_folder, write_folder
from apptek.models.model_folder import data_about, data_arrays, data_files, load_data
from apptek.predictor import Predictor

OFFSETS = (
    "incidence.offsets", "incidence.interval_offsets", "incidence.level_offsets", "pairs.firsts",
    "pairs.incidence.offsets", "pairs.incidence.interval_offsets", "pairs.incidence.level_offsets",
)  # fmt: skip


def check(graph: TemporalGraph, arrays: Arrays, *, every_value: bool = True) -> TemporalGraph:
    return graph_from(graph_about(graph), arrays, every_value=every_value)


def changed(graph: TemporalGraph, name: str, place: int, value: int) -> Arrays:
    """The arrays of a graph with one value of one array changed."""
    arrays = graph_arrays(graph)
    array = arrays[name].copy()
    array[place] = value
    return arrays | {name: array}


def limits(graph: TemporalGraph) -> list[tuple[str, int]]:
    """Every array of ids, with how many there are."""
    lists = ("incidence.facts", "incidence.by_end", "incidence.twins")
    of_facts = [*lists, *(f"pairs.{name}" for name in lists)]
    return [
        ("facts.subjects", ENTITIES),
        ("facts.predicates", PREDICATES),
        ("facts.objects", ENTITIES),
        ("pairs.objects", ENTITIES),
        *((name, len(graph.facts)) for name in of_facts),
    ]


@given(plain=st.lists(plain_facts(), max_size=40))
def test_a_graph_comes_back_as_it_was(plain: list[PlainFact]) -> None:
    graph = graph_of(plain)
    arrays = graph_arrays(graph)
    again = check(graph, arrays)
    assert graph_about(again) == graph_about(graph)
    assert all(np.array_equal(array, arrays[n]) for n, array in graph_arrays(again).items())
    assert PairIndex.of(again).objects is arrays["pairs.objects"]  # not sorted again


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 255, 256, 257, 600])
def test_every_size_of_the_tree_of_maxima_is_accepted(count: int) -> None:
    graph = graph_of(random_intervals(count, np.random.default_rng(count)))
    check(graph, graph_arrays(graph))


@given(plain=st.lists(plain_facts(), min_size=1, max_size=20), draws=st.data())
def test_an_id_is_refused_exactly_where_there_is_no_such_id(
    plain: list[PlainFact], draws: st.DataObject
) -> None:
    graph = graph_of(plain)
    name, count = draws.draw(st.sampled_from(limits(graph)))
    length = len(graph_arrays(graph)[name])
    if not length:
        return
    place = draws.draw(st.integers(0, length - 1))
    value = draws.draw(st.integers(-2, count + 1) | st.sampled_from([-(2**31), 2**31 - 1]))
    other = changed(graph, name, place, value)
    check(graph, other, every_value=False)
    if 0 <= value < count:
        check(graph, other)
    else:
        with pytest.raises(GraphError, match=f"{name} has the id {value}, but there are {count}"):
            check(graph, other)


@given(plain=st.lists(plain_facts(), min_size=1, max_size=20), draws=st.data())
def test_any_other_offset_that_breaks_the_order_is_refused(
    plain: list[PlainFact], draws: st.DataObject
) -> None:
    graph = graph_of(plain)
    name = draws.draw(st.sampled_from(OFFSETS))
    offsets = graph_arrays(graph)[name]
    place = draws.draw(st.integers(0, len(offsets) - 1))
    before = int(offsets[place - 1]) if place else 0
    after = int(offsets[place + 1]) if place + 1 < len(offsets) else int(offsets[-1])
    for value in (before - 1, after + 1, -(2**31), 2**31 - 1):
        with pytest.raises(GraphError, match=r"offsets|firsts"):
            check(graph, changed(graph, name, place, value), every_value=False)


def test_intervals_that_another_slot_owns_are_refused() -> None:
    graph = graph_of(random_intervals(50, np.random.default_rng(3)))
    offsets = graph.incidence.interval_offsets
    place = int(np.flatnonzero(np.diff(offsets) > 1)[0]) + 1
    other = changed(graph, "incidence.interval_offsets", place, int(offsets[place]) - 1)
    with pytest.raises(GraphError, match=r"interval_offsets do not match incidence\.offsets"):
        check(graph, other)


def test_arrays_of_another_size_or_type_are_refused() -> None:
    graph = graph_of(random_intervals(50, np.random.default_rng(3)))
    arrays = graph_arrays(graph)
    for name, array in arrays.items():
        for other in (array[:-1], array.astype(np.int64), array[None]):
            if len(array):
                with pytest.raises((GraphError, ValueError)):
                    check(graph, arrays | {name: other})
        with pytest.raises(GraphError, match=f"{name} is missing"):
            check(graph, {n: a for n, a in arrays.items() if n != name})


TRAIN = [PlainFact(0, 0, 1, 3, None), PlainFact(1, 1, 2, 4, 9), PlainFact(2, 2, 0, None, None)]
HELD_OUT = [PlainFact(0, 1, 2, 5, 7)]


def saved(dataset: Dataset, folder: Path) -> Path:
    graph = TemporalGraph.of(dataset)
    folder.mkdir()
    about = {"data": data_about(dataset, graph)}
    write_folder(folder, about, data_arrays(dataset, graph), data_files(dataset))
    return folder


def loaded_from(folder: Path) -> tuple[Dataset, TemporalGraph]:
    return load_data(open_folder(folder))


NO_ID = np.asarray([99], np.int32)
CHANGES: list[tuple[str, Callable[[Any], Any], str]] = [  # an array, its change, what is said
    ("entities.offsets", lambda offsets: offsets[:3], "there are 2 names|sorted names of 2"),
    ("entities.text", lambda text: text | np.uint8(0x80), "UTF8"),
    *(
        (f"{split}.{column}", lambda _: NO_ID, rf"{split}\.{column} has the id 99")
        for split in ("valid", "test")
        for column in ("subjects", "predicates", "objects")
    ),
]


@pytest.mark.parametrize(("name", "change", "said"), CHANGES, ids=[each[0] for each in CHANGES])
def test_a_changed_array_is_refused(
    name: str, change: Callable[[Any], Any], said: str, tmp_path: Path
) -> None:
    folder = saved(dataset_of(TRAIN, HELD_OUT), tmp_path / "data")
    change_array(folder, name, change)
    with pytest.raises((GraphError, ValueError), match=said):
        loaded_from(folder)


def test_of_a_large_graph_only_the_offsets_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(dataset_of(TRAIN, HELD_OUT), tmp_path / "data")
    change_array(folder, "facts.objects", lambda _: np.asarray([1, 2, 99], np.int32))
    with pytest.raises(GraphError, match=r"facts\.objects has the id 99"):
        loaded_from(folder)
    monkeypatch.setattr(manifest, "FULL_CHECK", 0)
    loaded_from(folder)
    change_array(folder, "incidence.offsets", lambda offsets: np.roll(offsets, 1))
    with pytest.raises(GraphError, match=r"incidence\.offsets do not go from 0"):
        loaded_from(folder)


def test_how_a_model_was_fitted_survives_loading_and_saving(
    served_model: Path, tmp_path: Path
) -> None:
    run = (served_model / "run.json").read_bytes()
    assert json.loads(run)
    Predictor.load(served_model).save(tmp_path / "copy")
    assert (tmp_path / "copy" / "run.json").read_bytes() == run


@pytest.mark.parametrize("error", [AttributeError, IndexError, KeyError, TypeError])
def test_an_error_of_the_program_is_not_called_damage(error: type[Exception]) -> None:
    with (
        pytest.raises(ModelError, match="cannot be opened by this version") as told,
        manifest.refusing_damage(Path("model")),
    ):
        raise error("of the program")
    assert isinstance(told.value.__cause__, error)  # its traceback is there
    assert "damaged" not in str(told.value)
    damaged = pytest.raises(ModelError, match="model is damaged: header")
    with damaged, manifest.refusing_damage(Path("model")):
        raise ValueError("header")
