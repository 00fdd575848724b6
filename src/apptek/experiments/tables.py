"""Tables for the docs, made from result files alone."""

import json
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from apptek.config import preset
from apptek.experiments.result_file import COMPARISON, read_result

# What the paper prints for its own method: MRR, Hits@10, Hits@1 (its Table 2).
PRINTED = {
    "icews14": (0.4889, 0.7749, 0.3421),
    "icews05-15": (0.4844, 0.8246, 0.3222),
    "yago15k": (0.6041, 0.9547, 0.3537),
}
Maker = Callable[[Sequence[dict[str, Any]]], str]
NOTHING = "nothing is recorded yet"
KEYS = ("mrr", "hits_at_10", "hits_at_1")

# Settings that older results name and that no longer exist, with the value that remained.
RETIRED_SETTINGS = {"agent.reward": "connection", "mining.keep": "frequent"}


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Every result file of a folder, by name."""
    return [read_result(path) for path in sorted(folder.glob("*.json"))]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a line that says so where there are no rows."""
    if not rows:
        return NOTHING
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def prediction_table(results: Sequence[dict[str, Any]]) -> str:
    """Our numbers of the paper's method beside the printed ones, each with its command."""
    rows = []
    for result in results:
        if result["model"] != "apptek_paper" or _varied(result):
            continue
        printed = PRINTED[result["dataset"]] if result["protocol"] == "paper" else None
        metrics = result["metrics"]
        rows.append(
            [
                result["dataset"],
                result["protocol"],
                f"{result['topologies']['number']:,} from {result['topologies']['from']}",
                *(f"{metrics[key]:.4f}" for key in KEYS),
                f"{metrics['ece']:.3f}",
                " / ".join(f"{value:.4f}" for value in printed) if printed else "",
                f"`{fit_command(result)}`",
            ]
        )
    header = ("data", "protocol", "topologies", "MRR", "Hits@10", "Hits@1", "ECE")
    return markdown((*header, "the paper's", "command"), rows)


def _varied(result: dict[str, Any]) -> bool:
    """Whether a result belongs to the tables of tknn and of m."""
    own, settings = preset("paper"), result["settings"]
    tknn, top = settings["agent"]["tknn"], settings["mining"]["top"]
    return bool(tknn != own.agent.tknn or top != own.mining.top)


def fit_command(result: dict[str, Any]) -> str:
    """The command that fits with a result's settings, whatever the preset's are by now."""
    command = str(result["command"]).split(" && ")[0]
    present = asdict(preset("paper"))
    for section, values in result["settings"].items():
        for key, value in values.items():
            name = f"{section}.{key}"
            now = present.get(section, {}).get(key, RETIRED_SETTINGS.get(name))
            plain = list(now) if isinstance(now, tuple) else now
            if value != plain and f"{name}=" not in command:
                command += f" --set {name}={value}"
    return command


def agent_table(results: Sequence[dict[str, Any]]) -> str:
    """The agent beside its controls, on the training queries and on valid."""
    rows = []
    for result in results:
        if result["model"] != "agent":
            continue
        settings = result["settings"]["agent"]
        kind = "wide" if settings["fingerprint_size"] > 16 else "paper"
        for split, found in result["metrics"].items():
            gain = found["agent_minus_commonest"]
            means = [f"{found[policy]:.4f}" for policy in ("agent", "random", "commonest")]
            interval = f"{gain['mean']:+.4f} [{gain['low']:+.4f}, {gain['high']:+.4f}]"
            about = [result["dataset"], kind, str(settings["tknn"]), f"{settings['epochs']:g}"]
            rows.append([*about, split, *means, interval])
    rows.sort(key=lambda row: (row[0], row[1], int(row[2]), row[4]))
    header = ("data", "settings", "tknn", "epochs", "queries", "agent", "random", "commonest")
    return markdown((*header, "agent - commonest, 95 % interval"), rows)


def models_table(results: Sequence[dict[str, Any]]) -> str:
    """Our models under the official protocol: mean and spread over the seeds.

    Beside all queries, the MRR of those whose mirror is in train, and of the others.
    """
    rows = []
    for name, found in _by_model(results):
        first = found[0]
        columns = [
            _mean(found, "metrics", key) for key in ("mrr", "hits_at_1", "hits_at_10", "ece")
        ]
        seconds = statistics.mean(sum(result["seconds"].values()) for result in found)
        rows.append(
            [
                first["dataset"],
                name,
                *columns,
                *(_mean_of_group(found, group) for group in ("mirrored", "not_mirrored")),
                str(len(found)),
                f"{seconds:.0f} s",
                f"`{first['command'].split(' && ')[0]}`",
            ]
        )
    header = ("data", "model", "MRR", "Hits@1", "Hits@10", "ECE", "mirrored", "not mirrored")
    return markdown((*header, "seeds", "fitted in", "command"), rows)


def groups_table(results: Sequence[dict[str, Any]]) -> str:
    """The MRR of our models by kind of query, means over the seeds."""
    rows = []
    for name, found in _by_model(results):
        columns = [_mean_of_group(found, group) for group in GROUPS]
        rows.append([found[0]["dataset"], name, *columns])
    header = ("data", "model", *(group.replace("_", " ") for group in GROUPS))
    return markdown(header, rows)


def comparison_table(results: Sequence[dict[str, Any]]) -> str:
    """Recorded comparisons: how far every model is from the first, and how sure that is."""
    rows = []
    for result in results:
        if result["model"] != COMPARISON:
            continue
        first, *others = result["models"]
        rows.append([result["dataset"], first["name"], f"{first['mrr']:.4f}", "", "", ""])
        for model, gap in zip(others, result["differences"], strict=True):
            interval = f"{gap['low']:+.4f} to {gap['high']:+.4f}"
            queries = f"{gap['better']:,} / {gap['worse']:,}"
            mrr = f"{model['mrr']:.4f}"
            rows.append(
                [result["dataset"], model["name"], mrr, f"{gap['mean']:+.4f}", interval, queries]
            )
    header = ("data", "model", "MRR", "minus the first", "95 % interval")
    return markdown((*header, "queries better / worse"), rows)


def ablation_table(results: Sequence[dict[str, Any]]) -> str:
    """What each part of the default preset is worth, on valid."""
    found = [
        r
        for r in results
        if (r["model"], r["dataset"], r.get("split")) == ("apptek_default", "icews14", "valid")
    ]
    whole = next((r for r in found if not changes(r)), None)
    if whole is None:
        return NOTHING
    rows = []
    for result in sorted(found, key=lambda r: (bool(changes(r)), -r["metrics"]["mrr"])):
        mrr, groups = result["metrics"]["mrr"], result["groups"]
        rows.append(
            [
                "; ".join(f"`{change}`" for change in changes(result)) or "the default preset",
                f"{mrr:.4f}",
                f"{mrr - whole['metrics']['mrr']:+.4f}" if result is not whole else "",
                *(f"{result['metrics'][key]:.4f}" for key in ("hits_at_1", "hits_at_10")),
                *(f"{groups[g]['mrr']:.4f}" if groups[g] else "" for g in GROUPS[:5]),
                f"{sum(result['seconds'].values()):.0f} s",
            ]
        )
    header = ("changed", "MRR", "difference", "Hits@1", "Hits@10")
    return markdown((*header, *(group.replace("_", " ") for group in GROUPS[:5]), "fit"), rows)


def changes(result: dict[str, Any]) -> list[str]:
    """The settings of a result that differ from its preset's, as `--set` takes them."""
    own = asdict(preset(result["model"].removeprefix("apptek_")))
    found = []
    for section, values in result["settings"].items():
        for key, value in values.items():
            name = f"{section}.{key}"
            now = own.get(section, {}).get(key, RETIRED_SETTINGS.get(name))
            if value != (list(now) if isinstance(now, tuple) else now):
                found.append(f"{name}={json.dumps(value)}")
    return found


def _by_model(results: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Official test results of our models with their seeds together: (name, results)."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for result in results:
        ours = str(result["model"]).startswith("apptek_")
        if ours and result["protocol"] == "official" and result["split"] == "test":
            past = result["settings"].get("features", {}).get("past_only", False)
            if result.get("as_of", past) != past or set(changes(result)) - PAST:
                continue
            name = result["model"].removeprefix("apptek_") + (", past only" if past else "")
            group = groups.setdefault((result["dataset"], name, result["protocol"]), [])
            if all(result["seed"] != other["seed"] for other in group):  # recorded twice: once
                group.append(result)
    order = {name: place for place, name in enumerate(("paper", "default", "max"))}
    keys = sorted(groups, key=lambda key: (key[0], order.get(key[1].split(",")[0], 9), key[1]))
    return [(key[1], groups[key]) for key in keys]


def _mean(found: Sequence[dict[str, Any]], part: str, key: str) -> str:
    values = [result[part][key] for result in found]
    spread = f" ± {statistics.stdev(values):.4f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.4f}{spread}"


def _mean_of_group(found: Sequence[dict[str, Any]], group: str) -> str:
    parts = [result["groups"][group] for result in found]
    if not all(parts):
        return ""
    share = parts[0]["queries"] / found[0]["metrics"]["queries"]
    return f"{statistics.mean(part['mrr'] for part in parts):.4f} ({share:.1%})"


PAST = {"features.past_only=true"}
GROUPS = (
    "mirrored", "not_mirrored", "seen_pair", "unseen_pair", "unseen_entity", "dated", "undated",
)  # fmt: skip
TABLES: dict[str, Maker] = {
    "prediction": prediction_table,
    "agent": agent_table,
    "models": models_table,
    "groups": groups_table,
    "ablation": ablation_table,
    "comparison": comparison_table,
}


def with_tables(
    text: str, results: Sequence[dict[str, Any]], tables: Mapping[str, Maker] = TABLES
) -> str:
    """A page with the tables between its marks made anew."""
    for name, make in tables.items():
        begin, end = f"<!-- table: {name} -->", "<!-- end -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            _, _, after = rest.partition(end)
            text = f"{before}{begin}\n{make(results)}\n{end}{after}"
    return text
