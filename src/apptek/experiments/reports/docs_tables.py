"""Tables of the docs that the paper does not have: our models, their parts, comparisons."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from apptek.config import VIEWS, View, preset
from apptek.data.benchmarks import BENCHMARKS
from apptek.experiments.compare import COMPARISON, PAST_ONLY
from apptek.experiments.matching import settings_unlike_preset
from apptek.experiments.reports.audit_tables import audit_table, faithfulness_table
from apptek.experiments.reports.cold_pairs_tables import cold_pairs_table, new_names_table
from apptek.experiments.reports.markdown import (
    KEYS,
    NOTHING,
    Maker,
    Results,
    four_digits,
    markdown,
)
from apptek.experiments.reports.printed import PRINTED_OWN
from apptek.experiments.reports.scale_table import engine_table, scale_table
from apptek.experiments.reports.torture_table import torture_table
from apptek.experiments.result import Result, mean_seconds
from apptek.setting_rules import setting_texts

GROUPS = (
    "mirrored", "not_mirrored", "seen_pair", "unseen_pair", "unseen_entity", "dated", "undated",
)  # fmt: skip
_ABLATION_GROUPS = GROUPS[:5]  # every query of ICEWS14 is dated


def prediction_table(results: Results) -> str:
    """The paper's method beside the numbers that the paper prints, each with its command."""
    rows = []
    for result in results:
        if result.model != "apptek_paper" or _varies_tknn_or_m(result):
            continue
        printed = PRINTED_OWN[result.dataset] if result.protocol == "paper" else ()
        rows.append(
            [
                result.dataset,
                str(result.protocol),
                "{number:,} from {from}".format(**result.topologies),
                *four_digits(result.metrics[key] for key in KEYS),
                f"{result.metrics['ece']:.3f}",
                " / ".join(four_digits(printed)),
                f"`{fit_command(result)}`",
            ]
        )
    header = ("data", "protocol", "topologies", *KEYS.values(), "ECE", "the paper's", "command")
    return markdown(header, rows)


def _varies_tknn_or_m(result: Result) -> bool:
    """Whether a result belongs to the tables of tknn and of m."""
    paper, settings = preset("paper"), result.settings
    tknn, most = settings["agent"]["tknn"], settings["mining"]["top"]
    return bool(tknn != paper.agent.tknn or most != paper.mining.top)


def fit_command(result: Result) -> str:
    """The command that fits with a result's settings, also where the preset has changed since."""
    command = result.first_command
    for text in setting_texts(settings_unlike_preset(result)):
        if f"{text.partition('=')[0]}=" not in command:
            command += f" --set {text}"
    return command


def agent_table(results: Results) -> str:
    """The agent beside its controls, on the training queries and on valid."""
    rows = []
    for result in results:
        if result.model != "agent":
            continue
        settings = result.settings["agent"]
        kind = _kind_of_agent(settings)
        for split, metrics in result.metrics.items():
            gain = metrics["agent_minus_commonest"]
            means = [metrics[policy] for policy in ("agent", "random", "commonest")]
            interval = "{mean:+.4f} [{low:+.4f}, {high:+.4f}]".format(**gain)
            about = [result.dataset, kind, str(settings["tknn"]), f"{settings['epochs']:g}"]
            rows.append([*about, split, *four_digits(means), interval])
    rows.sort(key=lambda row: (row[0], row[1], int(row[2]), row[4]))
    header = ("data", "settings", "tknn", "epochs", "queries", "agent", "random", "commonest")
    return markdown((*header, "agent - commonest, 95 % interval"), rows)


def _kind_of_agent(settings: Mapping[str, Any]) -> str:
    """The name under which the page describes these settings. Older results name no new ones."""
    if settings.get("fingerprint", "paper") == "marked":
        return "marked"
    if settings["fingerprint_size"] > 16:
        return "wide"
    often = ", ratio 64" if settings["replay_ratio"] == 64 else ""
    return f"paper{often}" + ("" if settings.get("hide_query", True) else ", own fact left in")


def controls_table(results: Results) -> str:
    """The controls on the training queries, by tknn: own fact hidden, and left in the graph."""
    rewards: dict[tuple[str, str], dict[int, list[float]]] = {}
    for result in results:
        if result.model == "controls":
            settings, train = result.settings["agent"], result.metrics["train"]
            reading = "hidden" if settings["hide_query"] else "left in"
            row = rewards.setdefault((result.dataset, reading), {})
            row[settings["tknn"]] = [train["random"], train["commonest"]]
    tknns = sorted({tknn for row in rewards.values() for tknn in row})
    rows = [
        [*about, *(" / ".join(four_digits(row[k])) if k in row else "" for k in tknns)]
        for about, row in sorted(rewards.items())
    ]
    return markdown(("data", "own fact", *(f"tknn {k}" for k in tknns)), rows)


def models_table(results: Results) -> str:
    """Our models under the official protocol, both views: mean and spread over the seeds."""
    metrics = {"mrr": "MRR", "hits_at_1": "Hits@1", "hits_at_10": "Hits@10", "ece": "ECE"}
    rows = [
        [
            runs[0].dataset,
            name,
            *(_mean_and_spread(_in_view(runs, view), key) for view in VIEWS for key in metrics),
            str(len(runs)),
            _seconds_to_fit(runs),
            f"`{runs[0].first_command}`",
        ]
        for name, runs in _by_model(results)
    ]
    header = [f"{view}: {title}" for view in VIEWS for title in metrics.values()]
    return markdown(("data", "model", *header, "seeds", "fitted in", "command"), rows)


def groups_table(results: Results) -> str:
    """The MRR of our models by kind of query, means over the seeds."""
    rows = [
        [runs[0].dataset, name, view, *(_mean_of_group(figures, group) for group in GROUPS)]
        for name, runs in _by_model(results)
        for view in VIEWS
        if (figures := _in_view(runs, view))
    ]
    return markdown(("data", "model", "view", *_titles(GROUPS)), rows)


def _in_view(results: Results, view: View) -> list[dict[str, Any]]:
    """The figures of those results that have the view."""
    return [figures for result in results if (figures := result.in_view(view)) is not None]


def comparison_table(results: Results) -> str:
    """Recorded comparisons: the difference of every model from the first, with its interval.

    What a comparison of fewer models has compared again is not shown of one of more models.
    """
    comparisons = [result for result in results if result.model == COMPARISON]
    newest = {
        (result.dataset, result.extras["models"][0]["name"], model["name"]): result
        for result in sorted(comparisons, key=lambda each: -len(each.extras["models"]))
        for model in result.extras["models"]
    }
    rows = []
    for result in comparisons:
        first, *others = result.extras["models"]
        rows.append([result.dataset, first["name"], f"{first['mrr']:.4f}", "", "", ""])
        for model, gap in zip(others, result.extras["differences"], strict=True):
            if newest[result.dataset, first["name"], model["name"]] is not result:
                continue
            rows.append(
                [
                    result.dataset,
                    model["name"],
                    f"{model['mrr']:.4f}",
                    f"{gap['mean']:+.4f}",
                    f"{gap['low']:+.4f} to {gap['high']:+.4f}",
                    f"{gap['better']:,} / {gap['worse']:,}",
                ]
            )
    header = ("data", "model", "MRR", "minus the first", "95 % interval")
    return markdown((*header, "queries better / worse"), rows)


def ablation_table(results: Results) -> str:
    """The default preset on ICEWS14's valid split, with one part changed in each row."""
    ablations = [
        (setting_texts(settings_unlike_preset(result)), result)
        for result in results
        if (result.model, result.dataset, result.split) == ("apptek_default", "icews14", "valid")
    ]
    complete = next((result for changes, result in ablations if not changes), None)
    if complete is None:
        return NOTHING
    ablations.sort(key=lambda pair: (bool(pair[0]), -pair[1].metrics["mrr"]))
    rows = []
    for changes, result in ablations:
        difference = result.metrics["mrr"] - complete.metrics["mrr"]
        groups = [result.groups[name] for name in _ABLATION_GROUPS]
        rows.append(
            [
                "; ".join(f"`{text}`" for text in changes) or "the default preset",
                f"{result.metrics['mrr']:.4f}",
                f"{difference:+.4f}" if result is not complete else "",
                *four_digits(result.metrics[key] for key in ("hits_at_1", "hits_at_10")),
                *(f"{group['mrr']:.4f}" if group else "" for group in groups),
                _seconds_to_fit([result]),
            ]
        )
    header = ("changed", "MRR", "difference", "Hits@1", "Hits@10", *_titles(_ABLATION_GROUPS))
    return markdown((*header, "fit"), rows)


def _by_model(results: Results) -> list[tuple[str, list[Result]]]:
    """Official test results of our presets, the seeds of a model together: (name, results)."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if not _is_of_preset(result):
            continue
        name = result.model.removeprefix("apptek_") + PAST_ONLY * result.fitted_on_the_past
        group = groups.setdefault((result.dataset, name), [])
        if all(result.seed != other.seed for other in group):  # a run recorded twice counts once
            group.append(result)
    presets = ("paper", "default", "max")
    order = {name: position for position, name in enumerate(presets)}
    keys = sorted(groups, key=lambda key: (key[0], order.get(key[1].split(",")[0], 9), key[1]))
    return [(name, groups[dataset, name]) for dataset, name in keys]


def _is_of_preset(result: Result) -> bool:
    """Whether it is our model on a benchmark's official test split, and no setting was changed.

    But for the view that is fitted.
    """
    if not result.model.startswith("apptek_") or result.dataset not in BENCHMARKS:
        return False
    if (result.protocol, result.split) != ("official", "test"):
        return False
    if result.sees_only_the_past != result.fitted_on_the_past:
        return False
    return settings_unlike_preset(result).keys() <= {"features.past_only"}


def _seconds_to_fit(results: Results) -> str:
    seconds = mean_seconds(results)
    return "" if seconds is None else f"{seconds:.0f} s"


def _mean_and_spread(figures: Sequence[dict[str, Any]], metric: str) -> str:
    values = [of_run[metric] for of_run in figures]
    if not values:
        return ""
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.4f}{spread}"


def _mean_of_group(figures: Sequence[dict[str, Any]], name: str) -> str:
    """The mean MRR of a group of queries, and in brackets their share of all queries."""
    groups = [of_run[name] for of_run in figures]
    if not all(groups):
        return ""
    share = groups[0]["queries"] / figures[0]["queries"]
    return f"{statistics.mean(group['mrr'] for group in groups):.4f} ({share:.1%})"


def _titles(groups: Sequence[str]) -> list[str]:
    return [group.replace("_", " ") for group in groups]


DOCS_TABLES: dict[str, Maker] = {
    "prediction": prediction_table,
    "agent": agent_table,
    "controls": controls_table,
    "models": models_table,
    "groups": groups_table,
    "ablation": ablation_table,
    "cold pairs": cold_pairs_table,
    "new names": new_names_table,
    "comparison": comparison_table,
    "audit": audit_table,
    "engine": engine_table,
    "scale": scale_table,
    "torture": torture_table,
    "faithfulness": faithfulness_table,
}
