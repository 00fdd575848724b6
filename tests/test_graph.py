from pathlib import Path
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from worlds import ENTITIES, facts_of, graph_of, plain_facts, random_intervals

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
