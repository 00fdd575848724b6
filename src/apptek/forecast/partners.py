"""Forecasts for an actor: how it acts on each partner, and how each partner acts on it.

A partner is an entity that shares a fact with the actor before the window. For all other entities,
the forecast contains only the chance that any of them is involved. It is estimated from the most
active of these entities and a sample of the rest.

An actor can be combined with its members: Egypt with Police (Egypt) and Citizen (Egypt). Their
expected numbers are added. The combined chance is the chance that at least one member acts,
assuming independence. This method performed best on ICEWS14's validation facts.
"""

import math
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Doubles, Longs
from apptek.errors import ApptekError
from apptek.features.traits import split_name
from apptek.forecast.forecaster import EventFilter, Forecaster, PairForecasts
from apptek.forecast.pairs import (
    base_sentence,
    chance_grid,
    first_half,
    median_lengths,
    predicate_forecast,
)
from apptek.forecast.window import Window, time_of
from apptek.models.answerer import Answerer
from apptek.models.occurrence.pair_counts import EVIDENCE
from apptek.present import partner_words as words
from apptek.present.forecast_words import is_shown
from apptek.present.wording import read_as_notes
from apptek.results import ActorForecast, PartnerForecast

MOST_ACTIVE, SAMPLED = 300, 200  # number of scored entities without a fact with the actor
BURSTS = 2.0  # chosen on ICEWS14 before September, in 2,400 windows of its most active actors
PREDICATES = 3  # number of predicates listed for each partner


@dataclass(frozen=True, slots=True)
class Combined:
    """The chances between some partners and an actor, or the actor's members combined.

    rows  for each partner, the ordered pair with the largest chance
    """

    made: PairForecasts
    partners: Longs
    rows: Longs
    probabilities: Doubles
    expected: Doubles


@dataclass(frozen=True, slots=True)
class _Side:
    """An actor, or its members, as the subjects or as the objects of the events that count."""

    forecaster: Forecaster
    ids: Longs
    event: EventFilter
    is_subject: bool

    def combined(self, partners: Longs, window: Window) -> Combined:
        """Return the chances between each partner and at least one member."""
        ids = self.ids
        actors, others = np.repeat(ids, len(partners)), np.tile(partners, len(ids))
        subjects, objects = (actors, others) if self.is_subject else (others, actors)
        made = self.forecaster.pair_forecasts(subjects, objects, window)
        chances = self.event.chances(made).reshape(len(ids), -1)
        expected = self.event.expected(made).reshape(len(ids), -1).sum(axis=0)
        rows = np.argmax(chances, axis=0) * len(partners) + np.arange(len(partners))
        return Combined(made, partners, rows, -np.expm1(np.log1p(-chances).sum(axis=0)), expected)


def members_of(answerer: Answerer, actor: str) -> list[int]:
    """Return the actor itself, if it exists, and all entities with the actor's name in brackets."""
    names = answerer.model.dataset.entities
    own = answerer.entities.find(actor)
    name = actor if own is None else names[own]
    parts = ((entity, split_name(each)) for entity, each in enumerate(names))
    members = [entity for entity, part in parts if part and part[1] == name]
    return members if own is None else [own, *members]


def actor_forecast(
    forecaster: Forecaster,
    actor: str,
    window: Window,
    event: EventFilter,
    *,
    top: int = 10,
    members: bool = False,
) -> ActorForecast:
    """Forecast what an actor does to each partner, and what each partner does to it.

    members  whether to include the entities with the actor's name in brackets
    """
    names = forecaster.model.dataset.entities
    ids = np.asarray(members_of(forecaster.answerer, actor) if members else [], np.int64)
    if not len(ids):
        forecaster.answerer.entities.check(actor)
        ids = forecaster.ids([actor])
    own = actor if members else names[int(ids[0])]
    axis = forecaster.model.dataset.axis
    both = _partners(forecaster, ids, window)
    if not len(both):
        raise ApptekError(words.no_partners(own, time_of(axis, window.moment)))
    parts = {}
    for is_subject in (True, False):
        side = _Side(forecaster, ids, event, is_subject)
        found = side.combined(both, window)
        order = np.argsort(-found.probabilities, kind="stable")[:top]
        parts[is_subject] = (_rows(side, found, order), _others(side, both, window))
    return ActorForecast(
        actor=own,
        members=tuple(names[entity] for entity in ids.tolist()) if members else (),
        event=event.name,
        **forecaster.window_fields(window),
        acts_on=parts[True][0],
        acted_on_by=parts[False][0],
        partners=len(both),
        others_acted_on=parts[True][1],
        others_acting=parts[False][1],
        longest=forecaster.occurrence.longest,
        notes=(*read_as_notes((actor, own)), *forecaster.notes(window)),
    )


def _partners(forecaster: Forecaster, ids: Longs, window: Window) -> Longs:
    events = forecaster.events.before(window.moment)
    acted_on = events.objects[np.isin(events.subjects, ids)]
    acting = events.subjects[np.isin(events.objects, ids)]
    return np.setdiff1d(np.concatenate([acted_on, acting]), ids)


def _rows(side: _Side, found: Combined, order: Longs) -> tuple[PartnerForecast, ...]:
    """Return the partners in the given order, each with the forecast for the previous window."""
    event, made = side.event, found.made.take(found.rows[order])
    earlier = side.combined(found.partners[order], made.window.before())
    pairs, medians = made.pairs, _medians(found, order, event)
    added = made.reasons()[:, : len(EVIDENCE)]
    names, listed = side.forecaster.model.dataset.entities, []
    for row, place in enumerate(order.tolist()):
        ends = (names[int(pairs.subjects[row])], names[int(pairs.objects[row])])
        chance, before = float(found.probabilities[place]), float(earlier.probabilities[row])
        best = np.argsort(-np.where(event.predicates, made.shares[row], -1.0), kind="stable")
        best = best[: min(PREDICATES, int(event.predicates.sum()))]
        listed.append(
            PartnerForecast(
                subject=ends[0],
                object=ends[1],
                probability=chance,
                expected=float(found.expected[place]),
                previous=before,
                change=chance - before,
                predicates=tuple(
                    predicate_forecast(made, (row, each), ends) for each in best.tolist()
                ),
                reason=_reason(made, row, ends, added[row]),
                median=int(medians[row]) or None,
            )
        )
    return tuple(listed)


def _reason(made: PairForecasts, row: int, ends: tuple[str, str], added: Doubles) -> str:
    """Return the strongest evidence in the direction in which the chance differs from the base.

    added  what each kind of evidence contributes; if all round to 0.00, the base is the reason
    """
    place = strongest(added)
    if place is None:
        return base_sentence(made, row)
    return made.evidence(row, EVIDENCE[place], ends)


def strongest(added: Doubles) -> int | None:
    """Return the index of the largest contribution that has the sign of their sum.

    Return None if all contributions with this sign round to 0.00.
    """
    directed = added if added.sum() >= 0 else -added
    place = int(np.argmax(directed))
    return place if is_shown(float(directed[place])) else None


def _medians(found: Combined, order: Longs, event: EventFilter) -> Longs:
    """Return each partner's median time to the next event with any member.

    The result is 0 if the median exceeds the longest window.

    order  the partners to consider
    """
    starts = np.arange(0, len(found.made.pairs), len(found.partners))
    rows = (starts[:, None] + order).ravel()
    lengths = median_lengths(found.made.forecaster)
    grid = chance_grid(found.made.take(rows), event, lengths)
    quiet = np.log1p(-grid).reshape(len(lengths), len(starts), len(order)).sum(axis=1)
    return first_half(lengths, -np.expm1(quiet))


def _others(side: _Side, partners: Longs, window: Window) -> float:
    """Return the chance that any entity that is not yet a partner is involved.

    It is estimated from the most active of these entities and a sample of the rest.
    """
    events = side.forecaster.events.before(window.moment)
    roles = events.objects if side.is_subject else events.subjects
    activity = np.bincount(roles, minlength=events.width)[: events.width - 1]
    activity[np.concatenate([side.ids, partners])] = -1
    order = np.argsort(-activity, kind="stable")[: int((activity >= 0).sum())]
    rest = order[MOST_ACTIVE:]
    drawn = rest[np.linspace(0, len(rest) - 1, min(SAMPLED, len(rest))).astype(np.int64)]
    quiet = 0.0
    for part, count in ((order[:MOST_ACTIVE], 1.0), (drawn, len(rest) / max(len(drawn), 1))):
        if len(part):
            found = side.combined(part, window)
            quiet += count * float(np.log1p(-found.probabilities).sum())
    return at_least_one_new(-quiet)


def at_least_one_new(expected: float) -> float:
    """Return P(at least one new partner), given the expected number of new partners.

    The number of new partners follows a negative binomial distribution.

    New partners come in bursts, as if the rate were redrawn for each window from a gamma
    distribution with shape BURSTS. A Poisson distribution would overstate the chance.
    """
    return float(-np.expm1(-BURSTS * math.log1p(expected / BURSTS)))
