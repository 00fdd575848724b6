"""The paper's exploration, step by step.

In each step, a predicate adds facts around the subject and around the object, until both groups of
entities meet.
"""

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, Field

from apptek.arrays import Ints
from apptek.explain.reasons import cited_fact
from apptek.facts.queries import Queries
from apptek.features.space import CoreFact
from apptek.graph.temporal_graph import TemporalGraph
from apptek.paper.connection import connect, core_facts, replay
from apptek.paper.environment import DecisionProcess, Environment
from apptek.paper.features import trained_agent
from apptek.paper.topologies import from_names
from apptek.present.drawing import WIDTH, Asked, Drawing, draw_topology
from apptek.server.problem_json import ServiceError
from apptek.server.requests import StepsBody
from apptek.server.served_model import Question, ServedModel

CHOICES = 40  # maximum number of choices to return
FACTS = 120  # maximum number of facts per side to draw or count


class Choice(BaseModel):
    """A predicate that can expand both sides, and the number of facts that this would add."""

    name: str
    label: str
    group: str | None
    facts: int
    meets: bool = Field(description="Whether the sides meet after this step.")


class Steps(BaseModel):
    """The entities reached by a sequence of steps, and the choices for the next step."""

    steps: list[str]
    met: bool
    meeting: list[str] = Field(description="The entities that both sides have reached.")
    over: bool = Field(description="Whether the sides have met or no steps are left.")
    left: int = Field(description="The number of steps left.")
    choices: list[Choice]
    agent: str | None = Field(description="The trained agent's choice; null if there is no agent.")
    drawing: Drawing


def explore(served: ServedModel, body: StepsBody) -> Steps:
    """Return the entities that both sides reach with the given predicates, and the next steps."""
    question = served.question(body, body.view, allow_unknown=False)
    answerer, queries = question.answerer, question.ids
    view = answerer.view_of(queries)
    model = served.model
    process, names = DecisionProcess(view.space.graph, model.config.agent), model.dataset.predicates
    trail = from_names([names[served.predicate(s, "steps")] for s in body.steps], names)
    environment, met, facts = _play(process, queries, trail)
    left = process.config.max_steps - len(trail)
    over = bool(met) or left <= 0
    entities = served.model.dataset.entities
    return Steps(
        steps=[names[action] for action in trail],
        met=bool(met),
        meeting=[entities[entity] for entity in sorted(met)],
        over=over,
        left=max(left, 0),
        choices=[] if over else _choices(served, process, queries, trail, environment.edges[0]),
        agent=None if over else _of_agent(served, queries, trail),
        drawing=_drawing(question, process.graph, facts, body.width or WIDTH),
    )


def _play(
    process: DecisionProcess, queries: Queries, trail: tuple[int, ...]
) -> tuple[Environment, set[int], Sequence[CoreFact]]:
    """Play an episode. Return it with the entities that both sides reach, and their facts.

    Once they have met, the facts are those on the shortest paths between the sides.
    """
    environment, cores, _ = replay(process, queries, trail)
    if environment.steps[0] < len(trail):
        raise ServiceError(
            422,
            "Neither side has a fact with that predicate nearby in time, or the episode is over.",
            advice="Choose one of the `choices`.",
            where="steps",
            title="This step is not possible",
        )
    reached = [set(environment.side(side)[0].tolist()) for side in range(2)]
    first = [fact for core in cores for fact in list(core)[:FACTS]]
    facts: Sequence[CoreFact] = core_facts(cores, dict.fromkeys(first), set(first))
    connection = connect(process, queries, trail)
    if connection is not None:
        facts = [fact for fact in connection.core if fact.on_path]
    return environment, reached[0] & reached[1], facts


def _choices(
    served: ServedModel, process: DecisionProcess, queries: Queries, trail: tuple[int, ...],
    counts: Ints,
) -> list[Choice]:  # fmt: skip
    """Return the choices: first those that make the sides meet, then those that add more facts."""
    actions = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    many = queries.take(np.zeros(len(actions), np.intp))
    trails = np.asarray([[*trail, action] for action in actions.tolist()], np.int32)
    tried = Environment(process, many)
    for step in trails.T:
        tried.step(step)
    names, labels = served.model.dataset.predicates, served.predictor.answerer.labels
    found = [
        Choice(
            name=names[action],
            label=labels.label(names[action]),
            group=labels.group_of(names[action]),
            facts=int(counts[action]),
            meets=bool(meets),
        )
        for action, meets in zip(actions.tolist(), tried.met.tolist(), strict=True)
    ]
    return sorted(found, key=lambda choice: not choice.meets)[:CHOICES]


def _drawing(
    question: Question, graph: TemporalGraph, reached: Sequence[CoreFact], width: float
) -> Drawing:
    """Return a drawing of the reached entities, in the style of an answer's reasons."""
    data, labels = question.answerer.model.dataset, question.answerer.labels
    moment = int(graph.axis.positions(question.ids.times[:1])[0])
    facts = [cited_fact(data, graph, moment, core) for core in reached]
    ends = (int(question.ids.subjects[0]), int(question.ids.objects[0]))
    asked = Asked(
        data.entities[ends[0]],
        data.entities[ends[1]],
        "What both sides reach",
        groups={fact.predicate: labels.group_of(fact.predicate) or "" for fact in facts},
        shown=labels.label,
    )
    return draw_topology(asked, facts, width=width)


def _of_agent(served: ServedModel, queries: Queries, trail: tuple[int, ...]) -> str | None:
    """Return the trained agent's choice, if the model has an agent and PyTorch is installed."""
    try:
        agent = served.background.start("agent", lambda: trained_agent(served.model)).result()
    except ImportError:
        return None
    if agent is None:
        return None
    environment, _, _ = replay(agent.process, queries, trail)
    if environment.done[0] or not environment.legal.any():
        return None
    return served.model.dataset.predicates[int(agent.values(environment)[0].argmax())]
