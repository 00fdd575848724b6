from dataclasses import replace

import numpy as np
import pytest
import torch
from agent_parts import SMALL, network_of, points, sides, state_lists, states_of, worlds
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import PlainFact
from torch import Tensor
from worlds import facts_of

from apptek.arrays import read_only
from apptek.paper.dqn import FrozenPolicy
from apptek.paper.fingerprint import Fingerprint
from apptek.paper.states import MARKS, distinct_members, pair_table, pool_maxima

pytestmark = pytest.mark.usefixtures("one_thread")


def fingerprint_of(plain: list[PlainFact], seed: int = 0) -> Fingerprint:
    return network_of(pair_table(facts_of(plain)), seed=seed).fingerprint.double()


def naive_fingerprint(module: Fingerprint, plain: list[PlainFact], row: list[int]) -> Tensor:
    """Phi by the paper, fact by fact: embed, concatenate, MLP, maximum."""
    known = sorted({end for f in plain for end in (f.since, f.until) if end is not None})
    place = {end: number for number, end in enumerate(known)} | {None: len(known)}
    has_ends = any(fact.since != fact.until for fact in plain)
    encoded = []
    for number in row:
        fact = plain[number]
        ends = (fact.since, fact.until) if has_ends else (fact.since,)
        parts = [module.psi.weight[fact.predicate]]
        parts += [module.xi.weight[place[end]] for end in ends]
        encoded.append(module.layers(torch.cat(parts)))
    return torch.stack(encoded).amax(dim=0) if encoded else torch.zeros(module.size).double()


@settings(max_examples=60)
@given(plain=worlds, states=state_lists, seed=st.integers(0, 9))
def test_values_and_gradients_agree_with_the_definition(
    plain: list[PlainFact], states: list[tuple[list[int], list[int]]], seed: int
) -> None:
    module = fingerprint_of(plain, seed)
    facts = [[number % len(plain) for number in row] for state in states for row in state]
    pair_of_fact = pair_table(facts_of(plain)).pair_of_fact
    batch = states_of([pair_of_fact[row].tolist() for row in facts])
    weights = list(module.parameters())

    found = module(batch)
    naive = [naive_fingerprint(module, plain, row) for row in facts]
    expected = torch.stack(naive) if naive else torch.zeros(0, module.size).double()
    assert found.shape == expected.shape
    assert torch.allclose(found, expected, rtol=0, atol=1e-12)
    with torch.no_grad():
        assert torch.allclose(module(batch), expected, rtol=0, atol=1e-12)
    if len(batch.members):
        direction = torch.from_numpy(np.random.default_rng(seed).normal(size=found.shape))
        ours = torch.autograd.grad((found * direction).sum(), weights)
        theirs = torch.autograd.grad((expected * direction).sum(), weights)
        for one, other in zip(ours, theirs, strict=True):
            assert torch.allclose(one, other, rtol=0, atol=1e-12)


@given(rows=st.lists(st.lists(st.integers(0, 7), max_size=40), max_size=6))
def test_pooling_agrees_with_the_definition(rows: list[list[int]]) -> None:
    encoded = np.random.default_rng(len(rows)).normal(size=(8, 3)).astype(np.float32)
    batch = states_of(rows)
    pooled, winners = pool_maxima(encoded, batch.members, batch.offsets)
    assert pooled.shape == winners.shape == (len(rows), 3)
    for row, values, places in zip(rows, pooled, winners, strict=True):
        if row:
            assert np.array_equal(values, encoded[row].max(axis=0))
            assert np.array_equal(encoded[places, np.arange(3)], values)
        else:
            assert (values == 0).all()
            assert (places == -1).all()


@given(members=st.lists(st.integers(0, 2**31 - 1) | st.integers(0, 20), max_size=80))
def test_distinct_members_stand_in_the_order_of_their_appearance(members: list[int]) -> None:
    distinct, places = distinct_members(read_only(np.asarray(members, np.int32)))
    assert distinct.tolist() == list(dict.fromkeys(members))
    assert distinct[places].tolist() == members


@given(plain=worlds)
def test_the_table_holds_each_distinct_pair_once(plain: list[PlainFact]) -> None:
    table = pair_table(facts_of(plain))
    times = sorted({end for f in plain for end in (f.since, f.until) if end is not None})
    unknown = any(fact.since is None or fact.until is None for fact in plain)
    assert table.time_count == len(times) + unknown
    lookup = dict(enumerate(times))
    pairs = [
        (predicate, lookup.get(ends[0]), lookup.get(ends[-1]))
        for predicate, *ends in table.columns.T.tolist()
    ]
    assert len(set(pairs)) == len(pairs)
    expected = [(fact.predicate, fact.since, fact.until) for fact in plain]
    assert [pairs[pair] for pair in table.pair_of_fact] == expected
    assert len(table.columns) == 2 + any(fact.since != fact.until for fact in plain)
    assert not any(column.flags.writeable for column in (table.pair_of_fact, table.columns))


def test_all_pairs_are_encoded_as_each_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apptek.paper.fingerprint.CHUNK", 7)
    module = network_of(points(30)).fingerprint
    found = module.encode_all()
    assert not found.requires_grad
    assert torch.allclose(found, module.encode(torch.arange(30)), rtol=0, atol=1e-6)


@given(states=st.lists(st.tuples(sides, sides), min_size=1, max_size=3))
def test_a_marked_fingerprint_is_the_maximum_of_its_members(
    states: list[tuple[list[int], list[int]]],
) -> None:
    config = replace(SMALL, fingerprint="marked")
    network = network_of(points(10), config=config).double()
    module = network.fingerprint
    rows = [[number % (10 * MARKS) for number in row] for state in states for row in state]
    found = module(states_of(rows))
    for row, values in zip(rows, found, strict=True):
        encoded = module.encode(torch.tensor(row, dtype=torch.int64))
        expected = encoded.amax(dim=0) if row else torch.zeros(4).double()
        assert torch.allclose(values, expected, rtol=0, atol=1e-6)
    with torch.no_grad():
        assert torch.allclose(module(states_of(rows)), found, rtol=0, atol=1e-6)
    frozen = torch.from_numpy(FrozenPolicy(network.float()).values(states_of(rows)))
    assert torch.allclose(frozen, network(states_of(rows)), rtol=0, atol=1e-5)


def test_a_mark_changes_the_encoding() -> None:
    module = network_of(points(10), config=replace(SMALL, fingerprint="marked")).fingerprint
    assert len({tuple(row) for row in module.encode(torch.arange(MARKS)).tolist()}) == MARKS
