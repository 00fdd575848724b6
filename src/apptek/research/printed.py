"""The numbers printed in the paper, and its Table 1 compared with the data files."""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from apptek.facts.facts import SPLITS, Dataset
from apptek.facts.protocols import apply_protocol, distinct_times

_NUMBERS = tomllib.loads(Path(__file__).with_name("printed.toml").read_text(encoding="utf-8"))
TITLES: dict[str, str] = _NUMBERS["titles"]
PRINTED: dict[str, dict[str, int]] = _NUMBERS["statistics"]
# Each list begins with MRR, Hits@10 and Hits@1.
PRINTED_MODELS: dict[str, dict[str, list[float]]] = _NUMBERS["models"]
PRINTED_OWN = PRINTED_MODELS["APPTeK"]
PRINTED_TKNN = {int(tknn): numbers for tknn, numbers in _NUMBERS["tknn"].items()}
PRINTED_FORECASTS: dict[str, float] = _NUMBERS["forecasts"]
PRINTED_ENTITIES: dict[str, dict[str, float]] = _NUMBERS["entities"]


def statistics(dataset: Dataset) -> dict[str, int]:
    """Return a data set's Table 1; entities, predicates and times are counted over all splits.

    Times are distinct written times (codes), including both since and until, but not unknown ones.
    """
    facts = dataset.all_facts()
    return {
        "entities": len(np.union1d(facts.subjects, facts.objects)),
        "predicates": len(np.unique(facts.predicates)),
        "times": len(distinct_times(facts)),
        **{split: len(dataset.split(split)) for split in SPLITS},
    }


def compare_statistics(dataset: Dataset, name: str) -> dict[str, Any]:
    """Return a data set's Table 1: as it is, under the paper's protocol, and as printed.

    For data that is not in the paper, only `official` is counted: the files as they are.
    """
    counts: dict[str, Any] = {"dataset": dataset.name, "official": statistics(dataset)}
    if name in PRINTED:
        of_paper = statistics(apply_protocol(dataset, "paper"))
        counts |= {"paper": of_paper, "printed_in_paper": PRINTED[name]}
    report = dataset.report
    return counts | {
        "time_unit": dataset.axis.unit,
        "undated": dataset.undated_count(),
        "duplicates": dict(report.duplicates),
        "merged_by_time": report.merged,
        "also_in_train": dict(report.also_in_train),
        "bad_rows": report.defect_count,
    }
