"""The command `demo`: fit models to a synthetic world, explain answers, and play an episode."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from apptek.config import DEFAULT, PRESETS
from apptek.extras import has_torch
from apptek.files import write_whole
from apptek.models.asked_queries import query_of_fact
from apptek.paper.connection import walk
from apptek.paper.environment import DecisionProcess
from apptek.paper.features import trained_agent
from apptek.predictor import Predictor, Query
from apptek.present.explanation_text import explanation_text
from apptek.present.template import render
from apptek.synthetic.world import World, make_world
from apptek.terminal import output, stage_progress

FACTS = 20_000
FOLDER = Path("demo")
RULE = "ally-retaliates"  # the planted rule that involves a third entity


def show_demo(*, seed: int = 0) -> None:
    """Fit models to a world, explain an answer of each, play an episode, and print next steps."""
    console, world = output(), make_world(FACTS, seed)
    data = world.dataset
    console.print(f"[bold]A synthetic data set whose events follow planted rules[/bold]\n{data!r}")
    shutil.rmtree(FOLDER, ignore_errors=True)
    models = {}
    for name in (DEFAULT, "paper") if has_torch() else (DEFAULT,):
        with stage_progress(name) as progress:
            models[name] = Predictor.fit(
                data, folder=FOLDER / name, model=name, seed=seed, progress=progress
            )
    query = _choose_query(world, models[DEFAULT])
    words = f"({query.subject}, ?, {query.object}, {query.time})"
    console.print(f"\n[bold]Which predicate holds?[/bold] {words}")
    for name, predictor in models.items():
        explanation = predictor.explain(query, most=2)
        console.print(f"\n[bold]The model {name} answers:[/bold]\n")
        console.print(explanation_text(explanation, console.width), markup=False, soft_wrap=True)
        write_whole(FOLDER / f"report-{name}.html", predictor.explain(query).html().encode())
    compared = {"default": models[DEFAULT], "frequency": Predictor.fit(data, model="frequency")}
    right = {name: round(100 * one.evaluate().metrics.hits_at_1) for name, one in compared.items()}
    about = {"right": right, "query": query, "folder": str(FOLDER), **_play(models, query)}
    console.print(render("demo.txt.j2", **about), soft_wrap=True)


def _choose_query(world: World, predictor: Predictor) -> Query:
    """Return the query with the best answer among the test facts that the two-hop rule created."""
    data, test = world.dataset, world.dataset.test
    made_by = [rule.name for rule in world.rules].index(RULE)
    rows = np.flatnonzero(world.origins["test"] == made_by).tolist()
    queries = [query_of_fact(data, test, row) for row in rows]

    def chance(index: int) -> float:
        truth, answer = data.predicates[int(test.predicates[rows[index]])], answers[index]
        return answer.probabilities[answer.predicates.index(truth)]

    answers = predictor.predict(queries, top=None)
    return queries[max(range(len(queries)), key=chance)]


def _play(models: Mapping[str, Predictor], query: Query) -> dict[str, Any]:
    """Play one episode on the query: the paper's agent walks from both sides until they meet."""
    predictor = models.get("paper", models[DEFAULT])
    model, data = predictor.model, predictor.model.dataset
    process, agent = DecisionProcess(model.graph, PRESETS["paper"].agent), trained_agent(model)
    played = walk(process, predictor.answerer.queries_of([query]), agent)
    return {
        "policy": "random" if agent is None else "trained",
        "steps": [(data.predicates[step.chosen], len(step.actions)) for step in played.steps],
        "meeting": [data.entities[entity] for entity in played.meeting],
    }
