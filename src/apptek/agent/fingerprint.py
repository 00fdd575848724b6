"""The fingerprint Phi: one vector for all facts that the agent sees on one side of a query."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from apptek.agent.states import (
    MARKS,
    PairTable,
    States,
    distinct_members,
    pool_maxima,
    pool_sums,
)
from apptek.arrays import Floats, Ints, Longs

CHUNK = 65_536  # pairs that `encode_all` encodes at a time: bounds the memory


class Fingerprint(nn.Module):
    """Phi: predicate and time embeddings of each fact, an MLP, the maximum over the facts.

    psi    the embedding of predicates, xi that of times; where an end of a fact is unknown, xi has
           one more row for it
    scale  None as in the paper; else members have marks, which are one-hot beside the embeddings,
           and the sum over the facts times this stands beside the maximum

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
        scale: float | None = None,
    ) -> None:
        super().__init__()
        columns = [torch.tensor(column) for column in table.columns()]
        self.register_buffer("columns", torch.stack(columns), persistent=False)
        self.psi = nn.Embedding(predicate_count, predicate_size)
        self.xi = nn.Embedding(table.time_count + table.has_unknown, time_size)
        self.scale, self.marks = scale, 1 if scale is None else MARKS
        width = predicate_size + time_size * (len(columns) - 1) + (0 if scale is None else MARKS)
        self.layers = mlp((width, *hidden, size))
        self.size = size if scale is None else 2 * size

    def encode(self, members: Tensor) -> Tensor:
        """Each member before the maximum, (U, d_f)."""
        predicates, *ends = self.columns.index_select(1, members // self.marks)  # (U,) each
        parts = [self.psi(predicates), *map(self.xi, ends)]
        if self.scale is not None:
            marks = nn.functional.one_hot(members.long() % MARKS, MARKS)
            parts.append(marks.to(self.psi.weight.dtype))
        encoded: Tensor = self.layers(torch.cat(parts, dim=1))
        return encoded

    def encode_all(self) -> Tensor:
        """Every possible member before the maximum, (P * marks, d_f), without gradients."""
        with torch.no_grad():
            count = self.columns.shape[1] * self.marks
            members = torch.arange(count, device=self.columns.device)
            starts = range(0, len(members), CHUNK)
            return torch.cat([self.encode(members[start : start + CHUNK]) for start in starts])

    def forward(self, states: States) -> Tensor:
        """The fingerprints of all rows, (2B, size); each distinct member is encoded once."""
        distinct, members = distinct_members(states.members)
        encoded = self.encode(as_tensor(distinct, self.columns.device))
        host = encoded.detach().cpu().numpy()
        pooled, winners = pool(host, members, states.offsets, self.scale)
        if not torch.is_grad_enabled() or not len(distinct):
            return as_tensor(pooled, encoded.device)
        # The maximum passes gradients to its winners alone.
        index = as_tensor(winners, encoded.device).long()
        maxima = encoded.gather(0, index.clamp(min=0)).masked_fill(index < 0, 0.0)
        if self.scale is None:
            return maxima
        rows = np.repeat(np.arange(len(maxima)), np.diff(states.offsets))
        chosen = encoded.index_select(0, as_tensor(members, encoded.device))
        sums = torch.zeros_like(maxima).index_add(0, as_tensor(rows, encoded.device), chosen)
        return torch.cat((maxima, self.scale * sums), dim=1)


def pool(
    encoded: Floats, members: Ints, offsets: Longs, scale: float | None = None
) -> tuple[Floats, Ints]:
    """The maxima over each row's members and, with a scale, their sums; the maxima's winners."""
    shape = (len(offsets) - 1, encoded.shape[1])
    maxima, winners = np.empty(shape, encoded.dtype), np.empty(shape, np.int32)
    pool_maxima(encoded, members, offsets, maxima, winners)
    if scale is None:
        return maxima, winners
    sums = np.empty(shape, encoded.dtype)
    pool_sums(encoded, members, offsets, scale, sums)
    return np.concatenate((maxima, sums), axis=1), winners


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
