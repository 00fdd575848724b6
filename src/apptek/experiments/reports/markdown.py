"""Markdown tables, and pages that hold generated ones."""

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from apptek.experiments.result import Result

Results = Sequence[Result]
Maker = Callable[[Results], str]
NOTHING = "nothing is recorded yet"
TITLES = {"icews14": "ICEWS14", "icews05-15": "ICEWS05-15", "yago15k": "YAGO15K"}
KEYS = {"mrr": "MRR", "hits_at_10": "Hits@10", "hits_at_1": "Hits@1"}  # as the paper orders them


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a line that says so where there are no rows."""
    if not rows:
        return NOTHING
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def title_of(dataset: str) -> str:
    """The name of a data set in a table; a path is shortened to its last part."""
    return TITLES.get(dataset, dataset.rsplit("/", 1)[-1])


def four_digits(values: Iterable[float]) -> list[str]:
    """Numbers as tables show them."""
    return [f"{value:.4f}" for value in values]


def mean_metrics(results: Results) -> tuple[float, ...]:
    """MRR, Hits@10 and Hits@1, as means over some results."""
    return tuple(statistics.mean(result.metrics[key] for result in results) for key in KEYS)


def with_tables(text: str, results: Results, tables: Mapping[str, Maker]) -> str:
    """A page in which each table is rebuilt: between `<!-- table: NAME -->` and `<!-- end -->`."""
    for name, make in tables.items():
        begin, end = f"<!-- table: {name} -->", "<!-- end -->"
        if begin in text:
            before, _, rest = text.partition(begin)
            _, _, after = rest.partition(end)
            text = f"{before}{begin}\n{make(results)}\n{end}{after}"
    return text
