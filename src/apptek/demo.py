"""A first look at APPTeK: fit a small invented world, compare, ask one question, see why."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from rich.console import Console

from apptek.data.facts import Dataset
from apptek.data.protocols import statistics
from apptek.data.synthetic import World, make_world
from apptek.files import write_whole
from apptek.prediction.explanation import explain
from apptek.prediction.explanation_text import explanation_text
from apptek.prediction.html_report import explanation_html
from apptek.prediction.predictor import Predictor, Query
from apptek.prediction.presets import Policy, preset
from apptek.prediction.ranking import Metrics, Questions, evaluate_scores
from apptek.seeding import generator
from apptek.terminal import messages, output, table
from apptek.watching import training_progress

FACTS = 20_000
FOLDER = Path("demo")
RULE = "ally-retaliates"  # the planted rule through a third party


def show_demo(*, seed: int = 0, folder: Path = FOLDER) -> None:
    """Makes a world, fits the paper's method on it, and explains one answer."""
    console = output()
    world = make_world(FACTS, seed)
    _show_world(console, world)
    shutil.rmtree(folder, ignore_errors=True)
    predictor = _fit(world.dataset, folder / "model", "agent", seed)
    control = _fit(world.dataset, folder / "random-policy", "random", seed)
    _show_metrics(console, world.dataset, predictor, control)
    query = _question(world, predictor)
    explanation = explain(predictor, query, most=3)
    console.print(f"\n[bold]Who does what to whom?[/bold] {_words(query)}\n")
    console.print(explanation_text(explanation, console.width), markup=False, soft_wrap=True)
    report = folder / "report.html"
    write_whole(report, explanation_html(explanation).encode())
    console.print(f"\nThe same with drawings: [bold]{report}[/bold] (open it in a browser).")
    console.print(
        f"Ask more: [bold].venv/bin/apptek predict {folder / 'model'} "
        f"'{query.subject}' '{query.object}' {query.time}[/bold]",
        soft_wrap=True,
    )
    console.print(
        f"Explore it in the browser: [bold].venv/bin/apptek serve {folder / 'model'}[/bold], "
        "then open http://127.0.0.1:8000",
        soft_wrap=True,
    )


def _words(query: Query) -> str:
    return f"({query.subject}, ?, {query.object}, {query.time})"


def _show_world(console: Console, world: World) -> None:
    counts = statistics(world.dataset)
    keys = ("entities", "predicates", "times", "train", "valid", "test")
    row = tuple(getattr(counts, key) for key in keys)
    console.print(table("An invented world, whose events follow planted rules", keys, [row]))


def _fit(dataset: Dataset, folder: Path, policy: Policy, seed: int) -> Predictor:
    start = preset("paper")
    config = replace(start, mining=replace(start.mining, policy=policy))
    tell: Callable[[str], None] = lambda name: messages().print(f"{policy}: {name}")  # noqa: E731
    with training_progress() as observers:
        return Predictor.fit(
            dataset, folder=folder, config=config, seed=seed, on_stage=tell, observers=observers
        )


def _show_metrics(
    console: Console, dataset: Dataset, predictor: Predictor, control: Predictor
) -> None:
    questions = Questions.of(dataset, "test")
    frequency = np.bincount(dataset.train.predicates, minlength=len(dataset.predicates))
    rng = generator(0, "guessing")

    def by_frequency(start: int, stop: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return np.tile(frequency.astype(np.float32), (stop - start, 1))

    def by_chance(start: int, stop: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return rng.random((stop - start, len(frequency)), np.float32)

    found = {
        "topologies of the agent": predictor.evaluate().metrics,
        "topologies of a random policy": control.evaluate().metrics,
        "predicate frequency": evaluate_scores(by_frequency, questions).metrics,
        "guessing": evaluate_scores(by_chance, questions).metrics,
    }
    rows = [(name, *_numbers(metrics)) for name, metrics in found.items()]
    header = ("ranking the predicates of the test facts", "MRR", "Hits@1", "Hits@10")
    console.print(table("How well it answers", header, rows))


def _numbers(metrics: Metrics) -> tuple[str, str, str]:
    return f"{metrics.mrr:.3f}", f"{metrics.hits_at_1:.3f}", f"{metrics.hits_at_10:.3f}"


def _question(world: World, predictor: Predictor) -> Query:
    """Of the test facts made by the planted two-hop rule, the one answered rightly and surest."""
    data, test = world.dataset, world.dataset.test
    made_by = [rule.name for rule in world.rules].index(RULE)
    rows = np.flatnonzero(world.origins["test"] == made_by)
    queries = [
        Query(
            data.entities[int(test.subjects[row])],
            data.entities[int(test.objects[row])],
            data.axis.format(int(test.times[row])),
        )
        for row in rows
    ]
    answers = predictor.predict(queries, top=1)
    truths = [data.predicates[int(test.predicates[row])] for row in rows]
    right = [a for a, truth in zip(answers, truths, strict=True) if a.predicates[0] == truth]
    return max(right or answers, key=lambda answer: answer.probabilities[0]).query
