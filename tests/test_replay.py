from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from agent_parts import random_legal_mask, random_states, rows_of
from hypothesis import given
from hypothesis import strategies as st

from apptek.paper.dqn import Batch, Replay

ACTIONS = 4
Transition = tuple[Any, ...]


def random_batch(count: int, rng: np.random.Generator) -> Batch:
    return Batch(
        states=random_states(count, 30, rng),
        actions=rng.integers(0, ACTIONS, count).astype(np.int32),
        rewards=rng.random(count).astype(np.float32),
        next_states=random_states(count, 30, rng),
        next_legal=random_legal_mask(count, ACTIONS, rng),
        done=rng.random(count) < 0.3,
    )


def transitions(batch: Batch) -> list[Transition]:
    """Each transition as plain Python."""
    states, next_states = rows_of(batch.states), rows_of(batch.next_states)
    return [
        (
            states[2 * i : 2 * i + 2],
            int(batch.actions[i]),
            float(batch.rewards[i]),
            [[], []] if batch.done[i] else next_states[2 * i : 2 * i + 2],
            batch.next_legal[i].tolist(),
            bool(batch.done[i]),
        )
        for i in range(len(batch.done))
    ]


@given(
    capacity=st.integers(1, 40),
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=12),
    seed=st.integers(0, 1000),
)
def test_it_behaves_like_a_deque_of_lists(capacity: int, sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    draws, same_draws = np.random.default_rng(seed), np.random.default_rng(seed)
    replay, plain = Replay(capacity), deque[Transition](maxlen=capacity)
    for size in sizes:
        batch = random_batch(size, rng)
        replay.add(batch)
        plain.extend(transitions(batch))
        assert len(replay) == len(plain)
        if plain:
            sampled = replay.sample(8, rng=draws)
            places = same_draws.integers(len(plain), size=8)
            assert transitions(sampled) == [plain[place] for place in places]


def test_a_sample_is_not_changed_by_what_is_added_later() -> None:
    replay, rng = Replay(20), np.random.default_rng(0)
    replay.add(random_batch(20, rng))
    sampled = replay.sample(30, rng=rng)
    before = transitions(sampled)
    for _ in range(30):
        replay.add(random_batch(20, rng))
    assert transitions(sampled) == before


def test_an_empty_memory_is_not_drawn_from() -> None:
    with pytest.raises(ValueError, match="empty"):
        Replay(5).sample(1, rng=np.random.default_rng(0))


def test_columns_of_unequal_length_are_refused() -> None:
    batch = random_batch(3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="shorter"):
        Replay(5).add(replace(batch, actions=batch.actions[:2]))
