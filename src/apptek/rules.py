"""A model's rules: every weight that is large enough, with its support in training.

If a rule's body holds, the score of its head increases by weight * the value of the body. A body is
one feature of a view:

| part     | where                                     | what               | when               |
|----------|-------------------------------------------|--------------------|--------------------|
| history  | the family of facts: pair, reversed, ...  | a predicate        | a kernel, as same  |
| trait    | whose: subject, object, both, question    | kind and value     |                    |
| topology |                                           | its predicates     |                    |
"""

from pathlib import Path

import numpy as np
import pyarrow as pa

from apptek.arrays import Doubles, Longs
from apptek.config import View
from apptek.errors import ApptekError
from apptek.facts.predicate_table import PredicateTable
from apptek.facts.queries import askable, training_queries
from apptek.features.space import FeatureSpace
from apptek.files import check_target
from apptek.models.linear_softmax import SparseWeights
from apptek.models.model import Model, with_training_facts
from apptek.present.tables import check_suffix, write_result

LEAST = 0.2  # default minimum of a rule's absolute weight
CHUNK = 8192  # training queries counted at a time
ENDINGS = (".jsonl", ".parquet")
Body = tuple[str, str, tuple[str, ...], str]  # part, where, what, when


def write_rules(model: Model, path: Path, least: float = LEAST) -> int:
    """Write a model's rules to a .jsonl or .parquet file and return their number."""
    check_suffix(path, ENDINGS)
    check_target(path)
    rules = rules_of(model, least)
    write_result(path, rules)
    return int(rules.num_rows)


def rules_of(model: Model, least: float = LEAST) -> pa.Table:
    """Return the rules of all views with an absolute weight of at least `least` and not 0.

    Rules are sorted by view, then by how common the head is. For each head, rules with the largest
    weight * log(1 + queries) come first, and rules without support last. The columns:

    view, part, where, what, when   the body; see this module's docstring
    head                 the predicate that the rule supports or contradicts
    weight               what it adds to the head's score for a body of value 1
    queries              training queries in which the body holds, each with its own fact hidden
    followed             how many of their facts have the head
    confidence           followed / queries
    lift                 confidence / the head's proportion of all training queries
    what_label, head_label   how to display predicates
    """
    if any(isinstance(each.classifier.weights, SparseWeights) for each in model.views.values()):
        raise ApptekError("rules are not listed for a model with so many predicates")
    fitted = with_training_facts(model)
    return pa.concat_tables([_rules_of_view(fitted, view, least) for view in model.views])


def _rules_of_view(model: Model, view: View, least: float) -> pa.Table:
    space, labels = model.space(view), model.dataset.labels or PredicateTable()
    weights, names = model.views[view].classifier.weights, list(model.dataset.predicates)
    columns, heads = np.nonzero((np.abs(weights) >= np.float32(least)) & (weights != 0))
    counts, shares = _count(model, space)
    queries = counts.sum(axis=1)
    strength = np.abs(weights[columns, heads]) * np.log1p(queries[columns])
    order = np.lexsort((columns, -strength, heads, -shares[heads]))
    columns, heads = columns[order], heads[order]
    followed = counts[columns, heads]
    confidence = followed / np.maximum(queries[columns], 1)
    lift = confidence / np.maximum(shares[heads], 1e-12)
    all_bodies = bodies_of(model, space)
    bodies = [all_bodies[column] for column in columns.tolist()]
    shown = [what if part == "trait" else map(labels.label, what) for part, _, what, _ in bodies]
    return pa.table(
        {
            "view": pa.array([view] * len(bodies), pa.string()),
            "part": pa.array([part for part, _, _, _ in bodies], pa.string()),
            "where": pa.array([where for _, where, _, _ in bodies], pa.string()),
            "what": pa.array([what for _, _, what, _ in bodies], pa.list_(pa.string())),
            "when": pa.array([when for _, _, _, when in bodies], pa.string()),
            "head": pa.array([names[head] for head in heads], pa.string()),
            "weight": weights[columns, heads].astype(np.float64),
            "queries": queries[columns],
            "followed": followed,
            "confidence": confidence.round(4),
            "lift": lift.round(3),
            "what_label": pa.array([" -> ".join(words) for words in shown], pa.string()),
            "head_label": pa.array([labels.label(names[head]) for head in heads], pa.string()),
        }
    )


def bodies_of(model: Model, space: FeatureSpace) -> list[Body]:
    """Return every column's body."""
    data, bodies = model.dataset, list[Body]()
    if space.history is not None:
        for column in range(len(space.history)):
            family, predicate, kernel = space.history.feature(column)
            bodies.append(("history", family, (data.predicates[predicate],), kernel))
    if space.traits is not None:
        for column in range(len(space.traits)):
            trait = space.traits.trait(column, data.entities)
            bodies.append(("trait", trait.whose, (trait.kind, trait.value), ""))
    for column in range(space.first_added, len(space)):
        part, own = space.added_at(column)
        kind = "topology" if part.name == "topologies" else part.name
        bodies.append((kind, "", part.names(own), ""))
    return bodies


def _count(model: Model, space: FeatureSpace) -> tuple[Longs, Doubles]:
    """Count training queries by feature and predicate, (F, R), and each predicate's proportion."""
    train = model.dataset.train
    queries, count = training_queries(train), len(model.dataset.predicates)
    usable = askable(train)
    totals = np.zeros(len(space) * count, np.int64)
    for start in range(0, len(usable), CHUNK):
        part = usable[start : start + CHUNK]
        rows = space.rows(queries.take(part))
        labels = np.repeat(train.predicates[part].astype(np.int64), np.diff(rows.offsets))
        pairs = rows.columns.astype(np.int64) * count + labels
        keys, repeats = np.unique(pairs, return_counts=True)
        totals[keys] += repeats
    shares = np.bincount(train.predicates[usable], minlength=count) / max(len(usable), 1)
    return totals.reshape(len(space), count), shares
