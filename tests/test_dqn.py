import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from agent_parts import SMALL, network_of, points, random_legal_mask, random_states
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import PlainFact
from worlds import facts_of

from apptek.arrays import read_only
from apptek.config import AgentConfig, FingerprintKind
from apptek.paper.dqn import Batch, FrozenPolicy, Learner
from apptek.paper.fingerprint import masked_argmax
from apptek.paper.states import pair_table
from apptek.paper.update_kernels import best_values

PAIRS, ACTIONS = 40, 5
pytestmark = pytest.mark.usefixtures("one_thread")


def learner_of(config: AgentConfig = SMALL, seed: int = 0) -> Learner:
    return Learner(network_of(points(PAIRS), ACTIONS, seed, config), config)


def random_batch(count: int, rng: np.random.Generator) -> Batch:
    done = rng.random(count) < 0.4
    legal = random_legal_mask(count, ACTIONS, rng) & ~done[:, None]
    return Batch(
        states=random_states(count, PAIRS, rng),
        actions=rng.integers(0, ACTIONS, count).astype(np.int32),
        rewards=rng.random(count).astype(np.float32),
        next_states=random_states(count, PAIRS, rng),
        next_legal=read_only(legal),
        done=read_only(done),
    )


def batches(count: int, seed: int = 0) -> list[Batch]:
    rng = np.random.default_rng(seed)
    return [random_batch(8, rng) for _ in range(count)]


@settings(max_examples=40)
@given(
    seed=st.integers(0, 500),
    count=st.sampled_from([0, 1, 7, 64, 65]),
    actions=st.integers(1, 9),
    widths=st.tuples(st.integers(1, 9), st.integers(1, 9)),
)
def test_best_values_are_those_of_torch(
    seed: int, count: int, actions: int, widths: tuple[int, int]
) -> None:
    config = replace(SMALL, fingerprint_size=widths[0], q_hidden=(widths[1],))
    learner = Learner(network_of(points(PAIRS), actions, seed, config), config)
    rng = np.random.default_rng(seed)
    both = rng.normal(size=(count, 2 * widths[0])).astype(np.float32)
    legal = rng.random((count, actions)) < 0.4
    with torch.inference_mode():
        values = learner.network.layers(torch.from_numpy(both)).numpy()
    found = best_values(learner._weights.numpy(), *learner._valuing, both, read_only(legal))
    masked = np.where(legal, values, np.float32(-np.inf))
    assert np.allclose(found, masked.max(axis=1), rtol=0, atol=1e-5)


@pytest.mark.parametrize("config", [SMALL, replace(SMALL, target_network=3)])
def test_an_update_is_torch_s_rmsprop_on_the_squared_error(config: AgentConfig) -> None:
    learner = learner_of(config)
    network = network_of(points(PAIRS), ACTIONS, config=config)
    target = network_of(points(PAIRS), ACTIONS, config=config)
    optimiser = torch.optim.RMSprop(network.parameters(), lr=1e-3, weight_decay=1e-4)
    for number, batch in enumerate(batches(7), start=1):
        rows, actions = torch.arange(8), torch.from_numpy(batch.actions).long()
        legal = torch.from_numpy(batch.next_legal.copy())
        values = network(batch.states)[rows, actions]
        with torch.no_grad():
            following = (target if config.target_network else network)(batch.next_states)
            best = following.masked_fill(~legal, -torch.inf).amax(dim=1)
        ended = torch.from_numpy(batch.done.copy())
        rewards = torch.from_numpy(batch.rewards)
        loss = (rewards + 0.99 * torch.where(ended, 0.0, best) - values).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        assert learner.learn(batch) == pytest.approx(loss.item(), rel=1e-5)
        if number % 3 == 0:  # where there is a target network, it is copied now
            target.load_state_dict(network.state_dict())
    for one, other in zip(learner.network.parameters(), network.parameters(), strict=True):
        assert torch.allclose(one, other, rtol=0, atol=1e-6)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 500),
    count=st.sampled_from([1, 7, 64, 65, 130]),
    widths=st.lists(st.integers(1, 9), min_size=5, max_size=5),
    intervals=st.booleans(),
    kind=st.sampled_from(["paper", "marked"]),
)
def test_gradients_are_those_of_torch(
    seed: int, count: int, widths: list[int], intervals: bool, kind: FingerprintKind
) -> None:
    first, second, third, fourth, fifth = widths
    config = replace(
        SMALL, predicate_size=first, time_size=second, fingerprint_hidden=(third, fourth),
        fingerprint_size=fifth, q_hidden=(third,), discount=0.0, fingerprint=kind,
    )  # fmt: skip
    facts = [PlainFact(0, n % 3, 1, n, n + intervals * (n % 5)) for n in range(PAIRS)]
    network = network_of(pair_table(facts_of(facts)), ACTIONS, seed, config)
    twin = copy.deepcopy(network)
    batch = random_batch(count, np.random.default_rng(seed))
    values = twin(batch.states)[torch.arange(count), torch.from_numpy(batch.actions).long()]
    loss = (values - torch.from_numpy(batch.rewards)).square().mean()
    loss.backward()
    learner = Learner(network, config)
    assert learner.learn(batch) == pytest.approx(loss.item(), rel=1e-5)
    expected = torch.cat(
        [
            (torch.zeros_like(weight) if weight.grad is None else weight.grad).ravel()
            for weight in twin.parameters()
        ]
    )
    assert np.allclose(learner.gradients, expected.numpy(), rtol=1e-4, atol=1e-6)


@given(seed=st.integers(0, 200), epsilon=st.sampled_from([0.0, 0.3, 1.0]), count=st.integers(0, 9))
def test_actions_are_legal_and_the_same_draws_give_the_same(
    seed: int, epsilon: float, count: int
) -> None:
    learner, rng = learner_of(), np.random.default_rng(seed)
    states, legal = random_states(count, PAIRS, rng), random_legal_mask(count, ACTIONS, rng)
    none = np.zeros_like(legal)
    assert not learner.act(states, none, epsilon, rng=rng).any()  # without a legal one it is 0
    one, same = (
        learner.act(states, legal, epsilon, rng=np.random.default_rng(seed)) for _ in range(2)
    )
    assert legal[np.arange(count), one].all()
    assert np.array_equal(one, same)
    if epsilon == 0:
        assert np.array_equal(one, learner.greedy(states, legal))


def test_epsilon_is_the_share_of_random_actions() -> None:
    learner, rng = learner_of(), np.random.default_rng(0)
    states = random_states(4000, PAIRS, rng)
    legal = np.ones((4000, ACTIONS), np.bool_)
    greedy = learner.greedy(states, legal)
    differs = np.mean(learner.act(states, legal, 0.5, rng=rng) != greedy)
    assert differs == pytest.approx(0.5 * (ACTIONS - 1) / ACTIONS, abs=0.03)
    drawn = np.bincount(learner.act(states, legal, 1.0, rng=rng), minlength=ACTIONS) / 4000
    assert drawn == pytest.approx(np.full(ACTIONS, 1 / ACTIONS), abs=0.03)


@given(seed=st.integers(0, 200), count=st.integers(0, 12))
def test_a_frozen_policy_agrees_with_its_network(seed: int, count: int) -> None:
    learner, rng = learner_of(), np.random.default_rng(seed)
    learner.learn(random_batch(8, rng))
    frozen = FrozenPolicy(learner.network)
    states, legal = random_states(count, PAIRS, rng), random_legal_mask(count, ACTIONS, rng)
    with torch.no_grad():
        values = learner.network(states)
    assert torch.allclose(torch.from_numpy(frozen.values(states)), values, rtol=0, atol=1e-6)
    found = masked_argmax(frozen.values(states), legal)
    best = values.masked_fill(~torch.from_numpy(legal.copy()), -torch.inf).amax(dim=1)
    chosen = values[torch.arange(count), torch.from_numpy(found).long()]
    assert torch.allclose(chosen, best, rtol=0, atol=1e-6)
    assert found.dtype == np.int32
