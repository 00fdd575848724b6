"""Names that are not in the data. Their types are read from the names themselves.

"Navy (India)" may be new even though navies and India are not. Such a name gets an id below 0 that
encodes its types, so that features and explanations can read them. The id is -1 - code. For each
kind of type that names contain, the code has 15 bits. They store the value + 1, or 0 if the name
has no such type. An id of -1 is therefore a name without types. A graph treats all these ids as
unknown.
"""

from collections.abc import Mapping, Sequence

from apptek.facts.name_matching import folded
from apptek.features.traits import (
    COUNTRY,
    MOST_TOLD,
    NAMED,
    SECTOR,
    THE_COUNTRY,
    TOLD_BITS,
    Kind,
    split_name,
)


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
