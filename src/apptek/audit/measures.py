"""How well a score finds what is wrong: ROC AUC, and precision among the highest."""

import numpy as np

from apptek.arrays import Bools, Doubles


def roc_auc(scores: Doubles, wrong: Bools) -> float:
    """The chance that a wrong one scores higher than a right one; a tie counts half."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    middle_ranks = np.cumsum(counts) - (counts - 1) / 2
    positives = int(np.count_nonzero(wrong))
    negatives = len(wrong) - positives
    if not positives or not negatives:
        raise ValueError("there must be both wrong and right ones")
    total = middle_ranks[inverse[wrong]].sum() - positives * (positives + 1) / 2
    return float(total / (positives * negatives))


def precision_among_first(scores: Doubles, wrong: Bools, count: int) -> float:
    """The share of wrong ones among the `count` highest; of equal ones the first in order."""
    return float(np.mean(wrong[np.argsort(-scores, kind="stable")[:count]]))
