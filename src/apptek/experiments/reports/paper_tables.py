"""The paper's tables rebuilt from results, our numbers beside those that it prints."""

import statistics
from collections.abc import Sequence
from functools import partial

from apptek.experiments.experiment import Experiment
from apptek.experiments.matching import results_of
from apptek.experiments.reports.backtest_table import backtest_table, lead_table, predicate_table
from apptek.experiments.reports.docs_tables import DOCS_TABLES
from apptek.experiments.reports.forecast_table import table_forecast
from apptek.experiments.reports.markdown import (
    KEYS,
    NOTHING,
    TITLES,
    Maker,
    Results,
    four_digits,
    markdown,
    mean_metrics,
    title_of,
)
from apptek.experiments.reports.overview import (
    ROWS,
    mark_best,
    overview,
    results_of_models,
    row_name,
)
from apptek.experiments.reports.printed import PRINTED_MODELS, PRINTED_OWN, PRINTED_TKNN, Numbers
from apptek.experiments.result import Result
from apptek.setting_rules import setting_texts

Experiments = Sequence[Experiment]
COUNTS = {  # keys of the statistics, and how a table calls them
    "entities": "entities",
    "predicates": "predicates",
    "times": "distinct times",
    "train": "train",
    "valid": "valid",
    "test": "test",
}
SOURCES = {"official": "official", "paper": "its protocol", "printed_in_paper": "printed"}


def all_tables(experiments: Experiments) -> dict[str, Maker]:
    """Every table that a page may show, by name."""
    makers = {
        "table1": table1,
        "table2": table2,
        "table3": table3,
        "table-m": table_m,
        "table-search": table_search,
        "table-forecast": table_forecast,
    }
    tables = DOCS_TABLES | {
        name: partial(make, serving(experiments, name)) for name, make in makers.items()
    }
    of_table2 = serving(experiments, "table2")
    return tables | {
        "backtest": backtest_table,
        "backtest-predicates": predicate_table,
        "backtest-leads": lead_table,
        "overview": partial(overview, of_table2),
        "reproduced": partial(reproduced, of_table2),
    }


def serving(experiments: Experiments, shown: str) -> list[Experiment]:
    """The experiments that a table or figure shows."""
    return [experiment for experiment in experiments if shown in experiment.serves]


def table1(experiments: Experiments, results: Results) -> str:
    """Statistics of the data sets: the public splits, the paper's protocol, and as printed."""
    counted = [
        result
        for experiment in _by_data(_of_kind(experiments, "statistics"))
        for result in results_of(experiment, results)
    ]
    columns = [
        (f"{title_of(result.dataset)}, {words}", result.extras[source])
        for result in counted
        for source, words in SOURCES.items()
        if result.extras[source]
    ]
    if not columns:
        return NOTHING
    rows = [
        [words, *(f"{counts[key]:,}" for _, counts in columns)] for key, words in COUNTS.items()
    ]
    table = markdown(("", *(title for title, _ in columns)), rows)
    reasons = [
        f"- {title_of(result.dataset)}, {COUNTS[key]}: {reason}"
        for result in counted
        for key, reason in result.extras["differences"].items()
    ]
    return "\n".join([table, "", *reasons]) if reasons else table


def table2(experiments: Experiments, results: Results) -> str:
    """Every model under the official protocol, and under that of the paper.

    Means over the seeds. In every column the best of ours is bold, the second italic.
    """
    parts = []
    for protocol, title in (("official", "Official protocol"), ("paper", "The paper's protocol")):
        chosen = _of_protocol(experiments, protocol)
        ours = _rows_of_models(chosen, results)
        if ours:
            parts.append(f"**{title}**\n\n{_table_beside_printed(chosen, ours)}")
            parts += _missing_results(chosen, results)
    return "\n\n".join(parts) or NOTHING


def _missing_results(experiments: Experiments, results: Results) -> list[str]:
    """Lines that name the experiments without results, and those with too few seeds."""
    absent, fewer = [], []
    for experiment in experiments:
        count = len(results_of(experiment, results))
        name = f"{row_name(experiment)} on {experiment.dataset}"
        if not count:
            absent.append(name)
        elif count < len(experiment.seeds):
            fewer.append(f"{name} ({count} of {len(experiment.seeds)})")
    lines = (("Not recorded yet", absent), ("Means of fewer seeds than asked for", fewer))
    return [f"{title}: {'; '.join(names)}." for title, names in lines if names]


def _rows_of_models(experiments: Experiments, results: Results) -> dict[str, Numbers]:
    """The rows of recorded models by name: the mean metrics for each data set."""
    return {
        name: {dataset: mean_metrics(recorded) for dataset, recorded in of_model.items()}
        for name, of_model in results_of_models(experiments, results).items()
    }


def _table_beside_printed(experiments: Experiments, ours: dict[str, Numbers]) -> str:
    datasets = _datasets(experiments)
    printed = PRINTED_MODELS if any(dataset in TITLES for dataset in datasets) else {}
    rows = {f"{name}, as printed": numbers for name, numbers in printed.items()} | ours
    columns = []
    for dataset in datasets:
        for metric in range(len(KEYS)):
            values = {name: row[dataset][metric] for name, row in rows.items() if dataset in row}
            texts = {name: f"{value:.4f}" for name, value in values.items()}
            # Printed numbers are of other splits and training: only ours compete for the marks.
            columns.append(texts | mark_best({n: v for n, v in values.items() if n in ours}))
    header = [f"{title_of(dataset)} {key}" for dataset in datasets for key in KEYS.values()]
    body = [[name, *(column.get(name, "") for column in columns)] for name in rows]
    return markdown(("model", *header), body)


def reproduced(experiments: Experiments, results: Results) -> str:
    """The preset `paper` under the paper's own protocol, beside what the paper prints."""
    rows = []
    for experiment in _of_protocol(experiments, "paper"):
        if experiment.model == "apptek_paper":
            recorded, dataset = results_of(experiment, results), experiment.dataset
            rows.append([title_of(dataset), *_beside_printed(recorded, PRINTED_OWN.get(dataset))])
    is_recorded = any(row[1] for row in rows)  # else only printed numbers would stand there
    return markdown(("", *_header_beside_printed()), rows if is_recorded else [])


def table3(experiments: Experiments, results: Results) -> str:
    """How tknn changes accuracy, and the time to train the agent, beside the paper's."""
    fact_counts = {
        result.dataset: result.extras["official"]["train"]
        for experiment in _of_kind(experiments, "statistics")
        for result in results_of(experiment, results)
    }
    rows = []
    for tknn, experiment in _by_setting(experiments, "agent", "tknn"):
        recorded = results_of(experiment, results)
        printed = PRINTED_TKNN.get(tknn) if experiment.dataset in TITLES else None
        times = [
            milliseconds
            for result in recorded
            if (milliseconds := _episode_milliseconds(result, fact_counts)) is not None
        ]
        rows.append(
            [
                str(tknn),
                *_beside_printed(recorded, printed),
                f"{statistics.mean(times):.2f}" if times else "",
                f"{printed[3]}" if printed else "",
            ]
        )
    header = ["tknn", *_header_beside_printed(), "ms an episode", "the paper's ms"]
    return markdown(header, rows if any(row[1] for row in rows) else [])


def _episode_milliseconds(result: Result, fact_counts: dict[str, int]) -> float | None:
    """The time to train the agent by episode: an epoch has one episode for each fact."""
    seconds, facts = result.seconds.get("train the agent"), fact_counts.get(result.dataset)
    if not facts or seconds is None:
        return None
    return float(1000 * seconds / (facts * result.settings["agent"]["epochs"]))


def table_m(experiments: Experiments, results: Results) -> str:
    """How the number of topologies that are kept for each predicate changes accuracy."""
    fits, rows = _by_data(_of_kind(experiments, "fit")), []
    for dataset in _datasets(_by_data(experiments)):
        of_data = [experiment for experiment in fits if experiment.dataset == dataset]
        for most, experiment in _by_setting(of_data, "mining", "top"):
            if recorded := results_of(experiment, results):
                number = statistics.mean(result.topologies["number"] for result in recorded)
                metrics = four_digits(mean_metrics(recorded))
                rows.append([title_of(recorded[0].dataset), str(most), f"{number:,.0f}", *metrics])
    table = markdown(("data", "m", "topologies", *KEYS.values()), rows)
    absent = [experiment.name for experiment in fits if not results_of(experiment, results)]
    return f"{table}\n\nNot recorded yet: {'; '.join(absent)}." if rows and absent else table


def table_search(experiments: Experiments, results: Results) -> str:
    """What the search on valid tried for each baseline, in the same time, and what it chose."""
    order = {name: position for position, name in enumerate(ROWS)}
    rows = []
    for experiment in sorted(_by_data(experiments), key=lambda search: order[search.baseline]):
        for result in results_of(experiment, results):
            search = result.extras
            first = search["trials"][0]["valid_mrr"]
            rows.append(
                [
                    search["baseline"],
                    title_of(result.dataset),
                    f"{search['minutes']:g}",
                    str(len(search["trials"])),
                    "failed" if first is None else f"{first:.4f}",
                    f"{result.metrics['mrr']:.4f}",
                    ", ".join(f"`{text}`" for text in setting_texts(search["best"])) or "none",
                ]
            )
    header = ("baseline", "data", "minutes", "trials", "preset, valid MRR", "best, valid MRR")
    return markdown((*header, "settings changed"), rows)


def _by_setting(experiments: Experiments, section: str, key: str) -> list[tuple[int, Experiment]]:
    """Experiments that fit our models with the value of one setting, ascending by it."""
    values = [
        (int(getattr(getattr(experiment.config(), section), key)), experiment)
        for experiment in _of_kind(experiments, "fit")
    ]
    return sorted(values, key=lambda pair: pair[0])


def _header_beside_printed() -> list[str]:
    return [key + whose for key in KEYS.values() for whose in ("", ", the paper's")]


def _beside_printed(recorded: Results, printed: Sequence[float] | None) -> list[str]:
    """Our number and the printed one, metric by metric."""
    nothing = [""] * len(KEYS)
    ours = four_digits(mean_metrics(recorded)) if recorded else nothing
    theirs = four_digits(printed[: len(KEYS)]) if printed else nothing
    return [text for pair in zip(ours, theirs, strict=True) for text in pair]


def _of_kind(experiments: Experiments, what: str) -> list[Experiment]:
    return [experiment for experiment in experiments if experiment.what == what]


def _of_protocol(experiments: Experiments, protocol: str) -> list[Experiment]:
    return [experiment for experiment in _by_data(experiments) if experiment.protocol == protocol]


def _by_data(experiments: Experiments) -> list[Experiment]:
    """Experiments with the data sets in the paper's order."""
    order = {name: position for position, name in enumerate(TITLES)}

    def position(experiment: Experiment) -> tuple[int, str, str]:
        dataset = experiment.dataset
        return order.get(dataset, len(order)), dataset, experiment.name

    return sorted(experiments, key=position)


def _datasets(experiments: Experiments) -> list[str]:
    """The data sets of experiments, each once, in their order."""
    return list(dict.fromkeys(experiment.dataset for experiment in experiments))
