"""Rank missing entities: (subject, predicate, ?, time) or (?, predicate, object, time)."""

import math

import numpy as np

from apptek.arrays import Doubles
from apptek.errors import ApptekError, ArgumentError
from apptek.explain.explainer import find_predicate
from apptek.facts.times import UNKNOWN
from apptek.forecast.forecaster import Forecaster
from apptek.models.entity_ranker import (
    FAMILIES,
    FEATURES,
    SCALES,
    UNIT,
    EntityQueries,
    EntityRanker,
)
from apptek.models.occurrence.model import OccurrenceModel
from apptek.present import partner_words as words
from apptek.present.wording import read_as_notes
from apptek.results import EntityRanking, RankedEntity


def rank_entities(
    forecaster: Forecaster,
    subject: str | None,
    object_: str | None,
    predicate: str,
    time: str,
    *,
    top: int = 10,
) -> EntityRanking:
    """Rank the candidates for the entity that is None, using the facts before the time."""
    if (subject is None) == (object_ is None):
        raise ArgumentError("give either a subject or an object, not both")
    data, answerer = forecaster.model.dataset, forecaster.answerer
    asked = str(object_ if subject is None else subject)
    answerer.entities.check(asked)
    actor = answerer.entity_id(asked)
    place = find_predicate(predicate, answerer.predicate_names)
    code = data.axis.parse(time)
    if code == UNKNOWN:
        raise ApptekError("ranking a missing entity needs a known time")
    answerer.seen.check_time(code)
    moment = data.axis.position(code)
    of_kind = place if object_ is None else place + len(data.predicates)
    columns = ([actor], [of_kind], [moment])
    found = forecaster.entity_index.candidates(
        EntityQueries(*(np.asarray(column, np.int64) for column in columns))
    )
    name, label = data.predicates[place], answerer.labels.label(data.predicates[place])
    if not len(found.entities):
        raise ApptekError(words.no_candidates(data.entities[actor], label, time))
    ranker = ranker_of(forecaster.occurrence)
    chances, others = ranker.probabilities(found)
    order = np.argsort(-chances, kind="stable")[:top]
    own = data.entities[actor]
    return EntityRanking(
        subject=None if subject is None else own,
        predicate=name,
        label=label,
        object=None if object_ is None else own,
        time=data.axis.format(code),
        ranked=tuple(
            RankedEntity(
                entity=data.entities[int(found.entities[row])],
                probability=float(chances[row]),
                reason=_reason(ranker, found.features[row], own, is_subject=object_ is None),
            )
            for row in order.tolist()
        ),
        candidates=len(found.entities),
        others=len(data.entities) - len(found.entities),
        others_probability=float(others[0]),
        notes=tuple(read_as_notes((asked, own))),
    )


def ranker_of(occurrence: OccurrenceModel) -> EntityRanker:
    """Return a model's ranker. Raise ApptekError if it has none."""
    if occurrence.ranker is None:
        raise ApptekError("this model cannot rank entities: fit it again with this version")
    return occurrence.ranker


def _reason(ranker: EntityRanker, features: Doubles, actor: str, *, is_subject: bool) -> str:
    """Return a sentence about the type of evidence that contributes most to a candidate's score."""
    added = (ranker.weights * features).reshape(len(FAMILIES), len(SCALES)).sum(axis=1)
    family = FAMILIES[int(np.argmax(added))]
    count = round(math.expm1(features[FEATURES.index(f"{family} ever")]) * UNIT)
    return words.candidate_reason(family, actor, count, is_subject=is_subject)
