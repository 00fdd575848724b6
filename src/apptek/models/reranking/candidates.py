"""The most probable predicates of a query, with features from the linear model and the facts.

| features of a candidate r | number             |                                                |
|---------------------------|--------------------|------------------------------------------------|
| standing                  | 3                  | rank, gap to the best score, log-probability   |
| part                      | families + 2       | what each family, traits, topologies add to r  |
| own                       | families x kernels | the value of (family, r, kernel)               |
| seen, now                 | families, twice    | predicates seen; the sum of values at that time|
| mirror                    | 2                  | r's mirror: its share, and whether it is there |
| predicate                 | 1                  | r itself                                       |
| such                      | groupings x 4      | what actors of these types do: typed_histories |
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from apptek.arrays import Floats, Ints, Longs, read_only
from apptek.compiling import in_threads, kernel, leaf
from apptek.evaluation.calibration import softmax
from apptek.evaluation.filters import known_predicates
from apptek.facts.facts import Facts
from apptek.facts.queries import Queries
from apptek.features.space import FeatureSpace
from apptek.models.reranking.typed_histories import TypedHistories
from apptek.ragged import Ragged

CHUNK = 2048
Table = npt.NDArray[np.int32]  # (n, C)
STANDING = ("rank", "gap", "log_probability")


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates for n queries, best first, and their features."""

    predicates: Ints  # (n, C)
    features: Floats  # (n, C, F)


@dataclass(frozen=True, slots=True)
class Mirrors:
    """Each predicate's mirror: the predicate that most often occurs in reverse at the same time.

    share  the proportion of the predicate's dated facts between two entities that have the mirror
    """

    of: Ints  # (R,), -1 where there is none
    share: Floats  # (R,)

    @classmethod
    def learned(cls, train: Facts, predicate_count: int) -> "Mirrors":
        """Learn the mirrors from the training facts."""
        train = train.take(train.dated & (train.subjects != train.objects))
        nothing = np.full(len(train), -1, np.int32)  # no predicate: all others are known
        back = Facts(train.objects, nothing, train.subjects, train.since, train.until)
        known = known_predicates(back, (train,))
        forth_of = train.predicates[known.row_of_each].astype(np.int64) * predicate_count
        pairs, times = np.unique(forth_of + known.flat_columns, return_counts=True)
        # Each predicate's most frequent pair comes last. On ties, the first wins.
        last = np.lexsort((-pairs, times))
        firsts, seconds = np.divmod(pairs[last], predicate_count)
        of = np.full(predicate_count, -1, np.int32)
        share = np.zeros(predicate_count)
        of[firsts] = seconds
        share[firsts] = times[last]
        share /= np.maximum(np.bincount(train.predicates, minlength=predicate_count), 1)
        return cls(read_only(of), read_only(share.astype(np.float32)))


class Weighed(NamedTuple):
    """Queries as features, with the weights and scores of a linear model."""

    queries: Queries
    rows: Ragged
    weights: Floats  # (features, R)
    scores: Floats  # (n, R)


def names_of(space: FeatureSpace) -> list[str]:
    """Return the names of the features."""
    return [*_names_of_weighed(space), *TypedHistories.of(space).feature_names()]


def _names_of_weighed(space: FeatureSpace) -> list[str]:
    """Return the names of the features from the linear model's rows and weights."""
    assert space.history is not None
    families, kernels = space.history.families, space.history.kernels
    return [
        *STANDING,
        *(f"part {family}" for family in families), "part traits", "part topologies",
        *(f"own {family} {kernel_}" for family in families for kernel_ in kernels),
        *(f"seen {family}" for family in families),
        *(f"now {family}" for family in families),
        "mirror share", "mirror now", "predicate",
    ]  # fmt: skip


def describe_candidates(
    space: FeatureSpace, weighed: Weighed, mirrors: Mirrors, count: int
) -> Candidates:
    """Return each query's `count` predicates with the best scores, and their features."""
    history, rows, scores = space.history, weighed.rows, weighed.scores
    assert history is not None
    count = min(count, scores.shape[1])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count].astype(np.int32)
    typed, first = TypedHistories.of(space), len(_names_of_weighed(space))
    features = np.zeros((len(rows), count, len(names_of(space))), np.float32)
    best = np.take_along_axis(scores, order, axis=1)
    features[:, :, 0] = np.arange(count)
    features[:, :, 1] = best - best[:, :1]
    features[:, :, 2] = np.log(np.take_along_axis(softmax(scores), order, axis=1) + 1e-12)
    same, ever, undated = (_index(history.kernels, k) for k in ("same", "ever", "undated ever"))
    back = _index(history.families, "reversed")
    traits = 0 if space.traits is None else len(space.traits)
    shape = (len(history.families), history.graph.predicate_count, len(history.kernels), traits)

    def fill(start: int) -> None:
        chunk = slice(start, min(start + CHUNK, len(rows)))
        offsets, candidates = rows.offsets[start : chunk.stop + 1], read_only(order[chunk].copy())
        _describe(
            offsets, rows.columns, rows.flat_values, weighed.weights, candidates,
            mirrors.of, mirrors.share, shape, same, ever, undated, back, features[chunk],
        )  # fmt: skip
        features[chunk, :, first:] = typed.describe(weighed.queries.take(chunk), candidates)

    in_threads(fill, range(0, len(rows), CHUNK))
    return Candidates(order, features)


def _index(names: tuple[str, ...], name: str) -> int:
    """Return the index of a name, or -1 if it is missing."""
    return names.index(name) if name in names else -1


@kernel
def _describe(
    offsets: Longs, columns: Ints, values: Floats, weights: Floats, candidates: Table,
    mirror_of: Ints, mirror_share: Floats, shape: tuple[int, int, int, int], same: int, ever: int,
    undated: int, back: int, features: Floats,
) -> None:  # fmt: skip
    """Fill in the features after the candidate's rank, gap and log-probability.

    One pass over the active columns of a row serves all of its candidates.
    """
    families, predicates, width, traits = shape
    history = families * predicates * width  # history columns; traits and topologies follow
    # Where each block of a candidate's features begins, in the order of `names_of`.
    own = 3 + families + 2
    seen = own + families * width
    mirror = seen + 2 * families
    candidate_of = np.full(predicates, -1, np.int32)  # for this row; cleared after the row
    for row in range(candidates.shape[0]):
        for c in range(candidates.shape[1]):
            candidate_of[candidates[row, c]] = c
            features[row, c, mirror] = mirror_share[candidates[row, c]]
            features[row, c, mirror + 2] = candidates[row, c]
        for entry in range(offsets[row], offsets[row + 1]):
            column = columns[entry]
            value = values[entry] if values.size else np.float32(1.0)
            part = families if column < history + traits else families + 1
            if column < history:
                # A column of history is (family * R + predicate) * width + kernel.
                part = column // (predicates * width)
                r, k = column // width % predicates, column % width
                if candidate_of[r] >= 0:
                    features[row, candidate_of[r], own + part * width + k] = value
                _add_context(
                    candidates[row], features[row], r, value, k == same, k in (ever, undated),
                    part == back, seen + part, seen + families + part, mirror + 1, mirror_of,
                )  # fmt: skip
            for c in range(candidates.shape[1]):
                features[row, c, 3 + part] += value * weights[column, candidates[row, c]]
        for c in range(candidates.shape[1]):
            candidate_of[candidates[row, c]] = -1


@leaf
def _add_context(
    candidates: Ints, features: Floats, r: int, value: np.float32, is_same: bool, is_ever: bool,
    is_back: bool, seen: int, now: int, mirror: int, mirror_of: Ints,
) -> None:  # fmt: skip
    """Add a history feature with predicate r to the context features of its query's candidates."""
    for c in range(candidates.size):
        if is_same:
            features[c, now] += value
            if is_back and mirror_of[candidates[c]] == r:
                features[c, mirror] = value
        if is_ever:
            features[c, seen] += 1
