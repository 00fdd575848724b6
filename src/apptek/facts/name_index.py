"""Search for entities by the beginning of their names, or of any word in them."""

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from typing import Any, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apptek.arrays import Ints, Longs, read_only
from apptek.facts.facts import Facts, Names

LONGEST = 200  # characters of a search text that are used
AROUND = 40  # alphabetical neighbours that are compared with an unknown name
BEGINNING = 20  # factor on the weight of a name that begins with the search text
LIKE = 0.6  # the least similarity of a near name
_END = "\U0010ffff"  # sorts after every continuation of a prefix


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


def _beginning_with(texts: SortedTexts, prefix: str) -> slice:
    """The range of the texts that begin with a prefix."""
    return slice(bisect_left(texts, prefix), bisect_left(texts, prefix + _END))


def key_of(text: str) -> str:
    """A text in the form that is compared: lower case, no accents, one blank between words."""
    # Letter by letter, as Arrow does it: str.lower() of the whole depends on a letter's neighbours.
    plain = unicodedata.normalize("NFKD", "".join(letter.lower() for letter in text))
    categories = [(letter, unicodedata.category(letter)) for letter in plain]
    bare = (letter if kind[0] in "LN" else " " for letter, kind in categories if kind != "Mn")
    return " ".join("".join(bare).split())


def keys_of(names: pa.Array) -> pa.Array:
    """`key_of` for many names at once. For a single name the regular expressions cost too much."""
    plain = pc.utf8_normalize(pc.utf8_lower(names), form="NFKD")
    bare = pc.replace_substring_regex(plain, r"\p{Mn}+", "")
    spaced = pc.replace_substring_regex(bare, r"[^\p{L}\p{N}]+", " ")
    return pc.utf8_trim(spaced, " ").cast(pa.large_string())


def entity_counts(facts: Facts, count: int) -> Ints:
    """How many facts each entity occurs in; a fact from an entity to itself counts twice."""
    sides = (np.bincount(ends, minlength=count) for ends in (facts.subjects, facts.objects))
    return sum(sides, np.zeros(count, np.int64)).astype(np.int32)


class NameIndex:
    """Finds names by their beginnings and by the beginnings of their words, the most used first.

    A search costs two binary searches for each word, and a pass over an array of all names.
    """

    def __init__(self, names: Names, counts: Ints) -> None:
        self._names, self._counts = names, counts
        keys = keys_of(names.array)
        self._order = _ints(pc.sort_indices(keys))
        self._keys = SortedTexts(keys.take(pa.array(self._order)))
        words = pc.split_pattern(keys, " ")
        flat = pc.list_flatten(words)
        by_word = pc.sort_indices(flat)
        self._words = SortedTexts(flat.take(by_word))
        self._word_names = _ints(pc.list_parent_indices(words).take(by_word))
        self._by_count = np.argsort(-counts, kind="stable")

    def name(self, entity: int) -> str:
        """The name with an id."""
        return self._names[entity]

    def search(self, text: str, limit: int) -> list[int]:
        """Ids of matching names: the exact name first, the others by how often they are used.

        A name that begins with the text counts as if it were used more often.
        """
        key = key_of(text[:LONGEST])
        exact = self._names.find(text)
        first = [] if exact is None else [exact]
        if not key:  # nothing but punctuation, or nothing at all
            return first if text.strip() else self._by_count[:limit].tolist()
        begins = np.zeros(len(self._names), np.bool_)
        begins[self._order[_beginning_with(self._keys, key)]] = True
        ids = self.with_words(key.split(" "))
        weights = np.where(begins[ids], BEGINNING, 1) * (self._counts[ids].astype(np.int64) + 1)
        return list(dict.fromkeys(first + _heaviest(ids, weights, limit)))[:limit]

    def containing(self, text: str, limit: int) -> list[str]:
        """Names in which every word of a text occurs as a whole, the most used first."""
        words = set(key_of(text[:LONGEST]).split())
        if not words:
            return []
        ids = self._with_all(
            slice(bisect_left(self._words, word), bisect_right(self._words, word)) for word in words
        )
        return [
            self._names[entity]
            for entity in _heaviest(ids, self._counts[ids].astype(np.int64), limit)
        ]

    def near(self, text: str, limit: int = 3) -> list[str]:
        """Names similar to one that does not exist.

        Candidates are its alphabetical neighbours and the names that share a word with it, or the
        beginning of one: comparing with all names would take too long.
        """
        key = key_of(text[:LONGEST])
        if not key:
            return []
        position = bisect_left(self._keys, key)
        candidates = self._order[max(position - AROUND, 0) : position + AROUND].tolist()
        for word in key.split(" ")[:8]:
            if len(word) >= 3:
                # Without its last two letters, too, in case the word ends differently.
                for size in {len(word), max(len(word) - 2, 3)}:
                    ids = self.with_words([word[:size]])
                    candidates += _heaviest(ids, self._counts[ids].astype(np.int64), AROUND)
        return self._most_similar(key, list(dict.fromkeys(candidates)), limit)

    def _most_similar(self, key: str, candidates: list[int], limit: int) -> list[str]:
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(key)  # it is the second text whose analysis the matcher keeps
        scored = []
        for name in (self._names[entity] for entity in candidates):
            matcher.set_seq1(key_of(name[:LONGEST]))
            # Two cheap upper bounds spare most names the costly ratio.
            if matcher.real_quick_ratio() >= LIKE and matcher.quick_ratio() >= LIKE:
                scored.append((-matcher.ratio(), name))
        return [name for score, name in sorted(scored) if -score >= LIKE][:limit]

    def with_words(self, words: list[str]) -> Longs:
        """The ids of the names in which every one of these words begins some word."""
        return self._with_all(_beginning_with(self._words, word) for word in words)

    def _with_all(self, ranges: Iterable[slice]) -> Longs:
        """The ids of the names that have a word in every one of these ranges of the words."""
        matches = np.ones(len(self._names), np.bool_)
        for words in ranges:
            with_word = np.zeros(len(self._names), np.bool_)
            with_word[self._word_names[words]] = True
            matches &= with_word
        return np.flatnonzero(matches)


def _heaviest(ids: Longs, weights: Longs, limit: int) -> list[int]:
    """The ids with the largest weights, in descending order; ties go to the smaller id."""
    # Sorting many names would take most of the time. Among ties at the cut, any ids may be dropped.
    if len(ids) > 8 * limit:
        largest = np.argpartition(-weights, limit)[: 2 * limit]
        ids, weights = ids[largest], weights[largest]
    order = np.lexsort((ids, -weights))[:limit]
    return [int(entity) for entity in ids[order]]


def _ints(array: pa.Array) -> Longs:
    return read_only(array.to_numpy(zero_copy_only=False).astype(np.int64))
