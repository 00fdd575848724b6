"""Adding facts to a fitted model: the graph grows, and the weights are kept.

Observation ends with the last fact, or at a later time that the user states.
"""

from collections import Counter
from dataclasses import asdict, dataclass, replace

import numpy as np

from apptek.arrays import Bools, Ints, read_only
from apptek.errors import DataError
from apptek.facts.fact_keys import fact_keys, first_occurrences
from apptek.facts.facts import Dataset, Facts, Names, join_facts
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.features.traits import Kind, NewNames
from apptek.models.model import OUTLIERS, FittedView, Model, last_supported
from apptek.models.recalibration import recalibrated


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """The outcome of an update, as numbers of facts.

    known               facts that the model already had, or that occurred twice
    retracted           facts that were removed
    not_found           facts that should have been removed but do not exist
    unknown_predicates  dropped facts, whose predicates the model never learned
    """

    added: int
    known: int
    new_entities: int
    unknown_predicates: dict[str, int]
    retracted: int = 0
    not_found: int = 0


def update_model(
    model: Model,
    new: Dataset | None = None,
    retracted: Dataset | None = None,
    observed_until: str | None = None,
) -> tuple[Model, UpdateReport]:
    """Return the model with facts added to its graph, and other facts removed from it.

    observed_until  the last observed time, with or without facts; by default the model's, or the
                    time of the last new fact if that is later

    All splits of the data sets count. Entities and times may be new. The answers equal those from a
    graph built from all facts at once. The model is still evaluated on the facts that it was fitted
    on. Once 1,000 later facts were added, probabilities are calibrated on the newest.
    """
    kept, report = model.graph.facts, UpdateReport(0, 0, 0, {})
    entities = model.dataset.entities
    if retracted is not None:
        wanted, _, _ = _translate(retracted, model.dataset, entities)
        (keys, kept_keys) = fact_keys(wanted, kept)
        stays = ~np.isin(kept_keys, keys)
        missing = len(retracted.all_facts()) - int(np.isin(keys, kept_keys).sum())
        report = replace(report, retracted=int((~stays).sum()), not_found=missing)
        latest = model.dataset.axis.positions(kept.times[~stays]).max(initial=UNKNOWN)
        if model.observed_until is not None and latest >= model.observed_until:
            model = replace(model, observed_until=None)
        kept = kept.take(stays)
        if not len(kept):
            raise DataError("nothing would be left: the update removes every fact")
    if new is not None:
        facts, extended, left_out = _translate(new, model.dataset, entities)
        added = facts.take(is_new(facts, kept))
        report = replace(
            report,
            added=len(added),
            known=len(facts) - len(added),
            new_entities=len(extended) - len(entities),
            unknown_predicates=left_out,
        )
        kept, entities = join_facts(kept, added), extended
        aliases = {**new.aliases, **model.dataset.aliases}
        model = replace(model, dataset=replace(model.dataset, aliases=aliases))
    updated = _with_facts(model, kept, entities, report)
    if new is not None and (stated := model.observed_until) is not None:
        end = last_supported(updated.positions, model.dataset.axis.stride)
        latest = model.dataset.axis.positions(added.times)
        until = latest[latest <= end].max(initial=stated)
        updated = replace(updated, observed_until=int(until))
    if observed_until is not None:
        position = observed_position(updated.dataset, updated.positions, observed_until)
        updated = replace(updated, observed_until=position)
    return recalibrated(updated), report


def next_time(model: Model) -> str:
    """Return the first time that the model has not observed, as its data writes times."""
    if (last := model.last_observed) is None:
        raise DataError("--since-last: none of the model's facts is dated")
    return TimeAxis(model.dataset.axis.unit).format(last + 1)


def unobserved_facts(new: Dataset, model: Model) -> Dataset:
    """Return the new facts that start after the model's last observed time, as training facts.

    A fact without a start counts by its end. Facts without either are dropped.
    """
    facts, axis, time = new.all_facts(), new.axis, next_time(model)
    if not model.dataset.axis.holds(axis):  # raises the error that the update would raise
        return new
    later = axis.positions(facts.times) >= axis.position(axis.parse(time))
    return replace(new, train=facts.take(later), valid=facts.first(0), test=facts.first(0))


def _with_facts(model: Model, facts: Facts, entities: Names, report: UpdateReport) -> Model:
    return replace(
        model,
        graph=model.graph.with_facts(facts, len(entities)),
        dataset=replace(model.dataset, entities=entities),
        views={name: _with_more_entities(v, entities) for name, v in model.views.items()},
        updates=(*model.updates, asdict(report)),
    )


def _translate(new: Dataset, data: Dataset, entities: Names) -> tuple[Facts, Names, dict[str, int]]:
    """Return another data set's facts with the model's ids and times.

    Return also all entities, and the counts by predicate of the facts that are dropped because the
    model never learned their predicate.
    """
    facts = new.all_facts()
    predicates, learned = _known_predicates(facts, new.predicates, data.predicates)
    left_out = Counter(new.predicates[int(p)] for p in facts.predicates[~learned])
    facts, predicates = facts.take(learned), predicates[learned]
    extended, ids = _with_new_entities(entities, new.entities, facts)
    since = _on_axis(facts.since, new.axis, data.axis)
    until = since if facts.until is facts.since else _on_axis(facts.until, new.axis, data.axis)
    translated = Facts(ids[facts.subjects], predicates, ids[facts.objects], since, until)
    return translated, extended, dict(left_out)


def _known_predicates(facts: Facts, names: Names, learned: Names) -> tuple[Ints, Bools]:
    """Return the facts' predicates as the model's ids, and which facts have a known predicate."""
    ids = [learned.find(name) for name in names]
    table = np.asarray([-1 if known is None else known for known in ids], np.int32)
    predicates: Ints = table[facts.predicates]
    return predicates, predicates >= 0


def _with_new_entities(known: Names, names: Names, facts: Facts) -> tuple[Names, Ints]:
    """Return the names plus those that are new in these facts, and each name's id."""
    ids = np.full(len(names), -1, np.int32)
    fresh: list[str] = []
    for entity in np.unique(np.concatenate([facts.subjects, facts.objects])).tolist():
        known_id = known.find(names[entity])
        ids[entity] = len(known) + len(fresh) if known_id is None else known_id
        if known_id is None:
            fresh.append(names[entity])
    return (known.extended(fresh) if fresh else known), ids


def _on_axis(codes: Ints, axis: TimeAxis, target: TimeAxis) -> Ints:
    """Convert time codes from one axis to another. Raise DataError if their units do not fit."""
    distinct, places = np.unique(codes, return_inverse=True)
    if (distinct != UNKNOWN).any() and not target.holds(axis):
        raise DataError(
            f"the new facts have times in {axis.unit}s, but the model's are in "
            f"{target.unit}s: write them in the same form"
        )
    translated = [target.parse(axis.format(int(code))) for code in distinct]
    return read_only(np.asarray(translated, np.int32)[places])


def is_new(facts: Facts, known: Facts) -> Bools:
    """Return which facts are not among the known facts, counting repeated facts once."""
    keys, known_keys = fact_keys(facts, known)
    fresh: Bools = ~np.isin(keys, known_keys)
    firsts = first_occurrences(keys)
    return fresh if firsts is None else fresh & firsts


def _with_more_entities(view: FittedView, entities: Names) -> FittedView:
    """Return the view with new entities, whose types are read from their names."""
    told = NewNames(view.kinds, strict=True)

    def extended(kind: Kind) -> Kind:
        new = range(len(kind.of_entity), len(entities))
        values = [told.types(entities[entity]).get(kind.name, -1) for entity in new]
        return replace(
            kind, of_entity=np.concatenate([kind.of_entity, np.asarray(values, np.int32)])
        )

    return replace(view, kinds=tuple(map(extended, view.kinds)))


def observed_position(data: Dataset, positions: Ints, text: str) -> int:
    """Return the position of the time through which, according to the user, facts were observed.

    Raise DataError if more than a few facts are later, or if the time is too long after the facts.
    """
    axis = data.axis
    if not len(positions):
        raise DataError("no fact is dated: leave out the last observed time")
    code = axis.parse(text)
    if code == UNKNOWN:
        raise DataError(f"found {text!r}, expected the last observed time")
    position = axis.position(int(axis.last_moments(np.asarray([code], np.int32))[0]))
    first, last = int(positions[0]), int(positions[-1])
    later = len(positions) - int(np.searchsorted(positions, position, "right"))
    if later > OUTLIERS:
        shown = TimeAxis(axis.unit).format(last)
        raise DataError(
            f"observed until {text}: {later:,} facts are later, the last from {shown}; expected a "
            "later time"
        )
    if position - last > last - first + 1:
        raise DataError(
            f"observed until {text}: the time without facts at the end is longer than "
            "the time that the facts span"
        )
    return position
