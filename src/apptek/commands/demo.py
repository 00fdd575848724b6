"""The demo: fit a small synthetic world, compare models, explain an answer, play an episode."""

import shutil
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from apptek.config import DEFAULT, PRESETS
from apptek.evaluation.ranking import EvaluationQueries, Metrics, evaluate_scores
from apptek.extras import has_torch
from apptek.facts.facts import Dataset
from apptek.files import write_whole
from apptek.paper.connection import connect, walk
from apptek.paper.environment import DecisionProcess
from apptek.paper.features import topologies_of
from apptek.predictor import Predictor, Query
from apptek.present.explanation_text import explanation_text
from apptek.present.template import render
from apptek.research.printed import statistics
from apptek.synthetic.world import World, make_world
from apptek.terminal import output, table, tell

FACTS = 20_000
FOLDER = Path("demo")
FACTS_SHOWN = 6  # steps of an episode
RULE = "ally-retaliates"  # the planted rule through a third party
TITLES = {
    DEFAULT: "default: history and traits",
    "paper": "paper: topologies of the agent",
    "recency": "recency: counts of facts near in time",
    "frequency": "predicate frequency",
}


def show_demo(*, seed: int = 0, folder: Path = FOLDER) -> None:
    """Fit a world, explain one answer of each model, play one episode, and print next steps."""
    console = output()
    world = make_world(FACTS, seed)
    _show_world(console, world)
    shutil.rmtree(folder, ignore_errors=True)
    names = (DEFAULT, "paper") if has_torch() else (DEFAULT,)
    models = {name: _fit(world.dataset, folder / name, name, seed) for name in names}
    metrics = _metrics(world.dataset, models)
    _show_metrics(console, metrics)
    query = _choose_query(world, models)
    words = f"({query.subject}, ?, {query.object}, {query.time})"
    console.print(f"\n[bold]Which predicate holds?[/bold] {words}")
    for name, predictor in models.items():
        explanation = predictor.explain(query, most=2)
        console.print(f"\n[bold]The model {name} answers:[/bold]\n")
        console.print(explanation_text(explanation, console.width), markup=False, soft_wrap=True)
        report = folder / f"report-{name}.html"
        write_whole(report, predictor.explain(query).html().encode())
    right = {name: round(100 * one.hits_at_1) for name, one in metrics.items()}
    about = {"right": right, "query": query, "folder": str(folder), **_play(models, query)}
    console.print(render("demo.txt.j2", **about), soft_wrap=True)


def _show_world(console: Console, world: World) -> None:
    counts = statistics(world.dataset)
    keys = ("entities", "predicates", "times", "train", "valid", "test")
    row = tuple(getattr(counts, key) for key in keys)
    console.print(table("An invented world whose events follow planted rules", keys, [row]))


def _fit(dataset: Dataset, folder: Path, name: str, seed: int) -> Predictor:
    progress: Any = nullcontext(())
    if name == "paper":
        from apptek.commands.training_progress import training_progress  # needs torch

        progress = training_progress()
    with progress as observers:
        return Predictor.fit(
            dataset,
            folder=folder,
            model=name,
            seed=seed,
            progress=lambda stage, _done, _total: tell(f"{name}: {stage}"),
            observers=observers,
        )


def _metrics(dataset: Dataset, models: Mapping[str, Predictor]) -> dict[str, Metrics]:
    """Return how well the models, and two simple rules, rank the predicates of the test facts."""
    queries = EvaluationQueries.of(dataset, "test")
    frequency = np.bincount(dataset.train.predicates, minlength=len(dataset.predicates))

    def by_frequency(start: int, stop: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        return np.tile(frequency.astype(np.float32), (stop - start, 1))

    metrics = {name: predictor.evaluate().metrics for name, predictor in models.items()}
    metrics["recency"] = Predictor.fit(dataset, model="recency").evaluate().metrics
    metrics["frequency"] = evaluate_scores(by_frequency, queries).metrics
    return metrics


def _show_metrics(console: Console, metrics: Mapping[str, Metrics]) -> None:
    rows = [
        (TITLES[name], *(f"{value:.3f}" for value in (one.mrr, one.hits_at_1, one.hits_at_10)))
        for name, one in metrics.items()
    ]
    header = ("model", "MRR", "Hits@1", "Hits@10")
    console.print(table("How well they rank the predicates of the test facts", header, rows))


def _choose_query(world: World, models: Mapping[str, Predictor]) -> Query:
    """Return the query of a test fact from the planted two-hop rule that is answered best.

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
    answers = [predictor.predict(queries, top=1) for predictor in models.values()]

    def quality(index: int) -> tuple[int, float]:
        by_model = [of_model[index] for of_model in answers]
        right = sum(answer.predicates[0] == truths[index] for answer in by_model)
        return right, sum(answer.probabilities[0] for answer in by_model)

    return queries[max(range(len(queries)), key=quality)]


def _play(models: Mapping[str, Predictor], query: Query) -> dict[str, Any]:
    """Play one episode on the query: the paper's agent walks from both sides until they meet."""
    predictor = models.get("paper", models[DEFAULT])
    model, asked = predictor.model, predictor.answerer.queries_of([query])
    process = DecisionProcess(model.graph, PRESETS["paper"].agent)
    part = topologies_of(model)
    weights, agent = None if part is None else part.agent, None
    if weights is not None:
        from apptek.paper.agent import Agent  # needs torch

        agent = Agent(process, weights)
    played, data = walk(process, asked, agent), model.dataset
    steps = [(data.predicates[step.chosen], len(step.actions)) for step in played.steps]
    about: dict[str, Any] = {
        "policy": "random" if agent is None else "trained",
        "steps": steps,
        "meeting": "",
    }
    connection = connect(process, asked, played.actions) if played.met else None
    if connection is not None:
        path = list(dict.fromkeys(fact.fact for fact in connection.core if fact.on_path))
        about["facts"] = [data.describe(model.graph.facts, fact) for fact in path[:FACTS_SHOWN]]
        about["meeting"] = data.entities[connection.meeting[0]]
    return about
