"""The scores of a query after facts were taken away or added, without building a graph."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from apptek.arrays import Doubles, Floats, Ints, Longs
from apptek.data.queries import Queries
from apptek.explain.what_if.family_scores import NOTHING, FamilyScores
from apptek.features.sparse import SparseRows
from apptek.models.answerer import ScoredQueries, WorkingView
from apptek.models.reranking.candidates import Weighed


@dataclass(frozen=True, slots=True)
class Singles:
    """What a family adds to the scores as things stand, and without each of its places."""

    now: Doubles  # (R,)
    sets: Longs  # (n, 1)
    scores: Doubles  # (n, R)

    @classmethod
    def of(cls, family: FamilyScores) -> "Singles":
        """What this family adds."""
        sets = family.removable(1)
        return cls(family.scores(NOTHING)[0], sets, family.scores(sets))


@dataclass(frozen=True, slots=True)
class Rescorer:
    """A query's families of facts, and what else adds to its scores.

    columns, values  the features that no fact can change
    constant         what these and the bias add to each predicate, (R,)
    gone             the facts that were taken away
    """

    view: WorkingView
    queries: Queries  # one
    families: tuple[FamilyScores, ...]
    columns: Ints
    values: Floats
    constant: Doubles
    gone: tuple[int, ...] = ()

    @classmethod
    def of(cls, view: WorkingView, scored: ScoredQueries, more: int) -> "Rescorer":
        """The rescorer of a single query; `more`: facts beyond those that make features."""
        history, classifier = view.space.history, view.fitted.classifier
        assert history is not None
        listed = history.listed(scored.queries, 0, more)
        columns, values = scored.rows.row(0)
        others = columns >= len(history)
        columns, values = columns[others], values[others]
        constant = classifier.bias + classifier.weights[columns].T.astype(np.float64) @ values
        families = (
            FamilyScores.of(history, family, facts, classifier) for family, facts in listed.items()
        )
        return cls(view, scored.queries, tuple(families), columns, values, constant)

    @property
    def is_additive(self) -> bool:
        """Whether the scores are sums over families, each fact being in one of them."""
        facts = np.concatenate([family.facts for family in self.families])
        return self.view.fitted.reranker is None and len(np.unique(facts)) == len(facts)

    def without(self, facts: set[int]) -> "Rescorer":
        """The same after these facts were taken away."""
        families = tuple(family.without(facts) for family in self.families)
        return replace(self, families=families, gone=(*self.gone, *sorted(facts)))

    def with_fact(self, family: str, predicate: int, kernels: Doubles) -> "Rescorer":
        """The same with one fact more, the nearest of its family, which has these kernels."""
        classifier = self.view.fitted.classifier
        history = self.view.space.history
        assert history is not None
        return replace(
            self,
            families=tuple(
                each.with_fact(history, predicate, kernels, classifier)
                if each.family == family
                else each
                for each in self.families
            ),
        )

    def scores(self) -> Doubles:
        """The scores of all predicates as things stand, (R,)."""
        scores: Doubles = self.each(0, NOTHING)[0]
        return scores

    def each(self, number: int, sets: Longs) -> Doubles:
        """The scores where each of these sets of places is taken from one family: (sets, R)."""
        if self.view.fitted.reranker is not None:
            return self._reranked(number, sets)
        scores = self.families[number].scores(sets) + self.constant
        for other in (*self.families[:number], *self.families[number + 1 :]):
            scores += other.scores(NOTHING)
        return scores

    def singles(
        self, known: dict[FamilyScores, "Singles"]
    ) -> Iterator[tuple[FamilyScores, Longs, Doubles]]:
        """Each family, the places that may be taken from it one at a time, and the scores then.

        known  what families add, by family: one that has not changed is not asked again
        """
        if self.view.fitted.reranker is not None:
            for number, family in enumerate(self.families):
                sets = family.removable(1)
                yield family, sets, self.each(number, sets)
            return
        for family in self.families:
            if family not in known:
                known[family] = Singles.of(family)
        scores = self.constant + sum(known[family].now for family in self.families)
        for family in self.families:
            own = known[family]
            yield family, own.sets, scores - own.now + own.scores

    def _reranked(self, number: int, sets: Longs) -> Doubles:
        reranker, space = self.view.fitted.reranker, self.view.space
        assert reranker is not None
        rows, classifier = self._rows(number, sets), self.view.fitted.classifier
        gone = np.tile(np.asarray(self.gone, np.int32), (len(sets), 1))
        gone = np.concatenate([gone, self.families[number].facts[sets]], axis=1)
        same = self.queries.take(np.zeros(len(sets), np.int64))
        linear = classifier.scores(rows)
        scores = reranker.scores(space, Weighed(same, rows, classifier.weights, linear, gone))
        return scores.astype(np.float64)

    def _rows(self, number: int, sets: Longs) -> SparseRows:
        """The features where each of these sets of places is taken from one family."""
        space = self.view.space
        history = space.history
        assert history is not None
        before = [f.active(history, NOTHING)[0] for f in self.families[:number]]
        after = [f.active(history, NOTHING)[0] for f in self.families[number + 1 :]]
        fixed = (self.columns, self.values)
        own = self.families[number].active(history, sets)
        parts = [[*before, each, *after, fixed] for each in own]
        counts = [sum(len(columns) for columns, _ in row) for row in parts]
        columns = [columns for row in parts for columns, _ in row]
        values = [values for row in parts for _, values in row]
        return SparseRows(
            np.cumsum([0, *counts], dtype=np.int64),
            np.concatenate([np.zeros(0, np.int32), *columns]).astype(np.int32),
            len(space),
            np.concatenate([np.zeros(0, np.float32), *values]).astype(np.float32),
        )
