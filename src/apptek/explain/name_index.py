"""Entities found by what people type: the beginning of a name, or of any of its words."""

import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Ints, Longs, read_only
from apptek.data.facts import Facts, Names

LONGEST = 200  # characters of what was typed that are looked at
AROUND = 40  # alphabetical neighbours that are compared with an unknown name
BEGINNING = 20  # how many times more a name weighs that begins with what was typed
LIKE = 0.6  # how alike a near name is at least
_END = "\U0010ffff"  # after every continuation of a prefix


class _Texts(Sequence[str]):
    """An Arrow array of ascending strings, for bisect."""

    def __init__(self, array: pa.Array) -> None:
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> Any:
        found = self.array[place]
        return found.to_pylist() if isinstance(place, slice) else found.as_py()

    def beginning_with(self, prefix: str) -> slice:
        """Where the texts that begin so stand."""
        return slice(bisect_left(self, prefix), bisect_left(self, prefix + _END))


def key_of(text: str) -> str:
    """A text as it is compared: lower case, no accents, words with one blank between."""
    plain = unicodedata.normalize("NFKD", "".join(letter.lower() for letter in text))
    kinds = [(letter, unicodedata.category(letter)) for letter in plain]
    bare = (letter if kind[0] in "LN" else " " for letter, kind in kinds if kind != "Mn")
    return " ".join("".join(bare).split())


def keys_of(names: pa.Array) -> pa.Array:
    """The same for many names at once. Of a single one the regular expressions cost too much."""
    plain = pc.utf8_normalize(pc.utf8_lower(names), form="NFKD")
    bare = pc.replace_substring_regex(plain, r"\p{Mn}+", "")
    spaced = pc.replace_substring_regex(bare, r"[^\p{L}\p{N}]+", " ")
    return pc.utf8_trim(spaced, " ").cast(pa.large_string())


def entity_counts(facts: Facts, count: int) -> Ints:
    """How many facts each entity stands in; one about itself counts twice."""
    sides = (np.bincount(ends, minlength=count) for ends in (facts.subjects, facts.objects))
    return sum(sides, np.zeros(count, np.int64)).astype(np.int32)


class NameIndex:
    """Names by their beginnings and by the beginnings of their words, the most used first.

    A search is two binary searches for each typed word, and marks in an array of all names.
    """

    def __init__(self, names: Names, counts: Ints) -> None:
        self._names, self._counts = names, counts
        keys = keys_of(names.array)
        self._order = _ints(pc.sort_indices(keys))
        self._keys = _Texts(keys.take(pa.array(self._order)))
        words = pc.split_pattern(keys, " ")
        flat = pc.list_flatten(words)
        by_word = pc.sort_indices(flat)
        self._words = _Texts(flat.take(by_word))
        self._word_names = _ints(pc.list_parent_indices(words).take(by_word))
        self._by_count = np.argsort(-counts, kind="stable")

    def search(self, text: str, limit: int) -> list[int]:
        """Ids: the very name, then by use; beginnings of names count as if used more often."""
        typed = key_of(text[:LONGEST])
        exact = self._exact(text)
        if not typed:
            return exact if text.strip() else self._by_count[:limit].tolist()
        begin = np.zeros(len(self._names), np.bool_)
        begin[self._order[self._keys.beginning_with(typed)]] = True
        found = self._with_words(typed.split(" "))
        weights = np.where(begin[found], BEGINNING, 1) * (self._counts[found].astype(np.int64) + 1)
        return list(dict.fromkeys(exact + _heaviest(found, weights, limit)))[:limit]

    def near(self, text: str, limit: int = 3) -> list[str]:
        """Names like one that does not exist: among neighbours, and those that share words."""
        typed = key_of(text[:LONGEST])
        if not typed:
            return []
        place = bisect_left(self._keys, typed)
        beside = self._order[max(place - AROUND, 0) : place + AROUND].tolist()
        sharing = [
            self._most_used(self._with_words([word[:size]]))
            for word in typed.split(" ")[:8]
            for size in {len(word), max(len(word) - 2, 3)}
            if len(word) >= 3
        ]
        tried = dict.fromkeys(beside + [name for part in sharing for name in part])
        return self._most_alike(typed, list(tried), limit)

    def _most_alike(self, typed: str, tried: list[int], limit: int) -> list[str]:
        names = [self._names[place] for place in tried]
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(typed)
        scored = []
        for name in names:
            matcher.set_seq1(key_of(name[:LONGEST]))
            if matcher.real_quick_ratio() >= LIKE and matcher.quick_ratio() >= LIKE:
                scored.append((-matcher.ratio(), name))
        return [name for score, name in sorted(scored) if -score >= LIKE][:limit]

    def _exact(self, text: str) -> list[int]:
        found = self._names.find(text)
        return [] if found is None else [found]

    def _with_words(self, words: list[str]) -> Longs:
        """The names that have, for each of the words, one that begins so."""
        marked = np.ones(len(self._names), np.bool_)
        for word in words:
            having = np.zeros(len(self._names), np.bool_)
            having[self._word_names[self._words.beginning_with(word)]] = True
            marked &= having
        return np.flatnonzero(marked)

    def _most_used(self, ids: Longs) -> list[int]:
        return _heaviest(ids, self._counts[ids].astype(np.int64), AROUND)


def _heaviest(ids: Longs, weights: Longs, limit: int) -> list[int]:
    """The ids of the largest weights, those first; equal ones by id."""
    if len(ids) > 8 * limit:
        some = np.argpartition(-weights, limit)[: 2 * limit]
        ids, weights = ids[some], weights[some]
    return [int(place) for place in ids[np.lexsort((ids, -weights))[:limit]]]


def _ints(array: pa.Array) -> Longs:
    return read_only(array.to_numpy(zero_copy_only=False).astype(np.int64))
