"""The paper's tables rebuilt from results, with our numbers next to the printed ones."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from apptek.errors import ConfigError
from apptek.models.registry import NAMES, PAST_ONLY_NAMES
from apptek.research.compare import PAST_ONLY
from apptek.research.printed import (
    PRINTED_ENTITIES,
    PRINTED_FORECASTS,
    PRINTED_MODELS,
    PRINTED_TKNN,
    TITLES,
)
from apptek.research.provenance import RunList
from apptek.research.result import Result
from apptek.setting_rules import setting_texts

Results = Mapping[str, Result]  # by file name
Maker = Callable[[Results], str]
Frame = Any  # an untyped pandas data frame
NOTHING = "nothing is recorded yet"
BENCH = "bench-agent"  # the result of `python -m benchmarks agent`
KEYS = {"mrr": "MRR", "hits_at_10": "Hits@10", "hits_at_1": "Hits@1"}  # in the paper's order
METRICS = [*KEYS, "ece"]
ROWS = [*NAMES, "apptek_paper", "apptek_default", "apptek_max"]
COUNTS = {  # keys of the statistics, and their names in a table
    "entities": "entities", "predicates": "predicates", "times": "distinct times",
    "train": "train", "valid": "valid", "test": "test",
}  # fmt: skip
SOURCES = {"official": "official", "paper": "its protocol", "printed_in_paper": "printed"}
PROTOCOLS = {"official": "Official protocol", "paper": "The paper's protocol"}
FORECASTS = {
    "raw_r": "R raw", "filtered_r": "R filtered", "raw_2r": "2R raw", "filtered_2r": "2R filtered",
}  # fmt: skip
# Half a 95 % t-interval in standard errors, by number of seeds.
ENTITY_METRICS = {
    "mrr": "MRR", "hits_at_1": "Hits@1", "hits_at_3": "Hits@3", "hits_at_10": "Hits@10",
}  # fmt: skip
STUDENT_T = {2: 12.7062, 3: 4.3027, 4: 3.1824, 5: 2.7764}
four_digits = "{:.4f}".format


def markdown(rows: Frame | Sequence[Mapping[str, str]]) -> str:
    """Return rows as a Markdown table, or a line that says there are none."""
    frame = pd.DataFrame(rows)
    if frame.empty:
        return NOTHING
    lines = [frame.columns, ["---"] * frame.shape[1], *frame.fillna("").itertuples(index=False)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def title_of(dataset: str) -> str:
    """Return a data set's name for a table; a path is shortened to its last part."""
    return TITLES.get(dataset, dataset.rsplit("/", 1)[-1])


def all_tables(runs: RunList) -> dict[str, Maker]:
    """Return the paper's tables by name, each built from its runs."""
    makers = {
        "table1": table1,
        "table2": table2,
        "table3": table3,
        "table-m": table_m,
        "table-agent": table_agent,
        "table-search": table_search,
        "table-forecast": table_forecast,
        "table-entities": table_entities,
    }
    shown = {name: runs.shown.get(name, []) for name in makers}
    shown["table3"] = [*shown["table3"], BENCH]
    return {name: partial(of_runs, shown[name], make) for name, make in makers.items()}


def of_runs(names: Sequence[str], make: Maker, results: Results) -> str:
    """Make a table from the results of some runs, and list the missing runs."""
    text = make({name: results[name] for name in names if name in results})
    absent = "; ".join(name for name in names if name not in results)
    lists_absent = make in (table2, table_m) and absent and text != NOTHING
    return f"{text}\n\nNot recorded yet: {absent}." if lists_absent else text


def as_frame(results: Results) -> Frame:
    """Return one row per result: the paper's data sets first, models in the order of ROWS."""
    order = {name: position for position, name in enumerate([*TITLES, *ROWS])}
    rows = [
        {
            "result": result,
            "name": name,
            "row": row_name(result),
            "seed": result.seed or 0,
            **{key: getattr(result, key) for key in ("model", "dataset", "protocol", "rolling")},
            **{key: result.metrics.get(key) for key in METRICS},
        }
        for name, result in results.items()
    ]
    rows.sort(key=lambda row: (order.get(row["dataset"], 99), row["dataset"], row["name"]))
    rows.sort(key=lambda row: (order.get(row["model"], 99), row["row"]))
    names = ["result", "name", "row", "seed", "model", "dataset", "protocol", "rolling", *METRICS]
    frame = pd.DataFrame(rows, columns=names)
    return frame.assign(data=frame["dataset"].map(title_of))


def row_name(result: Result) -> str:
    """Return a model's row name, which indicates whether the model sees only the past."""
    of_authors = result.preset == "paper" and result.model in NAMES
    past_only = result.model in PAST_ONLY_NAMES or result.fitted_on_the_past
    return result.model + ", preset paper" * of_authors + PAST_ONLY * past_only


def mark_best(column: Mapping[str, float]) -> dict[str, str]:
    """Format a column's numbers with four digits, the best in bold and the second in italics.

    A single number is not marked, because there is nothing to compare it with.
    """
    # Compare rounded values: numbers that are equal to four digits get the same mark.
    texts = {name: four_digits(value) for name, value in column.items()}
    best_first = sorted(set(texts.values()), key=float, reverse=True) if len(texts) > 1 else []
    marks = dict(zip(best_first, ("**", "*"), strict=False))
    return {name: f"{marks.get(t, '')}{t}{marks.get(t, '')}" for name, t in texts.items()}


def datasets_of(frame: Frame) -> list[str]:
    """Return the data sets of a frame, in the order of the paper."""
    order = {name: position for position, name in enumerate(TITLES)}
    return sorted(frame["dataset"].unique(), key=lambda name: (order.get(name, 99), name))


def table1(results: Results) -> str:
    """Return statistics of the data sets: public splits, the paper's protocol, and as printed."""
    statistics = as_frame(results)
    columns = {
        f"{title}, {words}": counts
        for title, result in zip(statistics["data"], statistics["result"], strict=True)
        for source, words in SOURCES.items()
        if (counts := result.extras.get(source))  # data that is not in the paper has one source
    }
    if not columns:
        return NOTHING
    rows = pd.DataFrame(columns).loc[list(COUNTS)].rename(index=COUNTS).map("{:,}".format)
    return markdown(rows.reset_index(names=""))


def table2(results: Results) -> str:
    """Return every model's metrics under the official protocol and under the paper's protocol.

    These are means over seeds. In every column, the best of ours is bold, the second italic.
    """
    frame = as_frame(results)
    if len(twice := frame[frame.duplicated(["row", "dataset", "protocol", "seed"], keep=False)]):
        names = " and ".join(twice["name"])
        raise ConfigError(f"the runs {names} fill the same row: {twice['row'].iloc[0]}")
    parts = [
        f"**{title}**\n\n{_table_beside_printed(ours)}"
        for protocol, title in PROTOCOLS.items()
        if len(ours := frame[frame["protocol"] == protocol])
    ]
    return "\n\n".join(parts) or NOTHING


def _table_beside_printed(ours: Frame) -> str:
    means = ours.groupby(["row", "dataset"])[list(KEYS)].mean()
    columns: dict[str, dict[str, str]] = {}
    for dataset in datasets_of(ours):
        for place, (key, title) in enumerate(KEYS.items()):
            printed = {
                f"{name}, as printed": four_digits(numbers[dataset][place])
                for name, numbers in PRINTED_MODELS.items()
                if dataset in numbers
            }
            # Printed numbers use other splits and training: only ours compete for the marks.
            own = mark_best(means[key].xs(dataset, level="dataset").to_dict())
            columns[f"{title_of(dataset)} {title}"] = printed | own
    known = set(TITLES) & set(ours["dataset"])
    names = [f"{name}, as printed" for name in PRINTED_MODELS if known]
    table = pd.DataFrame(columns).reindex([*names, *ours["row"].unique()])
    return markdown(table.reset_index(names="model"))


def beside_printed(runs: Frame, printed: Sequence[float] | None) -> dict[str, str]:
    """Return our mean and the printed number, metric by metric."""
    cells = {}
    for place, (key, title) in enumerate(KEYS.items()):
        cells[title] = four_digits(runs[key].mean())
        cells[f"{title}, the paper's"] = four_digits(printed[place]) if printed else ""
    return cells


def table3(results: Results) -> str:
    """Return how tknn changes accuracy and the agent's training time, compared with the paper.

    The times come from the agent benchmark, recorded on an idle machine.
    """
    bench = results[BENCH].metrics if BENCH in results else {}
    frame = as_frame({name: result for name, result in results.items() if name != BENCH})
    frame["tknn"] = frame["result"].map(lambda result: result.settings["agent"]["tknn"])
    rows = []
    for (tknn, dataset), runs in frame.groupby(["tknn", "dataset"]):
        printed = PRINTED_TKNN.get(tknn) if dataset in TITLES else None
        row = {"tknn": str(tknn), **beside_printed(runs, printed), "seeds": str(len(runs))}
        ms = bench.get("train_ms_per_episode", {}).get(str(tknn)) if printed else None
        epoch = ms and ms * bench["facts"][dataset] / 1000
        row["ms an episode"] = "" if ms is None else f"{ms:.2f}"
        row["the paper's ms"] = f"{printed[3]}" if printed else ""
        row["s an epoch"] = "" if epoch is None else f"{epoch:.0f}"
        rows.append(row | {"the paper's s": f"{printed[4]:,}" if printed else ""})
    return markdown(rows)


def table_m(results: Results) -> str:
    """Return how the number of topologies kept per predicate changes accuracy."""
    frame = as_frame(results)
    frame["m"] = [result.settings["mining"]["top"] for result in frame["result"]]
    frame["topologies"] = [result.topologies["number"] for result in frame["result"]]
    frame["data"] = pd.Categorical(frame["data"], frame["data"].unique())
    groups = frame.groupby(["data", "m"], observed=True)
    means = groups[["topologies", *KEYS]].mean().reset_index()
    means[list(KEYS)] = means[list(KEYS)].map(four_digits)
    means["topologies"] = means["topologies"].map("{:,.0f}".format)
    return markdown(means.astype({"m": str, "data": str}).rename(columns=KEYS))


def table_agent(results: Results) -> str:
    """Return the mean reward of agents over seeds, and of the controls, on train and valid."""
    rows = [
        {
            "data": result.dataset,
            "settings": kind_of_agent(result.settings["agent"]),
            "tknn": result.settings["agent"]["tknn"],
            "queries": split,
            **{name: metrics[name] for name in ("agent", "random", "commonest")},
            "difference": metrics["agent_minus_commonest"]["mean"],
        }
        for result in results.values()
        for split, metrics in result.metrics.items()
    ]
    if not rows:
        return NOTHING
    lines, keys = [], ["data", "settings", "tknn", "queries"]
    for key, runs in pd.DataFrame(rows).groupby(keys):
        about = dict(zip(keys, map(str, key), strict=True))
        about["seeds"] = str(len(runs))
        about["agent, 95 % interval"] = interval_over_seeds(runs["agent"])
        about |= {name: four_digits(runs[name].mean()) for name in ("random", "commonest")}
        lines.append(about | {"agent - commonest": interval_over_seeds(runs["difference"], "+")})
    return markdown(lines)


def kind_of_agent(settings: Mapping[str, Any]) -> str:
    """Return the name that the docs use for these settings."""
    if settings["fingerprint"] == "marked":
        return "marked"
    if settings["fingerprint_size"] > 16:
        return "wide"
    often = ", ratio 64" if settings["replay_ratio"] == 64 else ""
    return f"paper{often}" + ("" if settings["hide_query"] else ", own fact left in")


def interval_over_seeds(values: Frame, sign: str = "") -> str:
    """Return the mean, with its 95 % t-interval if there is more than one seed."""
    mean, texts = values.mean(), f"{{:{sign}.4f}}".format
    if len(values) not in STUDENT_T:
        return texts(mean)
    half = STUDENT_T[len(values)] * values.sem()
    return f"{texts(mean)} [{texts(mean - half)}, {texts(mean + half)}]"


def table_search(results: Results) -> str:
    """Return what each baseline's search tried on the validation set, and its choice."""
    rows = []
    for title, result in as_frame(results)[["data", "result"]].itertuples(index=False):
        search, first = result.extras, result.extras["trials"][0]["valid_mrr"]
        changed = ", ".join(f"`{text}`" for text in setting_texts(search["best"]))
        rows.append(
            {
                "baseline": search["baseline"],
                "data": title
                + (f", {search['sample']:.0%} of train" if "sample" in search else ""),
                "protocol": str(result.protocol),
                "minutes": f"{search['minutes']:g}",
                "trials": str(len(search["trials"])),
                "preset, valid MRR": "failed" if first is None else four_digits(first),
                "best, valid MRR": four_digits(result.metrics["mrr"]),
                "settings changed": changed or "none",
            }
        )
    return markdown(sorted(rows, key=lambda row: ROWS.index(row["baseline"])))


def table_forecast(results: Results) -> str:
    """Return each model's MRR by data set, next to the numbers printed in RE-GCN's paper."""
    frame = as_frame(results)
    for key in FORECASTS:
        frame[key] = [r.forecast[key]["mrr"] if r.forecast else None for r in frame["result"]]
    rows = []
    for (dataset, rolling, model), runs in frame.groupby(["dataset", "rolling", "model"]):
        means = runs[[*FORECASTS, "ece"]].astype(float).mean().map(four_digits)
        row = {"data": title_of(dataset), "model": model}
        row["facts known"] = "rolling" if rolling else "train"
        row |= means.rename(FORECASTS | {"ece": "ECE"}).replace("nan", "").to_dict()
        rows.append(row | {"seeds": str(len(runs))})
    for dataset, mrr in PRINTED_FORECASTS.items():
        if dataset in set(frame["dataset"]):
            about = {"data": title_of(dataset), "model": "RE-GCN, as printed"}
            rows.append({**about, "facts known": "rolling", "2R raw": four_digits(mrr)})
    return markdown(sorted(rows, key=lambda row: row["data"]))  # stable: the printed one comes last


def table_entities(results: Results) -> str:
    """Return missing-entity metrics by data set, next to published numbers for ICEWS14."""
    rows, datasets = [], set[str]()
    for _, result in sorted(results.items(), key=lambda item: item[1].dataset, reverse=True):
        datasets.add(result.dataset)
        for known, sides in sorted(result.extras["entities"].items()):
            about = {"data": title_of(result.dataset), "model": "apptek_default"}
            about["facts known"] = "rolling" if known == "rolling" else "train"
            figures = {ENTITY_METRICS[key]: sides["both"][key] for key in ENTITY_METRICS}
            figures |= {f"MRR, {side}": sides[side]["mrr"] for side in ("objects", "subjects")}
            rows.append(about | {name: four_digits(value) for name, value in figures.items()})
    for dataset, printed in PRINTED_ENTITIES.items():
        for model, mrr in printed.items() if dataset in datasets else ():
            about = {"data": title_of(dataset), "model": f"{model}, as printed"}
            rows.append(about | {"facts known": "rolling", "MRR": f"{mrr:.3f}"})
    return markdown(sorted(rows, key=lambda row: row["data"], reverse=True))
