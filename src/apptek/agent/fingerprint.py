"""The fingerprint Phi: one vector for all facts that the agent sees on one side of a query."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from apptek.agent.states import PairTable, States, distinct_members, in_blocks
from apptek.arrays import Ints, Longs

BLOCK = 16  # members over which the maximum is taken at once
CHUNK = 65_536  # pairs that `encode_all` encodes at a time: bounds the memory
MAX_MODE = 2  # of torch.embedding_bag


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

    def encode(self, pairs: Tensor) -> Tensor:
        """Each pair before the maximum, (U, d_f)."""
        predicates, *ends = self.columns.index_select(1, pairs)  # (U,) each
        embedded = torch.cat((self.psi(predicates), *map(self.xi, ends)), dim=1)
        encoded: Tensor = self.layers(embedded)
        return encoded

    def encode_all(self) -> Tensor:
        """Every pair of the graph before the maximum, (P, d_f), without gradients."""
        with torch.no_grad():
            pairs = torch.arange(self.columns.shape[1], device=self.columns.device)
            starts = range(0, len(pairs), CHUNK)
            return torch.cat([self.encode(pairs[start : start + CHUNK]) for start in starts])

    def forward(self, states: States) -> Tensor:
        """The fingerprints of all rows, (2B, d_f); each distinct pair is encoded once.

        The maximum passes gradients to its winners alone, at most d_f in a row. So all pairs are
        encoded without autograd, and the winners once more with it.
        """
        distinct, members = distinct_members(states.members)
        pairs = as_tensor(distinct, self.columns.device)
        with torch.no_grad():
            encoded = self.encode(pairs)
        if not torch.is_grad_enabled() or not len(distinct):
            return pool(encoded, members, states.offsets)
        winners = find_winners(encoded, members, states.offsets)
        distinct_winners, indices = distinct_members(winners.cpu().numpy().ravel())
        encoded = self.encode(pairs.index_select(0, as_tensor(distinct_winners, pairs.device)))
        index = as_tensor(indices, pairs.device).view_as(winners).long()
        empty = as_tensor(np.diff(states.offsets) == 0, pairs.device)
        return encoded.gather(0, index).masked_fill(empty[:, None], 0.0)


def pool(encoded: Tensor, members: Ints, offsets: Longs) -> Tensor:
    """The maximum over each row's members, (rows, d_f); the zero vector for an empty row.

    Row r has members[offsets[r]:offsets[r + 1]], which are rows of `encoded`. First the maximum
    over blocks of equal size, then over the blocks of a row: half the time of one embedding bag, a
    third or less of that of scatter_reduce or segment_reduce.
    """
    blocks, block_offsets = in_blocks(members, offsets, BLOCK)
    count, size = blocks.shape[1], encoded.shape[1]
    gathered = encoded.index_select(0, as_tensor(blocks.reshape(-1), encoded.device))
    highest = gathered.view(BLOCK, count * size).amax(dim=0).view(count, size)
    each = torch.arange(count, dtype=torch.int32, device=encoded.device)
    return _max_bag(highest, each, as_tensor(block_offsets, encoded.device))[0]


def find_winners(encoded: Tensor, members: Ints, offsets: Longs) -> Tensor:
    """The row of `encoded` that has each maximum of `pool`, (rows, d_f); 0 for an empty row.

    Ties: the first member.
    """
    device = encoded.device
    _, winners = _max_bag(encoded, as_tensor(members, device), as_tensor(offsets, device).int())
    return winners.clamp(min=0)  # an empty row has 0 or -1, depending on the device


def _max_bag(encoded: Tensor, members: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
    """The maxima over bags of rows, zero for an empty one, and the rows that have them."""
    pooled, _, _, winners = torch.embedding_bag(
        encoded, members, offsets, mode=MAX_MODE, include_last_offset=True
    )
    return pooled, winners


def as_tensor(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    """The array as a tensor on this device: the same memory where both allow it."""
    return torch.from_numpy(array if array.flags.writeable else array.copy()).to(device)


def mlp(sizes: tuple[int, ...]) -> nn.Sequential:
    """Linear layers from size to size, ReLU between them, none after the last."""
    layers: list[nn.Module] = []
    for width, height in itertools.pairwise(sizes):
        layers += [nn.Linear(width, height), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])
