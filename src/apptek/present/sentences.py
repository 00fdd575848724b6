"""Reasons as sentences: what happened between two entities, how often and when, and their types."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from apptek.config import View
from apptek.facts.predicate_table import PredicateTable
from apptek.facts.times import TimeAxis
from apptek.features.traits import NOT_SAME, SAME, THE_COUNTRY, Kind, Trait
from apptek.present.wording import apart_text, at_time, count_text, listed, span_text

OTHERS = "others"
# Who acts on which entity in each family: {s} is the subject, {o} the object, {x} the others.
DIRECTIONS = {
    "pair": ("{s}", "{o}"),
    "reversed": ("{o}", "{s}"),
    "subject_out": ("{s}", "{x}"),
    "subject_in": ("{x}", "{s}"),
    "object_out": ("{o}", "{x}"),
    "object_in": ("{x}", "{o}"),
}
# What the trees consider, by topic.
LOOKED_AT = {
    **{family: f"what {who} did to {whom}" for family, (who, whom) in DIRECTIONS.items()},
    "traits": "what types of actors {s} and {o} are",
    "topologies": "how {s} and {o} are connected through others",
    "such actors": "what actors like {s} and {o} do to each other (a statistic, not facts)",
    "the reversed fact": "whether the reverse fact is recorded",
    "its place in the linear model": "how probable the answer is without the trees",
}

# Titles for groups of small reasons; {before} becomes "before" or "before or after".
RECORDED = "recorded"  # the answer's own fact: training hides it, so it is not evidence
TITLES = {
    RECORDED: "the recorded fact itself (hidden in training, so it is not evidence against it)",
    "between": "other events between {s} and {o}",
    "long_past": "what happened between {s} and {o} long {before}",
    "subject": "events between {s} and others",
    "object": "events between {o} and others",
    "usual": "what {s} usually does, and what others usually do to {o}",
    "types": "the kinds of actors involved",
    "question": "the presence or absence of a date",
    "connections": "how {s} and {o} are connected through others",
    "such_actors": "what actors like {s} and {o} do to each other (a statistic, not facts)",
    "trees": "how the evidence combines (learned by decision trees, not from a single fact)",
    "counting": "what was recorded most often and most recently (counts, not a single fact)",
    "frequency": "what was recorded most often for any pair (counts, not a single fact)",
}
# Groups that are not sums of small reasons.
NO_SUMS = ("such_actors", "trees", "counting", "frequency")
USUAL = {"subject": "what {s} usually does", "object": "what others usually do to {o}"}


@dataclass(frozen=True, slots=True)
class Ends:
    """The two entities of a query, as the user names them."""

    subject: str
    object: str


@dataclass(frozen=True, slots=True)
class MainPartner:
    """The entity in most of a family's facts, the number of these, and the family's total."""

    entity: str
    facts: int
    total: int


@dataclass(frozen=True, slots=True)
class Occurrences:
    """When the facts behind a reason occurred, relative to the query.

    distances  the signed distances of dated facts, nearest first; None if the query is undated
    undated    the number of facts without a date
    lasting    whether the nearest fact is an interval
    horizon    the distance up to which every fact is included; None if all facts are included
    timeless   whether no fact in the data has a date, so that texts omit dates
    most       the maximum number of facts examined; 0 if all facts were examined
    """

    distances: tuple[int | None, ...]
    undated: int
    lasting: bool
    horizon: int | None
    timeless: bool = False
    most: int = 0

    @property
    def same(self) -> int:
        """The number of facts at the query's time."""
        return self.distances.count(0)

    def at_least(self, *distances: int | None) -> str:
        """Return "at least " if some facts at the largest distance may not have been counted."""
        farthest = max(abs(distance or 0) for distance in distances)
        return "" if self.horizon is None or farthest <= self.horizon else "at least "


def clause(predicate: str, phrase: str | None, source: str, target: str) -> str:
    """Return a fact as a clause, using the predicate's phrase if it has one."""
    if phrase:
        return f"{source} {phrase} {target}"
    return f"'{predicate}' linked {source} to {target}"


def fact_sentence(
    labels: PredicateTable, subject: str, predicate: str, object_: str, date: str
) -> str:
    """Return a fact with its date as a sentence."""
    words = clause(labels.label(predicate), labels.phrase(predicate), subject, object_)
    return f"{words} {at_time(date)}"


def history_sentence(
    did: Callable[[str, str], str],
    family: str,
    ends: Ends,
    partner: MainPartner | None,
    times: tuple[TimeAxis, Occurrences],
) -> str:
    """Describe a family's facts with one predicate; `did` makes a clause from two names."""
    others = partner.entity if partner and partner.facts == partner.total else OTHERS
    names = (name.format(s=ends.subject, o=ends.object, x=others) for name in DIRECTIONS[family])
    when = when_words(*times, _most(partner))
    limit = f" (of the {times[1].most} facts considered)" if times[1].most else ""
    return f"{did(*names)} {when}".rstrip() + limit


def mirror_sentence(
    did: Callable[[str, str], str], ends: Ends, axis: TimeAxis, seen: Occurrences, *, same: bool
) -> str:
    """Describe the reversed facts at the same time; `same`: they probably record the same event."""
    count = f"{seen.at_least(0)}{count_text(seen.same)} " if seen.same > 1 else ""
    remark = (
        "probably the same event seen from the other side" if same else "in the other direction"
    )
    words = f"{did(ends.object, ends.subject)} {count}{apart_text(axis, 0)}, {remark}"
    rest = tuple(d for d in seen.distances if d)
    if not rest and not seen.undated:
        return words
    others = Occurrences(rest, seen.undated, False, seen.horizon)
    count = f"{seen.at_least(0, *rest)}{len(rest) + seen.undated} more"
    return f"{words} (and {count}, {_spread(axis, others)})" if rest else f"{words} (and {count})"


def when_words(axis: TimeAxis, seen: Occurrences, most: str = "") -> str:
    """Return how often and when: 21 times within a month, most recently the day before."""
    distances, undated = seen.distances, seen.undated
    no_date = f"on {'an unknown date' if undated == 1 else 'unknown dates'}"
    if not distances:
        count = f"{count_text(undated)} " if undated > 1 else ""
        return f"{count.strip()}{most}" if seen.timeless else f"{count}{no_date}{most}"
    rest = f" (and {count_text(undated)} {no_date})" if undated else ""
    near, total = distances[0], len(distances)
    if near is None:
        return f"{count_text(total) if total > 1 else 'at some time'}{most}{rest}"
    apart = apart_text(axis, near, lasting=seen.lasting, prose=True)
    if total == 1:
        return f"{apart}{most}{rest}"
    count = f"{seen.at_least(*distances)}{count_text(total)}"
    if len(set(distances)) == 1:
        return f"{count} {apart}{most}{rest}"
    return f"{count} {_spread(axis, seen)}{most}, {_nearest(seen)} {apart}{rest}"


def _spread(axis: TimeAxis, seen: Occurrences) -> str:
    """Return "within a month", and "after that date" or "of that date" unless all are earlier."""
    distances = [d for d in seen.distances if d is not None]
    furthest = max(map(abs, distances))
    window = f"within {span_text(axis, furthest, seen.horizon)}"
    if max(distances) <= 0:
        return window
    moment = "that date" if axis.unit == "day" else "that time"
    return f"{window} {'after' if min(distances) >= 0 else 'of'} {moment}"


def _nearest(seen: Occurrences) -> str:
    distances = [d for d in seen.distances if d is not None]
    if max(distances) <= 0:
        return "most recently"
    return "the first one" if min(distances) >= 0 else "the nearest one"


def _most(partner: MainPartner | None) -> str:
    """Return "(17 of 18 with Pope Francis)" if one of several partners has most of the facts."""
    if partner is None or not partner.total / 2 < partner.facts < partner.total:
        return ""
    return f" ({partner.facts} of {partner.total} with {partner.entity})"


def connected_sentence(labels: Sequence[str]) -> str:
    """Return a sentence with the predicates that connect the pair, if any fact does."""
    if not labels:
        return "subject and object are the same"
    return "the pair is connected by " + listed([f"'{label}'" for label in labels], len(labels))


def trees_sentence(topic: str, ends: Ends) -> str:
    """Describe the input of the trees."""
    looked_at = LOOKED_AT.get(topic, topic).format(s=ends.subject, o=ends.object, x=OTHERS)
    return f"the tree model, based on {looked_at}"


def trait_sentence(trait: Trait, kind: Kind | None, ends: Ends, entities: tuple[int, int]) -> str:
    """Describe the pair's types. A guessed type is the one that an entity interacts with most.

    kind  the kind of type, or None for the entity itself and for whether the query is dated
    """
    if trait.whose == "question":
        return f"the question has {'a' if trait.value == 'dated' else 'no'} date"
    if kind is None:
        return USUAL[trait.whose].format(s=ends.subject, o=ends.object)
    subject, object_ = (
        type_words(name, kind, entity)
        for name, entity in zip((ends.subject, ends.object), entities, strict=True)
    )
    if trait.whose != "both":
        return subject if trait.whose == "subject" else object_
    remark = f": {trait.value} {kind.name}" if trait.value in (SAME, NOT_SAME) else ""
    return f"{subject}, and {object_}{remark}"


def type_words(name: str, kind: Kind, entity: int) -> str:
    """Return an entity's type in words, and where it comes from."""
    value = kind.value(entity)
    if kind.is_guess(entity):
        return f"{name} interacts most with the {kind.name} '{value}' (inferred from names)"
    if kind.origin == "table":
        return f"{name} has the {kind.name} '{value}'"
    if value == THE_COUNTRY:
        return f"{name} seems to be a country"
    if value == _bare(name):
        return f"{name} appears in brackets in other names"
    if is_read_from_name(name, kind, entity):
        return f"the name {name} suggests '{value}'"
    return f"{name} has '{value}' in its name"


def is_read_from_name(name: str, kind: Kind, entity: int) -> bool:
    """Return whether an unknown entity's type comes from a part of its name."""
    if entity >= 0 or kind.is_guess(entity) or kind.origin == "table":
        return False
    return kind.value(entity) not in (None, THE_COUNTRY, _bare(name))


def _bare(name: str) -> str:
    """Return a name without the angle brackets that some data sets add."""
    return name.removeprefix("<").removesuffix(">")


def group_title(name: str, families: Collection[str], ends: Ends, view: View) -> str:
    """Return a group's title, with the names of the query's ends."""
    title = TITLES[name]
    if name == "usual" and len(families) == 1:
        title = USUAL.get(next(iter(families)), title)
    before = "before" if view == "past_only" else "before or after"
    return title.format(s=ends.subject, o=ends.object, before=before)
