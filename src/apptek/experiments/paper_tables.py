"""The paper's tables made anew from result files, ours beside what it prints."""

import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

from apptek.baselines.registry import NAMES, PAST_ONLY_NAMES
from apptek.errors import ConfigError
from apptek.experiments.experiment import Experiment, results_of
from apptek.experiments.tables import KEYS, NOTHING, PRINTED, TABLES, Maker, markdown
from apptek.settings import setting_texts

Results = Sequence[dict[str, Any]]
Numbers = dict[str, tuple[float, ...]]  # MRR, Hits@10, Hits@1 by data set
TITLES = {"icews14": "ICEWS14", "icews05-15": "ICEWS05-15", "yago15k": "YAGO15K"}

# Table 2 as printed: MRR, Hits@10, Hits@1.
PRINTED_BASELINES: dict[str, Numbers] = {
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
    "APPTeK": {**PRINTED},
}
# Table 3 as printed: MRR, Hits@10, Hits@1, milliseconds an episode.
PRINTED_TKNN = {
    5: (0.4297, 0.7563, 0.2849, 23),
    15: (0.4593, 0.7549, 0.3183, 33),
    25: (0.4716, 0.7591, 0.3269, 41),
    50: (0.4469, 0.7425, 0.3079, 66),
}
ROWS = (*NAMES, "apptek_paper", "apptek_default", "apptek_max")
COMMANDS = {f"apptek_{preset}": f"fit --preset {preset}" for preset in ("paper", "default", "max")}
COUNTS = {
    "entities": "entities",
    "predicates": "predicates",
    "times": "distinct times",
    "train": "train",
    "valid": "valid",
    "test": "test",
}
SOURCES = {"official": "official", "paper": "its protocol", "printed_in_paper": "printed"}


def all_tables(experiments: Sequence[Experiment]) -> dict[str, Maker]:
    """Every table that a page may show, by name."""
    made = {
        "table1": table1,
        "table2": table2,
        "table3": table3,
        "table-m": table_m,
        "table-search": table_search,
    }
    own = {name: partial(make, serving(experiments, name)) for name, make in made.items()}
    short = {"overview": overview, "reproduced": reproduced}
    return (
        TABLES
        | own
        | {n: partial(make, serving(experiments, "table2")) for n, make in short.items()}
    )


def serving(experiments: Sequence[Experiment], shown: str) -> list[Experiment]:
    """The experiments that a table or figure shows."""
    return [experiment for experiment in experiments if shown in experiment.serves]


def table1(experiments: Sequence[Experiment], results: Results) -> str:
    """Statistics of the data sets: the public splits, the paper's protocol, and as printed."""
    experiments = [experiment for experiment in experiments if experiment.what == "statistics"]
    found = [
        result for experiment in _by_data(experiments) for result in results_of(experiment, results)
    ]
    sources = [
        (_title(result), words, result[source])
        for result in found
        for source, words in SOURCES.items()
        if result[source]
    ]
    if not sources:
        return NOTHING
    rows = [
        [words, *(f"{counts[key]:,}" for _, _, counts in sources)] for key, words in COUNTS.items()
    ]
    table = markdown(("", *(f"{title}, {source}" for title, source, _ in sources)), rows)
    reasons = [
        f"- {_title(result)}, {COUNTS[key]}: {why}"
        for result in found
        for key, why in result["differences"].items()
    ]
    return "\n".join([table, "", *reasons]) if reasons else table


def table2(experiments: Sequence[Experiment], results: Results) -> str:
    """Every model, under the official protocol and under the paper's, whose numbers are its own.

    Means over the seeds. In every column the best of ours is bold, the second italic.
    """
    parts = []
    for protocol, title in (("official", "Official protocol"), ("paper", "The paper's protocol")):
        of_protocol = [
            experiment for experiment in _by_data(experiments) if experiment.protocol == protocol
        ]
        ours = {name: row for name, row in _our_rows(of_protocol, results).items() if row}
        if ours:
            parts.append(f"**{title}**\n\n{_ranked_table(of_protocol, ours)}")
            parts += _what_is_missing(of_protocol, results)
    return "\n\n".join(parts) or NOTHING


def _what_is_missing(experiments: Sequence[Experiment], results: Results) -> list[str]:
    """Lines that name the experiments without results, and those with too few seeds."""
    counts = [(experiment, len(results_of(experiment, results))) for experiment in experiments]
    absent = [
        f"{_row_name(experiment)} on {experiment.dataset}"
        for experiment, found in counts
        if not found
    ]
    fewer = [
        f"{_row_name(experiment)} on {experiment.dataset} ({found} of {len(experiment.seeds)})"
        for experiment, found in counts
        if 0 < found < len(experiment.seeds)
    ]
    lines = (("Not recorded yet", absent), ("Means of fewer seeds than asked for", fewer))
    return [f"{title}: {'; '.join(found)}." for title, found in lines if found]


def _our_rows(experiments: Sequence[Experiment], results: Results) -> dict[str, Numbers]:
    """By the row's name and the data set: means over the seeds, nothing where none is recorded."""
    rows: dict[str, Numbers] = {}
    owners: dict[tuple[str, str], Experiment] = {}
    order = {name: place for place, name in enumerate(ROWS)}
    for experiment in sorted(
        experiments, key=lambda experiment: (order.get(experiment.model, 99), _row_name(experiment))
    ):
        name = _row_name(experiment)
        other = owners.setdefault((name, experiment.dataset), experiment)
        if other is not experiment:
            raise ConfigError(
                f"the experiments {other.name} and {experiment.name} fill the same row: {name}"
            )
        row = rows.setdefault(name, {})
        if found := results_of(experiment, results):
            row[experiment.dataset] = _means(found)
    return rows


def _row_name(experiment: Experiment) -> str:
    """Those that see only the past say so: they answer a harder question."""
    theirs = experiment.what == "baseline" and experiment.preset == "paper"
    only_past = (
        experiment.baseline in PAST_ONLY_NAMES or "features.past_only=true" in experiment.settings
    )
    return experiment.model + ", preset paper" * theirs + ", past only" * only_past


def _ranked_table(experiments: Sequence[Experiment], ours: dict[str, Numbers]) -> str:
    datasets = list(dict.fromkeys(experiment.dataset for experiment in experiments))
    printed = PRINTED_BASELINES if any(data in TITLES for data in datasets) else {}
    rows = {f"{name}, as printed": numbers for name, numbers in printed.items()} | ours
    texts_of: dict[str, list[str]] = {name: [] for name in rows}
    for data in datasets:
        for place in range(len(KEYS)):
            column = {name: rows[name][data][place] for name in rows if data in rows[name]}
            texts = {name: f"{value:.4f}" for name, value in column.items()}
            texts |= mark_best({name: column[name] for name in ours if name in column})
            for name in rows:
                texts_of[name].append(texts.get(name, ""))
    titles = [TITLES.get(data, _short(data)) for data in datasets]
    header = [f"{title} {key}" for title in titles for key in ("MRR", "Hits@10", "Hits@1")]
    return markdown(("model", *header), [[name, *found] for name, found in texts_of.items()])


def overview(experiments: Sequence[Experiment], results: Results) -> str:
    """The MRR of every model under the official protocol: Table 2 in short."""
    experiments = [
        experiment for experiment in _by_data(experiments) if experiment.protocol == "official"
    ]
    datasets = list(dict.fromkeys(experiment.dataset for experiment in experiments))
    rows = {name: found for name, found in _our_rows(experiments, results).items() if found}
    marked = {
        data: mark_best({name: found[data][0] for name, found in rows.items() if data in found})
        for data in datasets
    }
    body = []
    for name in rows:
        model, comma, remark = name.partition(",")
        command = COMMANDS.get(model, f"baseline {model}")
        body.append(
            [f"`{command}`{comma}{remark}", *(marked[data].get(name, "") for data in datasets)]
        )
    return markdown(("", *(TITLES.get(data, _short(data)) for data in datasets)), body)


def reproduced(experiments: Sequence[Experiment], results: Results) -> str:
    """The preset `paper` under the paper's own protocol, beside what the paper prints."""
    rows = []
    for experiment in _by_data(experiments):
        if (experiment.model, experiment.protocol) == ("apptek_paper", "paper"):
            found = results_of(experiment, results)
            title = TITLES.get(experiment.dataset, _short(experiment.dataset))
            rows.append([title, *_beside(found, PRINTED.get(experiment.dataset))])
    return markdown(("", *_beside_header()), rows if any(row[1] for row in rows) else [])


def mark_best(column: dict[str, float]) -> dict[str, str]:
    """Numbers of a column as texts, the best bold and the second italic, as far as four digits.

    A single number is the best of nothing.
    """
    texts = {name: f"{value:.4f}" for name, value in column.items()}
    if len(texts) < 2:
        return texts
    best = sorted(set(texts.values()), key=float, reverse=True)
    marks = dict(zip(best, ("**", "*"), strict=False))
    return {
        name: f"{marks.get(text, '')}{text}{marks.get(text, '')}" for name, text in texts.items()
    }


def table3(experiments: Sequence[Experiment], results: Results) -> str:
    """How tknn changes accuracy, and the time to train the agent, beside the paper's."""
    counted = [experiment for experiment in experiments if experiment.what == "statistics"]
    facts = {r["dataset"]: r["official"]["train"] for c in counted for r in results_of(c, results)}
    rows = []
    for tknn, experiment in _by_setting(experiments, "agent", "tknn"):
        found = results_of(experiment, results)
        printed = PRINTED_TKNN.get(tknn) if experiment.dataset in TITLES else None
        times = [_milliseconds(result, facts.get(result["dataset"])) for result in found]
        known = [time for time in times if time is not None]
        rows.append(
            [
                str(tknn),
                *_beside(found, printed),
                f"{statistics.mean(known):.2f}" if known else "",
                f"{printed[3]}" if printed else "",
            ]
        )
    header = ["tknn", *_beside_header(), "ms an episode", "the paper's ms"]
    return markdown(header, rows if any(row[1] for row in rows) else [])


def _milliseconds(result: dict[str, Any], facts: int | None) -> float | None:
    seconds = result["seconds"].get("train the agent")
    if not facts or seconds is None:
        return None
    return float(1000 * seconds / (facts * result["settings"]["agent"]["epochs"]))


def table_m(experiments: Sequence[Experiment], results: Results) -> str:
    """How many topologies are kept for each predicate, and what that is worth."""
    rows = []
    for data in dict.fromkeys(experiment.dataset for experiment in _by_data(experiments)):
        of_data = [experiment for experiment in experiments if experiment.dataset == data]
        for most, experiment in _by_setting(of_data, "mining", "top"):
            if found := results_of(experiment, results):
                number = statistics.mean(result["topologies"]["number"] for result in found)
                metrics = [f"{value:.4f}" for value in _means(found)]
                rows.append([_title(found[0]), str(most), f"{number:,.0f}", *metrics])
    table = markdown(("data", "m", "topologies", "MRR", "Hits@10", "Hits@1"), rows)
    fits = [experiment for experiment in _by_data(experiments) if experiment.what == "fit"]
    absent = [
        experiment.name for experiment in fits if rows and not results_of(experiment, results)
    ]
    return f"{table}\n\nNot recorded yet: {'; '.join(absent)}." if absent else table


def table_search(experiments: Sequence[Experiment], results: Results) -> str:
    """What the search on valid tried for each baseline, within the same time, and what it chose."""
    order = {name: place for place, name in enumerate(ROWS)}
    rows = []
    for experiment in sorted(
        _by_data(experiments), key=lambda experiment: order[experiment.baseline]
    ):
        for result in results_of(experiment, results):
            first, tried = result["trials"][0], result["trials"]
            rows.append(
                [
                    result["baseline"],
                    _title(result),
                    f"{result['minutes']:g}",
                    str(len(tried)),
                    "failed" if first["valid_mrr"] is None else f"{first['valid_mrr']:.4f}",
                    f"{result['metrics']['mrr']:.4f}",
                    ", ".join(f"`{text}`" for text in setting_texts(result["best"])) or "none",
                ]
            )
    header = ("baseline", "data", "minutes", "trials", "preset, valid MRR", "best, valid MRR")
    return markdown((*header, "settings changed"), rows)


def _by_setting(
    experiments: Sequence[Experiment], section: str, key: str
) -> list[tuple[int, Experiment]]:
    fits = [experiment for experiment in experiments if experiment.what == "fit"]
    values = [
        (int(getattr(getattr(experiment.config(), section), key)), experiment)
        for experiment in fits
    ]
    return sorted(values, key=lambda pair: pair[0])


def _beside_header() -> list[str]:
    return [
        name + whose for name in ("MRR", "Hits@10", "Hits@1") for whose in ("", ", the paper's")
    ]


def _beside(found: Results, printed: Sequence[float] | None) -> list[str]:
    """Ours and the printed number, metric by metric."""
    ours = [f"{value:.4f}" for value in _means(found)] if found else [""] * len(KEYS)
    theirs = [f"{value:.4f}" for value in printed[:3]] if printed else [""] * len(KEYS)
    return [text for pair in zip(ours, theirs, strict=True) for text in pair]


def _means(found: Results) -> tuple[float, ...]:
    return tuple(statistics.mean(result["metrics"][key] for result in found) for key in KEYS)


def _by_data(experiments: Sequence[Experiment]) -> list[Experiment]:
    """Experiments with the data sets in the paper's order."""
    order = {name: place for place, name in enumerate(TITLES)}
    return sorted(
        experiments,
        key=lambda experiment: (
            order.get(experiment.dataset, 9),
            experiment.dataset,
            experiment.name,
        ),
    )


def _title(result: dict[str, Any]) -> str:
    return TITLES.get(result["dataset"], str(result["dataset"]))


def _short(dataset: str) -> str:
    return dataset.rsplit("/", 1)[-1]
