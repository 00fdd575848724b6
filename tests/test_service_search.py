import unicodedata

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import names_of

from apptek.facts.name_matching import BEGINNING, NameIndex, key_of, keys_of

words = st.sampled_from(
    ["Korea", "korea", "North", "South", "Köln", "cologne", "(police)", "1", "-"]
)
some_names = st.lists(st.lists(words, min_size=1, max_size=3).map(" ".join), min_size=1)


def plain_search(names: list[str], counts: list[int], text: str, limit: int) -> list[str]:
    """The definition: the very name, then those whose words begin so, by use and by id."""
    typed = key_of(text)
    if not text.strip():
        return sorted(names, key=lambda name: -counts[names.index(name)])[:limit]
    if not typed:
        return [name for name in names if name == text][:limit]

    def fits(name: str) -> bool:
        theirs = key_of(name).split(" ")
        return all(any(one.startswith(word) for one in theirs) for word in typed.split(" "))

    def weight(name: str) -> int:
        begins = key_of(name).startswith(typed)
        return (counts[names.index(name)] + 1) * (BEGINNING if begins else 1)

    found = sorted(filter(fits, names), key=lambda name: (-weight(name), names.index(name)))
    exact = [text] if text in names else []
    return list(dict.fromkeys(exact + found))[:limit]


@given(some_names, st.lists(words, min_size=1, max_size=2).map(" ".join), st.integers(1, 5))
def test_agrees_with_the_definition(texts: list[str], typed: str, limit: int) -> None:
    names = names_of(set(texts))
    counts = np.asarray([len(name) % 4 for name in names], np.int32)
    index = NameIndex(names, counts)
    for text in (typed, typed[:3], typed[1:]):
        found = [names[place] for place in index.search(text, limit)]
        assert found == plain_search(list(names), counts.tolist(), text, limit)


@settings(max_examples=30)
@given(st.text(), st.text())
def test_whatever_is_typed_is_answered(name: str, typed: str) -> None:
    clean = name.encode("utf-8", "replace").decode()
    names = names_of({clean, "Oslo"})
    index = NameIndex(names, np.arange(len(names), dtype=np.int32))
    for text in (typed, name):
        assert len(index.search(text, 3)) <= 2
        assert set(index.near(text)) <= {clean, "Oslo"}
    assert index.near("x" * 10_000) == []


def test_one_and_many_names_are_compared_alike() -> None:
    letters = [chr(code) for code in range(0x3000)]
    texts = [f"A{letter}b" for letter in letters if unicodedata.category(letter) != "Cn"]
    assert keys_of(pa.array(texts)).to_pylist() == [key_of(text) for text in texts]
