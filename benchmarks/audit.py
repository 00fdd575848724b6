"""The benchmark of the audit: how many planted errors it finds, compared with a baseline."""

import time
from typing import Any

import numpy as np

from apptek.arrays import Bools
from apptek.audit.audit import audit_facts
from apptek.audit.judge import cross_fit
from apptek.evaluation.calibration import area_under_curve
from apptek.facts.facts import Dataset
from apptek.reading.reader import read_dataset
from apptek.seeding import generator
from apptek.synthetic.world import make_world
from benchmarks.planted_errors import (
    SHARE,
    Error,
    familiarity,
    plant_errors,
    precision_among_first,
)
from benchmarks.report import BenchReport, bench_dataset, seconds

FIRST = (100, 1000)
LARGE = 1_000_000  # number of synthetic facts in the timed audit
TARGETS = {
    "predicate_auc": "at least 0.905",
    "predicate_auc_uniform": "at least 0.982",
    "direction_auc": "at least 0.838",
}


def bench_audit(*, quick: bool = False, data: str | None = None, seed: int = 0) -> BenchReport:
    """Plant errors in 1 % of ICEWS14's training facts and audit them, for each type of error.

    quick  use 20,000 synthetic facts instead, and skip the large data set
    data   other data: a folder, a file, or the name of a benchmark

    predicate   another predicate, drawn by its frequency; _uniform: drawn uniformly
    direction   subject and object swapped
    precision   among the first 1 %; _100 and _1000: among the first 100 and 1,000
    _in_list    in the order of the whole audit, which does not know the type of error to expect
    _baseline   by how often (subject, predicate) and (predicate, object) occur
    """
    dataset = bench_dataset(quick) if data is None else read_dataset(data)
    figures: dict[str, Any] = {"data": dataset.name, "facts": len(dataset.train), "share": SHARE}
    figures |= _figures(dataset, "frequency", "predicate", "", seed)
    figures |= _figures(dataset, "uniform", "predicate", "_uniform", seed)
    figures |= _figures(dataset, "direction", "direction", "", seed)
    if not quick and data is None:
        figures |= _seconds(LARGE)
    return BenchReport(ratios={}, figures=figures, targets=TARGETS)


def _figures(data: Dataset, error: Error, name: str, ending: str, seed: int) -> dict[str, Any]:
    """Return AUC and precision for the audit, for the order of its list, and for the baseline."""
    damaged, wrong = plant_errors(data, error, rng=generator(seed, f"planting {error}"))
    audit = audit_facts(cross_fit(damaged, seed=seed))
    of_kind = audit.direction_odds if error == "direction" else audit.predicate_odds
    scores = {"": of_kind, "_in_list": audit.odds, "_baseline": -familiarity(audit.roles)}
    figures: dict[str, Any] = {}
    for variant, values in scores.items():
        figures[f"{name}_auc{ending}{variant}"] = area_under_curve(values, wrong)
        for first, count in _first_counts(wrong).items():
            precision = precision_among_first(values, wrong, count)
            figures[f"{name}_precision{first}{ending}{variant}"] = precision
    return figures


def _first_counts(wrong: Bools) -> dict[str, int]:
    """Return the list lengths at which precision is measured: the number of errors, 100, 1,000."""
    counts = {"": int(np.count_nonzero(wrong))} | {f"_{count}": count for count in FIRST}
    return {name: count for name, count in counts.items() if count <= len(wrong)}


def _seconds(size: int) -> dict[str, float]:
    """Return the time in seconds for auditing a synthetic dataset, from its facts to their odds.

    CPU seconds over all threads are included, because other load on the machine does not change
    them.
    """
    data = make_world(size, 0).dataset

    start = time.process_time()
    elapsed = seconds(lambda: audit_facts(cross_fit(data)))
    return {
        "million_facts_seconds": elapsed,
        "million_facts_processor_seconds": time.process_time() - start,
    }
