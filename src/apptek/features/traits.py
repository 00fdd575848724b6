"""Traits: what the two entities of a question are, whenever it is asked.

Tokens: the entities themselves; whether the question is dated; and for every *kind* of type
(sector, country, or a column of the user's own table) the subject's, the object's, both together,
and whether they are the same. Types are read from names that have them: "Police (India)" is of the
sector Police and the country India. A type needs at least three entities. Entities without a
country take the one that most of their training facts lead to.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from apptek.arrays import Ints, Longs, read_only
from apptek.config import TraitsConfig
from apptek.data.facts import Dataset, Facts, Names
from apptek.data.queries import Queries
from apptek.data.times import UNKNOWN
from apptek.features.sparse import SparseRows

SECTOR, COUNTRY = "sector", "country"
THE_COUNTRY = "(the country itself)"  # the sector of an entity that is named like a country
LEAST_ENTITIES = 3  # that share a type
LEAST_FACTS = 3  # training facts between two types, for a token of both together


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of type: its values, each entity's (-1: none), and the pairs of values with a token.

    A pair is subject's value * number of values + object's value, ascending.
    """

    name: str
    values: tuple[str, ...]
    of_entity: Ints  # (entities,)
    pairs: Longs

    def __post_init__(self) -> None:
        if self.of_entity.max(initial=-1) >= len(self.values):
            raise ValueError(f"an entity has a {self.name} that is none")
        read_only(self.of_entity)
        read_only(self.pairs)

    def __len__(self) -> int:
        """How many tokens: each value on either side, pairs, the same and not the same."""
        return 2 * len(self.values) + len(self.pairs) + 2

    def tokens(self, subjects: Ints, objects: Ints) -> list[Longs]:
        """Four columns of tokens, -1 where there is none; an entity of -1 has none."""
        count = len(self.values)
        one, other = (_taken(self.of_entity, entities) for entities in (subjects, objects))
        both = (one >= 0) & (other >= 0)
        keys = one * count + other
        places = np.searchsorted(self.pairs, keys)
        in_pairs = places < len(self.pairs)
        in_pairs[in_pairs] = self.pairs[places[in_pairs]] == keys[in_pairs]
        last = 2 * count + len(self.pairs)
        return [
            one,
            np.where(other >= 0, other + count, -1),
            np.where(both & in_pairs, places + 2 * count, -1),
            np.where(both, last + (one != other), -1),
        ]

    def words(self, token: int) -> tuple[str, str]:
        """A token as (whose, what): ("subject", "Police"), ("both", "Police, Citizen")."""
        count = len(self.values)
        if token < 2 * count:
            return ("subject" if token < count else "object"), self.values[token % count]
        if token < 2 * count + len(self.pairs):
            one, other = divmod(int(self.pairs[token - 2 * count]), count)
            return "both", f"{self.values[one]}, {self.values[other]}"
        return "both", "the same" if token == 2 * count + len(self.pairs) else "not the same"


def _taken(table: Ints, places: Ints) -> Longs:
    """table[places], and -1 for places of -1."""
    found = table[np.maximum(places, 0)].astype(np.int64) if len(table) else places * 0 - 1
    return np.where(places >= 0, found, -1)


@dataclass(frozen=True, slots=True)
class Trait:
    """What a token says.

    whose  subject, object, both or question
    kind   entity, dated, or a kind of type
    """

    whose: str
    kind: str
    value: str


@dataclass(frozen=True, slots=True)
class Traits:
    """The tokens of a data set: entities as subjects, as objects, dated or not, then the kinds'."""

    weight: float
    entities: Ints  # those with tokens, ascending
    dating: bool  # whether being dated is a token: only where there is either
    kinds: tuple[Kind, ...]

    @classmethod
    def of(cls, dataset: Dataset, config: TraitsConfig, kinds: Sequence[Kind] = ()) -> "Traits":
        """The traits of the entities in the training facts, with the types found for them."""
        facts = dataset.train
        count = len(dataset.entities)
        degrees = np.bincount(facts.subjects, minlength=count)
        degrees += np.bincount(facts.objects, minlength=count)
        most = np.argsort(-degrees, kind="stable")[: config.entities]
        entities = np.sort(most[degrees[most] > 0]).astype(np.int32)
        dated = facts.dated
        dating = bool(dated.any() and not dated.all())
        return cls(config.weight, read_only(entities), dating, tuple(kinds))

    def __len__(self) -> int:
        return 2 * len(self.entities) + 2 * self.dating + sum(map(len, self.kinds))

    def rows(self, queries: Queries) -> SparseRows:
        """The tokens of many questions, each with the weight as its value."""
        first, columns = 0, []
        for entities in (queries.subjects, queries.objects):
            places = np.searchsorted(self.entities, entities)
            within = places < len(self.entities)
            within[within] = self.entities[places[within]] == entities[within]
            columns.append(np.where(within, places + first, -1))
            first += len(self.entities)
        if self.dating:
            columns.append(first + (queries.times == UNKNOWN))
            first += 2
        for kind in self.kinds:
            found = kind.tokens(queries.subjects, queries.objects)
            columns.extend(np.where(tokens >= 0, tokens + first, -1) for tokens in found)
            first += len(kind)
        return self._sparse(np.stack(columns, axis=1))

    def _sparse(self, tokens: Longs) -> SparseRows:
        there = tokens >= 0
        offsets = np.zeros(len(tokens) + 1, np.int64)
        np.cumsum(there.sum(axis=1), out=offsets[1:])
        columns = tokens[there].astype(np.int32)
        values = np.full(len(columns), self.weight, np.float32)
        return SparseRows(offsets, columns, len(self), values)

    def trait(self, column: int, names: Names) -> Trait:
        """What a column stands for."""
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


def types_from_names(names: Names, train: Facts, *, from_neighbours: bool = True) -> list[Kind]:
    """Sector and country, where names have them; see the head of this file.

    from_neighbours  whether entities take the country of their neighbours
    """
    parts = [_split_name(name) for name in names]
    sectors = _shared(part[0] for part in parts if part)
    countries = _shared(part[1] for part in parts if part)
    of_sector, of_country = (np.full(len(parts), -1, np.int32) for _ in range(2))
    for entity, (name, part) in enumerate(zip(names, parts, strict=True)):
        if part:
            of_sector[entity] = sectors.get(part[0], -1)
            of_country[entity] = countries.get(part[1], -1)
        elif (bare := name.removeprefix("<").removesuffix(">")) in countries:
            of_sector[entity], of_country[entity] = sectors[THE_COUNTRY], countries[bare]
    if from_neighbours:
        of_country = _with_neighbours(of_country, train, len(countries))
    found = ((SECTOR, sectors, of_sector), (COUNTRY, countries, of_country))
    return [_kind(name, values, of, train) for name, values, of in found if np.any(of >= 0)]


def types_from_table(
    table: Mapping[str, Mapping[str, str]], names: Names, train: Facts
) -> list[Kind]:
    """Kinds from a user's table: of each kind, the type of the entities that have one."""
    kinds = []
    for kind, of_name in table.items():
        values = {value: place for place, value in enumerate(sorted(set(of_name.values())))}
        of_entity = np.full(len(names), -1, np.int32)
        for name, value in of_name.items():
            entity = names.find(name)
            if entity is not None:
                of_entity[entity] = values[value]
        kinds.append(_kind(kind, values, of_entity, train))
    return kinds


def _split_name(name: str) -> tuple[str, str] | None:
    """("Police", "India") of "Police (India)" or "<Police_(India)>"; None of other names."""
    bare = name.removeprefix("<").removesuffix(">")
    if not bare.endswith(")"):
        return None
    depth = 0
    for place in range(len(bare) - 1, 0, -1):
        depth += (bare[place] == ")") - (bare[place] == "(")
        if depth == 0:
            head = bare[:place].rstrip(" _")
            return (head, bare[place + 1 : -1]) if head and len(head) < place else None
    return None


def _shared(values: Iterable[str]) -> dict[str, int]:
    """The values of enough entities, in order, with their places; and that of THE_COUNTRY."""
    counts = Counter(values)
    kept = sorted(value for value, count in counts.items() if count >= LEAST_ENTITIES)
    return {value: place for place, value in enumerate([*kept, THE_COUNTRY])}


def _with_neighbours(of_entity: Ints, train: Facts, count: int) -> Ints:
    """The same, with the commonest value among the neighbours of entities that have none."""
    ends = (train.subjects, train.objects), (train.objects, train.subjects)
    entities = np.concatenate([one for one, _ in ends]).astype(np.int64)
    values = of_entity[np.concatenate([other for _, other in ends])]
    wanted = (values >= 0) & (of_entity[entities] < 0)
    keys, counts = np.unique(entities[wanted] * count + values[wanted], return_counts=True)
    order = np.lexsort((keys, -counts, keys // count))
    found = of_entity.copy()
    owners, firsts = np.unique(keys[order] // count, return_index=True)
    found[owners] = keys[order][firsts] % count
    return found


def _kind(name: str, values: Mapping[str, int], of_entity: Ints, train: Facts) -> Kind:
    """A kind with the pairs of values that have enough training facts."""
    one, other = of_entity[train.subjects].astype(np.int64), of_entity[train.objects]
    both = (one >= 0) & (other >= 0)
    keys, counts = np.unique(one[both] * len(values) + other[both], return_counts=True)
    return Kind(name, tuple(values), of_entity, keys[counts >= LEAST_FACTS])
