import numpy as np
import pytest
import torch
from agent_parts import network_of, points, random_states, rows_of, state_lists, states_of
from hypothesis import given
from hypothesis import strategies as st

from apptek.paper.fingerprint import masked_argmax
from apptek.paper.states import join_states

pytestmark = pytest.mark.usefixtures("one_thread")


@given(states=state_lists)
def test_values_agree_with_the_definition(states: list[tuple[list[int], list[int]]]) -> None:
    network = network_of(points(10), actions=5).double()
    rows = [[number % 10 for number in row] for state in states for row in state]
    found = network(states_of(rows))
    assert found.shape == (len(states), 5)
    for values, subject, object_ in zip(found, rows[::2], rows[1::2], strict=True):
        both = [network.fingerprint(states_of([side, []]))[0] for side in (subject, object_)]
        assert torch.allclose(values, network.layers(torch.cat(both)), rtol=0, atol=1e-12)


number = st.floats(-5, 5, width=32)


@given(
    data=st.lists(
        st.lists(st.tuples(st.sampled_from([-1.0, -0.5, 0.0]) | number, st.booleans()),
                 min_size=4, max_size=4),
        min_size=1, max_size=6,
    )
)  # fmt: skip
def test_the_best_legal_action_wins(data: list[list[tuple[float, bool]]]) -> None:
    values = torch.tensor([[value for value, _ in row] for row in data])
    legal = torch.tensor([[allowed for _, allowed in row] for row in data])
    for row, action in zip(
        data, masked_argmax(values.numpy(), legal.numpy()).tolist(), strict=True
    ):
        candidates = [place for place, (_, allowed) in enumerate(row) if allowed]
        assert action == max(candidates, key=lambda place: (row[place][0], -place), default=0)


@given(states=state_lists, data=st.data())
def test_taking_states_agrees_with_lists(
    states: list[tuple[list[int], list[int]]], data: st.DataObject
) -> None:
    batch = states_of([row for state in states for row in state])
    assert len(batch) == len(states)
    assert batch.sizes().tolist() == [[len(one), len(other)] for one, other in states]
    places = st.lists(st.integers(0, len(states) - 1)) if states else st.just([])
    rows = data.draw(places)
    taken = batch.take(np.asarray(rows, np.intp))
    assert rows_of(taken) == [row for place in rows for row in states[place]]
    both = join_states(batch, taken)
    assert rows_of(both) == rows_of(batch) + rows_of(taken)


def test_a_network_has_the_sizes_of_the_paper() -> None:
    from apptek.config import AgentConfig

    network = network_of(points(10), actions=230, config=AgentConfig())
    shapes = {name: tuple(weight.shape) for name, weight in network.named_parameters()}
    assert shapes["fingerprint.layers.0.weight"] == (16, 20)
    assert shapes["fingerprint.layers.4.weight"] == (16, 16)
    assert shapes["layers.0.weight"] == (16, 32)
    assert shapes["layers.2.weight"] == (32, 16)
    assert shapes["layers.4.weight"] == (230, 32)


def test_the_seed_decides_the_weights_and_torch_s_generator_is_left_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    one, same, other = (network_of(points(10), seed=seed) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    states = random_states(4, 10, np.random.default_rng(0))
    assert torch.equal(one(states), same(states))
    assert not torch.equal(one(states), other(states))
