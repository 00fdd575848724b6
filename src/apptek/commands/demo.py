"""The demo: fits a small invented world, compares models, asks one query and explains it."""

import shutil
from pathlib import Path

import numpy as np
from rich.console import Console

from apptek.baselines.baseline import Baseline
from apptek.commands.training_progress import training_progress
from apptek.config import DEFAULT
from apptek.data.facts import Dataset
from apptek.data.protocols import statistics
from apptek.data.synthetic.world import World, make_world
from apptek.evaluation.ranking import EvaluationQueries, evaluate_scores
from apptek.explain.html_report import explanation_html
from apptek.explain.text import explanation_text
from apptek.files import write_whole
from apptek.predictor import Predictor, Query
from apptek.seeding import generator
from apptek.terminal import output, table, tell

FACTS = 20_000
FOLDER = Path("demo")
RULE = "ally-retaliates"  # the planted rule through a third party


def show_demo(*, seed: int = 0, folder: Path = FOLDER) -> None:
    """Makes a world, fits the presets default and paper, and explains an answer of each."""
    console = output()
    world = make_world(FACTS, seed)
    _show_world(console, world)
    shutil.rmtree(folder, ignore_errors=True)
    default = _fit(world.dataset, folder / "model", DEFAULT, seed)
    paper = _fit(world.dataset, folder / "paper", "paper", seed)
    _show_metrics(console, world.dataset, default, paper)
    query = _choose_query(world, default, paper)
    words = f"({query.subject}, ?, {query.object}, {query.time})"
    console.print(f"\n[bold]Which predicate holds?[/bold] {words}")
    for name, predictor in (("default", default), ("paper", paper)):
        explanation = predictor.explain(query, most=2)
        console.print(f"\n[bold]The preset {name} answers:[/bold]\n")
        console.print(explanation_text(explanation, console.width), markup=False, soft_wrap=True)
        report = folder / f"report-{name}.html"
        write_whole(report, explanation_html(predictor.explain(query)).encode())
    console.print(
        f"The same with a drawing: [bold]{folder}/report-default.html[/bold] and "
        f"[bold]{folder}/report-paper.html[/bold] (open them in a browser).",
        soft_wrap=True,
    )
    console.print(
        f"Ask it yourself: [bold].venv/bin/apptek predict {folder / 'model'} "
        f"'{query.subject}' '{query.object}' {query.time}[/bold]",
        soft_wrap=True,
    )
    console.print(
        f"Explore it in the browser: [bold].venv/bin/apptek serve {folder / 'model'}[/bold], "
        "then open http://127.0.0.1:8000",
        soft_wrap=True,
    )


def _show_world(console: Console, world: World) -> None:
    counts = statistics(world.dataset)
    keys = ("entities", "predicates", "times", "train", "valid", "test")
    row = tuple(getattr(counts, key) for key in keys)
    console.print(table("An invented world whose events follow planted rules", keys, [row]))


def _fit(dataset: Dataset, folder: Path, preset: str, seed: int) -> Predictor:
    with training_progress() as observers:
        return Predictor.fit(
            dataset,
            folder=folder,
            model=preset,
            seed=seed,
            on_stage=lambda stage: tell(f"{preset}: {stage}"),
            observers=observers,
        )


def _show_metrics(console: Console, dataset: Dataset, default: Predictor, paper: Predictor) -> None:
    queries = EvaluationQueries.of(dataset, "test")
    frequency = np.bincount(dataset.train.predicates, minlength=len(dataset.predicates))
    rng = generator(0, "guessing")

    def by_frequency(start: int, stop: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return np.tile(frequency.astype(np.float32), (stop - start, 1))

    def by_chance(start: int, stop: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return rng.random((stop - start, len(frequency)), np.float32)

    metrics = {
        "default: history and traits": default.evaluate().metrics,
        "paper: topologies of the agent": paper.evaluate().metrics,
        "recency: counts of facts near in time": Baseline.fit("recency", dataset)
        .evaluate()
        .metrics,
        "predicate frequency": evaluate_scores(by_frequency, queries).metrics,
        "guessing": evaluate_scores(by_chance, queries).metrics,
    }
    rows = [
        (name, *(f"{value:.3f}" for value in (one.mrr, one.hits_at_1, one.hits_at_10)))
        for name, one in metrics.items()
    ]
    header = ("model", "MRR", "Hits@1", "Hits@10")
    console.print(table("How well they rank the predicates of the test facts", header, rows))


def _choose_query(world: World, default: Predictor, paper: Predictor) -> Query:
    """The query of a test fact from the planted two-hop rule that both models answer best.

    Best is: right by most models, then with the highest probabilities.
    """
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
    answers = [predictor.predict(queries, top=1) for predictor in (default, paper)]

    def quality(index: int) -> tuple[int, float]:
        both = [by_model[index] for by_model in answers]
        right = sum(answer.predicates[0] == truths[index] for answer in both)
        return right, sum(answer.probabilities[0] for answer in both)

    return queries[max(range(len(queries)), key=quality)]
