from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nearest_lookups import nearest_of
from oracles import nearest_seen, seen_facts
from reference import PlainFact, incident
from worlds import ENTITIES, facts_of, graph_of, moments, plain_facts, random_intervals

from apptek.config import Traversal
from apptek.facts.facts import OpenEnd
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.graph import incidence, lookups
from apptek.graph.lookups import PairIndex, find_pair
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
        (facts,) = nearest_of(graph, [entity], [data.axis.parse("1998-05-05")], 9)
        return {data.axis.format(int(data.train.since[fact])) for fact in facts if fact >= 0}

    assert dates(graph) == {"1997", "1998", "1998-05-04"}
    assert dates(graph.past_view()) == {"1997", "1998-05-04"}


def facts_between(index: PairIndex, subject: int, object_: int) -> list[int]:
    """The facts of a pair in the order of their stretch."""
    pair = find_pair(index, subject, object_)
    if pair < 0:
        return []
    lo, hi = index.incidence.offsets[3 * pair], index.incidence.offsets[3 * pair + 3]
    return [int(fact) for fact in index.incidence.facts[lo:hi]]


def between(plain: list[PlainFact], subject: int, object_: int) -> list[int]:
    return [i for i, f in enumerate(plain) if (f.subject, f.object) == (subject, object_)]


@given(st.lists(plain_facts(), max_size=40), st.integers(1, 50))
def test_a_pair_owns_exactly_its_facts(plain: list[PlainFact], part: int) -> None:
    with patch("apptek.graph.lookups.PART", part):  # numbered a few facts at a time
        index = PairIndex.of(graph_of(plain))
    for subject in range(-1, ENTITIES):  # -1 is an unknown entity
        for object_ in range(-1, ENTITIES):
            facts = facts_between(index, subject, object_)
            assert sorted(facts) == between(plain, subject, object_)
    assert len(index.objects) == len({(fact.subject, fact.object) for fact in plain})


def test_threads_that_ask_at_once_share_one_index(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, build = graph_of([PlainFact(0, 0, 1, 3, None)]), lookups._index_pairs
    built: list[int] = []
    both = Barrier(2)

    def slowly(graph: TemporalGraph) -> PairIndex:
        built.append(1)
        with suppress(BrokenBarrierError):
            both.wait(0.2)  # a second build would come here, too
        return build(graph)

    monkeypatch.setattr(lookups, "_index_pairs", slowly)
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: PairIndex.of(graph), range(2))
    assert one is other
    assert built == [1]


TRAVERSALS: list[Traversal] = ["both", "outgoing"]
# Points alone are searched in another way, and often equally far in the past and in the future.
points = st.builds(lambda s, o, t: PlainFact(s, 0, o, t, t), st.just(0), st.integers(0, 1), moments)


@settings(max_examples=400)
@given(
    plain=st.lists(plain_facts(), max_size=40) | st.lists(points, max_size=40),
    entity=st.integers(-1, ENTITIES - 1),  # -1 is unknown, and the last one has no facts
    when=st.none() | moments,
    k=st.integers(1, 14),
    traversal=st.sampled_from(TRAVERSALS),
    data=st.data(),
)
def test_every_view_agrees_with_the_definition(plain, entity, when, k, traversal, data) -> None:  # type: ignore[no-untyped-def]
    hidden = data.draw(st.none() | st.integers(0, len(plain) - 1)) if plain else None
    ahead, lasting = data.draw(st.booleans()), data.draw(st.booleans())
    seen = seen_facts(plain, when, ahead=ahead, lasting=lasting)
    candidates = incident(plain, entity, traversal)
    graph = graph_of(plain, "ongoing" if lasting else "point")
    facts = nearest_of(
        graph.past_view() if ahead else graph,
        [entity],
        [UNKNOWN if when is None else when],
        k,
        hidden=None if hidden is None else [hidden],
        traversal=traversal,
    )
    assert [fact for fact in facts[0].tolist() if fact >= 0] == nearest_seen(
        plain, seen, candidates, when, k, hidden
    )


@pytest.mark.parametrize("open_end", ["point", "ongoing"])
@pytest.mark.parametrize("ahead", [False, True])
def test_agrees_where_the_tree_of_interval_ends_has_several_levels(
    ahead: bool, open_end: OpenEnd
) -> None:
    rng = np.random.default_rng(5)
    plain = random_intervals(3000, rng)
    entities, times = rng.integers(0, 3, 40), rng.integers(-5, 710, 40)
    graph = graph_of(plain, open_end)
    facts = nearest_of(graph.past_view() if ahead else graph, entities, times, 30)
    for row, (entity, when) in enumerate(zip(entities.tolist(), times.tolist(), strict=True)):
        seen = seen_facts(plain, when, ahead=ahead, lasting=open_end == "ongoing")
        expected = nearest_seen(plain, seen, incident(plain, entity, "both"), when, 30, None)
        assert [fact for fact in facts[row].tolist() if fact >= 0] == expected
