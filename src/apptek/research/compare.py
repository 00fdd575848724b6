"""Compare models query by query, with a paired bootstrap of the difference in MRR.

Results that differ only in the seed belong to one model. The model's reciprocal ranks are means
over the seeds. Every model is compared with the first one.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from apptek.arrays import Doubles, Floats
from apptek.errors import ApptekError
from apptek.research.result import Result, read_ranks, read_result
from apptek.seeding import generator

COMPARISON = "comparison"  # the `model` of a comparison's result
PAST_ONLY, ROLLING = ", past_only", ", rolling"
RESAMPLES = 2000
# These must be equal in all results of a comparison.
_SHARED = ("dataset", "protocol", "split", "filtering", "candidates")
_IDENTITY = ("model", "preset", "settings", "types", "data", "view", "rolling")


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A model: its result files, and the mean and spread of its MRR over the seeds."""

    name: str
    files: tuple[str, ...]
    seeds: tuple[int, ...]
    mrr: float
    deviation: float | None  # between seeds; None if there is only one


@dataclass(frozen=True, slots=True)
class Difference:
    """MRR of `name` minus MRR of `against`, with its 95 % interval over resampled queries."""

    name: str
    against: str
    mean: float
    low: float
    high: float
    better: int  # queries on which the true predicate ranks higher
    worse: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """All models, and each other model's difference from the first one."""

    dataset: str
    protocol: str | None
    split: str | None
    queries: int
    models: tuple[ComparedModel, ...]
    differences: tuple[Difference, ...]

    def as_result(self) -> Result:
        """Return the comparison as a result file, with file names instead of paths."""
        entries = asdict(self)
        for model in entries["models"]:
            model["files"] = [Path(file).name for file in model["files"]]
        # A split would mark the result as an evaluation of a single model.
        entries |= {"model": COMPARISON, "split": None, "asked": self.split}
        return Result.from_json(entries)


@dataclass(frozen=True, slots=True)
class _RankedResult:
    path: Path
    result: Result
    ranks: Floats


def compare_results(paths: Sequence[str | Path]) -> Comparison:
    """Compare result files for the same queries. Raise ApptekError if this is not possible."""
    ranked = [
        _RankedResult(path, result, read_ranks(path, result))
        for path, result in ((path, read_result(path)) for path in map(Path, paths))
    ]
    groups = _group_by_model(ranked)
    _check_comparable(ranked, groups)
    names = _names([group[0] for group in groups])
    models = [_compared_model(name, group) for name, group in zip(names, groups, strict=True)]
    values = [
        np.mean([1 / item.ranks.astype(np.float64) for item in group], axis=0) for group in groups
    ]
    differences = [
        difference((name, names[0]), after - values[0])
        for name, after in zip(names[1:], values[1:], strict=True)
    ]
    first = ranked[0].result
    about = (first.dataset, first.protocol, first.split)
    return Comparison(*about, len(values[0]), tuple(models), tuple(differences))


def _group_by_model(ranked: Sequence[_RankedResult]) -> list[list[_RankedResult]]:
    """Return the results of each model, for all seeds."""
    groups: dict[str, list[_RankedResult]] = {}
    for item in ranked:
        entries = item.result.as_json()
        identity = [entries.get(key) for key in _IDENTITY]
        groups.setdefault(json.dumps(identity, sort_keys=True), []).append(item)
    return list(groups.values())


def _check_comparable(
    ranked: Sequence[_RankedResult], groups: Sequence[Sequence[_RankedResult]]
) -> None:
    first = ranked[0]
    for item in ranked:
        for key in _SHARED:
            value, expected = getattr(item.result, key), getattr(first.result, key)
            if value != expected:
                raise ApptekError(
                    f"{item.path} has {key} {value}, {first.path} has {expected}: "
                    "they cannot be compared"
                )
        if item.result.ranks["queries"] != first.result.ranks["queries"]:
            raise ApptekError(f"{item.path} and {first.path} answer different queries")
    for group in groups:
        of_seed: dict[int | None, Path] = {}
        for item in group:
            seed = item.result.seed
            if seed in of_seed:
                raise ApptekError(
                    f"{item.path} and {of_seed[seed]} are the same run: give only one of them"
                )
            of_seed[seed] = item.path
    if len(groups) < 2:
        raise ApptekError("a comparison needs results of at least two models")


def _names(firsts: Sequence[_RankedResult]) -> list[str]:
    """Return the models' names; models with the same name are identified by file."""
    results = [one.result for one in firsts]
    views = [ROLLING if r.rolling else PAST_ONLY * (r.view == "past_only") for r in results]
    names = [result.model + view for result, view in zip(results, views, strict=True)]
    return [
        name if names.count(name) == 1 else str(one.path)
        for name, one in zip(names, firsts, strict=True)
    ]


def _compared_model(name: str, group: Sequence[_RankedResult]) -> ComparedModel:
    mrr = [float(np.mean(1 / item.ranks, dtype=np.float64)) for item in group]
    return ComparedModel(
        name,
        tuple(str(item.path) for item in group),
        tuple(item.result.seed or 0 for item in group),
        float(np.mean(mrr)),
        float(np.std(mrr, ddof=1)) if len(mrr) > 1 else None,
    )


def difference(names: tuple[str, str], gains: Doubles) -> Difference:
    """Return how far the first model is ahead of the second, given its gain on each query."""
    # Use the same stream for every pair of models, so that intervals are independent of other
    # pairs.
    low, high = bootstrap_interval(gains, rng=generator(0, "bootstrap"))
    return Difference(
        *names,
        float(gains.mean()),
        low,
        high,
        int((gains > 0).sum()),
        int((gains < 0).sum()),
    )


def bootstrap_interval(gains: Doubles, *, rng: np.random.Generator) -> tuple[float, float]:
    """Return the bootstrap 95 % interval of the mean gain over queries."""
    # One resample at a time: all at once would need RESAMPLES times the memory.
    means = [gains[rng.integers(len(gains), size=len(gains))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)
