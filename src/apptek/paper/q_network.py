"""The Q-network: the values of all actions from the fingerprints of both sides."""

import torch
from torch import Tensor, nn

from apptek.paper.fingerprint import Fingerprint, mlp
from apptek.paper.states import States


class QNetwork(nn.Module):
    """q(s, a): the subject's and the object's fingerprint, concatenated, through an MLP."""

    def __init__(
        self, fingerprint: Fingerprint, action_count: int, *, hidden: tuple[int, ...]
    ) -> None:
        super().__init__()
        self.fingerprint = fingerprint
        self.layers = mlp((2 * fingerprint.size, *hidden, action_count))

    def forward(self, states: States) -> Tensor:
        """The values of all actions, legal or not, (B, actions)."""
        return self.values(self.fingerprint(states))

    def values(self, fingerprints: Tensor) -> Tensor:
        """The values of all actions from fingerprints (2B, d_f), (B, actions)."""
        both = fingerprints.view(-1, 2 * fingerprints.shape[1])  # rows 2b and 2b + 1 side by side
        values: Tensor = self.layers(both)
        return values


def masked_argmax(values: Tensor, legal: Tensor) -> Tensor:
    """The best legal action of each row, (B,): the lowest of equals, 0 where none is legal."""
    return values.masked_fill(~legal, -torch.inf).argmax(dim=1)
