"""The paper's Table 1: what it prints, and what the files have under each protocol."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from apptek.errors import DataError
from apptek.facts.benchmarks import BENCHMARKS, Benchmark
from apptek.facts.facts import Dataset
from apptek.facts.protocols import apply_protocol, cut_by_date, distinct_times, occurring

_UNSEEN = "the paper's protocol drops valid and test facts with {} unseen in train"
_EXCHANGED = "the paper's protocol exchanges valid and test, without the facts that have an entity"
_GENERAL: dict[str, str] = {
    "entities": _UNSEEN.format("an entity"),
    "predicates": _UNSEEN.format("a predicate"),
    "times": _UNSEEN.format("a time"),
    "valid": f"{_EXCHANGED}, a predicate or a time unseen in train",
    "test": f"{_EXCHANGED}, a predicate or a time unseen in train",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The rows of the paper's Table 1: distinct entities, predicates and times, facts by split."""

    entities: int
    predicates: int
    times: int
    train: int
    valid: int
    test: int


_ICEWS14 = {
    "entities": (
        "The paper prints the 7,128 entities of the unfiltered splits; its own filter leaves "
        "6,869, those of train."
    ),
    "valid": (
        "The paper's valid is the public test (8,963) without its 146 facts with an entity "
        "unseen in train."
    ),
    "test": (
        "The paper's test is the public valid (8,941) without its 152 facts with an entity "
        "unseen in train."
    ),
}
_ICEWS05_15 = {
    "entities": (
        "The public splits have 10,488 entities; the paper prints the 10,094 that its filter "
        "leaves, those of train."
    ),
    "valid": (
        "The paper's valid is the public test (46,092) without its 234 facts with an entity "
        "unseen in train."
    ),
    "test": (
        "The paper's test is the public valid (46,275) without its 219 facts with an entity "
        "unseen in train."
    ),
}
_YAGO15K = {
    "times": (
        "Distinct dates as they are written. The paper's 188 are very probably those of the "
        "public train file; the reconstructed train file has 170, because some dates lost "
        "their day or month, and with valid and test 180."
    ),
    "train": (
        "The public train file has 110,441 lines, as printed (lines that repeat a fact count "
        "once); a train file of 110,541 is a reconstruction of it, about 99.9 % the same."
    ),
    "valid": (
        "The paper's valid is the public test (13,800) without its 8 facts with a date unseen "
        "in train."
    ),
    "test": (
        "The paper's test is the public valid (13,815) without its 2 facts with a date unseen "
        "in train."
    ),
}
# By benchmark: what the paper prints, and by row why the numbers of the files, of the paper's
# protocol and in print differ.
PRINTED: dict[str, tuple[Statistics, dict[str, str]]] = {
    "icews14": (
        Statistics(
            entities=7_128, predicates=230, times=365, train=72_826, valid=8_817, test=8_789
        ),
        _ICEWS14,
    ),
    "icews05-15": (
        Statistics(
            entities=10_094, predicates=251, times=4_017, train=368_962, valid=45_858, test=46_056
        ),
        _ICEWS05_15,
    ),
    "yago15k": (
        Statistics(
            entities=15_403, predicates=32, times=188, train=110_441, valid=13_792, test=13_813
        ),
        _YAGO15K,
    ),
}


def statistics(dataset: Dataset) -> Statistics:
    """Return Table 1 of a data set; entities, predicates and times are counted over all its splits.

    Times are distinct written times (codes), since and until together, without the unknown.
    """
    splits = (dataset.train, dataset.valid, dataset.test)
    ends = [column for facts in splits for column in (facts.subjects, facts.objects)]
    predicates = [facts.predicates for facts in splits]
    return Statistics(
        entities=int(occurring(len(dataset.entities), *ends).sum()),
        predicates=int(occurring(len(dataset.predicates), *predicates).sum()),
        times=len(distinct_times(*splits)),
        train=len(dataset.train),
        valid=len(dataset.valid),
        test=len(dataset.test),
    )


def compare_statistics(dataset: Dataset, name: str) -> dict[str, Any]:
    """Return Table 1 of a data set in every protocol and as the paper prints it, ready for JSON.

    Of data that is not in the paper, only `official` is counted: the files as they are. `forecast`
    is None for data that cannot be cut at published dates. `differences` explains, by key, every
    row in which official, paper and print are not all equal.
    """
    official = asdict(statistics(dataset))
    counts: dict[str, Any] = {"dataset": dataset.name, "official": official}
    if name in PRINTED:
        benchmark, (numbers, reasons) = BENCHMARKS[name], PRINTED[name]
        paper = asdict(statistics(apply_protocol(dataset, "paper")))
        printed = asdict(numbers)
        explanations = _GENERAL | reasons
        counts |= {
            "paper": paper,
            "printed_in_paper": printed,
            "forecast": _forecast_statistics(dataset, benchmark),
            "differences": _differences([official, paper, printed], explanations),
        }
    report = dataset.report
    return counts | {
        "time_unit": dataset.axis.unit,
        "undated": dataset.undated_count(),
        "duplicates": dict(report.duplicates),
        "merged_by_time": report.merged,
        "also_in_train": dict(report.also_in_train),
        "bad_rows": report.defect_count,
    }


def _forecast_statistics(dataset: Dataset, benchmark: Benchmark) -> dict[str, int] | None:
    if benchmark.forecast_cuts is None:
        return None
    try:
        return asdict(statistics(cut_by_date(dataset, benchmark.forecast_cuts)))
    except DataError:  # other files under the name of a benchmark can be counted all the same
        return None


def _differences(columns: list[dict[str, int]], explanations: Mapping[str, str]) -> dict[str, str]:
    differing = (key for key in columns[0] if len({column[key] for column in columns}) > 1)
    return {key: explanations.get(key, "these are not the public files") for key in differing}
