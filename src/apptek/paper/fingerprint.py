"""Sections 3.3.1 and 3.3.2: the fingerprint Phi of a side, and the Q-network over both sides.

X_s consists of the rows psi(r) || xi(t) for all facts on a side. Phi(s_x) is the maximum over the
rows of MLP(X_s). f(s, theta) = MLP(Phi(s_u) || Phi(s_v)) gives a value for every predicate. The
mask Omega sets the values of illegal actions to minus infinity. The paper multiplies by 0 instead,
but then an illegal action would win whenever all legal actions have negative values.
"""

import itertools

import numpy as np
import torch
from torch import Tensor, nn

from apptek.arrays import Bools, Floats, Ints, Longs
from apptek.config import AgentConfig
from apptek.paper.states import MARKS, PairTable, States, distinct_members, pool_maxima

CHUNK = 65_536  # pairs that `encode_all` encodes at a time, to limit memory


class Fingerprint(nn.Module):
    """Phi: predicate and time embeddings of each fact, an MLP, and the maximum over the facts.

    psi    the embedding of predicates
    xi     the embedding of times; if any end of a fact is unknown, xi has an extra row for it
    marks  the number of marks. With 1, as in the paper, a member is a pair; otherwise a member is
           marks * pair + mark, and the one-hot encoded mark is appended to the embeddings

    The graph's distinct pairs are a buffer that is not saved; a state refers to pairs by index.
    """

    columns: Tensor  # (2 or 3, P): predicates, since, until

    def __init__(self, table: PairTable, predicate_count: int, config: AgentConfig) -> None:
        super().__init__()
        self.size = config.fingerprint_size
        self.marks = 1 if config.fingerprint == "paper" else MARKS
        self.register_buffer("columns", torch.tensor(table.columns), persistent=False)
        self.psi = nn.Embedding(predicate_count, config.predicate_size)
        self.xi = nn.Embedding(table.time_count, config.time_size)
        width = config.predicate_size + config.time_size * (len(table.columns) - 1)
        width += self.marks if self.marks > 1 else 0
        self.layers = mlp((width, *config.fingerprint_hidden, self.size))

    def encode(self, members: Tensor) -> Tensor:
        """Return the encoding of each member before max-pooling, (U, d_f)."""
        predicates, *ends = self.columns.index_select(1, members // self.marks)  # (U,) each
        parts = [self.psi(predicates), *map(self.xi, ends)]
        if self.marks > 1:
            marks = nn.functional.one_hot(members.long() % self.marks, self.marks)
            parts.append(marks.to(self.psi.weight.dtype))
        encoded: Tensor = self.layers(torch.cat(parts, dim=1))
        return encoded

    def encode_all(self) -> Tensor:
        """Return the encoding of every possible member, (P * marks, d_f), without gradients."""
        with torch.no_grad():
            count = self.columns.shape[1] * self.marks
            members = torch.arange(count)
            starts = range(0, len(members), CHUNK)
            return torch.cat([self.encode(members[start : start + CHUNK]) for start in starts])

    def forward(self, states: States) -> Tensor:
        """Return the fingerprints of all rows, (2B, d_f), encoding each distinct member once."""
        distinct, members = distinct_members(states.members)
        encoded = self.encode(torch.from_numpy(distinct))
        pooled, winners = pool_maxima(encoded.detach().numpy(), members, states.offsets)
        if not torch.is_grad_enabled() or not len(distinct):
            return torch.from_numpy(pooled)
        # Max-pooling passes gradients only to the winners.
        index = torch.from_numpy(winners).long()
        return encoded.gather(0, index.clamp(min=0)).masked_fill(index < 0, 0.0)


def mlp(sizes: tuple[int, ...]) -> nn.Sequential:
    """Return linear layers of these sizes with ReLU between them, but not after the last."""
    layers: list[nn.Module] = []
    for width, height in itertools.pairwise(sizes):
        layers += [nn.Linear(width, height), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


def mlp_sizes(layers: nn.Sequential) -> Longs:
    """Return the sizes with which `mlp` created these layers."""
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    return np.asarray([linear[0].in_features, *(layer.out_features for layer in linear)])


class QNetwork(nn.Module):
    """q(s, a): the subject's and the object's fingerprints, concatenated, through an MLP."""

    def __init__(self, fingerprint: Fingerprint, action_count: int, config: AgentConfig) -> None:
        super().__init__()
        self.fingerprint = fingerprint
        self.layers = mlp((2 * fingerprint.size, *config.q_hidden, action_count))

    def forward(self, states: States) -> Tensor:
        """Return the Q-values of all actions, legal or not, (B, actions)."""
        return self.values(self.fingerprint(states))

    def values(self, fingerprints: Tensor) -> Tensor:
        """Return the Q-values of all actions, (B, actions), from fingerprints, (2B, d_f)."""
        both = fingerprints.view(-1, 2 * fingerprints.shape[1])  # rows 2b and 2b + 1 side by side
        values: Tensor = self.layers(both)
        return values


def masked_argmax(values: Floats, legal: Bools) -> Ints:
    """Return the best legal action in each row, (B,); ties: the lowest; none legal: 0."""
    best: Ints = np.where(legal, values, -np.inf).argmax(axis=1).astype(np.int32)
    return best
