"""Adding facts to a fitted model: the graph grows, the weights stay.

The facts were observed until the last of them, or until a later time that a user states.
"""

from collections import Counter
from dataclasses import asdict, dataclass, replace

import numpy as np

from apptek.arrays import Bools, Ints, read_only
from apptek.errors import DataError
from apptek.facts.fact_keys import fact_keys, first_occurrences
from apptek.facts.facts import Dataset, Facts, Names, join_facts
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.features.new_names import NewNames
from apptek.features.traits import Kind
from apptek.models.model import OUTLIERS, FittedView, Model, last_supported
from apptek.models.recalibration import recalibrated


@dataclass(frozen=True, slots=True)
class UpdateReport:
    """The outcome of an update, in numbers of facts.

    known               facts that the model had already, or that came twice
    retracted           facts that were removed
    not_found           facts that were to be removed and do not exist
    unknown_predicates  facts with a predicate that the model never learned: they are left out
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
    """Return the model with facts added to its graph, and others removed from it.

    observed_until  the last time that was observed, with facts or without; by default what the
                    model knows, or the time of the last new fact if it is later

    All splits of the data sets count. Entities and times may be new. The answers are those of a
    graph that is built from all facts at once; the model is still evaluated on the facts that it
    was fitted on. From 1,000 later facts on, probabilities are calibrated on the newest.
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
            raise DataError("nothing would be left: every fact was to be taken out")
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
        raise DataError("--since-last: no fact of the model is dated")
    return TimeAxis(model.dataset.axis.unit).format(last + 1)


def unobserved_facts(new: Dataset, model: Model) -> Dataset:
    """Return the new facts that start after what the model has observed, all in train.

    A fact without a start counts by its end; one without either is left out.
    """
    facts, axis, time = new.all_facts(), new.axis, next_time(model)
    if not model.dataset.axis.holds(axis):  # an error of the update
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
    """Return the facts of another data set with the model's ids and times.

    Return also all entities, and the counts by predicate of the facts that are left out because the
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
    """Return the predicates of facts by the model's ids, and which facts have one."""
    ids = [learned.find(name) for name in names]
    table = np.asarray([-1 if known is None else known for known in ids], np.int32)
    predicates: Ints = table[facts.predicates]
    return predicates, predicates >= 0


def _with_new_entities(known: Names, names: Names, facts: Facts) -> tuple[Names, Ints]:
    """Return the names with the new ones of these facts, and the id of each name of the facts."""
    ids = np.full(len(names), -1, np.int32)
    fresh: list[str] = []
    for entity in np.unique(np.concatenate([facts.subjects, facts.objects])).tolist():
        known_id = known.find(names[entity])
        ids[entity] = len(known) + len(fresh) if known_id is None else known_id
        if known_id is None:
            fresh.append(names[entity])
    return (known.extended(fresh) if fresh else known), ids


def _on_axis(codes: Ints, axis: TimeAxis, target: TimeAxis) -> Ints:
    """Time codes of one axis as those of another; DataError where their units do not fit."""
    distinct, places = np.unique(codes, return_inverse=True)
    if (distinct != UNKNOWN).any() and not target.holds(axis):
        raise DataError(
            f"the new facts are dated by {axis.unit}, the model's by {target.unit}: "
            "write their times as the model's"
        )
    translated = [target.parse(axis.format(int(code))) for code in distinct]
    return read_only(np.asarray(translated, np.int32)[places])


def is_new(facts: Facts, known: Facts) -> Bools:
    """Return which facts the known ones do not contain, each of them once."""
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
    """Return the position of the time until which a user says that the facts were observed.

    Raise DataError if more than a few facts are later, or if it is too far after the facts.
    """
    axis = data.axis
    if not len(positions):
        raise DataError("no fact is dated: leave out the time until which they were observed")
    code = axis.parse(text)
    if code == UNKNOWN:
        raise DataError(f"found {text!r}, expected the time until which the facts were observed")
    position = axis.position(int(axis.last_moments(np.asarray([code], np.int32))[0]))
    first, last = int(positions[0]), int(positions[-1])
    later = len(positions) - int(np.searchsorted(positions, position, "right"))
    if later > OUTLIERS:
        shown = TimeAxis(axis.unit).format(last)
        raise DataError(
            f"observed until {text}: {later:,} facts are later, the last of {shown}; expected that "
            "time or later"
        )
    if position - last > last - first + 1:
        raise DataError(
            f"observed until {text}: the quiet time after the last fact is longer than "
            "the time of all facts"
        )
    return position
