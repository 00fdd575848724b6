"""The replay memory D: the last transitions (s, a, reward, s')."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from apptek.arrays import Bools, Floats, Ints, Longs
from apptek.paper.states import States

State = tuple[Ints, Longs]  # the members on both sides, and the number on each side
Transition = tuple[State, int, float, State, Bools, bool]  # one row of a Batch


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch of B transitions."""

    states: States
    actions: Ints  # (B,)
    rewards: Floats  # (B,)
    next_states: States
    next_legal: Bools  # (B, actions)
    done: Bools  # (B,)


class Replay:
    """The last `capacity` transitions, oldest first.

    A finished episode has no next state: both its sides are empty.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._rows: list[Transition] = []

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, batch: Batch) -> None:
        """Append transitions and drop the oldest; ValueError if columns have different lengths.

        The memory keeps views of the arrays, so the arrays must not change.
        """
        done, nothing = batch.done.tolist(), (np.empty(0, np.int32), np.zeros(2, np.int64))
        after = zip(done, _rows_of(batch.next_states), strict=True)
        self._rows += zip(
            _rows_of(batch.states),
            batch.actions.tolist(),
            batch.rewards.tolist(),
            [nothing if ended else state for ended, state in after],
            batch.next_legal,
            done,
            strict=True,
        )
        del self._rows[: max(0, len(self) - self.capacity)]

    def sample(self, count: int, *, rng: np.random.Generator) -> Batch:
        """Draw transitions uniformly and with replacement."""
        if not len(self):
            raise ValueError("an empty replay memory has nothing to draw from")
        drawn = [self._rows[row] for row in rng.integers(len(self), size=count)]
        states, actions, rewards, next_states, next_legal, done = zip(*drawn, strict=True)
        return Batch(
            states=_states(states),
            actions=np.asarray(actions, np.int32),
            rewards=np.asarray(rewards, np.float32),
            next_states=_states(next_states),
            next_legal=np.asarray(next_legal, np.bool_),
            done=np.asarray(done, np.bool_),
        )


def _rows_of(states: States) -> list[State]:
    """Split a batch into states: the members and sizes of each, as views."""
    bounds = pairwise(states.offsets[::2].tolist())
    return [
        (states.members[start:stop], sizes)
        for (start, stop), sizes in zip(bounds, states.sizes(), strict=True)
    ]


def _states(rows: Sequence[State]) -> States:
    members, sizes = zip(*rows, strict=True)
    return States(np.concatenate(members), np.concatenate(([0], *sizes)).cumsum())
