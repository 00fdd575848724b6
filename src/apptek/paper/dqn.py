"""Section 3.3.3: deep Q-learning, L = E[(r + gamma max_a q(s', a) - q(s, a))^2], and policies.

The replay memory D holds the last transitions (s, a, reward, s').
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn

from apptek.arrays import Bools, Floats, Ints, Longs
from apptek.config import AgentConfig
from apptek.paper.environment import nth_legal
from apptek.paper.fingerprint import Fingerprint, QNetwork, masked_argmax, mlp_sizes
from apptek.paper.states import (
    PairTable,
    States,
    distinct_members,
    join_states,
    pool_maxima,
    spread_maxima,
)
from apptek.paper.update_kernels import (
    best_values,
    encode_members,
    learn_encoding,
    learn_values,
    rmsprop,
)

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
            raise ValueError("cannot sample from an empty replay memory")
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


def td_targets(rewards: Floats, done: Bools, best: Floats, *, discount: float) -> Floats:
    """Return `r + discount * best`, with best = max Q(s', a); r alone where the episode ended."""
    # where, not (1 - done) * best: a finished episode has no legal actions, and 0 * -inf is NaN.
    targets = rewards + discount * np.where(done, 0, best)
    return np.asarray(targets, np.float32)


def build_network(
    table: PairTable, predicate_count: int, config: AgentConfig, *, rng: np.random.Generator
) -> QNetwork:
    """Return a Q-network with torch's default initial weights, drawn from `rng`."""
    with torch.random.fork_rng(devices=[]):  # leaves torch's global generator unchanged
        torch.default_generator.manual_seed(int(rng.integers(2**63)))
        fingerprint = Fingerprint(table, predicate_count, config)
        return QNetwork(fingerprint, predicate_count, config)


def random_legal(legal: Bools, *, rng: np.random.Generator) -> Ints:
    """Draw a legal action uniformly for each row, (B,). If none is legal, the action is 0."""
    return nth_legal(legal, rng.integers(np.maximum(legal.sum(axis=1), 1)))


class Learner:
    """A Q-network, trained on transitions with RMSprop. A target network is optional.

    It learns on the CPU. Its weights become views into one vector. `gradients` contains the
    gradients from the last update, in the same order.
    """

    def __init__(self, network: QNetwork, config: AgentConfig) -> None:
        self.network = network
        self.target = copy.deepcopy(network) if config.target_network else None
        self.config = config
        self.updates = 0
        self._weights = _flatten(network)
        self._target_weights = torch.empty(0) if self.target is None else _flatten(self.target)
        self._squares = torch.zeros_like(self._weights)
        self.gradients: Floats = np.zeros(len(self._weights), np.float32)
        self._encoding, self._valuing = _layout(network)

    def learn(self, batch: Batch) -> float:
        """Perform one update. Return the mean squared TD error from before the update."""
        weights, gradients = self._weights.numpy(), self.gradients
        count = len(batch.actions)
        states = batch.states
        if self.target is None:  # the network also evaluates the next states: encode both at once
            states = join_states(batch.states, batch.next_states)
        distinct, members = distinct_members(states.members)
        encoded = encode_members(weights, *self._encoding, distinct)
        pooled, winners = pool_maxima(encoded, members, states.offsets)
        both = pooled.reshape(-1, 2 * pooled.shape[1])
        targets = self._targets(batch, both[count:])
        gradients[:] = 0.0
        loss, passed = learn_values(
            weights, *self._valuing, both[:count], batch.actions, targets, gradients
        )
        rows, spread = spread_maxima(
            passed.reshape(2 * count, -1), winners[: 2 * count], len(distinct)
        )
        learn_encoding(weights, *self._encoding, distinct[rows], spread, gradients)
        rates = self.config.learning_rate, self.config.weight_decay
        rmsprop(weights, gradients, self._squares.numpy(), *rates)
        self.updates += 1
        if self.target is not None and self.updates % self.config.target_network == 0:
            self._target_weights.copy_(self._weights)
        return loss

    def _targets(self, batch: Batch, next_both: Floats) -> Floats:
        """Return the TD targets, (B,).

        next_both  the fingerprints of the next states; used only without a target network
        """
        if self.target is None:
            best = best_values(self._weights.numpy(), *self._valuing, next_both, batch.next_legal)
        else:
            with torch.inference_mode():
                values = self.target(batch.next_states).numpy()
            best = np.where(batch.next_legal, values, np.float32(-np.inf)).max(axis=1)
        return td_targets(batch.rewards, batch.done, best, discount=self.config.discount)

    def greedy(self, states: States, legal: Bools) -> Ints:
        """Return the best legal action in each state, (B,).

        On ties, this is the lowest action. If no action is legal, it is 0.
        """
        with torch.inference_mode():
            return masked_argmax(self.network(states).numpy(), legal)

    def act(
        self, states: States, legal: Bools, epsilon: float, *, rng: np.random.Generator
    ) -> Ints:
        """Return epsilon-greedy actions, (B,): with probability epsilon, a random legal one."""
        explores = rng.random(len(states)) < epsilon
        actions = np.empty(len(states), np.int32)
        actions[explores] = random_legal(legal[explores], rng=rng)
        if not explores.all():
            rows = np.flatnonzero(~explores)
            actions[rows] = self.greedy(states.take(rows), legal[rows])
        return actions


def _flatten(network: QNetwork) -> Tensor:
    """Return all weights in one vector; the network's weights become views of it."""
    parameters = list(network.parameters())
    weights = nn.utils.parameters_to_vector(parameters).detach()
    start = 0
    for weight in parameters:
        weight.data = weights[start : start + weight.numel()].view_as(weight)
        start += weight.numel()
    return weights


def _layout(network: QNetwork) -> tuple[tuple[Longs, Longs, Ints], tuple[int, Longs]]:
    """Return the offsets and sizes of the network's parts in its weight vector, for the kernels.

    For the encoding: an array with both embedding sizes, the offsets of the time embedding and the
    layers, and the number of marks; the layer sizes; and the columns of all pairs. For the
    Q-values: the offset and the sizes of the layers.
    """
    fingerprint = network.fingerprint
    psi, xi = fingerprint.psi.weight, fingerprint.xi.weight
    begin = psi.numel() + xi.numel()
    shape = np.asarray([psi.shape[1], xi.shape[1], psi.numel(), begin, fingerprint.marks])
    end = begin + sum(weight.numel() for weight in fingerprint.layers.parameters())
    encoding = (shape, mlp_sizes(fingerprint.layers), fingerprint.columns.numpy())
    return encoding, (end, mlp_sizes(network.layers))


class FrozenPolicy:
    """The policy of a trained network: every pair is encoded once, then looked up.

    It is immutable, so threads can share it.
    """

    def __init__(self, network: QNetwork) -> None:
        self._network = network
        self._encoded = network.fingerprint.encode_all().numpy()  # (P, d_f)

    def values(self, states: States) -> Floats:
        """Return the Q-values of all actions, (B, actions), as the network gives them."""
        with torch.inference_mode():
            pooled, _ = pool_maxima(self._encoded, states.members, states.offsets)
            values: Floats = self._network.values(torch.from_numpy(pooled)).numpy()
        return values
