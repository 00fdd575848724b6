"""The evidence of one query: active features grouped as people would name them, with their facts.

| kind     | one contribution is                                  | facts                       |
|----------|------------------------------------------------------|-----------------------------|
| history  | a family and a predicate, all kernels of the clock   | those of that predicate     |
| trait    | what the subject is; the object; both; dated or not  | none                        |
| topology | a topology of the agent                              | those that connect by it    |
| reranker | what the trees make of a family, or of something else| none                        |
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from apptek.arrays import Ints
from apptek.data.times import UNKNOWN
from apptek.explain.wording import apart_text, counted
from apptek.features.topologies.connection import is_lasting, time_distance
from apptek.features.topologies.topology import describe, to_names
from apptek.models.answerer import ScoredQueries, WorkingView
from apptek.models.model import Model
from apptek.models.reranker import log_softmax

Kind = Literal["history", "trait", "topology", "reranker"]
Key = tuple[Kind, str, int]  # the family or whose trait it is; the predicate or the topology

# {p}: the predicate; {s}, {o}: subject and object
SENTENCES = {
    "pair": "'{p}' {s} -> {o}",
    "reversed": "'{p}' in the other direction, {o} -> {s}",
    "subject_out": "'{p}' by {s} to others",
    "subject_in": "'{p}' by others to {s}",
    "object_out": "'{p}' by {o} to others",
    "object_in": "'{p}' by others to {o}",
}


LOOKED_AT = {
    "pair": "what the subject did to the object",
    "reversed": "what the object did to the subject",
    "subject_out": "what the subject did to others",
    "subject_in": "what others did to the subject",
    "object_out": "what the object did to others",
    "object_in": "what others did to the object",
    "traits": "what the two are",
}


@dataclass(frozen=True, slots=True)
class Ends:
    """The two entities of a query, as the user names them."""

    subject: str
    object: str


class Evidence:
    """The active features of one query, grouped under keys."""

    def __init__(self, model: Model, view: WorkingView, scored: ScoredQueries, ends: Ends) -> None:
        self.model, self.space, self.fitted = model, view.space, view.fitted
        self.scored, self.ends = scored, ends
        self.graph = view.space.process.graph  # as this view sees it
        self.queries = scored.queries
        self.moment = int(model.graph.axis.positions(self.queries.times[:1])[0])
        self.columns, self.values = scored.rows.row(0)
        self.constant = 0.0  # what is added to every predicate's score alike
        self._trees = self._of_trees()
        self._groups: dict[Key, list[int]] = {}
        for entry, column in enumerate(self.columns.tolist()):
            self._groups.setdefault(self._key(column), []).append(entry)

    def _key(self, column: int) -> Key:
        space = self.space
        if space.history is not None and column < len(space.history):
            feature = space.history.feature(column)
            return "history", feature.family, feature.predicate
        if space.traits is not None and column < space.first("traits") + len(space.traits):
            column -= space.first("traits")
            return "trait", space.traits.trait(column, self.model.dataset.entities).whose, 0
        return "topology", "", column - space.first("topologies")

    def active_keys(self) -> list[Key]:
        """The keys of all active features, and of what the trees look at."""
        return [*self._groups, *self._trees]

    def _of_trees(self) -> dict[Key, dict[int, float]]:
        """What the re-ranker adds to each candidate."""
        trees = self.fitted.reranker
        if trees is None:
            return {}
        linear, rows = self.scored.linear, self.scored.rows
        self.constant = float(log_softmax(linear)[0, 0] - linear[0, 0])
        by_topic = trees.contributions(self.space, rows, self.fitted.classifier, linear)
        return {("reranker", topic, 0): added for topic, added in by_topic.items()}

    def added(self, key: Key, predicate: int) -> float:
        """What the features of a key add to the score of a predicate."""
        if key[0] == "reranker":
            return self._trees[key].get(predicate, 0.0)
        entries = self._groups[key]
        weights = self.fitted.classifier.weights[self.columns[entries], predicate]
        return float(weights.astype(np.float64) @ self.values[entries].astype(np.float64))

    @cached_property
    def _history(self) -> dict[str, Ints]:
        history = self.space.history
        return {} if history is None else history.facts(self.queries, 0)

    def facts(self, key: Key) -> list[int]:
        """The facts behind a key of history, nearest first."""
        of_family = self._history.get(key[1], np.empty(0, np.int32))
        of_predicate = self.model.graph.facts.predicates[of_family] == key[2]
        return [int(fact) for fact in of_family[of_predicate]]

    def topology(self, key: Key) -> tuple[int, ...]:
        """The actions of a topology; the one predicate of a history; nothing for a trait."""
        if key[0] == "topology":
            return self.model.sources.topologies.sequences[key[2]]
        return (key[2],) if key[0] == "history" else ()

    def names(self, key: Key) -> tuple[str, ...]:
        """The same in words."""
        return tuple(to_names(self.topology(key), self.model.dataset.predicates))

    def sentence(self, key: Key) -> str:
        """A key in words."""
        if key[0] == "topology":
            return describe(self.topology(key), self.model.dataset.predicates)
        if key[0] == "reranker":
            return f"seen together by the trees: {LOOKED_AT.get(key[1], key[1])}"
        return self._history_sentence(key) if key[0] == "history" else self._trait_sentence(key)

    def _history_sentence(self, key: Key) -> str:
        graph, facts = self.graph, self.facts(key)
        words = SENTENCES[key[1]].format(
            p=self.model.dataset.predicates[key[2]], s=self.ends.subject, o=self.ends.object
        )
        apart = time_distance(graph, facts[0], self.moment)
        when = apart_text(graph.axis, apart, lasting=is_lasting(graph, facts[0]))
        if graph.facts.times[facts[0]] == UNKNOWN:
            when = "(undated)"
        more = f"and {counted(len(facts) - 1, 'more time')}" if len(facts) > 1 else ""
        return " ".join(part for part in (words, when, more) if part)

    def _trait_sentence(self, key: Key) -> str:
        traits, names = self.space.traits, self.model.dataset.entities
        assert traits is not None
        first = self.space.first("traits")
        columns = [int(self.columns[entry]) - first for entry in self._groups[key]]
        described = [traits.trait(column, names) for column in columns]
        if key[1] == "question":
            return f"the question is {described[0].value}"
        types = "; ".join(
            f"{trait.kind} {trait.value}" for trait in described if trait.kind != "entity"
        )
        whose = {"subject": self.ends.subject, "object": self.ends.object}
        words = f"{whose[key[1]]} as the {key[1]}" if key[1] in whose else "the two together"
        return f"{words} ({types})" if types else words
