"""Every model in one short table: the two views side by side, the best of each marked."""

import statistics
from collections.abc import Sequence

from apptek.baselines.registry import NAMES, PAST_ONLY_NAMES
from apptek.config import View
from apptek.errors import ConfigError
from apptek.experiments.compare import PAST_ONLY
from apptek.experiments.experiment import Experiment
from apptek.experiments.matching import results_of
from apptek.experiments.reports.markdown import TITLES, Results, markdown, title_of
from apptek.experiments.result import Result

ROWS = (*NAMES, "apptek_paper", "apptek_default", "apptek_max")
COMMANDS = {f"apptek_{preset}": f"fit --model {preset}" for preset in ("paper", "default", "max")}
MANY_MIRRORED = 0.1  # mirrored queries for each other one, from which on both are told apart


def overview(experiments: Sequence[Experiment], results: Results) -> str:
    """The MRR of every model under the official protocol, the two views side by side.

    Where many queries are mirrored, a column of the view within leaves these out.
    """
    rows = results_of_models([e for e in experiments if e.protocol == "official"], results)
    columns = _overview_columns(rows)
    marked = [mark_best(column) for column in columns.values()]
    body = []
    for name in rows:
        model = name.removesuffix(PAST_ONLY)
        command = COMMANDS.get(model, f"baseline {model}")
        option = " --past-only" * (name.endswith(PAST_ONLY) and model in COMMANDS)
        body.append([f"`{command}{option}`", *(texts.get(name, "") for texts in marked)])
    return markdown(("model", *columns), body)


def _overview_columns(rows: dict[str, dict[str, list[Result]]]) -> dict[str, dict[str, float]]:
    """The mean MRR by the title of a column and the name of a row."""
    columns: dict[str, dict[str, float]] = {}
    for dataset in _datasets_of(rows):
        title, recorded = title_of(dataset), {}
        for name, of_model in rows.items():
            if dataset in of_model:
                recorded[name] = of_model[dataset]
        groups = next(iter(recorded.values()))[0].groups
        columns[f"{title} within"] = _mean_mrr(recorded, "within")
        mirrored, others = groups.get("mirrored"), groups.get("not_mirrored")
        if mirrored and others and mirrored["queries"] >= MANY_MIRRORED * others["queries"]:
            columns[f"{title} within, not mirrored"] = _mean_mrr(recorded, "within", "not_mirrored")
        columns[f"{title} ahead"] = _mean_mrr(recorded, "ahead")
    return {column: values for column, values in columns.items() if values}


def _mean_mrr(
    recorded: dict[str, list[Result]], view: View, group: str | None = None
) -> dict[str, float]:
    """The mean MRR of each row in a view, of all queries or of a group."""
    means = {}
    for name, results in recorded.items():
        views = [figures for result in results if (figures := result.in_view(view)) is not None]
        parts = [figures[group] if group else figures for figures in views]
        if parts:
            means[name] = statistics.mean(part["mrr"] for part in parts)
    return means


def _datasets_of(rows: dict[str, dict[str, list[Result]]]) -> list[str]:
    """The data sets of some rows, in the order of the paper."""
    names = {dataset for of_model in rows.values() for dataset in of_model}
    order = {name: position for position, name in enumerate(TITLES)}
    return sorted(names, key=lambda dataset: (order.get(dataset, len(order)), dataset))


def results_of_models(
    experiments: Sequence[Experiment], results: Results
) -> dict[str, dict[str, list[Result]]]:
    """The results of each recorded model by the name of its row, for each data set."""
    rows: dict[str, dict[str, list[Result]]] = {}
    owners: dict[tuple[str, str], Experiment] = {}
    order = {name: position for position, name in enumerate(ROWS)}

    def in_order_of_rows(experiment: Experiment) -> tuple[int, str]:
        return order.get(experiment.model, len(order)), row_name(experiment)

    for experiment in sorted(experiments, key=in_order_of_rows):
        name = row_name(experiment)
        # Two experiments in one place would show whichever came last.
        owner = owners.setdefault((name, experiment.dataset), experiment)
        if owner is not experiment:
            raise ConfigError(
                f"the experiments {owner.name} and {experiment.name} fill the same row: {name}"
            )
        if recorded := results_of(experiment, results):
            rows.setdefault(name, {})[experiment.dataset] = recorded
    return rows


def row_name(experiment: Experiment) -> str:
    """The name of a model's row, which says where the model sees only the past: that is harder."""
    of_authors = experiment.what == "baseline" and experiment.preset == "paper"
    past_only = (
        experiment.baseline in PAST_ONLY_NAMES or "features.past_only=true" in experiment.settings
    )
    return experiment.model + ", preset paper" * of_authors + PAST_ONLY * past_only


def mark_best(column: dict[str, float]) -> dict[str, str]:
    """The numbers of a column to four digits, the best bold and the second italic.

    A single number is not marked: there is nothing that it is better than.
    """
    # Compared as shown: numbers that are equal to four digits get the same mark.
    texts = {name: f"{value:.4f}" for name, value in column.items()}
    if len(texts) < 2:
        return texts
    best_first = sorted(set(texts.values()), key=float, reverse=True)
    marks = dict(zip(best_first, ("**", "*"), strict=False))
    return {
        name: f"{marks.get(text, '')}{text}{marks.get(text, '')}" for name, text in texts.items()
    }
