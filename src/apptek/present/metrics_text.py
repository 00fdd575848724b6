"""Tables of metrics and counts as text, for evaluations, comparisons, contests, data and models.

The packages research and paper pass plain values, so this package does not depend on them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from apptek.evaluation.ranking import Evaluation
from apptek.facts.predicate_table import PredicateTable
from apptek.present.wording import percent
from apptek.safe_text import counted
from apptek.terminal import table_text

VIEWS = {"all_facts": "With all facts", "past_only": "Only the past"}
BASELINES = {"frequency": "the most frequent predicate", "recency": "counting"}
SELECTED = "These examples were selected because the model answered them correctly."
NO_QUALITY = "there were no held-out facts to measure it on"
METRICS = ("MRR", "Hits@1", "Hits@3", "Hits@10", "ECE", "in 90 % sets", "set size")
FORECASTS = {
    "raw_r": "all predicates, raw",
    "filtered_r": "all predicates, filtered",
    "raw_2r": "both directions, raw",
    "filtered_2r": "both directions, filtered",
}
PROTOCOLS = {
    "official": "official: the files as published",
    "paper": "paper: filtered, with validation and test swapped",
    "printed_in_paper": "printed in the paper",
}
COUNTS = ("entities", "predicates", "times", "train", "valid", "test")


def evaluation_text(evaluation: Evaluation, width: int, title: str = "") -> str:
    """Return the metrics of all queries, and of each group that is not empty."""
    parts = {"all": evaluation.metrics, **evaluation.groups}
    names = METRICS[: -2 if evaluation.metrics.set_size is None else None]
    rows = []
    for name, part in parts.items():
        if part is not None:
            queries, *values, size = astuple(part)
            shown = (*map(_decimals, values), "" if size is None else f"{size:.1f}")
            rows.append((name.replace("_", " "), queries, *shown[: len(names)]))
    return table_text(title, ("", "queries", *names), rows, width)


def views_text(
    title: str,
    by_view: Mapping[str, Evaluation],
    forecast: Mapping[str, Mapping[str, Any]] | None,
    *,
    width: int,
) -> str:
    """Return the metrics in each view; `forecast` contains the forecasting literature's metrics."""
    names = {view: words[:1].lower() + words[1:] for view, words in VIEWS.items()}
    texts = [
        evaluation_text(evaluation, width, f"{title}, {names.get(view, view)}")
        for view, evaluation in by_view.items()
    ]
    if forecast is not None:
        header = ("forecast", "queries", *METRICS[:4])
        rows = [(FORECASTS[name], *_ranks(part)) for name, part in forecast.items()]
        texts.append(table_text("", header, rows, width))
    return "\n".join(texts)


def entities_text(
    title: str, metrics: Mapping[str, Mapping[str, Mapping[str, Any]]], width: int
) -> str:
    """Return the missing-entity metrics as a table, with one row per evaluation and side."""
    rows = [
        (kind, side, *_ranks(part))
        for kind, sides in metrics.items()
        for side, part in sides.items()
    ]
    return table_text(title, ("facts", "missing", "questions", *METRICS[:4]), rows, width)


def _ranks(part: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the number of queries and their ranking metrics."""
    keys = ("mrr", "hits_at_1", "hits_at_3", "hits_at_10")
    return (part["queries"], *(_decimals(part[key]) for key in keys))


def sets_text(
    title: str, by_horizon: Mapping[str, Mapping[str, Mapping[str, Any]]], *, width: int
) -> str:
    """Return precision, recall and F1 of predicted sets for each horizon and level."""
    keys = ("precision", "recall", "f1")
    rows = [
        (horizon, level, part["questions"], *(_decimals(part[key]) for key in keys),
         f"{part['size']:.1f}")
        for horizon, levels in by_horizon.items()
        for level, part in levels.items()
    ]  # fmt: skip
    header = ("days ahead", "", "questions", "precision", "recall", "F1", "set size")
    return table_text(title, header, rows, width)


def comparison_text(comparison: Any, *, width: int) -> str:
    """Return the models compared with the first one, and on how many queries each is better."""
    title = (
        f"{comparison.dataset}, {comparison.split} split, protocol {comparison.protocol}, "
        f"{counted(comparison.queries, 'query')}"
    )
    rows = []
    for model, difference in zip(comparison.models, (None, *comparison.differences), strict=True):
        spread = "" if model.deviation is None else f" ± {model.deviation:.4f}"
        mean = "" if difference is None else f"{difference.mean:+.4f}"
        interval = "" if difference is None else _interval(difference)
        seeds = ", ".join(map(str, model.seeds))
        rows.append((model.name, seeds, f"{model.mrr:.4f}{spread}", mean, interval))
    header = ("model", "seeds", "MRR", f"minus {comparison.models[0].name}", "95 % interval")
    counts = [
        f"{each.name} against {each.against}: {counted(each.better, 'query')} better, "
        f"{each.worse:,} worse"
        for each in comparison.differences
    ]
    return "\n".join([table_text(title, header, rows, width), *counts])


def contest_text(data: str, contestants: Sequence[Any], *, width: int) -> str:
    """Return the models in a contest, and how far each is behind the best."""
    rows = [
        (
            each.name,
            *map(_decimals, each.metrics.values()),
            "" if each.seconds is None else f"{each.seconds:.1f}",
        )
        for each in contestants
    ]
    header = ("model", "MRR", "Hits@1", "Hits@10", "ECE", "seconds")
    best = contestants[0].name
    differences = [(each.name, each.against_best) for each in contestants if each.against_best]
    behind = [
        f"{name}: MRR {each.mean:+.4f} against {best}, 95 % interval {_interval(each)}"
        for name, each in differences
    ]
    table = table_text(f"{data}, test split; seconds to fit", header, rows, width)
    return "\n".join([table, *behind])


def statistics_text(
    statistics: Mapping[str, Any], span: str, first_facts: Sequence[dict[str, str]], *, width: int
) -> str:
    """Return the counts of the files (for a benchmark, also the paper's), and the first facts."""
    title = f"{statistics['dataset']} ({span})"
    rows = [
        (words, *(statistics[part][key] for key in COUNTS))
        for part, words in PROTOCOLS.items()
        if statistics.get(part) is not None
    ]
    if "printed_in_paper" in statistics:
        lines = [table_text(title, ("", *COUNTS), rows, width)]
    else:
        lines = [table_text(title, COUNTS, [rows[0][1:]], width)]
    are_points = all(fact["since"] == fact["until"] for fact in first_facts)
    header = ("subject", "predicate", "object", *(("time",) if are_points else ("since", "until")))
    facts = [tuple(fact.values())[: len(header)] for fact in first_facts]
    lines.append(table_text("The first facts, as they were read", header, facts, width))
    if statistics["undated"] and span != "all undated":
        lines.append(f"facts without a time: {statistics['undated']:,}")
    words = {"duplicates": "dropped from {}: {}", "also_in_train": "also in train: {1} from {0}"}
    nouns = {"duplicates": "duplicate fact", "also_in_train": "fact"}
    for key, text in words.items():
        counts = {split: count for split, count in statistics[key].items() if count}
        lines += [text.format(split, counted(n, nouns[key])) for split, n in counts.items()]
    return "\n".join(lines)


def summary_text(title: str, summary: Mapping[str, Any], *, width: int) -> str:
    """Describe a model, line by line."""
    titles = {
        "views": "views, with their MRR on the tuning queries",
        "observed_until": "observed through",
    }
    quality = dict(summary.get("quality", {}))
    if summary["first"] == "?":  # undated data has no past
        quality.pop("past_only", None)
    rows = [
        (titles.get(name, name.replace("_", " ")), _value_words(value))
        for name, value in summary.items()
        if name not in ("quality", "chosen", "running_score")
    ]
    if score := summary.get("running_score"):
        rows.append((f"forecasts up to {score['until']}", score_text(score)))
    chosen = summary.get("chosen", {})
    rows += [(f"chosen for {view}", chosen_text(each)) for view, each in chosen.items()]
    rows += [(VIEWS[view].lower(), quality_text(measured)) for view, measured in quality.items()]
    return table_text(title, ("", ""), rows, width)


def score_text(score: Mapping[str, Any]) -> str:
    """Return how the stored forecasts of `apptek run` compare with what happened."""
    count = score["forecasts"]
    expected, happened = (round(score[key] * count) for key in ("forecast", "share"))
    text = (
        f"of {counted(count, 'forecast')} from {counted(score['runs'], 'run')}, {expected:,} were "
        f"expected to come true and {happened:,} did"
    )
    skill = score["skill"]["own_rate"]
    if skill is not None:
        size = "smaller" if skill >= 0 else "larger"
        text += f"; squared errors {percent(abs(skill))} {size} than with each pair's own rate"
    return f"{text}; calibration error {score['calibration_error']:.3f}"


def _value_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_value_words(each)}" for key, each in value.items()) or "none"
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return _decimals(value) if isinstance(value, float) else str(value)


def values_text(title: str, values: Mapping[str, float | None], *, width: int) -> str:
    """Return the given numbers with their names."""
    rows = [(name.replace("_", " "), _value_words(value)) for name, value in values.items()]
    return table_text(title, ("what", "value"), rows, width)


def rewards_text(dataset: str, by_split: Mapping[str, Mapping[str, Any]], *, width: int) -> str:
    """Return the mean rewards of the agent and its controls."""
    controls = ("random", "commonest")
    policies = ("agent", *controls)
    form = "{mean:+.4f} [{low:+.4f}, {high:+.4f}]"
    rows = [
        (
            split,
            rewards["queries"],
            *(_decimals(rewards[policy]) for policy in policies),
            *(form.format(**rewards[f"agent_minus_{name}"]) for name in controls),
        )
        for split, rewards in by_split.items()
    ]
    header = ("queries of", "number", *policies, *(f"- {name}" for name in controls))
    text = table_text(f"Mean reward on {dataset}", header, rows, width)
    note = "In brackets: the 95 % interval of the difference, paired by query."
    return f"{text}\n{note}"


def topologies_text(
    by_predicate: Mapping[str, Sequence[Mapping[str, Any]]], labels: PredicateTable, *, width: int
) -> str:
    """Return the topologies mined for each predicate, with their weights."""
    rows = [
        (
            labels.shown(name),
            each["connected"],
            percent(each["share"]),
            f"{each['weight']:+.2f}",
            ", then ".join(f"'{labels.label(action)}'" for action in each["topology"]),
        )
        for name, mined in by_predicate.items()
        for each in mined
    ]
    header = ("predicate", "connected", "of its episodes", "weight", "expand both sides by")
    return table_text("Mined topologies", header, rows, width)


def _decimals(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"


def _interval(difference: Any) -> str:
    return f"{difference.low:+.4f} .. {difference.high:+.4f}"


def chosen_text(chosen: Mapping[str, Any]) -> str:
    """Return the choices made by a fit on its tuning queries, and what it compared."""
    compared = chosen["compared"]
    if not chosen["epochs"]:
        words = "counting alone"
    else:
        words = f"regularisation {chosen['l2']:g}, {counted(chosen['epochs'], 'epoch')}"
        beside = f"counting with weight {chosen['counting']:g}" if chosen["counting"] else ""
        words += f", {beside or 'no counting'}"
    if not compared:
        return f"{words} (not compared: too few validation facts)"
    best, worst = (pick(each["valid_mrr"] for each in compared) for pick in (max, min))
    asked = counted(chosen["queries"], "query")
    return (
        f"{words} (best of {len(compared)} fits on {asked}: MRR {worst:.4f} to {best:.4f}, each "
        "with its best counting weight)"
    )


def quality_text(quality: dict[str, Any] | None) -> str:
    """Return how often the top prediction was correct, and whether counting does as well."""
    if quality is None:
        return NO_QUALITY
    compared = {name: quality[name] for name in BASELINES if name in quality}
    asked = min(quality["queries"], 100)  # a number out of 100, or of all facts if there are fewer
    right, *others = (round(part["hits_at_1"] * asked) for part in (quality, *compared.values()))
    noun = "held-out fact" if asked == 1 else "held-out facts"
    which = f"recent {noun}" if quality["newest"] else noun
    names = (BASELINES[name].removeprefix("the ") for name in compared)
    beside = ", ".join(f"{name}: {count}" for name, count in zip(names, others, strict=True))
    text = f"the top prediction was correct for {right} of {asked} {which} ({beside})"
    intervals = {BASELINES[name]: part["interval"] for name, part in compared.items()}
    worse = [name for name, (_, high) in intervals.items() if high < 0]
    equal = [name for name, (low, high) in intervals.items() if low <= 0 <= high]
    for verdict, rivals in (("worse than", worse), ("no better than", equal)):
        text += f"; {verdict} {' or '.join(rivals)}" if rivals else ""
    return text


def examples_note(quality: dict[str, Any] | None) -> str:
    """Return how the examples were selected, and how good the model is."""
    return f"{SELECTED} Overall, {quality_text(quality)}."
