"""The evidence for one query: active features in readable groups, with their facts.

| kind     | one contribution is                                  | facts                       |
|----------|------------------------------------------------------|-----------------------------|
| history  | a family and a predicate, with all clock kernels     | facts with that predicate   |
| trait    | one type of the pair, or whether the query is dated  | none                        |
| topology | a topology of the paper's agent                      | facts that connect by it    |
| feature  | a feature from another package                       | none                        |
| reranker | what the trees add for a family or another topic     | none                        |
| counting | the part from counting both entities' facts          | none                        |
"""

from collections import Counter
from functools import cached_property, partial
from typing import Literal, NamedTuple

import numpy as np

from apptek.arrays import Ints
from apptek.config import FAMILIES, MOST_HISTORY_FACTS
from apptek.facts.times import UNKNOWN
from apptek.features.space import Connection
from apptek.features.support import (
    Level,
    SupportCounts,
    history_evidence,
    level_of,
    topology_evidence,
)
from apptek.features.traits import Kind as TypeKind
from apptek.features.traits import Trait
from apptek.graph.lookups import incoming, is_lasting, is_timeless, outgoing, time_distance
from apptek.models.answerer import Answerer, ScoredQueries, WorkingView
from apptek.models.reranking.candidates import Weighed
from apptek.models.reranking.reranker import SUCH_ACTORS
from apptek.present.sentences import (
    TITLES,
    Ends,
    MainPartner,
    Occurrences,
    clause,
    connected_sentence,
    history_sentence,
    is_read_from_name,
    mirror_sentence,
    trait_sentence,
    trees_sentence,
)

Kind = Literal["history", "trait", "topology", "feature", "reranker", "counting"]
Key = tuple[Kind, str, int]  # the family or trait owner; the predicate, token or topology
MOSTLY = 0.5  # if more of a predicate's facts have a mirror, each pair is one event
DIRECT = FAMILIES[:2]  # the families of facts between the pair


class SupportOf(NamedTuple):
    """The level of nearness at which evidence was counted, and the counts (None for a topology).

    is_itself  whether the evidence is the fact that training hides, for either predicate
    """

    level: Level | None
    seen: SupportCounts
    is_itself: bool = False


class Evidence:
    """The active features of one query, grouped under keys."""

    def __init__(
        self, answerer: Answerer, view: WorkingView, scored: ScoredQueries, ends: Ends
    ) -> None:
        self.answerer, self.model = answerer, answerer.model
        model = answerer.model
        self.space, self.fitted = view.space, view.fitted
        self.history, self.traits = view.space.history, view.space.traits
        before_traits = 0 if self.history is None else len(self.history)
        self._ends = before_traits, before_traits + (0 if self.traits is None else len(self.traits))
        self.scored, self.ends = scored, ends
        self.graph = view.space.graph  # the view's graph
        self.queries, self.clock = scored.queries, model.clock
        self.moment = int(model.graph.axis.positions(self.queries.times[:1])[0])
        self.columns, self.values = scored.rows.row(0)
        self._times: dict[Key, Occurrences] = {}
        self._connections: dict[Key, Connection] = {}
        self._trees = self._of_trees()
        self._groups: dict[Key, list[int]] = {}
        for entry, column in enumerate(self.columns.tolist()):
            self._groups.setdefault(self._key(column), []).append(entry)

    def _key(self, column: int) -> Key:
        if column < self._ends[0]:
            assert self.history is not None
            feature = self.history.feature(column)
            return "history", feature.family, feature.predicate
        if column < self._ends[1]:
            column -= self._ends[0]
            return "trait", self._trait(column).whose, column
        part, _ = self.space.added_at(column)
        kind: Kind = "topology" if part.name == "topologies" else "feature"
        return kind, "" if kind == "topology" else part.name, column - self._ends[1]

    def _trait(self, column: int) -> Trait:
        assert self.traits is not None
        return self.traits.trait(column, self.model.dataset.entities)

    def _of_trees(self) -> dict[Key, dict[int, float]]:
        """Return the re-ranker's contribution to each candidate, by topic."""
        trees = self.fitted.reranker
        if trees is None:
            return {}
        linear, rows, weights = self.scored.linear, self.scored.rows, self.fitted.classifier.weights
        weighed = Weighed(self.queries, rows, weights, linear)
        by_topic = trees.contributions(self.space, weighed)
        return {("reranker", topic, 0): added for topic, added in by_topic.items()}

    def added(self, *predicates: int) -> dict[Key, tuple[float, ...]]:
        """Return how much the features of each key add to the scores of some predicates."""
        key_of = np.empty(len(self.columns), np.int64)
        for number, entries in enumerate(self._groups.values()):
            key_of[entries] = number
        sums = []
        for predicate in predicates:
            weights = self.fitted.classifier.weights[self.columns, predicate].astype(np.float64)
            parts = weights * self.values.astype(np.float64)
            sums.append(np.bincount(key_of, parts, len(self._groups)).tolist())
        added = dict(zip(self._groups, zip(*sums, strict=True), strict=True))
        if counted := self.fitted.counted:
            scores = (float(self.scored.counted[0, one]) for one in predicates)
            added["counting", counted.family, 0] = tuple(scores)
        trees = {
            key: tuple(of_tree.get(predicate, 0.0) for predicate in predicates)
            for key, of_tree in self._trees.items()
        }
        return added | trees

    @cached_property
    def _listed(self) -> dict[str, Ints]:
        """The facts of each family, nearest first; one more than the features use."""
        history = self.history
        listed = {} if history is None else history.listed(self.queries, 0, more=1)
        return {family: each.facts for family, each in listed.items()}

    def _most(self, family: str) -> int:
        config = self.model.config.history
        return config.pair_facts if family in DIRECT else config.profile_facts

    @cached_property
    def _by_key(self) -> dict[Key, list[int]]:
        """The facts of every family and predicate, nearest first."""
        found: dict[Key, list[int]] = {}
        for family, listed in self._listed.items():
            facts = listed[: self._most(family)]
            predicates = self.graph.facts.predicates[facts].tolist()
            for fact, predicate in zip(facts.tolist(), predicates, strict=True):
                found.setdefault(("history", family, predicate), []).append(fact)
        return found

    def facts(self, key: Key) -> list[int]:
        """Return the facts behind a history key, nearest first."""
        return self._by_key.get(key, [])

    def names(self, key: Key) -> tuple[str, ...]:
        """Return the predicates of an added feature or history key. A trait has none."""
        if key[0] in ("topology", "feature"):
            part, column = self.space.added_at(key[2] + self.space.first_added)
            names: tuple[str, ...] = part.names(column)
            return names
        return (self.model.dataset.predicates[key[2]],) if key[0] == "history" else ()

    def connection(self, key: Key) -> Connection:
        """Return how an active topology connects the pair."""
        if key not in self._connections:
            part, column = self.space.added_at(key[2] + self.space.first_added)
            self._connections[key] = part.connection(self.queries, column)
        return self._connections[key]

    def occurrences(self, key: Key) -> Occurrences:
        """Return when the facts of a history key took place."""
        if key not in self._times:
            self._times[key] = self._occurrences(key)
        return self._times[key]

    def _occurrences(self, key: Key) -> Occurrences:
        graph, facts, codes = self.graph, self.facts(key), self.graph.facts.columns()[3:]
        dated = [fact for fact in facts if any(column[fact] != UNKNOWN for column in codes)]
        distances = tuple(time_distance(graph, fact, self.moment) for fact in dated)
        lasting = bool(dated) and is_lasting(graph, dated[0])
        undated, (horizon, most) = len(facts) - len(dated), self._limits[key[1]]
        return Occurrences(distances, undated, lasting, horizon, self.timeless, most)

    @cached_property
    def timeless(self) -> bool:
        """Whether no fact has a date, so that sentences should not mention time."""
        return is_timeless(self.graph)

    @cached_property
    def _limits(self) -> dict[str, tuple[int | None, int]]:
        """Each family's horizon and the cutoff by number of facts; see Occurrences."""
        limits: dict[str, tuple[int | None, int]] = {}
        for family, facts in self._listed.items():
            most = self._most(family)
            # If the kernels list no further fact, others may be as far away as the last listed one.
            is_full = len(facts) == MOST_HISTORY_FACTS or self._is_long(family)
            limits[family] = (None, 0)
            if len(facts) > most or (is_full and len(facts)):
                beyond = int(facts[min(most, len(facts) - 1)])
                apart = time_distance(self.graph, beyond, self.moment)
                limits[family] = (None, most) if apart is None else (abs(apart) - 1, 0)
        return limits

    def _is_long(self, family: str) -> bool:
        """Return whether the entity of a profile has more facts than the kernels read."""
        ends = self.queries.subjects if family.startswith("subject") else self.queries.objects
        look = outgoing if family.endswith("out") else incoming
        known = family not in DIRECT and ends[0] >= 0
        return known and len(look(self.graph, int(ends[0]))) > MOST_HISTORY_FACTS

    def _partner(self, key: Key) -> MainPartner | None:
        """Return the partner in most facts of a profile; None for a pair."""
        facts, own = self.graph.facts, self.facts(key)
        if key[1] in DIRECT or not own:
            return None
        others = facts.objects if key[1].endswith("out") else facts.subjects
        entity, count = Counter(others[own].tolist()).most_common(1)[0]
        return MainPartner(self.model.dataset.entities[entity], count, len(own))

    def is_mirror(self, key: Key) -> bool:
        """Return whether a key has facts in the other direction at the query's exact time."""
        if key[:2] != ("history", "reversed"):
            return False
        seen = self.occurrences(key)
        return seen.same > 0 and not seen.lasting

    def sentence(self, key: Key, answer: int) -> str:
        """Return a sentence for a key as a reason for or against this answer."""
        if key[0] == "topology":
            steps = {fact.step for fact in self.connection(key).core if fact.on_path}
            names = dict.fromkeys(self.names(key)[step - 1] for step in sorted(steps))
            return connected_sentence([self.answerer.labels.label(name) for name in names])
        if key[0] == "feature":
            return f"{key[1]}: {', '.join(self.names(key))}"
        if key[0] == "counting":
            return TITLES[self.group(key)]
        if key[0] == "reranker":
            return trees_sentence(key[1], self.ends)
        return self._said(key, answer) if key[0] == "history" else self._trait_sentence(key)

    def _said(self, key: Key, answer: int) -> str:
        name, labels = self.model.dataset.predicates[key[2]], self.answerer.labels
        did = partial(clause, labels.label(name), labels.phrase(name))
        seen, axis = self.occurrences(key), self.graph.axis
        if self.is_mirror(key):
            same = key[2] == self.mirror_of(answer)
            return mirror_sentence(did, self.ends, axis, seen, same=same)
        return history_sentence(did, key[1], self.ends, self._partner(key), (axis, seen))

    def mirror_of(self, predicate: int) -> int:
        """Return the predicate that usually goes in the other direction at the same time, or -1."""
        mirrors = self.answerer.mirrors
        return int(mirrors.of[predicate]) if mirrors.share[predicate] >= MOSTLY else -1

    def support(self, key: Key, predicate: int, compared: tuple[int, int]) -> SupportOf | None:
        """Return how often this evidence occurred in training, and how often a predicate followed.

        Training hides the query's own fact. Therefore, a fact between the pair at the query's time
        is never evidence for its own predicate. If that predicate is one of `compared`, the
        evidence is counted at level `near` instead.
        """
        support, space = self.fitted.support, self.space
        if support is None or key[0] not in ("history", "topology"):
            return None
        if key[0] == "topology":
            return SupportOf(None, support.seen(topology_evidence(space, key[2]), predicate))
        history = self.history
        assert history is not None
        columns = self.columns[self._groups[key]].tolist()
        level = level_of({history.feature(column).kernel for column in columns})
        index = history_evidence(history, key[1], key[2], level)
        is_itself = (key[1], level) == ("pair", "same") and key[2] in compared
        is_itself = is_itself and not support.seen(index, key[2]).followed
        if is_itself:
            level = "near"
            index = history_evidence(history, key[1], key[2], level)
        return SupportOf(level, support.seen(index, predicate), is_itself)

    def is_own(self, key: Key, answer: int) -> bool:
        """Return whether a key includes the answer's own fact, recorded at the query's time."""
        return key == ("history", "pair", answer) and self.occurrences(key).same > 0

    def group(self, key: Key) -> str:
        """Return the name of the key's group."""
        if key[0] == "history" and key[1] in DIRECT:
            nearest = next(iter(self.occurrences(key).distances), None)
            far = nearest is not None and abs(nearest) > self.clock.long
            return "long_past" if far else "between"
        if key[0] == "trait" and key[1] != "question":
            return "usual" if self._trait(key[2]).kind == "entity" else "types"
        if key[0] == "reranker":
            return "such_actors" if key[1] == SUCH_ACTORS else "trees"
        family = key[1].partition("_")[0]
        groups = {"history": family, "trait": "question", "counting": family or "counting"}
        return groups.get(key[0], "connections")

    def _types(self, key: Key) -> list[tuple[str, TypeKind, int]]:
        """Return the entities whose type a trait describes: name, kind of type, and id."""
        if key[0] != "trait":
            return []
        trait, ids = self._trait(key[2]), (self.queries.subjects[0], self.queries.objects[0])
        kind = next((kind for kind in self.fitted.kinds if kind.name == trait.kind), None)
        ends = zip(("subject", "object"), (self.ends.subject, self.ends.object), ids, strict=True)
        whose = (trait.whose, "subject", "object") if trait.whose == "both" else (trait.whose,)
        return [(name, kind, int(i)) for end, name, i in ends if kind is not None and end in whose]

    def read_from_name(self) -> set[str]:
        """Return the names of unknown entities whose types were inferred from their names."""
        if min(int(self.queries.subjects[0]), int(self.queries.objects[0])) >= 0:
            return set()
        types = (one for key in self._groups for one in self._types(key))
        return {name for name, kind, entity in types if is_read_from_name(name, kind, entity)}

    def _trait_sentence(self, key: Key) -> str:
        trait = self._trait(key[2])
        kinds = {kind.name: kind for kind in self.fitted.kinds}
        entities = (int(self.queries.subjects[0]), int(self.queries.objects[0]))
        return trait_sentence(trait, kinds.get(trait.kind), self.ends, entities)
