"""Results against each other, query by query: a paired bootstrap, and who gains where.

Results that differ in nothing but the seed are one model: its queries' reciprocal ranks are means
over the seeds. Every model is held against the first.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Doubles
from apptek.errors import ApptekError
from apptek.experiments.ranks import Ranks, read_ranks
from apptek.experiments.result_file import COMPARISON, read_result
from apptek.seeding import generator

RESAMPLES = 2000
PAST_ONLY = ", past only"
_SAME = ("dataset", "protocol", "split")


@dataclass(frozen=True, slots=True)
class Compared:
    """One model: its result files, and the mean and spread of its MRR over seeds."""

    name: str
    files: tuple[str, ...]
    seeds: tuple[int, ...]
    mrr: float
    deviation: float | None  # between seeds; None where there is one


@dataclass(frozen=True, slots=True)
class PredicateGain:
    """The MRR of both models on the queries of one predicate."""

    predicate: str
    queries: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Difference:
    """MRR of `name` minus that of `against`, with its 95 % interval over resampled queries."""

    name: str
    against: str
    mean: float
    low: float
    high: float
    better: int  # queries whose truth ranks higher
    worse: int
    predicates: tuple[PredicateGain, ...]  # by what they add to the difference, gains first


@dataclass(frozen=True, slots=True)
class Comparison:
    """All models, and the others against the first."""

    about: dict[str, Any]
    models: tuple[Compared, ...]
    differences: tuple[Difference, ...]

    def as_json(self) -> dict[str, Any]:
        """Ready for JSON."""
        models, differences = map(asdict, self.models), map(asdict, self.differences)
        return self.about | {"models": list(models), "differences": list(differences)}

    def as_result(self) -> dict[str, Any]:
        """The same in short, as a result file keeps it: without predicates and places of files."""
        found = self.as_json()
        for model in found["models"]:
            model["files"] = [Path(file).name for file in model["files"]]
        for one in found["differences"]:
            del one["predicates"]
        return found | {"model": COMPARISON, "split": None, "asked": found["split"]}


@dataclass(frozen=True, slots=True)
class _Result:
    path: Path
    about: dict[str, Any]
    ranks: Ranks

    identity: str = ""  # what results of one model share, whatever their seed


def compare_results(paths: Sequence[Path]) -> Comparison:
    """Holds results of the same queries against each other; ApptekError where they are not."""
    results = _identified([_read(path) for path in paths])
    _check(results)
    groups: dict[str, list[_Result]] = {}
    for result in results:
        groups.setdefault(result.identity, []).append(result)
    if len(groups) < 2:
        raise ApptekError("a comparison needs results of at least two models")
    names = _names(list(groups.values()))
    models = [_compared(name, part) for name, part in zip(names, groups.values(), strict=True)]
    values = [_reciprocals(part) for part in groups.values()]
    differences = [
        difference(names[place], names[0], values[place], values[0], results[0].ranks)
        for place in range(1, len(names))
    ]
    about = {key: results[0].about.get(key) for key in _SAME} | {"queries": len(values[0])}
    return Comparison(about, tuple(models), tuple(differences))


def _read(path: Path) -> _Result:
    about = read_result(path)
    if "model" not in about:
        raise ApptekError(f"{path} is not the result of a model")
    return _Result(path, about, read_ranks(path, about))


def _identified(results: Sequence[_Result]) -> list[_Result]:
    """Results with their identities; what not all of them say of themselves is left aside."""
    keys = ("model", "preset", "settings", "types", "data")
    known = [key for key in keys if all(key in result.about for result in results)]

    def identity(about: dict[str, Any]) -> str:
        parts = [about[key] for key in known] + [_sees_only_the_past(about)]
        return json.dumps(parts, sort_keys=True)

    return [replace(result, identity=identity(result.about)) for result in results]


def _sees_only_the_past(about: dict[str, Any]) -> bool:
    fitted_so = (about.get("settings") or {}).get("features", {}).get("past_only", False)
    return bool(about.get("as_of", fitted_so))


def _check(results: Sequence[_Result]) -> None:
    first = results[0]
    seen: dict[tuple[str, Any], Path] = {}
    for result in results:
        for key in _SAME:
            found, expected = result.about.get(key), first.about.get(key)
            if found != expected:
                raise ApptekError(
                    f"{result.path} has {key} {found}, {first.path} has {expected}: "
                    "they cannot be compared"
                )
        if result.ranks.queries != first.ranks.queries:
            raise ApptekError(f"{result.path} and {first.path} answer different queries")
        run = (result.identity, result.about.get("seed"))
        if run in seen:
            raise ApptekError(
                f"{result.path} and {seen[run]} are the same run: give only one of them"
            )
        seen[run] = result.path


def _names(groups: Sequence[Sequence[_Result]]) -> list[str]:
    """The models' names; where two share one, the file's; where they share that, its path."""
    paths = [group[0].path for group in groups]
    abouts = [group[0].about for group in groups]
    named = [str(about["model"]) + PAST_ONLY * _sees_only_the_past(about) for about in abouts]
    for others in ([path.stem for path in paths], [str(path) for path in paths]):
        shared = {name for name in named if named.count(name) > 1}
        named = [o if n in shared else n for n, o in zip(named, others, strict=True)]
    return named


def _compared(name: str, group: Sequence[_Result]) -> Compared:
    mrr = [float(np.mean(1 / result.ranks.ranks, dtype=np.float64)) for result in group]
    return Compared(
        name,
        tuple(str(result.path) for result in group),
        tuple(int(result.about.get("seed") or 0) for result in group),
        float(np.mean(mrr)),
        float(np.std(mrr, ddof=1)) if len(mrr) > 1 else None,
    )


def _reciprocals(group: Sequence[_Result]) -> Doubles:
    """1 / rank of every query, a mean over the seeds."""
    stacked = np.stack([result.ranks.ranks for result in group]).astype(np.float64)
    return np.asarray((1 / stacked).mean(axis=0))


def difference(
    name: str, against: str, after: Doubles, before: Doubles, asked: Ranks
) -> Difference:
    """How far one model is ahead of another on the same queries."""
    gains = after - before
    low, high = bootstrap_interval(gains, rng=generator(0, "bootstrap"))
    return Difference(
        name,
        against,
        float(gains.mean()),
        low,
        high,
        int((gains > 0).sum()),
        int((gains < 0).sum()),
        _by_predicate(after, before, asked),
    )


def bootstrap_interval(gains: Doubles, *, rng: np.random.Generator) -> tuple[float, float]:
    """The 95 % interval of the mean gain over queries that are drawn anew, with replacement."""
    means = [gains[rng.integers(len(gains), size=len(gains))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _by_predicate(after: Doubles, before: Doubles, asked: Ranks) -> tuple[PredicateGain, ...]:
    count = len(asked.names)
    queries = np.bincount(asked.predicates, minlength=count)
    sums = [
        np.bincount(asked.predicates, weights=part, minlength=count) for part in (before, after)
    ]
    order = np.argsort(sums[0] - sums[1], kind="stable").tolist()
    return tuple(
        PredicateGain(
            asked.names[row],
            int(queries[row]),
            float(sums[0][row] / queries[row]),
            float(sums[1][row] / queries[row]),
        )
        for row in order
    )
