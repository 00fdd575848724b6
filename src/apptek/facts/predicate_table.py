"""A table of predicates: their labels, phrases for sentences, and classes.

A user's table needs a header that names its columns. Only `predicate` is required:

predicate,class,label,phrase,group
040,Consult,Consult,consulted,verbal cooperation
190,Fight,Use conventional military force,used conventional military force against,material conflict

The shipped table (cameo.csv: code, name, phrase) is CAMEO, the coding scheme of ICEWS and GDELT. It
lists each predicate by its code and by the name that ICEWS uses. The codes and names come from P.
Schrodt, CAMEO Conflict and Mediation Event Observations, Event and Actor Codebook 1.1b3 (2012),
chapter 2. The names in ICEWS files come from the program text_to_CAMEO (P. Schrodt, 2014). The four
groups are GDELT's QuadClass, from its look-up file CAMEO.eventcodes.txt. The phrases are ours.
"""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

COLUMNS = ("label", "phrase", "class", "group")  # of a table, in the order of its entries' fields
MOST = 0.75  # proportion of the facts whose predicates must be in the shipped table for it to apply
OPPOSED = {"cooperation", "conflict"}  # words in the names of mutually exclusive groups
# Everyday search words for CAMEO codes. A code also has the words of its prefixes.
EVERYDAY = {
    "036": "talks negotiate", "04": "talks meet meeting", "042": "visit trip travel",
    "043": "visit trip travel", "045": "peace", "046": "negotiations", "057": "deal treaty pact",
    "06": "trade", "07": "aid help donate relief", "08": "concede", "087": "ceasefire truce peace",
    "11": "blame", "13": "threat ultimatum", "14": "protest demonstration march",
    "143": "strike", "145": "riot", "16": "sanctions", "163": "embargo sanctions",
    "17": "crackdown", "173": "arrest jail", "175": "crackdown", "18": "attack violence",
    "181": "kidnap kidnapping hostages", "182": "beat", "1823": "kill murder",
    "183": "bomb terrorism", "185": "kill murder", "186": "kill murder",
    "19": "attack war battle kill", "194": "shell tank", "195": "bomb bombing drone raid",
    "20": "attack war kill", "202": "massacre", "203": "genocide",
}  # fmt: skip
# The last root code of each QuadClass in GDELT. Other users of CAMEO count 09 as verbal conflict
# and 14 as material conflict.
_GROUP_ENDS = (
    (5, "verbal cooperation"),
    (9, "material cooperation"),
    (14, "verbal conflict"),
    (20, "material conflict"),
)


class PredicateEntry(NamedTuple):
    """One predicate in a table. Unspecified fields are empty.

    label   its display name ("Consult" for the code 040)
    phrase  its wording in a sentence, between subject and object: "consulted", "visited"
    kind    its class ("Fight"); probabilities are summed by class
    group   the class of its class ("material conflict")
    """

    label: str = ""
    phrase: str = ""
    kind: str = ""
    group: str = ""


@dataclass(frozen=True, slots=True)
class PredicateTable:
    """Labels, phrases, classes and groups of predicates; an empty table has no labels."""

    entries: Mapping[str, PredicateEntry] = field(default_factory=dict)
    source: str = ""  # "CAMEO", or the name of the file

    def __len__(self) -> int:
        return len(self.entries)

    def label(self, predicate: str) -> str:
        """Return a predicate's label, or the predicate itself if it has none."""
        return self.entries.get(predicate, _NOTHING).label or predicate

    def shown(self, predicate: str) -> str:
        """Return the label followed by the name in files and commands: "Consult (040)"."""
        return labelled(predicate, self.label(predicate))

    def phrase(self, predicate: str) -> str | None:
        """Return the past-tense phrase between subject and object, or None."""
        return self.entries.get(predicate, _NOTHING).phrase or None

    def class_of(self, predicate: str) -> str | None:
        """Return the class of a predicate, or None."""
        return self.entries.get(predicate, _NOTHING).kind or None

    def group_of(self, predicate: str) -> str | None:
        """Return the group of a predicate: the class of its class, or None."""
        return self.entries.get(predicate, _NOTHING).group or None

    def everyday_words(self, predicate: str) -> list[str]:
        """Return everyday words for a CAMEO predicate, such as kidnap for Abduct."""
        shipped, own = cameo_table().entries.get(predicate), self.entries.get(predicate)
        if shipped is None or own is None or own.kind != shipped.kind:
            return []
        code = _cameo_codes()[predicate]
        parts = (EVERYDAY.get(code[:length], "") for length in range(2, len(code) + 1))
        return " ".join(parts).split()

    def opposes(self, predicate: str, other: str) -> bool:
        """Return whether one predicate's group is cooperation and the second one's is conflict."""
        groups = [self.group_of(name) or "" for name in (predicate, other)]
        kinds = [{kind for kind in OPPOSED if kind in group} for group in groups]
        return set.union(*kinds) == OPPOSED and not kinds[0] & kinds[1]

    def as_json(self) -> dict[str, Any]:
        """Return the table as stored in the model folder."""
        cells = {
            name: dict(zip(COLUMNS, entry, strict=True)) for name, entry in self.entries.items()
        }
        return {"source": self.source, "predicates": cells}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "PredicateTable":
        """Return the table from the result of `as_json`."""
        entries = {predicate: entry_of(cells) for predicate, cells in content["predicates"].items()}
        return cls(entries, content["source"])

    def of(self, predicates: Iterable[str]) -> "PredicateTable":
        """Return the table with only these predicates, in this order."""
        found = {name: self.entries[name] for name in predicates if name in self.entries}
        return PredicateTable(found, self.source)


_NOTHING = PredicateEntry()


def labelled(predicate: str, label: str) -> str:
    """Return a predicate as displayed: "Consult (040)" if it has a separate label."""
    return predicate if label in ("", predicate) else f"{label} ({predicate})"


def entry_of(cells: Mapping[str, str]) -> PredicateEntry:
    """Return the entry for a row, given as cells by column name."""
    return PredicateEntry(*(str(cells.get(column, "")) for column in COLUMNS))


@lru_cache(maxsize=1)
def cameo_table() -> PredicateTable:
    """Return the shipped table: every CAMEO code, and every ICEWS name of a code."""
    codes = _read_cameo()
    roots = {code: name for code, name, _ in codes if len(code) == 2}
    entries: dict[str, PredicateEntry] = {}
    for code, name, phrase in codes:
        group = next(group for end, group in _GROUP_ENDS if int(code[:2]) <= end)
        entry = PredicateEntry(name, phrase, roots[code[:2]], group)
        entries.setdefault(code, entry)  # the first name of a code is its label
        entries.setdefault(name, entry)
    return PredicateTable(entries, "CAMEO")


def _read_cameo() -> list[tuple[str, str, str]]:
    text = Path(__file__).with_name("cameo.csv").read_text("utf-8")
    return [(code, name, phrase) for code, name, phrase in csv.reader(text.splitlines()[1:])]


@lru_cache(maxsize=1)
def _cameo_codes() -> dict[str, str]:
    """Return a dictionary from each CAMEO code, and each name, to the code."""
    codes = {name: code for code, name, _ in reversed(_read_cameo())}
    return codes | {code: code for code in codes.values()}


def shipped_table(facts: Mapping[str, int]) -> PredicateTable:
    """Return the part of the CAMEO table that the data needs, or an empty table for other data.

    Data counts as CAMEO data if most facts have a predicate in the table and the predicates are not
    only plain numbers. Other data with numbered predicates may well use the numbers 10 to 20.

    facts  the number of facts with each predicate in the data
    """
    known = cameo_table().of(facts)
    covered = sum(facts[predicate] for predicate in known.entries)
    telling = any(not name.isdigit() or name.startswith("0") for name in known.entries)
    return known if telling and covered >= MOST * sum(facts.values()) else PredicateTable()
