"""A first look at APPTeK on a small invented world."""

import time

import numpy as np
from rich.console import Console

from apptek.data.facts import Dataset
from apptek.data.protocols import statistics
from apptek.data.synthetic import make_world
from apptek.data.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph
from apptek.seeding import generator
from apptek.terminal import output, table, working

K = 8


def show_demo(*, facts: int = 20_000, seed: int = 0) -> None:
    """Makes a world, counts it, indexes it, and shows one entity's facts around a day."""
    console = output()
    with working(f"making a world of {facts:,} facts"):
        world = make_world(facts, seed)
    _show_world(console, world.dataset, [rule.name for rule in world.rules])
    with working("indexing it (the first time, kernels are compiled)"):
        start = time.perf_counter()
        graph = TemporalGraph.of(world.dataset)
        built = time.perf_counter() - start
        graph.nearest([0], [0], K)
    console.print(
        f"\nIndexed {len(graph.facts):,} training facts in {built * 1000:.0f} ms: "
        f"{graph.nbytes / len(graph.facts):.0f} bytes a fact, by entity and time.\n"
    )
    _show_neighbourhood(console, world.dataset, graph)
    _show_speed(console, graph, seed)


def _show_world(console: Console, dataset: Dataset, rules: list[str]) -> None:
    counts = statistics(dataset)
    keys = ("entities", "predicates", "times", "train", "valid", "test")
    row = tuple(getattr(counts, key) for key in keys)
    console.print(table("An invented world", keys, [row]))
    console.print(f"Its events follow planted rules: {', '.join(rules)}.")


def _show_neighbourhood(console: Console, dataset: Dataset, graph: TemporalGraph) -> None:
    """The facts nearest in time to a test query's day, around its subject."""
    day = int(dataset.test.times[dataset.test.dated][0])
    entity = int(dataset.test.subjects[dataset.test.dated][0])
    found = graph.nearest([entity], [day], K)[0]
    rows = []
    for fact in found[found >= 0].tolist():
        *parts, when = dataset.describe(graph.facts, fact).split(" | ")
        rows.append((_days(int(graph.facts.times[fact]), day), *parts, when))
    title = f"The {K} facts of {dataset.entities[entity]} nearest to {dataset.axis.format(day)}"
    console.print(table(title, ("days", "subject", "predicate", "object", "when"), rows))


def _days(time_code: int, day: int) -> str:
    return "undated" if time_code == UNKNOWN else f"{time_code - day:+d}"


def _show_speed(console: Console, graph: TemporalGraph, seed: int) -> None:
    rng, count = generator(seed, "demo"), 200_000
    dated = graph.facts.times[graph.facts.dated]
    entities = rng.integers(0, graph.entity_count, count).astype(np.int32)
    days = rng.integers(dated.min(), dated.max() + 1, count).astype(np.int32)
    start = time.perf_counter()
    graph.nearest(entities, days, 25)
    seconds = time.perf_counter() - start
    console.print(f"{count / seconds:,.0f} such look-ups a second, with 25 facts each.")
    console.print(
        "\nNext: [bold]apptek data make-world world[/bold] writes such a world to files, "
        "[bold]apptek data stats FILE[/bold] counts your own."
    )
