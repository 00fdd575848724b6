"""What a name means that a user writes: exact first, then aliases, then the folded name.

Case, accents, underscores and spaces are folded, and the angle brackets around an IRI. A folded
name that could mean several means none of them.
"""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Longs, read_only
from apptek.data.facts import Dataset, Names
from apptek.data.predicate_table import PredicateTable

_IRI = re.compile("<(.*)>", re.DOTALL)


class SortedTexts(Sequence[str]):
    """An Arrow array of ascending strings as a sequence that bisect can search."""

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> Any:
        item = self.array[index]
        return item.to_pylist() if isinstance(index, slice) else item.as_py()


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


class NameResolver:
    """Finds the id of a name as a user writes it.

    What is folded is computed when the first name is not found as it stands: O(n log n), once.

    aliases  further names: alias -> name
    strict   only names and aliases as they stand
    """

    def __init__(
        self, names: Names, aliases: Mapping[str, str] | None = None, *, strict: bool = False
    ) -> None:
        self._names, self._aliases, self.strict = names, aliases or {}, strict

    @classmethod
    def of_entities(cls, data: Dataset, *, strict: bool = False) -> "NameResolver":
        """For the entities of a data set, with its aliases."""
        return cls(data.entities, data.aliases, strict=strict)

    @classmethod
    def of_predicates(cls, data: Dataset, *, strict: bool = False) -> "NameResolver":
        """For the predicates of a data set; a label that only one of them has is an alias."""
        labels = data.labels or PredicateTable()
        by_label: dict[str, list[str]] = {}
        for predicate in data.predicates:
            by_label.setdefault(labels.label(predicate), []).append(predicate)
        aliases = {label: own[0] for label, own in by_label.items() if len(own) == 1}
        return cls(data.predicates, aliases, strict=strict)

    def find(self, name: str) -> int | None:
        """The id of what a name means; None where it means nothing, or could mean several."""
        exact = self._names.find(name)
        if exact is None and name in self._aliases:
            exact = self._names.find(self._aliases[name])
        if exact is not None or self.strict:
            return exact
        meant = self.meanings(name)
        return meant[0] if len(meant) == 1 else None

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
        ids = read_only(order.to_numpy(zero_copy_only=False).astype(np.int64))
        return SortedTexts(keys.take(order)), ids

    @cached_property
    def _folded_aliases(self) -> dict[str, set[int]]:
        ids: dict[str, set[int]] = {}
        for alias, name in self._aliases.items():
            known = self._names.find(name)
            if known is not None:
                ids.setdefault(folded(alias), set()).add(known)
        return ids
