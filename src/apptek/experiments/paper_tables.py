"""The paper's tables made anew from result files, ours beside what it prints."""

import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

from apptek.baselines.registry import NAMES, PAST_ONLY_NAMES
from apptek.errors import ConfigError
from apptek.experiments.experiment import Cell, results_of
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


def all_tables(cells: Sequence[Cell]) -> dict[str, Maker]:
    """Every table that a page may show, by name."""
    made = {
        "table1": table1,
        "table2": table2,
        "table3": table3,
        "table-m": table_m,
        "table-search": table_search,
    }
    own = {name: partial(make, serving(cells, name)) for name, make in made.items()}
    short = {"overview": overview, "reproduced": reproduced}
    return TABLES | own | {n: partial(make, serving(cells, "table2")) for n, make in short.items()}


def serving(cells: Sequence[Cell], shown: str) -> list[Cell]:
    """The cells that a table or figure shows."""
    return [cell for cell in cells if shown in cell.serves]


def table1(cells: Sequence[Cell], results: Results) -> str:
    """Statistics of the data sets: the public splits, the paper's protocol, and as printed."""
    cells = [cell for cell in cells if cell.what == "statistics"]
    found = [result for cell in _by_data(cells) for result in results_of(cell, results)]
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


def table2(cells: Sequence[Cell], results: Results) -> str:
    """Every model, under the official protocol and under the paper's, whose numbers are its own.

    Means over the seeds. In every column the best of ours is bold, the second italic.
    """
    parts = []
    for protocol, title in (("official", "Official protocol"), ("paper", "The paper's protocol")):
        of_protocol = [cell for cell in _by_data(cells) if cell.protocol == protocol]
        ours = {name: row for name, row in _our_rows(of_protocol, results).items() if row}
        if ours:
            parts.append(f"**{title}**\n\n{_ranked_table(of_protocol, ours)}")
            parts += _what_is_missing(of_protocol, results)
    return "\n\n".join(parts) or NOTHING


def _what_is_missing(cells: Sequence[Cell], results: Results) -> list[str]:
    """A line on the cells without any result, and one on those with fewer seeds than asked for."""
    counts = [(cell, len(results_of(cell, results))) for cell in cells]
    absent = [f"{_row_name(cell)} on {cell.dataset}" for cell, found in counts if not found]
    fewer = [
        f"{_row_name(cell)} on {cell.dataset} ({found} of {len(cell.seeds)})"
        for cell, found in counts
        if 0 < found < len(cell.seeds)
    ]
    lines = (("Not recorded yet", absent), ("Means of fewer seeds than asked for", fewer))
    return [f"{title}: {'; '.join(found)}." for title, found in lines if found]


def _our_rows(cells: Sequence[Cell], results: Results) -> dict[str, Numbers]:
    """By the row's name and the data set: means over the seeds, nothing where none is recorded."""
    rows: dict[str, Numbers] = {}
    owners: dict[tuple[str, str], Cell] = {}
    order = {name: place for place, name in enumerate(ROWS)}
    for cell in sorted(cells, key=lambda cell: (order.get(cell.model, 99), _row_name(cell))):
        name = _row_name(cell)
        other = owners.setdefault((name, cell.dataset), cell)
        if other is not cell:
            raise ConfigError(f"the cells {other.name} and {cell.name} are for one place: {name}")
        row = rows.setdefault(name, {})
        if found := results_of(cell, results):
            row[cell.dataset] = _means(found)
    return rows


def _row_name(cell: Cell) -> str:
    """Those that see only the past say so: they answer a harder question."""
    theirs = cell.what == "baseline" and cell.preset == "paper"
    only_past = cell.baseline in PAST_ONLY_NAMES or "features.past_only=true" in cell.settings
    return cell.model + ", preset paper" * theirs + ", past only" * only_past


def _ranked_table(cells: Sequence[Cell], ours: dict[str, Numbers]) -> str:
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    printed = PRINTED_BASELINES if any(data in TITLES for data in datasets) else {}
    rows = {f"{name}, as printed": numbers for name, numbers in printed.items()} | ours
    cells_of: dict[str, list[str]] = {name: [] for name in rows}
    for data in datasets:
        for place in range(len(KEYS)):
            column = {name: rows[name][data][place] for name in rows if data in rows[name]}
            texts = {name: f"{value:.4f}" for name, value in column.items()}
            texts |= mark_best({name: column[name] for name in ours if name in column})
            for name in rows:
                cells_of[name].append(texts.get(name, ""))
    titles = [TITLES.get(data, _short(data)) for data in datasets]
    header = [f"{title} {key}" for title in titles for key in ("MRR", "Hits@10", "Hits@1")]
    return markdown(("model", *header), [[name, *found] for name, found in cells_of.items()])


def overview(cells: Sequence[Cell], results: Results) -> str:
    """The MRR of every model under the official protocol: Table 2 in short."""
    cells = [cell for cell in _by_data(cells) if cell.protocol == "official"]
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    rows = {name: found for name, found in _our_rows(cells, results).items() if found}
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


def reproduced(cells: Sequence[Cell], results: Results) -> str:
    """The preset `paper` under the paper's own protocol, beside what the paper prints."""
    rows = []
    for cell in _by_data(cells):
        if (cell.model, cell.protocol) == ("apptek_paper", "paper"):
            found = results_of(cell, results)
            title = TITLES.get(cell.dataset, _short(cell.dataset))
            rows.append([title, *_beside(found, PRINTED.get(cell.dataset))])
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


def table3(cells: Sequence[Cell], results: Results) -> str:
    """How tknn changes accuracy, and the time to train the agent, beside the paper's."""
    counted = [cell for cell in cells if cell.what == "statistics"]
    facts = {r["dataset"]: r["official"]["train"] for c in counted for r in results_of(c, results)}
    rows = []
    for tknn, cell in _by_setting(cells, "agent", "tknn"):
        found = results_of(cell, results)
        printed = PRINTED_TKNN.get(tknn) if cell.dataset in TITLES else None
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


def table_m(cells: Sequence[Cell], results: Results) -> str:
    """How many topologies are kept for each predicate, and what that is worth."""
    rows = []
    for data in dict.fromkeys(cell.dataset for cell in _by_data(cells)):
        of_data = [cell for cell in cells if cell.dataset == data]
        for most, cell in _by_setting(of_data, "mining", "top"):
            if found := results_of(cell, results):
                number = statistics.mean(result["topologies"]["number"] for result in found)
                metrics = [f"{value:.4f}" for value in _means(found)]
                rows.append([_title(found[0]), str(most), f"{number:,.0f}", *metrics])
    table = markdown(("data", "m", "topologies", "MRR", "Hits@10", "Hits@1"), rows)
    fits = [cell for cell in _by_data(cells) if cell.what == "fit"]
    absent = [cell.name for cell in fits if rows and not results_of(cell, results)]
    return f"{table}\n\nNot recorded yet: {'; '.join(absent)}." if absent else table


def table_search(cells: Sequence[Cell], results: Results) -> str:
    """What the search on valid tried for each baseline, within the same time, and what it chose."""
    order = {name: place for place, name in enumerate(ROWS)}
    rows = []
    for cell in sorted(_by_data(cells), key=lambda cell: order[cell.baseline]):
        for result in results_of(cell, results):
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


def _by_setting(cells: Sequence[Cell], section: str, key: str) -> list[tuple[int, Cell]]:
    fits = [cell for cell in cells if cell.what == "fit"]
    values = [(int(getattr(getattr(cell.config(), section), key)), cell) for cell in fits]
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


def _by_data(cells: Sequence[Cell]) -> list[Cell]:
    """Cells with the data sets in the paper's order."""
    order = {name: place for place, name in enumerate(TITLES)}
    return sorted(cells, key=lambda cell: (order.get(cell.dataset, 9), cell.dataset, cell.name))


def _title(result: dict[str, Any]) -> str:
    return TITLES.get(result["dataset"], str(result["dataset"]))


def _short(dataset: str) -> str:
    return dataset.rsplit("/", 1)[-1]
