"""Deep Q-learning: the update, the choice of actions, and the state that a checkpoint keeps."""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from apptek.agent.fingerprint import Fingerprint, as_tensor, pool
from apptek.agent.q_network import QNetwork, masked_argmax
from apptek.agent.replay import Batch
from apptek.agent.states import PairTable, States
from apptek.arrays import Bools, Ints
from apptek.config import AgentConfig
from apptek.errors import ApptekError

SMOOTHING, TINY = 0.99, 1e-8  # alpha and eps of torch.optim.RMSprop


def td_targets(
    rewards: Tensor, done: Tensor, next_values: Tensor, legal: Tensor, *, discount: float
) -> Tensor:
    """`r + discount * max Q(s', a)` over the legal actions; r alone where the episode ended."""
    best = next_values.masked_fill(~legal, -torch.inf).amax(dim=1)  # (B,)
    # where, not (1 - done) * best: a finished episode has no legal action, and 0 * -inf is NaN.
    return rewards + discount * torch.where(done, 0.0, best)


def rmsprop(
    weights: Tensor,
    gradients: Tensor,
    squares: Tensor,
    *,
    learning_rate: float,
    weight_decay: float,
) -> None:
    """One step of torch's RMSprop on flat vectors; all three are changed in place."""
    gradients.add_(weights, alpha=weight_decay)
    squares.mul_(SMOOTHING).addcmul_(gradients, gradients, value=1 - SMOOTHING)
    weights.addcdiv_(gradients, squares.sqrt().add_(TINY), value=-learning_rate)


def build_network(
    table: PairTable,
    predicate_count: int,
    action_count: int,
    config: AgentConfig,
    *,
    rng: np.random.Generator,
) -> QNetwork:
    """The Q-network of these settings, with torch's usual initial weights drawn from `rng`."""
    with torch.random.fork_rng(devices=[]):  # leaves torch's own generator as it was
        torch.default_generator.manual_seed(int(rng.integers(2**63)))
        fingerprint = Fingerprint(
            table,
            predicate_count,
            predicate_size=config.predicate_size,
            time_size=config.time_size,
            hidden=config.fingerprint_hidden,
            size=config.fingerprint_size,
        )
        return QNetwork(fingerprint, action_count, hidden=config.q_hidden)


def random_legal(legal: Bools, *, rng: np.random.Generator) -> Ints:
    """One of the legal actions of each row, all equally likely, (B,); 0 where none is legal."""
    ranks = np.cumsum(legal, axis=1, dtype=np.int32)  # (B, actions)
    skipped = rng.integers(np.maximum(ranks[:, -1], 1))  # legal actions before the chosen one
    actions: Ints = (ranks > skipped[:, None]).argmax(axis=1).astype(np.int32)
    return actions


class Learner:
    """A Q-network that learns from transitions by RMSprop, with a target network if set.

    The network must be on its device already: afterwards its weights are parts of one vector.
    """

    def __init__(self, network: QNetwork, config: AgentConfig) -> None:
        self.network = network
        self.target = copy.deepcopy(network) if config.target_network else None
        self.config = config
        self.updates = 0
        # One vector of all weights and one of their gradients, of which the network's are views:
        # an update takes a tenth of the time that an optimiser over many small tensors takes.
        self._weights, self._gradients = _flatten(network)
        self._squares = torch.zeros_like(self._weights)

    def learn(self, batch: Batch) -> float:
        """One update; returns the mean squared error of the values before it."""
        actions = self._tensor(batch.actions).long()[:, None]
        targets = self._targets(batch)
        values = self.network(batch.states).gather(1, actions)[:, 0]  # (B,)
        loss = F.mse_loss(values, targets)
        self._gradients.zero_()
        torch.autograd.backward(loss)
        rmsprop(
            self._weights,
            self._gradients,
            self._squares,
            learning_rate=self.config.learning_rate,
            weight_decay=self.config.weight_decay,
        )
        self.updates += 1
        if self.target is not None and self.updates % self.config.target_network == 0:
            self.target.load_state_dict(self.network.state_dict())
        return loss.item()

    @torch.no_grad()
    def _targets(self, batch: Batch) -> Tensor:
        rewards, done = self._tensor(batch.rewards), self._tensor(batch.done)
        legal = self._tensor(batch.next_legal)
        evaluator = self.network if self.target is None else self.target
        if self.config.double_q:  # the network chooses, the target network evaluates
            chosen = masked_argmax(self.network(batch.next_states), legal)
            # The maximum over this one action is its value; where nothing is legal, it stays so.
            legal = legal & F.one_hot(chosen, legal.shape[1]).bool()
        next_values = evaluator(batch.next_states)
        return td_targets(rewards, done, next_values, legal, discount=self.config.discount)

    def greedy(self, states: States, legal: Bools) -> Ints:
        """The best legal action of each state, (B,): the lowest of equals, 0 if none is legal."""
        with torch.inference_mode():
            return _actions(self.network(states), legal)

    def act(
        self, states: States, legal: Bools, epsilon: float, *, rng: np.random.Generator
    ) -> Ints:
        """Each state's best legal action or, with probability epsilon, any legal one, (B,)."""
        explores = rng.random(len(states)) < epsilon
        actions = np.empty(len(states), np.int32)
        actions[explores] = random_legal(legal[explores], rng=rng)
        if not explores.all():
            rows = np.flatnonzero(~explores)
            actions[rows] = self.greedy(states.take(rows), legal[rows])
        return actions

    def state_dict(self) -> dict[str, Tensor]:
        """Copies of the weights and of RMSprop's mean squares, by flat names."""
        state = {name: tensor.detach().clone() for name, tensor in self._tensors().items()}
        return state | {"updates": torch.tensor(self.updates)}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Continues from a `state_dict`; ApptekError if it is that of another network."""
        own = self._tensors()
        shapes = {name: tuple(tensor.shape) for name, tensor in own.items()} | {"updates": ()}
        for name in sorted(shapes.keys() | state.keys()):
            shape = tuple(state[name].shape) if name in state else None
            if shape is None or shape != shapes.get(name):
                expected = shapes.get(name)
                raise ApptekError(f"network: {name} has shape {shape}, expected {expected}")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(state[name])
        self.updates = int(state["updates"])

    def _tensors(self) -> dict[str, Tensor]:
        networks = {"network": self.network, "target": self.target}
        tensors: dict[str, Tensor] = {"square_avg": self._squares}
        for kind, network in networks.items():
            weights = [] if network is None else network.named_parameters()
            tensors |= {f"{kind}.{name}": weight for name, weight in weights}
        return tensors

    def _tensor(self, array: npt.NDArray[Any]) -> Tensor:
        return as_tensor(array, self._weights.device)


def _flatten(network: QNetwork) -> tuple[Tensor, Tensor]:
    """All weights in one vector and their gradients in another; the network's become views."""
    parameters = list(network.parameters())
    weights = nn.utils.parameters_to_vector(parameters).detach()
    gradients = torch.zeros_like(weights)
    start = 0
    for weight in parameters:
        part = slice(start, start + weight.numel())
        weight.data, weight.grad = weights[part].view_as(weight), gradients[part].view_as(weight)
        start += weight.numel()
    return weights, gradients


class FrozenPolicy:
    """The policy of a trained network: every pair is encoded once, and then only looked up.

    Nothing in it changes, so that threads may share it.
    """

    def __init__(self, network: QNetwork) -> None:
        self._network = network
        self._encoded = network.fingerprint.encode_all()  # (P, d_f)

    def values(self, states: States) -> Tensor:
        """The values of all actions, (B, actions), as the network gives them."""
        with torch.inference_mode():
            return self._network.values(pool(self._encoded, states.members, states.offsets))

    def greedy(self, states: States, legal: Bools) -> Ints:
        """The best legal action of each state, (B,): the lowest of equals, 0 if none is legal."""
        return _actions(self.values(states), legal)


def _actions(values: Tensor, legal: Bools) -> Ints:
    best = masked_argmax(values, as_tensor(legal, values.device))
    return best.cpu().numpy().astype(np.int32)
