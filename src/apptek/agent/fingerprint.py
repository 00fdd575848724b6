"""The fingerprint Phi: one vector for all facts that the agent sees on one side of a query."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from apptek.agent.states import PairTable, States, distinct_members, pool_maxima
from apptek.arrays import Floats, Ints, Longs

CHUNK = 65_536  # pairs that `encode_all` encodes at a time: bounds the memory


class Fingerprint(nn.Module):
    """Phi: predicate and time embeddings of each fact, an MLP, the maximum over the facts.

    psi  the embedding of predicates, xi that of times; where an end of a fact is unknown, xi has
         one more row for it
    The distinct pairs of the graph are a buffer that is not saved: a state names pairs by number.
    """

    columns: Tensor  # (2 or 3, P): predicates, since, until

    def __init__(
        self,
        table: PairTable,
        predicate_count: int,
        *,
        predicate_size: int,
        time_size: int,
        hidden: tuple[int, ...],
        size: int,
    ) -> None:
        super().__init__()
        columns = [torch.tensor(column) for column in table.columns()]
        self.register_buffer("columns", torch.stack(columns), persistent=False)
        self.psi = nn.Embedding(predicate_count, predicate_size)
        self.xi = nn.Embedding(table.time_count + table.has_unknown, time_size)
        width = predicate_size + time_size * (len(columns) - 1)
        self.layers = mlp((width, *hidden, size))
        self.size = size

    def embed(self, pairs: Tensor) -> Tensor:
        """The embedded predicate and times of each pair, (U, width)."""
        predicates, *ends = self.columns.index_select(1, pairs)  # (U,) each
        return torch.cat((self.psi(predicates), *map(self.xi, ends)), dim=1)

    def encode(self, pairs: Tensor) -> Tensor:
        """Each pair before the maximum, (U, d_f)."""
        encoded: Tensor = self.layers(self.embed(pairs))
        return encoded

    def encode_all(self) -> Tensor:
        """Every pair of the graph before the maximum, (P, d_f), without gradients."""
        with torch.no_grad():
            pairs = torch.arange(self.columns.shape[1], device=self.columns.device)
            starts = range(0, len(pairs), CHUNK)
            return torch.cat([self.encode(pairs[start : start + CHUNK]) for start in starts])

    def forward(self, states: States) -> Tensor:
        """The fingerprints of all rows, (2B, d_f); each distinct pair is encoded once."""
        distinct, members = distinct_members(states.members)
        encoded = self.encode(as_tensor(distinct, self.columns.device))
        pooled, winners = pool(encoded.detach().cpu().numpy(), members, states.offsets)
        if not torch.is_grad_enabled() or not len(distinct):
            return as_tensor(pooled, encoded.device)
        # The maximum passes gradients to its winners alone.
        index = as_tensor(winners, encoded.device).long()
        return encoded.gather(0, index.clamp(min=0)).masked_fill(index < 0, 0.0)


def pool(encoded: Floats, members: Ints, offsets: Longs) -> tuple[Floats, Ints]:
    """`pool_maxima`: the maxima over each row's members, and the winners."""
    shape = (len(offsets) - 1, encoded.shape[1])
    maxima, winners = np.empty(shape, encoded.dtype), np.empty(shape, np.int32)
    pool_maxima(encoded, members, offsets, maxima, winners)
    return maxima, winners


def as_tensor(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """The array as a tensor on this device: the same memory where both allow it."""
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)


def mlp(sizes: tuple[int, ...]) -> nn.Sequential:
    """Linear layers from size to size, ReLU between them, none after the last."""
    layers: list[nn.Module] = []
    for width, height in itertools.pairwise(sizes):
        layers += [nn.Linear(width, height), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


def mlp_sizes(layers: nn.Sequential) -> Longs:
    """The sizes from which `mlp` made these layers."""
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    return np.asarray([linear[0].in_features, *(layer.out_features for layer in linear)])
