"""Tables in the docs that are not in the paper, made from recorded results."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from apptek.config import VIEWS, View, preset
from apptek.facts.benchmarks import BENCHMARKS
from apptek.present.forecast_words import GROUPS as PAIR_GROUPS
from apptek.research.compare import COMPARISON, PAST_ONLY
from apptek.research.printed import PRINTED_MODELS, PRINTED_OWN
from apptek.research.provenance import RunList
from apptek.research.result import Result, mean_seconds, plain_settings
from apptek.research.tables import (
    KEYS,
    NOTHING,
    Frame,
    Maker,
    Results,
    all_tables,
    as_frame,
    beside_printed,
    datasets_of,
    four_digits,
    interval_over_seeds,
    mark_best,
    markdown,
    of_runs,
    title_of,
)
from apptek.safe_text import counted
from apptek.setting_rules import setting_texts

GROUPS = (
    "mirrored", "not_mirrored", "seen_pair", "unseen_pair", "unseen_entity", "dated", "undated",
)  # fmt: skip
MODEL_METRICS = {"mrr": "MRR", "hits_at_1": "Hits@1", "hits_at_10": "Hits@10", "ece": "ECE"}
PRESET_ORDER = ["paper", "default", "max"]
MANY_MIRRORED = 0.1  # if there are more mirrored queries per other query, a column excludes them
ERRORS = {  # planted errors: the prefix and the suffix of their metrics
    "predicate, by frequency": ("predicate", ""),
    "predicate, uniformly": ("predicate", "_uniform"),
    "direction": ("direction", ""),
}
BACKTESTED = {
    "forecasts": "forecasts",
    "own_rate": "the pair's own rate so far",
    "last_30": "its rate in the last 30 days",
}
BACKTEST_METRICS = {
    "log_loss": "log-loss", "brier": "Brier", "auc": "AUC",
    "calibration_error": "calibration error",
}  # fmt: skip
SKILLS = {"base_rate": "base rate", "no_change": "no change", "own_rate": "own rate"}
SCALE = {
    "reading": ("read_seconds", "{:,.0f} s"),
    "indexing": ("index_seconds", "{:,.0f} s"),
    "fit": ("fit_seconds", "{:,.0f} s"),
    "memory after indexing": ("graph_mb", "{:,.0f} MB"),
    "peak memory of the fit": ("fit_peak_mb", "{:,.0f} MB"),
    "peak memory of reading": ("read_peak_mb", "{:,.0f} MB"),
    "queries answered per second": ("predict_queries_per_s", "{:,.0f}"),
    "MRR on 100,000 test queries": ("mrr", "{:.4f}"),
}
ENGINES = ("threads", "processes", "ray")
ENGINE = {
    "starting the workers": ("start_seconds", "{:.1f} s"),
    "fit": ("fit_seconds", "{:.1f} s"),
    "evaluate": ("evaluate_seconds", "{:.1f} s"),
    "CPU time of both": ("processor_seconds", "{:.1f} s"),
    "peak memory of a worker": ("worker_peak_mb", "{:,.0f} MB"),
}
ATTACKS = {
    "damaged_models": "a model file is changed, truncated, removed or swapped",
    "damaged_work": "a file of an interrupted fit is damaged, then the fit is resumed",
    "damaged_facts": "a damaged file (one of 16 types) is read as facts and as queries",
    "bombs": "a small compressed file expands to gigabytes",
    "kills": "a fit is killed at a random moment, once or twice, then resumed",
    "cuts": "the power is cut during a fit or an update, or up to 12 s after the start",
    "full_disks": "the disk becomes full at some point during a fit or an update",
    "writers": "three updates of one model at once, while two processes read it",
}
OUTCOMES = {  # words in result files, and their clearer forms
    "refused": "rejected",
    "the same model": "same model",
    "whole, and as before": "complete old model",
    "whole, and new": "complete new model",
    "there was room": "the space was sufficient",
    "told, and as before": "error reported, old model kept",
    "1 of 3 updates, all there": "one update succeeded and is complete",
    "2 of 3 updates, all there": "two updates succeeded and are complete",
}
SERVICE = {
    "slow_clients": (
        "{slow:,} clients send one byte per second, {busy} others send requests, {seconds:g} s",
        "{health_asked:,}",
        "median health response {health_ms[p50]:g} ms; {answered:,} requests answered",
    ),
    "load": (
        "{clients} clients send requests for {minutes:g} minutes",
        "{answered:,}",
        "memory {first_mb:g} MB after a tenth of the time, {last_mb:g} MB at the end",
    ),
}


def first_command(result: Result) -> str:
    """Return the command that fits the model, in today's syntax, without later evaluations."""
    return str(result.extras.get("command_now", result.command)).split(" && ")[0]


def overview(results: Results) -> str:
    """Return every model's MRR under the official protocol, with both views side by side.

    If many queries are mirrored, an additional all_facts column excludes them.
    """
    frame = as_frame({n: r for n, r in results.items() if r.protocol == "official"})
    columns: dict[str, dict[str, str]] = {}
    for dataset in datasets_of(frame):
        of_data, title = frame[frame["dataset"] == dataset], title_of(dataset)
        groups = of_data["result"].iloc[0].groups
        mirrored, others = groups.get("mirrored"), groups.get("not_mirrored")
        columns[f"{title} all_facts"] = _mean_mrr(of_data, "all_facts")
        if mirrored and others and mirrored["queries"] >= MANY_MIRRORED * others["queries"]:
            columns[f"{title} all_facts, not mirrored"] = _mean_mrr(
                of_data, "all_facts", "not_mirrored"
            )
        columns[f"{title} past_only"] = _mean_mrr(of_data, "past_only")
    table = pd.DataFrame({title: texts for title, texts in columns.items() if texts})
    table = table.reindex(frame["row"].unique())
    return markdown(table.rename(index=_command).reset_index(names="model"))


def _mean_mrr(of_data: Frame, view: View, group: str | None = None) -> dict[str, str]:
    """Return the mean MRR of each row in a view, over all queries or a group."""
    figures = of_data["result"].map(lambda result: result.extras.get(view))
    parts = figures.map(lambda one: one and (one[group] if group else one)["mrr"])
    means = pd.to_numeric(parts).groupby(of_data["row"], sort=False).mean().dropna()
    return mark_best(means.to_dict())


def _command(row: str) -> str:
    model = row.removesuffix(PAST_ONLY)
    past_only = " --past-only" * row.endswith(PAST_ONLY)
    return f"`fit --model {model.removeprefix('apptek_')}{past_only}`"


def reproduced(results: Results) -> str:
    """Compare the preset `paper` under the paper's own protocol with the printed numbers."""
    frame = as_frame(results).query("protocol == 'paper' and model == 'apptek_paper'")
    return markdown(
        [
            {"": title_of(dataset), **beside_printed(runs, PRINTED_OWN.get(dataset))}
            for dataset, runs in frame.groupby("dataset", sort=False)
        ]
    )


def _of_model(results: Results, model: str) -> list[Result]:
    return [result for result in results.values() if result.model == model]


# Recorded with presets from before fits started from counting, when the re-ranker could have two
# ensembles; see docs/results.md.
EARLIER: dict[str, Sequence[Any]] = {"classifier.l2": ([0.0],), "reranker.members": (1, 2)}


def settings_unlike_preset(result: Result) -> dict[str, Any]:
    """Return our model's settings, by section.key, that differ from the current preset.

    A removed setting that was false is now the default behaviour.
    """
    present = plain_settings(preset(result.model.removeprefix("apptek_")))
    return {
        f"{section}.{key}": value
        for section, values in result.settings.items()
        for key, value in values.items()
        if present.get(section, {}).get(key, False) != value
        and value not in EARLIER.get(f"{section}.{key}", ())
    }


def prediction_table(results: Results) -> str:
    """Compare the paper's method with the printed numbers; means over seeds."""
    groups: dict[tuple[str, ...], list[Result]] = {}
    for result in _of_model(results, "apptek_paper"):
        changed = settings_unlike_preset(result)
        if not changed.keys() & {"agent.tknn", "mining.top"}:  # in the tables of tknn and m
            key = (result.dataset, str(result.protocol), *setting_texts(changed))
            groups.setdefault(key, []).append(result)
    rows = []
    for (dataset, protocol, *changes), runs in groups.items():
        printed = PRINTED_OWN[dataset] if protocol == "paper" else ()
        command = first_command(runs[0])  # and the preset's settings at the time
        new = [text for text in changes if f"{text.split('=')[0]}=" not in command]
        metrics = pd.DataFrame([run.metrics for run in runs])
        rows.append(
            {
                "data": dataset,
                "protocol": protocol,
                "topologies": "{number:,} from {from}".format(**runs[0].topologies),
                "MRR, 95 % interval": interval_over_seeds(metrics["mrr"]),
                **{KEYS[key]: four_digits(metrics[key].mean()) for key in list(KEYS)[1:]},
                "ECE": f"{metrics['ece'].mean():.3f}",
                "seeds": str(len(runs)),
                "the paper's": " / ".join(map(four_digits, printed)),
                "command": f"`{' --set '.join([command, *new])}`",
            }
        )
    return markdown(rows)


def choices_table(results: Results, model: str, row: str) -> str:
    """Compare the effect of each open choice with the printed numbers; means over seeds."""
    columns: dict[str, dict[str, str]] = {}
    for title, runs in as_frame(
        {n: r for n, r in results.items() if r.extras.get("of") == model and r.model == "choices"}
    ).groupby("data", sort=False):
        trials = [run.extras["trials"] for run in runs["result"]]
        ways = {
            "ours": ("ours", "filtered"),
            "raw ranks": ("ours", "raw"),
            "worst rank over ties": ("ours", "filtered, pessimistic"),
            **{
                name: (name, "raw, pessimistic" if name.startswith("all") else "filtered")
                for name in trials[0]
                if name != "ours"
            },
        }
        texts = {
            "printed": " / ".join(map(four_digits, PRINTED_MODELS[row][runs["dataset"].iloc[0]]))
        }
        for name, (trial, way) in ways.items():
            found = pd.DataFrame(each[trial][way] for each in trials if trial in each)
            texts[name] = " / ".join(four_digits(found[key].mean()) for key in KEYS)
        columns[f"{title}, {counted(len(runs), 'seed')}"] = texts
    if not columns:
        return NOTHING
    table = pd.DataFrame(columns)
    order = [name for name in ("printed", *ways) if not name.startswith("all")]
    order += [name for name in ways if name.startswith("all")]
    return markdown(table.reindex(order).reset_index(names="changed"))


def controls_table(results: Results) -> str:
    """Return the controls on training queries, by tknn, with their own facts hidden and visible."""
    rows = [
        {
            "data": result.dataset,
            "own fact": "hidden" if settings["hide_query"] else "left in",
            "tknn": settings["tknn"],
            "rewards": "{random:.4f} / {commonest:.4f}".format(**result.metrics["train"]),
        }
        for result in _of_model(results, "controls")
        for settings in [result.settings["agent"]]
    ]
    if not rows:
        return NOTHING
    table = pd.DataFrame(rows).pivot(index=["data", "own fact"], columns="tknn", values="rewards")
    return markdown(table.add_prefix("tknn ").reset_index())


def models_table(results: Results) -> str:
    """Return our models under the official protocol, both views: mean and spread over seeds."""
    rows = []
    for (dataset, name), runs in _by_model(results):
        row = {"data": dataset, "model": name}
        for view in VIEWS:
            figures = pd.DataFrame(filter(None, (run.extras.get(view) for run in runs)))
            for key, title in MODEL_METRICS.items():
                spread = f" ± {figures[key].std():.4f}" if len(figures) > 1 else ""
                mean = f"{figures[key].mean():.4f}{spread}" if len(figures) else ""
                row[f"{view}: {title}"] = mean
        about = {"seeds": str(len(runs)), "fitted in": _seconds_to_fit(runs)}
        rows.append(row | about | {"command": f"`{first_command(runs[0])}`"})
    return markdown(rows)


def groups_table(results: Results) -> str:
    """Return our models' MRR by type of query; means over seeds."""
    rows = []
    for (dataset, name), runs in _by_model(results):
        for view in VIEWS:
            figures = [found for run in runs if (found := run.extras.get(view)) is not None]
            if figures:
                groups = {_title(group): _mean_of_group(figures, group) for group in GROUPS}
                rows.append({"data": dataset, "model": name, "view": view} | groups)
    return markdown(rows)


def _mean_of_group(figures: Sequence[Mapping[str, Any]], name: str) -> str:
    """Return a group's mean MRR, with its proportion of all queries in brackets."""
    if not all(of_run[name] for of_run in figures):
        return ""
    groups = pd.DataFrame(of_run[name] for of_run in figures)
    share = groups["queries"].iloc[0] / figures[0]["queries"]
    return f"{groups['mrr'].mean():.4f} ({share:.1%})"


def _by_model(results: Results) -> list[tuple[tuple[str, str], list[Result]]]:
    """Return official test results of our presets by data set and model, with all seeds."""
    groups: dict[tuple[str, str], dict[int, Result]] = {}
    for result in filter(_is_of_preset, results.values()):
        name = result.model.removeprefix("apptek_") + PAST_ONLY * result.fitted_on_the_past
        seeds = groups.setdefault((result.dataset, name), {})
        seeds.setdefault(result.seed or 0, result)  # a run that was recorded twice counts once
    order = sorted(groups, key=lambda key: (key[0], PRESET_ORDER.index(key[1].split(",")[0]), key))
    return [(key, list(groups[key].values())) for key in order]


def _is_of_preset(result: Result) -> bool:
    """Return whether this is our model on an official test set, with a preset's settings.

    The fitted view may differ.
    """
    return (
        result.model.startswith("apptek_")
        and result.dataset in BENCHMARKS
        and (result.protocol, result.split) == ("official", "test")
        and settings_unlike_preset(result).keys() <= {"features.past_only"}
    )


def _seconds_to_fit(results: Sequence[Result]) -> str:
    seconds = mean_seconds(results)
    return "" if seconds is None else f"{seconds:.0f} s"


def _title(group: str) -> str:
    return group.replace("_", " ")


def comparison_table(results: Results) -> str:
    """Return the recorded comparisons: each model's difference from the first, with its interval.

    If a smaller comparison repeats a pair of models, its row replaces the row of the larger one.
    """
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    comparisons = _of_model(results, COMPARISON)
    for result in sorted(comparisons, key=lambda each: -len(each.extras["models"])):
        first, *others = result.extras["models"]
        for model, gap in zip([first, *others], [None, *result.extras["differences"]], strict=True):
            row = {"data": result.dataset, "model": model["name"], "MRR": four_digits(model["mrr"])}
            if gap is not None:
                row["minus the first"] = f"{gap['mean']:+.4f}"
                row["95 % interval"] = f"{gap['low']:+.4f} to {gap['high']:+.4f}"
                row["queries better / worse"] = f"{gap['better']:,} / {gap['worse']:,}"
            rows[result.dataset, first["name"], model["name"]] = row
    return markdown(list(rows.values()))


def ablation_table(results: Results) -> str:
    """Return the default preset on ICEWS14's validation set, with one part changed in each row."""
    ablations = [
        (setting_texts(settings_unlike_preset(result)), result)
        for result in _of_model(results, "apptek_default")
        if (result.dataset, result.split) == ("icews14", "valid")
    ]
    ablations.sort(key=lambda pair: (bool(pair[0]), -pair[1].metrics["mrr"]))
    if not ablations or ablations[0][0]:  # nothing to compare with
        return NOTHING
    rows = []
    for changes, result in ablations:
        difference = result.metrics["mrr"] - ablations[0][1].metrics["mrr"]
        groups = {name: result.groups[name] for name in GROUPS[:5]}  # every query is dated
        rows.append(
            {
                "changed": "; ".join(f"`{text}`" for text in changes) or "the default preset",
                "MRR": four_digits(result.metrics["mrr"]),
                "difference": f"{difference:+.4f}" if result is not ablations[0][1] else "",
                "Hits@1": four_digits(result.metrics["hits_at_1"]),
                "Hits@10": four_digits(result.metrics["hits_at_10"]),
                **{
                    _title(n): four_digits(group["mrr"]) if group else ""
                    for n, group in groups.items()
                },
                "fit": _seconds_to_fit([result]),
            }
        )
    return markdown(rows)


def _longest_backtests(results: Results) -> list[Result]:
    """Return each data set's backtest with the most windows and without a lead."""
    without_lead = [
        r for r in _of_model(results, "backtest") if not r.extras["windows"].get("lead")
    ]
    chosen: dict[str, Result] = {}
    for result in without_lead:
        known = chosen.setdefault(result.dataset, result)
        if result.extras["windows"]["count"] > known.extras["windows"]["count"]:
            chosen[result.dataset] = result
    return list(chosen.values())


def backtest_table(results: Results) -> str:
    """Return the metrics of each backtest and of its baselines."""
    rows = []
    for result in _longest_backtests(results):
        windows = result.extras["windows"]
        every = counted(windows["every"], windows["unit"])
        about = f"{windows['count']} windows of {every} from {windows['first']}"
        for name, words in BACKTESTED.items():
            figures, skill = result.metrics[name], result.extras["skill"].get(name)
            rows.append(
                {
                    "data": title_of(result.dataset),
                    "windows": about,
                    "pairs": f"{figures['forecasts']:,}",
                    "with a fact": f"{figures['share']:.2%}",
                    "model": words,
                    **{head: four_digits(figures[key]) for key, head in BACKTEST_METRICS.items()},
                    "Brier skill against this": "" if skill is None else f"{skill:+.3f}",
                }
            )
    return markdown(rows)


def lead_table(results: Results) -> str:
    """Return the metrics and Brier skill of each backtest, by lead and group of pairs."""
    backtests = [result for result in _of_model(results, "backtest") if result.groups]
    rows = []
    for result in sorted(backtests, key=lambda r: (r.dataset, r.extras["windows"]["lead"])):
        for name, words in PAIR_GROUPS.items():
            if (group := result.groups.get(name)) is not None:
                skills = {f"skill: {SKILLS[rule]}": group["skill"][rule] for rule in SKILLS}
                rows.append(
                    {
                        "data": title_of(result.dataset),
                        "lead": str(result.extras["windows"]["lead"]),
                        "pairs": words,
                        "pairs and windows": f"{group['pairs']:,.0f}",
                        "with a fact": f"{100 * group['share']:.3g} %",
                        "mean forecast": f"{100 * group['forecast']:.3g} %",
                        "Brier": f"{group['brier']:.3g}",
                        "calibration error": f"{group['calibration_error']:.3g}",
                        **{
                            n: "" if skill is None else f"{skill:+.4f}"
                            for n, skill in skills.items()
                        },
                    }
                )
    return markdown(rows)


def predicate_table(results: Results) -> str:
    """Return how often forecast predicates came true, binned by probability."""
    return markdown(
        [
            {
                "data": title_of(result.dataset),
                "forecast at": f"{100 * part['lower']:g} % to {100 * part['upper']:g} %",
                "forecasts": f"{part['forecasts']:,}",
                "on average": f"{part['forecast']:.1%}",
                "happened": f"{part['happened']:.1%}",
            }
            for result in _longest_backtests(results)
            for part in result.extras["predicate_reliability"]
        ]
    )


def audit_table(results: Results) -> str:
    """Return AUC / precision of the audit on planted errors, next to the baseline's."""
    variants = {"AUC / precision": "", "in the list": "_in_list", "baseline": "_baseline"}
    rows = []
    for figures in (result.metrics for result in _of_model(results, "bench_audit")):
        for error, (name, ending) in ERRORS.items():
            row = {"data": title_of(figures["data"]), "error": error}
            for head, variant in variants.items():
                auc, precision = (
                    figures[f"{name}_{m}{ending}{variant}"] for m in ("auc", "precision")
                )
                row[head] = f"{auc:.3f} / {precision:.2f}"
            for head, count in (("among the first 100", 100), ("among 1,000", 1000)):
                row[head] = f"{figures[f'{name}_precision_{count}{ending}']:.2f}"
            rows.append(row)
    return markdown(rows)


def faithfulness_table(results: Results) -> str:
    """Return the faithfulness of the reasons, for each model that was measured."""
    rows = []
    for result in _of_model(results, "faithfulness"):
        figures = result.metrics
        rows.append(
            {
                "data": title_of(result.dataset),
                "model": result.extras["of"],
                "questions": f"{figures['questions']:,}",
                "cited beats random": _percent(figures["cited_beats_random"]),
                "log-odds lost: cited / random": "{cited_drop:.2f} / {random_drop:.2f}".format(
                    **figures
                ),
                "sufficiency": _percent(figures["sufficiency"]),
            }
        )
    return markdown(rows)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def scale_table(results: Results) -> str:
    """Return time and memory for reading, indexing, fitting and answering, by number of facts."""
    benches = [result.metrics for result in _of_model(results, "bench_scale")]
    sizes = {size: figures for figures in benches for size in figures["facts"]}
    columns = {
        f"{size / 1e6:g} M": {key: sizes[size][key][str(size)] for key, _ in SCALE.values()}
        for size in sorted(sizes)
    }
    return _figures_table("facts", columns, SCALE)


def engine_table(results: Results) -> str:
    """Return fit and evaluation times in the largest recorded benchmark of the engines."""
    benches = [result.metrics for result in _of_model(results, "bench_engine")]
    if not benches:
        return NOTHING
    figures = max(benches, key=lambda each: int(each["facts"]))
    about = f"{figures['facts'] / 1e6:g} M facts, {figures['queries']:,} test queries"
    return _figures_table(about, {name: figures[name] for name in ENGINES}, ENGINE)


def _figures_table(
    head: str, columns: Mapping[str, Mapping[str, Any]], rows: Mapping[str, tuple[str, str]]
) -> str:
    """Return a table with one row per figure: its description, key and format."""
    lines = [
        {head: words} | {name: form.format(figures[key]) for name, figures in columns.items()}
        for words, (key, form) in rows.items()
    ]
    return markdown(lines if columns else [])


def torture_table(results: Results) -> str:
    """Return every attack in all recorded campaigns, and the service's metrics under attack."""
    rows = []
    for figures in (result.metrics for result in _of_model(results, "torture")):
        for name, words in ATTACKS.items():
            if (counts := figures.get(name)) is not None:
                outcomes = "; ".join(
                    f"{OUTCOMES.get(what, what)}: {n:,}"
                    for what, n in sorted(counts["outcomes"].items())
                    if n
                )
                rows.append([words, f"{counts['tried']:,}", outcomes, str(counts["failed"])])
        for name, texts in SERVICE.items():
            if (found := figures.get(name)) is not None:
                answers = dict(found["answers"])
                answered = answers.pop("200", 0)
                failed = sum(answers.values()) + len(found.get("health_unanswered", []))
                told = [text.format(answered=answered, **found) for text in texts]
                rows.append([*told, str(failed)])
    names = ["attack", "times", "outcome", "failures"]
    return markdown(pd.DataFrame(rows, columns=names))


DOCS_TABLES: dict[str, Maker] = {
    "prediction": prediction_table,
    "controls": controls_table,
    "choices": partial(choices_table, model="paper", row="APPTeK"),
    "choices-tnt": partial(choices_table, model="tnt_complex", row="TNTComplEx"),
    "models": models_table,
    "groups": groups_table,
    "ablation": ablation_table,
    "comparison": comparison_table,
    "backtest": backtest_table,
    "backtest-predicates": predicate_table,
    "backtest-leads": lead_table,
    "audit": audit_table,
    "engine": engine_table,
    "scale": scale_table,
    "torture": torture_table,
    "faithfulness": faithfulness_table,
}


def docs_tables(runs: RunList) -> dict[str, Maker]:
    """Return every table that a page may show, by name."""
    of_table2 = {
        name: partial(of_runs, runs.shown.get("table2", []), make)
        for name, make in {"overview": overview, "reproduced": reproduced}.items()
    }
    return DOCS_TABLES | all_tables(runs) | of_table2


def with_tables(text: str, results: Results, tables: Mapping[str, Maker]) -> str:
    """Rebuild a page's tables, each between `<!-- table: NAME -->` and `<!-- end -->`."""
    for name, make in tables.items():
        if (begin := f"<!-- table: {name} -->") in text:
            text = with_block(text, begin, make(results))
    return text


def with_block(page: str, begin: str, content: str) -> str:
    """Return a page with new content between its only copy of a marker and `<!-- end -->`."""
    if page.count(begin) != 1:
        raise SystemExit(f"there are {page.count(begin)} places for {begin}")
    before, _, rest = page.partition(begin)
    _, end, after = rest.partition("<!-- end -->")
    return f"{before}{begin}\n{content}\n{end}{after}"
