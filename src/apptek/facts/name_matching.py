"""Finds the name that a user means, and searches for names.

Exact names come first, then aliases, then folded names.

Folding removes case, accents, underscores, needless spaces, and the angle brackets around an IRI. A
folded name that could mean several names means none of them.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Ints, Longs, read_only
from apptek.errors import NOT_NAMES, UnknownName
from apptek.facts.facts import Dataset, Facts, Names
from apptek.facts.predicate_table import PredicateTable

LONGEST = 200  # maximum number of characters of a search text
AROUND = 40  # alphabetical neighbours to compare with an unknown name
BEGINNING = 20  # factor on the weight of names that begin with the search text
LIKE = 0.6  # minimum similarity of a suggested name
_END = "\U0010ffff"  # sorts after every continuation of a prefix
OFFERED = 5  # suggestions for an unclear name
CONTAINING = 3  # suggestions that contain the name; the rest are similar as a whole

_IRI = re.compile("<(.*)>", re.DOTALL)


def folded(name: str) -> str:
    """Return a name without case, accents, underscores and needless spaces."""
    # By letter, as Arrow does it: str.lower() of a whole text depends on neighbouring letters.
    plain = unicodedata.normalize("NFKD", "".join(letter.lower() for letter in name))
    kinds = [(letter, unicodedata.category(letter)) for letter in plain]
    spaced = "".join(
        " " if letter in "_\t\n\f\r" or kind[0] == "Z" else letter
        for letter, kind in kinds
        if kind != "Mn"
    )
    bare = re.sub(" +", " ", spaced).strip(" ")
    return _IRI.sub(r"\1", bare) if _IRI.fullmatch(bare) else bare


def folded_names(names: pa.Array) -> pa.Array:
    """Apply `folded` to many names at once. For one name, regular expressions cost too much."""
    plain = pc.utf8_normalize(pc.utf8_lower(names), form="NFKD")
    bare = pc.replace_substring_regex(plain, r"\p{Mn}+", "")
    spaced = pc.replace_substring_regex(bare, r"[_\t\n\f\r\p{Z}]+", " ")
    trimmed = pc.utf8_trim(spaced, " ")
    return pc.replace_substring_regex(trimmed, r"(?s)\A<(.*)>\z", r"\1").cast(pa.large_string())


def alike_note(names: Names, known: int = 0) -> str | None:
    """Return how many names differ only in what folding removes, or None if there are none.

    known  the number of initial names known before; only pairs with new names count
    """
    codes = folded_names(names.array).dictionary_encode().indices.to_numpy()
    is_alike = np.bincount(codes) > 1
    is_alike &= np.isin(np.arange(len(is_alike)), codes[known:])
    rows = np.flatnonzero(is_alike[codes])
    if not len(rows):
        return None
    one, *_, other = np.flatnonzero(codes == codes[rows[0]]).tolist()
    return (
        f"{len(rows):,} names differ only in case, accents, spaces or underscores, "
        f"such as {names[one]!r} and {names[other]!r}: `fit --aliases` can join them"
    )


def _place(texts: pa.Array, text: str) -> int:
    """Return the first place in ascending texts that is not before a text."""
    return bisect_left(range(len(texts)), text, key=lambda row: texts[row].as_py())


def _beginning_with(texts: pa.Array, prefix: str) -> slice:
    """Return the range of ascending texts that begin with a prefix."""
    return slice(_place(texts, prefix), _place(texts, prefix + _END))


def _equal_to(texts: pa.Array, text: str) -> slice:
    """Return the range of ascending texts that are equal to a text."""
    return slice(_place(texts, text), _place(texts, text + "\0"))


def key_of(text: str) -> str:
    """Return a text in the form used for searching: folded, and reduced to words."""
    letters = (
        letter if unicodedata.category(letter)[0] in "LN" else " " for letter in folded(text)
    )
    return " ".join("".join(letters).split())


def keys_of(names: pa.Array) -> pa.Array:
    """Apply `key_of` to many names at once."""
    spaced = pc.replace_substring_regex(folded_names(names), r"[^\p{L}\p{N}]+", " ")
    return pc.utf8_trim(spaced, " ")


def entity_counts(facts: Facts, count: int) -> Ints:
    """Return how many facts each entity occurs in. A fact from an entity to itself counts twice."""
    sides = (np.bincount(ends, minlength=count) for ends in (facts.subjects, facts.objects))
    return sum(sides, np.zeros(count, np.int64)).astype(np.int32)


class NameIndex:
    """Finds names by their beginnings and by the beginnings of their words, most used first.

    A search costs two binary searches per word and a pass over an array of all names.
    """

    def __init__(self, names: Names, counts: Ints) -> None:
        self._names, self._counts = names, counts
        keys = keys_of(names.array)
        self._order = _ints(pc.sort_indices(keys))
        self._keys = keys.take(pa.array(self._order))
        words = pc.split_pattern(keys, " ")
        flat = pc.list_flatten(words)
        by_word = pc.sort_indices(flat)
        self._words = flat.take(by_word)
        self._word_names = _ints(pc.list_parent_indices(words).take(by_word))
        self._by_count = np.argsort(-counts, kind="stable")

    def name(self, entity: int) -> str:
        """Return the name with this id."""
        return self._names[entity]

    def search(self, text: str, limit: int) -> list[int]:
        """Return the ids of matching names: the exact name first, then the others by use.

        Names that begin with the text count as if they were used more often.
        """
        key = key_of(text[:LONGEST])
        exact = self._names.find(text)
        first = [] if exact is None else [exact]
        if not key:  # only punctuation, or empty
            return first if text.strip() else self._by_count[:limit].tolist()
        begins = np.zeros(len(self._names), np.bool_)
        begins[self._order[_beginning_with(self._keys, key)]] = True
        ids = self.with_words(key.split(" "))
        weights = np.where(begins[ids], BEGINNING, 1) * (self._counts[ids].astype(np.int64) + 1)
        return list(dict.fromkeys(first + _heaviest(ids, weights, limit)))[:limit]

    def containing(self, text: str, limit: int) -> list[str]:
        """Return names that contain every word of a text as a whole word, most used first."""
        words = set(key_of(text[:LONGEST]).split())
        if not words:
            return []
        ids = self._with_all(_equal_to(self._words, word) for word in words)
        return [
            self._names[entity]
            for entity in _heaviest(ids, self._counts[ids].astype(np.int64), limit)
        ]

    def near(self, text: str, limit: int = 3) -> list[str]:
        """Return names similar to one that does not exist.

        Candidates are its alphabetical neighbours and names that share a word, or the beginning of
        a word, with it. Comparing all names would take too long.
        """
        key = key_of(text[:LONGEST])
        if not key:
            return []
        position = _place(self._keys, key)
        candidates = self._order[max(position - AROUND, 0) : position + AROUND].tolist()
        for word in key.split(" ")[:8]:
            if len(word) >= 3:
                # Also without its last two letters, in case the word ends differently.
                for size in {len(word), max(len(word) - 2, 3)}:
                    ids = self.with_words([word[:size]])
                    candidates += _heaviest(ids, self._counts[ids].astype(np.int64), AROUND)
        names = {key_of(self._names[i][:LONGEST]): self._names[i] for i in reversed(candidates)}
        return [names[near] for near in get_close_matches(key, names, limit, LIKE)]

    def with_words(self, words: list[str]) -> Longs:
        """Return the ids of the names in which each of these words begins some word."""
        return self._with_all(_beginning_with(self._words, word) for word in words)

    def _with_all(self, ranges: Iterable[slice]) -> Longs:
        """Return the ids of the names that have a word in each of these ranges of words."""
        matches = np.ones(len(self._names), np.bool_)
        for words in ranges:
            with_word = np.zeros(len(self._names), np.bool_)
            with_word[self._word_names[words]] = True
            matches &= with_word
        return np.flatnonzero(matches)


def _heaviest(ids: Longs, weights: Longs, limit: int) -> list[int]:
    """Return the ids with the largest weights, in descending order; ties go to the smaller id."""
    # Sorting many names would take most of the time. Any ties at the cut may be dropped.
    if len(ids) > 8 * limit:
        largest = np.argpartition(-weights, limit)[: 2 * limit]
        ids, weights = ids[largest], weights[largest]
    order = np.lexsort((ids, -weights))[:limit]
    return [int(entity) for entity in ids[order]]


def _ints(array: pa.Array) -> Longs:
    return read_only(np.from_dlpack(array).astype(np.int64))  # to_numpy would import pandas


class NameResolver:
    """Finds the id of a name as the user writes it.

    Folded names are computed when a name is first not found exactly: O(n log n), once.

    aliases  additional names: alias -> name
    facts    determine how often each name is used, which orders the suggestions
    """

    def __init__(
        self, names: Names, aliases: Mapping[str, str] | None = None, facts: Facts | None = None
    ) -> None:
        self.names, self._aliases, self._facts = names, aliases or {}, facts

    @classmethod
    def of_entities(cls, data: Dataset, facts: Facts | None = None) -> "NameResolver":
        """Return a resolver for a data set's entities and aliases."""
        return cls(data.entities, data.aliases, data.train if facts is None else facts)

    @classmethod
    def of_predicates(cls, data: Dataset) -> "NameResolver":
        """Return a resolver for a data set's predicates, with unique labels as aliases."""
        labels = data.labels or PredicateTable()
        by_label: dict[str, list[str]] = {}
        for predicate in data.predicates:
            by_label.setdefault(labels.label(predicate), []).append(predicate)
        aliases = {label: own[0] for label, own in by_label.items() if len(own) == 1}
        return cls(data.predicates, aliases)

    def find(self, name: str) -> int | None:
        """Return the id that a name means, or None for an unknown or ambiguous name."""
        exact = self.names.find(name)
        if exact is None and name in self._aliases:
            exact = self.names.find(self._aliases[name])
        if exact is not None:
            return exact
        meant = self.meanings(name)
        return meant[0] if len(meant) == 1 else None

    def check(self, *names: str, allow_unknown: bool = False, where: str = "") -> None:
        """Raise UnknownName for names that are unknown or ambiguous.

        allow_unknown  accept unknown names, but not "?", "*" and empty texts, which are never names
        where          the row of a list that contains the names
        """
        unknown = [
            UnknownName(name, self.suggestions(name) if name.strip() not in NOT_NAMES else ())
            for name in dict.fromkeys(names)
            if not (allow_unknown and name.strip() not in NOT_NAMES) and self.find(name) is None
        ]
        if unknown:
            first, *others = unknown
            raise UnknownName(first.name, first.suggestions, others, where)

    def suggestions(self, name: str) -> list[str]:
        """Return the names that a text could mean: aliases, names with its words, similar names."""
        meanings = (self.names[entity] for entity in self.meanings(name)[:OFFERED])
        near = (*self.index.containing(name, CONTAINING), *self.index.near(name))
        return list(dict.fromkeys([*meanings, *near]))[:OFFERED]

    def similar(self, names: Iterable[str]) -> dict[str, list[str]]:
        """Return suggestions for each name that is unknown or ambiguous."""
        unknown = (name for name in dict.fromkeys(names) if self.find(name) is None)
        return {name: self.suggestions(name) for name in unknown}

    @cached_property
    def index(self) -> NameIndex:
        """The name search, most used names first. With many names, building it takes seconds."""
        count, facts = len(self.names), self._facts
        unused = np.zeros(count, np.int32)
        return NameIndex(self.names, unused if facts is None else entity_counts(facts, count))

    def meanings(self, name: str) -> list[int]:
        """Return the ids of all names with the same folded form, in ascending order."""
        key = folded(name)
        if not key:
            return []
        texts, order = self._folded
        aliased = self._folded_aliases.get(key, ())
        return sorted({*order[_equal_to(texts, key)].tolist(), *aliased})

    @cached_property
    def _folded(self) -> tuple[pa.Array, Longs]:
        """The folded names in ascending order, and the id of each."""
        keys = folded_names(self.names.array)
        order = pc.sort_indices(keys)
        return keys.take(order), _ints(order)

    @cached_property
    def _folded_aliases(self) -> dict[str, set[int]]:
        ids: dict[str, set[int]] = {}
        for alias, name in self._aliases.items():
            known = self.names.find(name)
            if known is not None:
                ids.setdefault(folded(alias), set()).add(known)
        return ids
