"""What a name means that a user writes: exact first, then aliases, then the folded name.

Case, accents, underscores and spaces are folded, and the angle brackets around an IRI. A folded
name that could mean several means none of them.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Longs, read_only
from apptek.errors import NOT_NAMES, UnknownName
from apptek.facts.facts import Dataset, Facts, Names
from apptek.facts.name_index import NameIndex, SortedTexts, entity_counts
from apptek.facts.predicate_table import PredicateTable

OFFERED = 5  # names that are offered for one that is not clear
CONTAINING = 3  # of them, those that contain it; the others are similar as a whole

_IRI = re.compile("<(.*)>", re.DOTALL)


def folded(name: str) -> str:
    """A name without case, accents, underscores and needless spaces."""
    # Letter by letter, as Arrow does it: str.lower() of the whole depends on a letter's neighbours.
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
    """`folded` for many names at once. For a single name the regular expressions cost too much."""
    plain = pc.utf8_normalize(pc.utf8_lower(names), form="NFKD")
    bare = pc.replace_substring_regex(plain, r"\p{Mn}+", "")
    spaced = pc.replace_substring_regex(bare, r"[_\t\n\f\r\p{Z}]+", " ")
    trimmed = pc.utf8_trim(spaced, " ")
    return pc.replace_substring_regex(trimmed, r"(?s)\A<(.*)>\z", r"\1").cast(pa.large_string())


def alike_note(names: Names, known: int = 0) -> str | None:
    """Return how many names differ only in what is folded; None where there are none.

    known  how many of the first names were known before: others like these are new
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


class NameResolver:
    """Finds the id of a name as a user writes it.

    What is folded is computed when the first name is not found as it stands: O(n log n), once.

    aliases  further names: alias -> name
    facts    say how often each name is used, which orders the suggestions
    """

    def __init__(
        self, names: Names, aliases: Mapping[str, str] | None = None, facts: Facts | None = None
    ) -> None:
        self._names, self._aliases, self._facts = names, aliases or {}, facts

    @classmethod
    def of_entities(cls, data: Dataset, facts: Facts | None = None) -> "NameResolver":
        """For the entities of a data set, with its aliases."""
        return cls(data.entities, data.aliases, data.train if facts is None else facts)

    @classmethod
    def of_predicates(cls, data: Dataset) -> "NameResolver":
        """For the predicates of a data set; a label that only one of them has is an alias."""
        labels = data.labels or PredicateTable()
        by_label: dict[str, list[str]] = {}
        for predicate in data.predicates:
            by_label.setdefault(labels.label(predicate), []).append(predicate)
        aliases = {label: own[0] for label, own in by_label.items() if len(own) == 1}
        return cls(data.predicates, aliases)

    def find(self, name: str) -> int | None:
        """The id of what a name means; None where it means nothing, or could mean several."""
        exact = self._names.find(name)
        if exact is None and name in self._aliases:
            exact = self._names.find(self._aliases[name])
        if exact is not None:
            return exact
        meant = self.meanings(name)
        return meant[0] if len(meant) == 1 else None

    def check(self, *names: str, allow_unknown: bool = False, where: str = "") -> None:
        """Raise UnknownName for the names that mean nothing, or could mean several.

        allow_unknown  accept such names, but not "?", "*" and empty texts, which are never names
        where          the row of a list that has the names
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
        """The names that one could mean: they stand for it, contain its words, or are similar."""
        meanings = (self._names[entity] for entity in self.meanings(name)[:OFFERED])
        near = (*self.index.containing(name, CONTAINING), *self.index.near(name))
        return list(dict.fromkeys([*meanings, *near]))[:OFFERED]

    def similar(self, names: Iterable[str]) -> dict[str, list[str]]:
        """The suggestions for each of the names that is unknown, or could mean several."""
        unknown = (name for name in dict.fromkeys(names) if self.find(name) is None)
        return {name: self.suggestions(name) for name in unknown}

    @cached_property
    def index(self) -> NameIndex:
        """The search for names, the most used first; with many names it takes seconds to build."""
        count, facts = len(self._names), self._facts
        unused = np.zeros(count, np.int32)
        return NameIndex(self._names, unused if facts is None else entity_counts(facts, count))

    def meanings(self, name: str) -> list[int]:
        """The ids of all names that differ only in what is folded, ascending."""
        key = folded(name)
        if not key:
            return []
        texts, order = self._folded
        start, stop = bisect_left(texts, key), bisect_right(texts, key)
        aliased = self._folded_aliases.get(key, ())
        return sorted({*order[start:stop].tolist(), *aliased})

    @cached_property
    def _folded(self) -> tuple[SortedTexts, Longs]:
        """The folded names, ascending, and the id of each."""
        keys = folded_names(self._names.array)
        order = pc.sort_indices(keys)
        ids = read_only(np.from_dlpack(order).astype(np.int64))  # to_numpy would import pandas
        return SortedTexts(keys.take(order)), ids

    @cached_property
    def _folded_aliases(self) -> dict[str, set[int]]:
        ids: dict[str, set[int]] = {}
        for alias, name in self._aliases.items():
            known = self._names.find(name)
            if known is not None:
                ids.setdefault(folded(alias), set()).add(known)
        return ids
