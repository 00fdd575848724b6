"""Features over parts of the facts are those over all facts, bit by bit."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import PlainFact, PlainHistory
from plain_queries import plain_queries, queries_of
from test_history import everything, history_of
from worlds import PREDICATES, football_careers, graph_of, names_of, plain_facts

from apptek import files
from apptek.config import VIEWS, View, preset
from apptek.engine.parted_space import PartedSpace, bucket_order
from apptek.engine.parts import FACTS, Part, check_part_count, make_part, part_of, save_facts
from apptek.engine.stored_space import open_space, save_space
from apptek.errors import ApptekError
from apptek.facts.facts import Dataset, Facts
from apptek.facts.queries import Queries, held_out_queries, training_queries
from apptek.facts.times import TimeAxis
from apptek.features.clock import Clock
from apptek.features.history import History
from apptek.features.traits import types_from_names
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.model import FeatureSources
from apptek.ragged import Ragged, scatter_rows, vstack
from apptek.synthetic.world import make_world


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """No waiting for the disk: many small folders are written here."""
    monkeypatch.setattr(files, "sync", lambda _: None)


def make_parts(storage: Path, graph: TemporalGraph, count: int) -> None:
    save_facts(storage / FACTS, graph)
    for number in range(count):
        make_part(storage, count, number)


def parted(storage: Path, count: int, history: History) -> PartedSpace:
    view: View = "past_only" if history.graph.past_only else "all_facts"
    return PartedSpace(storage, count, view, history.clock, history.config, history.dated, None)


def assert_same(one: tuple[Ragged, int], two: tuple[Ragged, int]) -> None:
    assert one[1] == two[1]
    assert one[0].width == two[0].width
    for name in ("offsets", "columns", "flat_values"):
        assert getattr(one[0], name).tobytes() == getattr(two[0], name).tobytes(), name


@settings(max_examples=25)
@given(
    plain=st.lists(plain_facts(), min_size=1, max_size=25),
    data=st.data(),
    config=everything,
    count=st.integers(1, 3),
)
def test_parts_give_the_features_of_the_whole_graph(
    plain: list[PlainFact], data: st.DataObject, config: PlainHistory, count: int
) -> None:
    graph = graph_of(plain, "ongoing" if config.lasting else "point")
    asked = data.draw(st.lists(plain_queries(plain), max_size=12))
    history, queries = history_of(graph, config), queries_of(asked)
    with TemporaryDirectory() as folder:
        make_parts(Path(folder), graph, count)
        rows = parted(Path(folder), count, history).counted_rows(queries)
        assert_same(rows, history.counted_rows(queries))


@given(
    sizes=st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=4),
    seed=st.integers(0, 99),
)
def test_rows_of_pieces_go_to_their_places(sizes: list[list[int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    pieces = []
    for counts in sizes:
        offsets = np.cumsum([0, *counts]).astype(np.int64)
        columns = rng.integers(0, 9, offsets[-1], dtype=np.int32)
        pieces.append(Ragged(offsets, columns, 9, rng.random(offsets[-1], np.float32)))
    places = rng.permutation(sum(map(len, sizes)))
    expected = vstack(list(pieces)).take(np.argsort(places))
    assert_same((scatter_rows(pieces, places), 0), (expected, 0))


def coarse_dates() -> Dataset:
    """Facts of ten entities, dated by days, months and years, some with two ends."""
    rng, axis = np.random.default_rng(3), TimeAxis("day", mixed=True)
    texts = ["2003", "2003-05", "2003-05-17", "2004-01", "2004-02-02", "2005", "2005-06-30", ""]
    codes = np.asarray([axis.parse(text) for text in texts], np.int32)
    ends = np.sort(rng.integers(0, len(texts), (2, 300)), axis=0)
    columns = [rng.integers(0, size, 300, dtype=np.int32) for size in (10, PREDICATES, 10)]
    facts = Facts(columns[0], columns[1], columns[2], codes[ends[0]], codes[ends[1]])
    names = [names_of(f"e{place}" for place in range(size)) for size in (10, PREDICATES)]
    nothing = facts.first(0)
    return Dataset(
        name="coarse",
        entities=names[0],
        predicates=names[1],
        axis=axis,
        train=facts,
        valid=nothing,
        test=nothing,
    )


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize(
    "data", [football_careers(), make_world(facts=3000, seed=3).dataset, coarse_dates()]
)
def test_a_stored_space_over_parts_is_the_space_of_the_model(
    data: Dataset, view: View, tmp_path: Path
) -> None:
    graph, config = TemporalGraph.of(data), preset("default")
    sources = FeatureSources(config=config, dataset=data, graph=graph, clock=Clock.of(graph))
    kinds = tuple(types_from_names(data.entities, data.train))
    space = sources.space(view, kinds)
    make_parts(tmp_path, graph, 4)
    save_space(tmp_path / "space", space, view)
    opened = open_space(tmp_path / "space", tmp_path, 4)
    for queries in (training_queries(data.train), held_out_queries(data.test)):
        assert_same(opened.counted_rows(queries), space.counted_rows(queries))


def test_every_fact_is_in_the_parts_of_its_two_entities_and_nowhere_else(tmp_path: Path) -> None:
    data = make_world(facts=3000, seed=3).dataset
    make_parts(tmp_path, TemporalGraph.of(data), 3)
    parts = [Part.open(tmp_path, 3, number, "all_facts") for number in range(3)]
    for end in (data.train.subjects, data.train.objects):
        for number, part in enumerate(parts):
            ours = np.flatnonzero(part_of(end, 3) == number)
            assert np.isin(ours, part.rows).all()
    assert sum(len(part.rows) for part in parts) <= 2 * len(data.train)
    assert min(len(part.rows) for part in parts) > 0


def test_queries_of_a_bucket_stand_side_by_side_in_their_order() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(-1, 50, 200, dtype=np.int32) for _ in range(4)]
    order = bucket_order(Queries(*columns), 3)
    parts = [part_of(column[order], 3) for column in columns[:2]]
    keys = parts[0] * 1000 + parts[1] * 300
    assert (np.diff(keys) >= 0).all()
    assert all((np.diff(order[keys == key]) > 0).all() for key in np.unique(keys))


@pytest.mark.parametrize("file", ["rows.npy", "all_facts/incidence.facts.npy", "model.json"])
def test_a_damaged_part_is_refused_and_made_again(file: str, tmp_path: Path) -> None:
    make_parts(tmp_path, TemporalGraph.of(football_careers()), 2)
    whole = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    path = tmp_path / "parts-2" / "1" / file
    path.write_bytes(path.read_bytes()[:-4] + b"hurt")
    with pytest.raises(ApptekError, match=r"damaged: .*run the command again"):
        Part.open(tmp_path, 2, 1, "all_facts")
    make_part(tmp_path, 2, 1)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == whole


@pytest.mark.parametrize(("count", "words"), [(0, "at least 1"), (6, "at most 5"), (9, "too few")])
def test_so_many_parts_cannot_be(count: int, words: str) -> None:
    with pytest.raises(ApptekError, match=words):
        check_part_count(count, 5)
