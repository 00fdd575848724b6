"""Traits: what a query's subject and object are, regardless of time.

A trait is a token that a query has or does not have. There are tokens for the entities themselves,
for whether the query is dated, and for every *kind* of type. The kinds are sector, country, and the
columns in the user's table. Each kind has tokens for the subject's type, for the object's type, for
both together, and for whether they are the same. Types are read from names: "Police (India)" has
the sector Police and the country India. A type must be shared by at least three entities. An entity
without a country gets the most frequent country among its neighbours in the training facts. Because
this is a guess, each kind lists the entities whose type was guessed.

A name that is not in the data gets an id below 0 that encodes its types, so that features and
explanations can read them: "Navy (India)" may be new even though navies and India are not. The id
is -1 - code. For each kind of type that names contain, the code has 15 bits. They store the value +
1, or 0 if the name has no such type. An id of -1 is therefore a name without types. A graph treats
all these ids as unknown.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from apptek.arrays import AnyInts, Ints, Longs, close_columns, find_sorted, read_only
from apptek.config import TraitsConfig
from apptek.facts.facts import Dataset, Facts, Names
from apptek.facts.name_matching import entity_counts, folded
from apptek.facts.queries import Queries
from apptek.facts.times import UNKNOWN
from apptek.graph.temporal_graph import TemporalGraph
from apptek.ragged import Ragged

SECTOR, COUNTRY = "sector", "country"
THE_COUNTRY = "(the country itself)"  # the sector given to an entity whose name is a country
LEAST_ENTITIES = 3  # minimum number of entities that share a type
PART = 4_194_304  # facts processed at once
LEAST_FACTS = 3  # minimum number of training facts with a pair of types that has a token
SAME, NOT_SAME = "the same", "not the same"
NAMED = (SECTOR, COUNTRY)  # the kinds that names contain
TOLD_BITS = 15  # bits per kind in a new name's id
MOST_TOLD = (1 << TOLD_BITS) - 1  # values per kind that such an id can encode
Origin = Literal["table", "name"]  # the user's table, or the entities' names


@dataclass(frozen=True, slots=True, eq=False)
class Kind:
    """A kind of type: its values, the value of each entity, and the pairs of values with a token.

    A pair is stored as the subject's value * the number of values + the object's value. The pairs
    are in ascending order.
    """

    name: str
    values: tuple[str, ...]
    of_entity: Ints  # (entities,), -1: no value
    pairs: Longs
    origin: Origin = "name"
    guessed: Ints = field(default_factory=lambda: np.zeros(0, np.int32))  # entities, ascending

    def __post_init__(self) -> None:
        if self.of_entity.max(initial=-1) >= len(self.values):
            raise ValueError(f"an entity has a {self.name} that does not exist")
        close_columns(self, "of_entity", "pairs", "guessed")

    def value(self, entity: int) -> str | None:
        """Return an entity's type, or None if it has none."""
        if entity >= len(self.of_entity):
            return None
        value = int(self.values_of(np.asarray([entity], np.int32))[0])
        return self.values[value] if value >= 0 else None

    def values_of(self, entities: AnyInts) -> Longs:
        """Return each entity's value, or -1 if it has none. A new name's id contains the value."""
        known = _take(self.of_entity, entities)
        if self.origin != "name" or self.name not in NAMED:
            return known
        told = (-1 - entities.astype(np.int64) >> TOLD_BITS * NAMED.index(self.name)) & MOST_TOLD
        told = np.where(told <= len(self.values), told - 1, -1)
        return np.where(entities < 0, told, known)

    def is_guess(self, entity: int) -> bool:
        """Return whether an entity's type was guessed from its neighbours."""
        return bool(find_sorted(self.guessed, np.asarray([entity]))[0] >= 0)

    def __len__(self) -> int:
        """Return the number of tokens.

        There are tokens for the subject's and object's values, for pairs, and for "the same" and
        "not the same".
        """
        return 2 * len(self.values) + len(self.pairs) + 2

    def tokens(self, subjects: Ints, objects: Ints) -> list[Longs]:
        """Return four columns of tokens, with -1 for none. The entity -1 does not have any."""
        count = len(self.values)
        of_subject, of_object = self.values_of(subjects), self.values_of(objects)
        both = (of_subject >= 0) & (of_object >= 0)
        pairs = find_sorted(self.pairs, of_subject * count + of_object)
        last = 2 * count + len(self.pairs)
        return [
            of_subject,
            np.where(of_object >= 0, of_object + count, -1),
            np.where(both & (pairs >= 0), pairs + 2 * count, -1),
            np.where(both, last + (of_subject != of_object), -1),
        ]

    def words(self, token: int) -> tuple[str, str]:
        """Describe a token as (whose, what): ("subject", "Police"), ("both", "Police, Citizen")."""
        count = len(self.values)
        if token < 2 * count:
            return ("subject" if token < count else "object"), self.values[token % count]
        if token < 2 * count + len(self.pairs):
            of_subject, of_object = divmod(int(self.pairs[token - 2 * count]), count)
            return "both", f"{self.values[of_subject]}, {self.values[of_object]}"
        return "both", SAME if token == 2 * count + len(self.pairs) else NOT_SAME


def _take(table: Ints, indices: AnyInts) -> Longs:
    """Return table[indices], and -1 for indices below 0."""
    values = table[np.maximum(indices, 0)].astype(np.int64) if len(table) else indices * 0 - 1
    return np.where(indices >= 0, values, -1)


@dataclass(frozen=True, slots=True)
class Trait:
    """The meaning of a token.

    whose  subject, object, both, or question: the query itself
    kind   entity, dated, or a kind of type
    value  the kind's value; if whose is both: the two values, or whether they are the same
    """

    whose: str
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Traits:
    """A data set's tokens: for entities as subjects, as objects, for dates, and for each kind."""

    weight: float
    entities: Ints  # the entities that have a token, ascending
    dating: bool  # whether being dated is a token; requires both dated and undated facts
    kinds: tuple[Kind, ...]
    name: str = "traits"

    @classmethod
    def of(cls, dataset: Dataset, config: TraitsConfig, kinds: Sequence[Kind] = ()) -> "Traits":
        """Return traits for the entities with the most training facts and for these kinds."""
        facts = dataset.train
        degrees = entity_counts(facts, len(dataset.entities))
        most = np.argsort(-degrees, kind="stable")[: config.entities]
        entities = np.sort(most[degrees[most] > 0]).astype(np.int32)
        dated = facts.dated
        dating = bool(dated.any() and not dated.all())
        return cls(config.weight, read_only(entities), dating, tuple(kinds))

    def __len__(self) -> int:
        return 2 * len(self.entities) + 2 * self.dating + sum(map(len, self.kinds))

    def rows(self, queries: Queries) -> Ragged:
        """Return the tokens of many queries. Each token's value is the weight from the settings."""
        first, columns = 0, []
        for entities in (queries.subjects, queries.objects):
            indices = find_sorted(self.entities, entities)
            columns.append(np.where(indices >= 0, indices + first, -1))
            first += len(self.entities)
        if self.dating:
            columns.append(first + (queries.times == UNKNOWN))
            first += 2
        for kind in self.kinds:
            of_kind = kind.tokens(queries.subjects, queries.objects)
            columns.extend(np.where(tokens >= 0, tokens + first, -1) for tokens in of_kind)
            first += len(kind)
        return self._sparse(np.stack(columns, axis=1))

    def _sparse(self, tokens: Longs) -> Ragged:
        present = tokens >= 0
        offsets = np.zeros(len(tokens) + 1, np.int64)
        np.cumsum(present.sum(axis=1), out=offsets[1:])
        columns = tokens[present].astype(np.int32)
        values = np.full(len(columns), self.weight, np.float32)
        return Ragged(offsets, columns, len(self), values)

    def on(self, graph: TemporalGraph) -> "Traits":  # noqa: ARG002
        """Return the same traits. They do not depend on the facts in a graph."""
        return self

    def trait(self, column: int, names: Names) -> Trait:
        """Return the meaning of a column."""
        for whose in ("subject", "object"):
            if column < len(self.entities):
                return Trait(whose, "entity", names[int(self.entities[column])])
            column -= len(self.entities)
        if self.dating:
            if column < 2:
                return Trait("question", "dated", ("dated", "undated")[column])
            column -= 2
        for kind in self.kinds:
            if column < len(kind):
                whose, value = kind.words(column)
                return Trait(whose, kind.name, value)
            column -= len(kind)
        raise IndexError("there is no such trait")


class NewNames:
    """A reader for the types in new names. It recognises the types that a model knows.

    strict  require each part of a name to be written as in known names; otherwise ignore case,
            accents, underscores and spaces
    """

    def __init__(self, kinds: Sequence[Kind], *, strict: bool = False) -> None:
        self._fold = str if strict else folded
        self._values = {
            kind.name: self._by_text(kind.values)
            for kind in kinds
            if kind.origin == "name" and kind.name in NAMED
        }

    def _by_text(self, values: Sequence[str]) -> dict[str, int]:
        """Map folded texts to values, leaving out ambiguous texts."""
        texts: dict[str, int] = {}
        for index, value in enumerate(values):
            text = self._fold(value)
            texts[text] = -1 if text in texts else index
        return texts

    def types(self, name: str) -> Mapping[str, int]:
        """Return the name's value for each kind, or -1 for none."""
        parts = split_name(name)
        if parts is not None:
            texts = dict(zip(NAMED, parts, strict=True))
        else:
            bare = name.removeprefix("<").removesuffix(">")
            texts = {COUNTRY: bare}
            if self._value(COUNTRY, bare) >= 0:
                texts[SECTOR] = THE_COUNTRY
        return {kind: self._value(kind, texts.get(kind, "")) for kind in self._values}

    def _value(self, kind: str, text: str) -> int:
        return self._values.get(kind, {}).get(self._fold(text), -1)

    def id(self, name: str) -> int:
        """Return a name's id: -1, or a lower one that encodes its types."""
        code = 0
        for kind, value in self.types(name).items():
            if value < MOST_TOLD:
                code |= (value + 1) << TOLD_BITS * NAMED.index(kind)
        return -1 - code


def types_from_names(names: Names, train: Facts, *, from_neighbours: bool = True) -> list[Kind]:
    """Return the kinds sector and country, if names contain them; see the module's docstring.

    from_neighbours  whether an entity without a country gets its neighbours' country
    """
    parts = [split_name(name) for name in names]
    sectors = _shared(part[0] for part in parts if part)
    countries = _shared(part[1] for part in parts if part)
    of_sector, of_country = (np.full(len(parts), -1, np.int32) for _ in range(2))
    for entity, (name, part) in enumerate(zip(names, parts, strict=True)):
        if part:
            of_sector[entity] = sectors.get(part[0], -1)
            of_country[entity] = countries.get(part[1], -1)
        elif (bare := name.removeprefix("<").removesuffix(">")) in countries:
            of_sector[entity], of_country[entity] = sectors[THE_COUNTRY], countries[bare]
    named = of_country >= 0
    if from_neighbours:
        of_country = _with_neighbours(of_country, train, len(countries))
    kinds = [_kind(SECTOR, sectors, of_sector, train), _kind(COUNTRY, countries, of_country, train)]
    guessed = np.flatnonzero(~named & (of_country >= 0)).astype(np.int32)
    kinds[1] = replace(kinds[1], guessed=guessed)
    return [kind for kind in kinds if np.any(kind.of_entity >= 0)]


def types_from_table(
    table: Mapping[str, Mapping[str, str]], names: Names, train: Facts
) -> list[Kind]:
    """Return the kinds in a user's table. The table maps each kind to a map from entity to type."""
    kinds = []
    for kind, of_name in table.items():
        values = {value: index for index, value in enumerate(sorted(set(of_name.values())))}
        of_entity = np.full(len(names), -1, np.int32)
        for name, value in of_name.items():
            entity = names.find(name)
            if entity is not None:
                of_entity[entity] = values[value]
        kinds.append(replace(_kind(kind, values, of_entity, train), origin="table"))
    return kinds


def split_name(name: str) -> tuple[str, str] | None:
    """Return ("Police", "India") for "Police (India)" or "<Police_(India)>", otherwise None."""
    bare = name.removeprefix("<").removesuffix(">")
    if not bare.endswith(")"):
        return None
    depth = 0  # from the right: the country itself may have brackets, as in "Police (Congo (DRC))"
    for i in range(len(bare) - 1, 0, -1):
        depth += (bare[i] == ")") - (bare[i] == "(")
        if depth == 0:
            head = bare[:i].rstrip(" _")
            return (head, bare[i + 1 : -1]) if head and len(head) < i else None
    return None


def _shared(values: Iterable[str]) -> dict[str, int]:
    """Return the values that enough entities share, with their indices. THE_COUNTRY comes last."""
    counts = Counter(values)
    kept = sorted(value for value, count in counts.items() if count >= LEAST_ENTITIES)
    return {value: index for index, value in enumerate([*kept, THE_COUNTRY])}


def _with_neighbours(of_entity: Ints, train: Facts, count: int) -> Ints:
    """Fill in missing values with the most frequent value among an entity's neighbours.

    On ties, the first value wins.
    """
    ends = (train.subjects, train.objects)
    keys, counts = _counted(
        _votes(of_entity, entities[part], neighbours[part], count)
        for entities, neighbours in (ends, ends[::-1])
        for part in _parts(train)
    )
    order = np.lexsort((keys, -counts, keys // count))  # by entity, most common value first
    filled = of_entity.copy()
    owners, firsts = np.unique(keys[order] // count, return_index=True)
    filled[owners] = keys[order][firsts] % count
    return filled


def _kind(name: str, values: Mapping[str, int], of_entity: Ints, train: Facts) -> Kind:
    """Return a kind with the pairs of values that have enough training facts."""
    keys, counts = _counted(
        _pairs_of_values(of_entity, train.subjects[part], train.objects[part], len(values))
        for part in _parts(train)
    )
    return Kind(name, tuple(values), of_entity, keys[counts >= LEAST_FACTS])


def _parts(facts: Facts) -> Iterator[slice]:
    """Yield slices of the facts. Processing all facts at once would need too much memory."""
    return (slice(start, start + PART) for start in range(0, len(facts), PART))


def _votes(of_entity: Ints, entities: Ints, neighbours: Ints, count: int) -> Longs:
    """Return the neighbours' votes for entities without a value, as entity * count + value."""
    values = of_entity[neighbours]
    votes = (values >= 0) & (of_entity[entities] < 0)
    return entities[votes].astype(np.int64) * count + values[votes]


def _pairs_of_values(of_entity: Ints, subjects: Ints, objects: Ints, count: int) -> Longs:
    """Return subject's value * count + object's value for each fact where both have a value."""
    of_subjects, of_objects = of_entity[subjects], of_entity[objects]
    both = (of_subjects >= 0) & (of_objects >= 0)
    return of_subjects[both].astype(np.int64) * count + of_objects[both]


def _counted(parts: Iterable[Longs]) -> tuple[Longs, Longs]:
    """Return the distinct keys in all parts, in ascending order, with their counts."""
    found = [np.unique(part, return_counts=True) for part in parts]
    keys = np.concatenate([np.zeros(0, np.int64), *(keys for keys, _ in found)])
    counts = np.concatenate([np.zeros(0, np.int64), *(counts for _, counts in found)])
    distinct, places = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(places, counts, minlength=len(distinct)).astype(np.int64)
