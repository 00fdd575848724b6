"""Tables for the docs, made from result files alone."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from apptek.experiments.record import read_result
from apptek.prediction.presets import preset

# What the paper prints for its own method: MRR, Hits@10, Hits@1 (its Table 2).
PRINTED = {
    "icews14": (0.4889, 0.7749, 0.3421),
    "icews05-15": (0.4844, 0.8246, 0.3222),
    "yago15k": (0.6041, 0.9547, 0.3537),
}
KEYS = ("mrr", "hits_at_10", "hits_at_1")


def read_results(folder: Path) -> list[dict[str, Any]]:
    """Every result file of a folder, by name."""
    return [read_result(path) for path in sorted(folder.glob("*.json"))]


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def prediction_table(results: Sequence[dict[str, Any]]) -> str:
    """Our numbers of the paper's method beside the printed ones, each with its command."""
    rows = []
    for result in results:
        if result["model"] != "apptek_paper":
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


def fit_command(result: dict[str, Any]) -> str:
    """The command that fits with a result's settings, whatever the preset's are by now."""
    command = str(result["command"]).split(" && ")[0]
    present = asdict(preset("paper"))
    for section, values in result["settings"].items():
        for key, value in values.items():
            name, now = f"{section}.{key}", present.get(section, {}).get(key)
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


TABLES = {"prediction": prediction_table, "agent": agent_table}


def with_tables(text: str, results: Sequence[dict[str, Any]]) -> str:
    """A page with the tables between its marks made anew."""
    for name, make in TABLES.items():
        begin, end = f"<!-- table: {name} -->", "<!-- end -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            _, _, after = rest.partition(end)
            text = f"{before}{begin}\n{make(results)}\n{end}{after}"
    return text
