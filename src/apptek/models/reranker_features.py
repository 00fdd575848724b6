"""The likeliest predicates of a question, each described by what the linear model saw of it.

| features of a candidate r | how many           |                                                |
|---------------------------|--------------------|------------------------------------------------|
| place                     | 3                  | rank, gap to the best score, log-probability   |
| part                      | families + 2       | what each family, traits, topologies add to r  |
| own                       | families x kernels | the value of (family, r, kernel)               |
| seen, now                 | families, twice    | predicates seen; the sum of values at that time|
| mirror                    | 2                  | r's mirror: how often it comes; is it there now|
| predicate                 | 1                  | r itself                                       |

The mirror of r is the predicate that, in training, most often goes the other way at the same time.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apptek.arrays import Floats, Ints, Longs, read_only
from apptek.compiling import in_threads, kernel, leaf
from apptek.data.fact_keys import fact_keys
from apptek.data.facts import Facts
from apptek.evaluation.calibration import softmax
from apptek.features.space import FeatureSpace
from apptek.features.sparse import SparseRows

CHUNK = 2048
Table = npt.NDArray[np.int32]  # (n, C)
PLACE = ("rank", "gap", "log_probability")


@dataclass(frozen=True, slots=True)
class Mirrors:
    """For each predicate the one that most often goes the other way, -1 where none does.

    share  of its facts, dated ones between two entities, that have it the same time
    """

    of: Ints  # (R,)
    share: Floats  # (R,)

    @classmethod
    def learned(cls, train: Facts, predicate_count: int) -> "Mirrors":
        """From training facts alone."""
        train = train.take(train.dated & (train.subjects != train.objects))
        nothing = np.zeros(len(train), np.int32)
        forth = Facts(train.subjects, nothing, train.objects, train.since, train.until)
        back = Facts(train.objects, nothing, train.subjects, train.since, train.until)
        wanted, there = fact_keys(back, forth)
        order = np.argsort(there, kind="stable")
        held, predicates = there[order], train.predicates[order]
        starts, stops = (np.searchsorted(held, wanted, side) for side in ("left", "right"))
        rows = np.repeat(np.arange(len(train)), stops - starts)
        counts = stops - starts
        within = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        pairs = np.zeros((predicate_count, predicate_count), np.int64)
        np.add.at(pairs, (train.predicates[rows], predicates[starts[rows] + within]), 1)
        facts = np.bincount(train.predicates, minlength=predicate_count)
        of = pairs.argmax(axis=1).astype(np.int32)
        share = pairs[np.arange(predicate_count), of] / np.maximum(facts, 1)
        of[share == 0] = -1
        return cls(read_only(of), read_only(share.astype(np.float32)))


@dataclass(frozen=True, slots=True)
class Described:
    """Candidates of n questions, the best first, and their features."""

    candidates: Ints  # (n, C)
    features: Floats  # (n, C, F)


def names_of(space: FeatureSpace) -> list[str]:
    """The names of the features."""
    assert space.history is not None
    families, kernels = space.history.families, space.history.kernels
    return [
        *PLACE,
        *(f"part {family}" for family in families), "part traits", "part topologies",
        *(f"own {family} {kernel_}" for family in families for kernel_ in kernels),
        *(f"seen {family}" for family in families),
        *(f"now {family}" for family in families),
        "mirror share", "mirror now", "predicate",
    ]  # fmt: skip


def describe_candidates(
    space: FeatureSpace, rows: SparseRows, weights: Floats, scores: Floats, mirrors: Mirrors,
    count: int,
) -> Described:  # fmt: skip
    """The `count` predicates with the best scores, and what speaks for each."""
    history = space.history
    assert history is not None
    count = min(count, scores.shape[1])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :count].astype(np.int32)
    found = np.zeros((len(rows), count, len(names_of(space))), np.float32)
    best = np.take_along_axis(scores, order, axis=1)
    found[:, :, 0] = np.arange(count)
    found[:, :, 1] = best - best[:, :1]
    found[:, :, 2] = np.log(np.take_along_axis(softmax(scores), order, axis=1) + 1e-12)
    same, ever, undated = (_place(history.kernels, k) for k in ("same", "ever", "undated ever"))
    back = _place(history.families, "reversed")
    traits = 0 if space.traits is None else len(space.traits)
    shape = (len(history.families), history.graph.predicate_count, len(history.kernels), traits)

    def fill(start: int) -> None:
        part = slice(start, min(start + CHUNK, len(rows)))
        offsets = rows.offsets[start : part.stop + 1]
        _describe(
            offsets, rows.columns, rows.flat_values, weights, read_only(order[part].copy()),
            mirrors.of, mirrors.share, shape, same, ever, undated, back, found[part],
        )  # fmt: skip

    in_threads(fill, range(0, len(rows), CHUNK))
    return Described(order, found)


def _place(names: tuple[str, ...], name: str) -> int:
    """Where a name stands, -1 where it does not."""
    return names.index(name) if name in names else -1


@kernel
def _describe(
    offsets: Longs, columns: Ints, values: Floats, weights: Floats, candidates: Table,
    mirror_of: Ints, mirror_share: Floats, shape: tuple[int, int, int, int], same: int, ever: int,
    undated: int, back: int, found: Floats,
) -> None:  # fmt: skip
    """Fills in the features from `part` on."""
    families, predicates, width, traits = shape
    history = families * predicates * width
    own = 3 + families + 2
    seen = own + families * width
    mirror = seen + 2 * families
    place_of = np.full(predicates, -1, np.int32)
    for row in range(candidates.shape[0]):
        for c in range(candidates.shape[1]):
            place_of[candidates[row, c]] = c
            found[row, c, mirror] = mirror_share[candidates[row, c]]
            found[row, c, mirror + 2] = candidates[row, c]
        for place in range(offsets[row], offsets[row + 1]):
            column = columns[place]
            value = values[place] if values.size else np.float32(1.0)
            part = families if column < history + traits else families + 1
            if column < history:
                part = column // (predicates * width)
                r, k = column // width % predicates, column % width
                if place_of[r] >= 0:
                    found[row, place_of[r], own + part * width + k] = value
                _set_scene(
                    candidates[row], found[row], r, value, k == same, k in (ever, undated),
                    part == back, seen + part, seen + families + part, mirror + 1, mirror_of,
                )  # fmt: skip
            for c in range(candidates.shape[1]):
                found[row, c, 3 + part] += value * weights[column, candidates[row, c]]
        for c in range(candidates.shape[1]):
            place_of[candidates[row, c]] = -1


@leaf
def _set_scene(
    candidates: Ints, found: Floats, r: int, value: np.float32, is_same: bool, is_ever: bool,
    is_back: bool, seen: int, now: int, mirror: int, mirror_of: Ints,
) -> None:  # fmt: skip
    """What a feature of history tells every candidate of its question."""
    for c in range(candidates.size):
        if is_same:
            found[c, now] += value
            if is_back and mirror_of[candidates[c]] == r:
                found[c, mirror] = value
        if is_ever:
            found[c, seen] += 1
