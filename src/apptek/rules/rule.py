"""A rule: where its body holds, the score of its head grows by weight * the value of the body.

A body is one feature of a view, in words that also find it again:

| part     | where                                     | what               | when               |
|----------|-------------------------------------------|--------------------|--------------------|
| history  | the family of facts: pair, reversed, ...  | a predicate        | a kernel, as same  |
| trait    | whose: subject, object, both, question    | kind and value     |                    |
| topology |                                           | its predicates     |                    |
"""

from dataclasses import dataclass

from apptek.config import View
from apptek.data.predicate_table import PredicateTable
from apptek.explain.strongest_weights import FAMILY_WORDS, KERNEL_WORDS
from apptek.features.space import FeatureSpace
from apptek.features.topologies.topology import to_names
from apptek.models.model import Model


@dataclass(frozen=True, slots=True)
class Body:
    """One feature; see the head of this file."""

    part: str
    where: str
    what: tuple[str, ...]
    when: str = ""

    def labels(self, table: PredicateTable) -> tuple[str, ...]:
        """`what`, with the labels of predicates; a trait has none."""
        return self.what if self.part == "trait" else tuple(map(table.label, self.what))

    def words(self, table: PredicateTable) -> str:
        """The body for people."""
        what = self.labels(table)
        if self.part == "history":
            return f"'{what[0]}' {FAMILY_WORDS[self.where]}, {KERNEL_WORDS[self.when]}"
        if self.part == "trait":
            kind, value = what[:2]
            return f"{self.where}: {value if kind == 'entity' else f'{kind} {value}'}"
        return " -> ".join(f"'{name}'" for name in what)

    def __str__(self) -> str:
        return self.words(PredicateTable())


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A body, the predicate that it speaks for or against, and what training says of the two.

    weight      what it adds to the score of the head, for a body of value 1; below 0: against it
    queries     training queries in which the body holds, each with its own fact hidden
    followed    those of them whose fact has the head
    confidence  followed / queries
    lift        confidence / the share of the head among all training queries
    """

    view: View
    body: Body
    head: str
    weight: float
    queries: int
    followed: int
    confidence: float
    lift: float

    @property
    def key(self) -> tuple[View, Body, str]:
        """What makes it the same rule, whatever its weight."""
        return self.view, self.body, self.head


def bodies_of(model: Model, space: FeatureSpace) -> list[Body]:
    """The body of every column; one that reads like an earlier one gets a number."""
    data, bodies = model.dataset, list[Body]()
    if space.history is not None:
        for column in range(len(space.history)):
            feature = space.history.feature(column)
            what = (data.predicates[feature.predicate],)
            bodies.append(Body("history", feature.family, what, feature.kernel))
    if space.traits is not None:
        for column in range(len(space.traits)):
            trait = space.traits.trait(column, data.entities)
            bodies.append(Body("trait", trait.whose, (trait.kind, trait.value)))
    if space.topologies is not None:
        sequences = space.topologies.sequences
        bodies += [Body("topology", "", tuple(to_names(s, data.predicates))) for s in sequences]
    times: dict[Body, int] = {}
    for column, body in enumerate(bodies):
        times[body] = count = times.get(body, 0) + 1
        if count > 1:
            bodies[column] = Body(body.part, body.where, (*body.what, f"#{count}"), body.when)
    return bodies
