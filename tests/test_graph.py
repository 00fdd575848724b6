import json
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import PlainFact
from worlds import ENTITIES, facts_of, graph_of, plain_facts, random_intervals

from apptek.errors import ApptekError, GraphError
from apptek.facts.times import TimeAxis
from apptek.graph import incidence
from apptek.graph.temporal_graph import TemporalGraph
from apptek.reading.reader import read_dataset


@given(st.lists(plain_facts(), max_size=30))
def test_every_fact_stands_once_in_each_direction(plain) -> None:  # type: ignore[no-untyped-def]
    graph = graph_of(plain)
    slots = np.repeat(np.arange(2 * ENTITIES), np.diff(graph.incidence.offsets[::3]))
    for side, entities in enumerate((graph.facts.subjects, graph.facts.objects)):
        here = slice(side * len(plain), (side + 1) * len(plain))
        assert sorted(graph.incidence.facts[here].tolist()) == list(range(len(plain)))
        assert np.array_equal(entities[graph.incidence.facts[here]] + side * ENTITIES, slots[here])


@given(st.lists(plain_facts(), max_size=30), st.integers(1, 12))
def test_facts_sorted_in_parts_stand_as_if_sorted_at_once(plain, part) -> None:  # type: ignore[no-untyped-def]
    whole = graph_of(plain).incidence
    with patch("apptek.graph.incidence.PART", part):
        parts = graph_of(plain).incidence
    assert [array.tolist() for array in parts] == [array.tolist() for array in whole]


def test_packed_and_unpacked_keys_sort_alike() -> None:
    far = facts_of(random_intervals(400, np.random.default_rng(0)))
    spread = np.asarray(far.since, np.int64) * 5_000_000  # too wide for 63 bits with the rest
    wide = np.asarray(spread - 10**9, np.int32)
    groups = np.asarray(far.subjects, np.int64) * 3 + (1 << 30)
    expected = np.lexsort((wide, groups))
    assert np.array_equal(incidence._order(groups, wide), expected)
    assert np.array_equal(incidence._order(groups - (1 << 30), wide), expected)


def test_a_saved_graph_opens_mapped_and_answers_alike(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    graph = graph_of(random_intervals(300, rng))
    graph.save(tmp_path / "graph")
    opened = TemporalGraph.open(tmp_path / "graph")
    assert isinstance(opened.incidence.facts.base, np.memmap)
    assert not opened.incidence.facts.flags.writeable
    entities, times = rng.integers(0, 3, 50), rng.integers(0, 400, 50)
    assert np.array_equal(opened.nearest(entities, times, 9), graph.nearest(entities, times, 9))
    for (name, one), (_, other) in zip(graph._arrays(), opened._arrays(), strict=True):
        assert np.array_equal(one, other), name


def test_a_graph_without_facts_is_saved_and_opened(tmp_path: Path) -> None:
    graph_of([]).save(tmp_path / "empty")
    opened = TemporalGraph.open(tmp_path / "empty")
    assert len(opened.facts) == 0
    assert (opened.nearest([0], [0], 3) == -1).all()


def test_points_need_one_time_column(tmp_path: Path) -> None:
    points = [PlainFact(0, 0, 1, time, time) for time in range(50)]
    graph_of(points).save(tmp_path / "points")
    opened = TemporalGraph.open(tmp_path / "points")
    assert opened.since is opened.until is opened.facts.since is opened.facts.until
    assert not (tmp_path / "points" / "until.npy").exists()


def test_saving_over_something_is_refused_and_leaves_it(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "mine.txt").write_text("mine")
    with pytest.raises(ApptekError, match="exists already"):
        graph_of([]).save(tmp_path / "taken")
    assert (tmp_path / "taken" / "mine.txt").read_text() == "mine"
    assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]


def test_a_damaged_or_foreign_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    graph_of(random_intervals(50, np.random.default_rng(3))).save(folder)
    about = json.loads((folder / "graph.json").read_text())
    content = (folder / "incidence.facts.npy").read_bytes()
    (folder / "incidence.facts.npy").write_bytes(content[:-40])
    with pytest.raises(GraphError, match=r"incidence\.facts\.npy"):
        TemporalGraph.open(folder)
    (folder / "incidence.facts.npy").unlink()
    with pytest.raises(GraphError, match="missing or damaged"):
        TemporalGraph.open(folder)
    (folder / "graph.json").write_text(json.dumps(about | {"format": 99}))
    with pytest.raises(GraphError, match="format 99, expected 2"):
        TemporalGraph.open(folder)
    with pytest.raises(GraphError, match="not a saved graph"):
        TemporalGraph.open(tmp_path / "nothing")


@pytest.mark.parametrize(
    "damage",
    [
        {"axis": None},
        {"axis": {"unit": "fortnight"}},
        {"axis": {"unit": "day", "mixed": "yes"}},
        {"entity_count": None},
        {"entity_count": -1},
        {"entity_count": 4},
        {"entity_count": 5.0},
        {"fact_count": 49},
        {"predicate_count": "2"},
        {"files": []},
        {"files": {}},
        {"files": {"since": ["since"]}},
        {"shapes": {}},
    ],
)
def test_a_damaged_description_is_refused(tmp_path: Path, damage: dict[str, object]) -> None:
    folder = tmp_path / "graph"
    graph_of(random_intervals(50, np.random.default_rng(3))).save(folder)
    about = json.loads((folder / "graph.json").read_text())
    (folder / "graph.json").write_text(json.dumps(about | damage))
    with pytest.raises(GraphError, match="graph"):
        TemporalGraph.open(folder)
    for key in damage:
        del about[key]
    (folder / "graph.json").write_text(json.dumps(about))
    with pytest.raises(GraphError, match=r"graph\.json is damaged"):
        TemporalGraph.open(folder)


def test_files_that_do_not_fit_together_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "graph"
    graph_of(random_intervals(50, np.random.default_rng(3))).save(folder)
    about = json.loads((folder / "graph.json").read_text())
    for name in (name for name, size in about["shapes"].items() if size):
        shorter = about["shapes"] | {about["files"][name]: about["shapes"][name] - 1}
        (folder / "graph.json").write_text(json.dumps(about | {"shapes": shorter}))
        path = folder / f"{about['files'][name]}.npy"
        content = path.read_bytes()
        np.save(path, np.load(path)[:-1])
        with pytest.raises(GraphError, match=r"do not fit together|is damaged"):
            TemporalGraph.open(folder)
        path.write_bytes(content)


@given(position=st.integers(0, 127), byte=st.integers(0, 255))
def test_a_damaged_header_is_refused_or_does_no_harm(
    position: int, byte: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("graphs") / "graph"
    graph_of(random_intervals(9, np.random.default_rng(3))).save(folder)
    path = folder / "facts.since.npy"
    content = bytearray(path.read_bytes())
    content[position] = byte
    path.write_bytes(content)
    with suppress(GraphError):
        assert len(TemporalGraph.open(folder).facts) == 9


def test_a_year_is_not_before_a_day_of_it(tmp_path: Path) -> None:
    lines = ["a\tmeets\tb\t1998", "a\tmeets\tb\t1997", "a\tmeets\tb\t1998-05-04"]
    lines += [f"a\tmeets\tc\t1990-01-{day:02d}" for day in range(1, 10)]
    (tmp_path / "train.tsv").write_text("\n".join(lines) + "\n")
    for split in ("valid", "test"):
        (tmp_path / f"{split}.tsv").write_text(lines[0] + "\n")
    data = read_dataset(tmp_path, granularity="mixed")
    assert data.axis == TimeAxis("day", mixed=True)
    graph, entity = TemporalGraph.of(data), data.entities.find("b") or 0

    def dates(graph: TemporalGraph) -> set[str]:
        (facts,) = graph.nearest([entity], [data.axis.parse("1998-05-05")], 9)
        return {data.axis.format(int(data.train.since[fact])) for fact in facts if fact >= 0}

    assert dates(graph) == {"1997", "1998", "1998-05-04"}
    assert dates(graph.past_view()) == {"1997", "1998-05-04"}
