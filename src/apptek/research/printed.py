"""The numbers printed in the paper, and its Table 1 compared with the data files."""

from typing import Any

import numpy as np

from apptek.facts.facts import SPLITS, Dataset
from apptek.facts.protocols import apply_protocol, distinct_times

TITLES = {"icews14": "ICEWS14", "icews05-15": "ICEWS05-15", "yago15k": "YAGO15K"}
Numbers = dict[str, tuple[float, ...]]  # MRR, Hits@10 and Hits@1 by data set

# Table 2: the paper's own method, and the baselines that it trained.
PRINTED_OWN: Numbers = {
    "icews14": (0.4889, 0.7749, 0.3421),
    "icews05-15": (0.4844, 0.8246, 0.3222),
    "yago15k": (0.6041, 0.9547, 0.3537),
}
PRINTED_MODELS: dict[str, Numbers] = {
    "TNTComplEx": {
        "icews14": (0.2691, 0.5266, 0.1701),
        "icews05-15": (0.2398, 0.4775, 0.1327),
        "yago15k": (0.5852, 0.9699, 0.3168),
    },
    "DE-SimplE": {
        "icews14": (0.5074, 0.7573, 0.3882),
        "icews05-15": (0.4289, 0.6551, 0.3162),
        "yago15k": (0.2749, 0.4228, 0.1852),
    },
    "DE-TransE": {
        "icews14": (0.2068, 0.3119, 0.1364),
        "icews05-15": (0.1928, 0.3486, 0.1074),
        "yago15k": (0.3906, 0.4827, 0.3120),
    },
    "DE-DistMult": {
        "icews14": (0.4613, 0.7370, 0.3261),
        "icews05-15": (0.3197, 0.5243, 0.2129),
        "yago15k": (0.2459, 0.4298, 0.1457),
    },
    "RE-GCN": {"icews14": (0.4756, 0.7524, 0.3535), "icews05-15": (0.4750, 0.7483, 0.3524)},
    "APPTeK": PRINTED_OWN,
}
# Table 3, by tknn: MRR, Hits@10, Hits@1, milliseconds per episode.
PRINTED_TKNN = {
    5: (0.4297, 0.7563, 0.2849, 23, 1598),
    15: (0.4593, 0.7549, 0.3183, 33, 2245),
    25: (0.4716, 0.7591, 0.3269, 41, 2975),
    50: (0.4469, 0.7425, 0.3079, 66, 4473),
}
# RE-GCN's paper: relation prediction, raw, both directions, with rolling history.
PRINTED_FORECASTS = {"icews14": 0.4106, "icews05-15": 0.4063}
# Missing entity, both directions, rolling history, time-aware filter. The last three are quoted
# from LogCL's paper.
PRINTED_ENTITIES = {
    "icews14": {"recurrency baseline": 0.374, "RE-GCN": 0.404, "TiRGN": 0.440, "LogCL": 0.489}
}


# Table 1.
PRINTED = {
    "icews14": {
        "entities": 7_128, "predicates": 230, "times": 365,
        "train": 72_826, "valid": 8_817, "test": 8_789,
    },
    "icews05-15": {
        "entities": 10_094, "predicates": 251, "times": 4_017,
        "train": 368_962, "valid": 45_858, "test": 46_056,
    },
    "yago15k": {
        "entities": 15_403, "predicates": 32, "times": 188,
        "train": 110_441, "valid": 13_792, "test": 13_813,
    },
}  # fmt: skip


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
