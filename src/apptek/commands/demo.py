"""A first look at APPTeK: fit a small invented world, compare, ask one question, see why."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console

from apptek.baselines.baseline import Baseline
from apptek.commands.training_progress import training_progress
from apptek.config import DEFAULT
from apptek.data.facts import Dataset
from apptek.data.protocols import statistics
from apptek.data.synthetic.world import World, make_world
from apptek.evaluation.ranking import EvaluationQueries, Metrics, evaluate_scores
from apptek.explain.html_report import explanation_html
from apptek.explain.text import explanation_text
from apptek.files import write_whole
from apptek.predictor import Answer, Predictor, Query
from apptek.seeding import generator
from apptek.terminal import messages, output, table

FACTS = 20_000
FOLDER = Path("demo")
RULE = "ally-retaliates"  # the planted rule through a third party


def show_demo(*, seed: int = 0, folder: Path = FOLDER) -> None:
    """Makes a world, fits the default model and the paper's, and explains one answer by each."""
    console = output()
    world = make_world(FACTS, seed)
    _show_world(console, world)
    shutil.rmtree(folder, ignore_errors=True)
    default = _fit(world.dataset, folder / "model", DEFAULT, seed)
    paper = _fit(world.dataset, folder / "paper", "paper", seed)
    _show_metrics(console, world.dataset, default, paper)
    query = _question(world, default, paper)
    console.print(f"\n[bold]Who does what to whom?[/bold] {_words(query)}")
    for name, predictor in (("default", default), ("paper", paper)):
        explanation = predictor.explain(query, most=2)
        console.print(f"\n[bold]The preset {name} answers:[/bold]\n")
        console.print(explanation_text(explanation, console.width), markup=False, soft_wrap=True)
        report = folder / f"report-{name}.html"
        write_whole(report, explanation_html(predictor.explain(query)).encode())
    console.print(
        f"The same with drawings: [bold]{folder}/report-default.html[/bold] and "
        f"[bold]{folder}/report-paper.html[/bold] (open them in a browser).",
        soft_wrap=True,
    )
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


def _fit(dataset: Dataset, folder: Path, preset: str, seed: int) -> Predictor:
    tell: Callable[[str], None] = lambda name: messages().print(f"{preset}: {name}")  # noqa: E731
    with training_progress() as observers:
        return Predictor.fit(
            dataset, folder=folder, preset=preset, seed=seed, on_stage=tell, observers=observers
        )


def _show_metrics(console: Console, dataset: Dataset, default: Predictor, paper: Predictor) -> None:
    questions = EvaluationQueries.of(dataset, "test")
    frequency = np.bincount(dataset.train.predicates, minlength=len(dataset.predicates))
    rng = generator(0, "guessing")

    def by_frequency(start: int, stop: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return np.tile(frequency.astype(np.float32), (stop - start, 1))

    def by_chance(start: int, stop: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return rng.random((stop - start, len(frequency)), np.float32)

    found = {
        "default: topologies with a clock": default.evaluate().metrics,
        "paper: topologies of the agent": paper.evaluate().metrics,
        "counting what lies near in time": Baseline.fit("recency", dataset).evaluate().metrics,
        "predicate frequency": evaluate_scores(by_frequency, questions).metrics,
        "guessing": evaluate_scores(by_chance, questions).metrics,
    }
    rows = [(name, *_numbers(metrics)) for name, metrics in found.items()]
    header = ("ranking the predicates of the test facts", "MRR", "Hits@1", "Hits@10")
    console.print(table("How well it answers", header, rows))


def _numbers(metrics: Metrics) -> tuple[str, str, str]:
    return f"{metrics.mrr:.3f}", f"{metrics.hits_at_1:.3f}", f"{metrics.hits_at_10:.3f}"


def _question(world: World, default: Predictor, paper: Predictor) -> Query:
    """Of the test facts made by the planted two-hop rule, one that both answer, and most surely."""
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
    truths = [data.predicates[int(test.predicates[row])] for row in rows]
    both = zip(*(predictor.predict(queries, top=1) for predictor in (default, paper)), strict=True)

    def sureness(place_and_answers: tuple[int, tuple[Answer, ...]]) -> tuple[int, float]:
        place, answers = place_and_answers
        right = sum(answer.predicates[0] == truths[place] for answer in answers)
        return right, sum(answer.probabilities[0] for answer in answers)

    return queries[max(enumerate(both), key=sureness)[0]]
