"""Evaluate missing-entity ranks on held-out facts: objects and subjects, static and rolling.

Static questions see only the training facts before their time. Rolling questions see every earlier
fact, including the validation and test sets. Each answer is ranked among all entities, and ties
count with their expected rank. Other correct answers at the same time are excluded: a time-aware
filter over all splits.
"""

from dataclasses import asdict
from typing import Any

import numpy as np

from apptek.errors import DataError
from apptek.evaluation.ranking import metrics_of
from apptek.facts.facts import Split, join_facts
from apptek.forecast.forecaster import occurrence_of
from apptek.forecast.missing_entity import ranker_of
from apptek.models.entity_ranker import EntityIndex, entity_queries, known_entities
from apptek.models.model import Model

KINDS = ("static", "rolling")
SIDES = ("both", "objects", "subjects")


def evaluate_entities(model: Model, split: Split) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the metrics by evaluation and side. For `both`, they are means over all questions."""
    data, ranker = model.dataset, ranker_of(occurrence_of(model))
    facts = data.split(split)
    facts = facts.take(facts.dated)
    if not len(facts):
        raise DataError(f"the {split} facts have no dates: there is nothing to rank")
    everything = join_facts(data.train, data.valid, data.test)
    sizes = (len(data.entities), len(data.predicates))
    queries = entity_queries(facts, data.axis, sizes[1])
    truths = np.concatenate([facts.objects, facts.subjects]).astype(np.int64)
    known = known_entities(queries, truths, everything, data.axis, sizes[1])
    made = {}
    for kind, seen in zip(KINDS, (data.train, everything), strict=True):
        index = EntityIndex(seen, data.axis, sizes, model.clock)
        ranks = ranker.ranks(index, queries, truths, known)
        parts = (ranks, ranks[: len(facts)], ranks[len(facts) :])
        made[kind] = {
            side: {name: value for name, value in asdict(metrics).items() if name != "ece"}
            for side, part in zip(SIDES, parts, strict=True)
            if (metrics := metrics_of(part)) is not None
        }
    return made
