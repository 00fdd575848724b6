"""Names for IRIs: an entity's name is its label, or its shortened IRI if it has no label.

The shortened IRI is kept as an alias, so that queries can use it. A predicate's name is its
shortened IRI, and its label goes into the table of predicates.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from apptek.errors import DataError
from apptek.facts.predicate_table import PredicateEntry, PredicateTable

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
SCHEMA = ("http://schema.org/", "https://schema.org/")
WIKIDATA = "http://www.wikidata.org/"
DIRECT = f"{WIKIDATA}prop/direct/"
PREFIXES = {  # the prefixes that most files use; a file's own prefixes take precedence
    "wd": f"{WIKIDATA}entity/",
    "wdt": DIRECT,
    "yago": "http://yago-knowledge.org/resource/",
    "dbr": "http://dbpedia.org/resource/",
    "dbo": "http://dbpedia.org/ontology/",
    "schema": SCHEMA[1],
    "sdo": SCHEMA[0],
    "foaf": "http://xmlns.com/foaf/0.1/",
    "skos": SKOS,
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": "http://www.w3.org/2002/07/owl#",
    "dcterms": "http://purl.org/dc/terms/",
    "org": "http://www.w3.org/ns/org#",
}
LANGUAGE = "en"  # the default language of labels
_UNIVERSAL = ("mul", "")  # Wikidata's label for all languages, and a label without a language
_LOCAL = re.compile(r"(.*[/#:])([^/#:]+)", re.DOTALL)


def parse_prefixes(text: str) -> dict[str, str]:
    """Return prefix -> namespace from a text such as `ex=http://example.org/ foo=urn:foo:`."""
    prefixes = {}
    for word in text.split():
        prefix, equals, namespace = word.partition("=")
        if not equals or ":" not in namespace:
            raise DataError(
                f"--read prefixes={text}: expected PREFIX=IRI, such as ex=http://e.org/"
            )
        prefixes[prefix] = namespace
    return prefixes


@dataclass(slots=True)
class Vocabulary:
    """The labels and prefixes of RDF files, complete once all files were read.

    labels     IRI -> rank and label; the lowest rank wins, and on ties the first label
    """

    language: str = LANGUAGE
    prefixes: dict[str, str] = field(default_factory=dict)
    labels: dict[str, tuple[int, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, language: str, prefixes: str) -> "Vocabulary":
        """Return an empty vocabulary with the user's options."""
        return cls(language.lower() or LANGUAGE, parse_prefixes(prefixes))

    def add(self, iri: str, label: str, language: str | None) -> None:
        """Add a label, unless it has another language or a better label is known."""
        tag = (language or "").lower()
        if tag in _UNIVERSAL:
            rank = 2 + _UNIVERSAL.index(tag)
        elif tag == self.language or tag.startswith(f"{self.language}-"):
            rank = int(tag != self.language)
        else:
            return
        if label.strip() and "\0" not in label and rank < self.labels.get(iri, (9, ""))[0]:
            self.labels[iri] = (rank, label)

    def join(self, other: "Vocabulary") -> None:
        """Add another file's labels and prefixes. If prefixes conflict, the first one counts."""
        self.prefixes = {**other.prefixes, **self.prefixes}
        for iri, label in other.labels.items():
            self.labels[iri] = min(self.labels.get(iri, label), label, key=lambda pair: pair[0])

    def shown_prefixes(self) -> str:
        """Return the prefixes that are not in every file, in the format of `parse_prefixes`."""
        others = sorted(self.prefixes.items() - PREFIXES.items())
        return " ".join(f"{prefix}={namespace}" for prefix, namespace in others)

    def rename(
        self, columns: Mapping[str, list[pa.DictionaryArray]], known: Mapping[str, str]
    ) -> tuple[dict[str, str], PredicateTable | None]:
        """Replace IRIs in columns with names. Return the aliases and the labels of predicates.

        known  names of a model's entities by alias; IRIs among them keep these names
        """
        entities = _distinct([*columns["subject"], *columns["object"]])
        predicates = _distinct(columns["predicate"])
        shorten = Shortener(self.prefixes)
        short_of = {iri: shorten(iri) for iri in (*entities, *predicates)}
        label_of = {iri: label for iri in short_of if (label := self._label(iri))}
        counts = Counter(label_of[iri] for iri in entities if iri in label_of)
        taken, name_of = {*known.values(), *entities}, dict(short_of)
        for iri in entities:
            if short_of[iri] in known:
                name_of[iri] = known[short_of[iri]]
            elif iri in label_of:
                label = label_of[iri]
                is_clear = counts[label] == 1 and label not in taken
                name_of[iri] = label if is_clear else f"{label} ({short_of[iri]})"
        for role, names in (("subject", name_of), ("object", name_of), ("predicate", short_of)):
            for number, column in enumerate(columns[role]):
                texts = pa.array([names[iri] for iri in column.dictionary.to_pylist()], pa.string())
                columns[role][number] = pa.DictionaryArray.from_arrays(column.indices, texts)
        aliases = {short_of[iri]: name_of[iri] for iri in entities if name_of[iri] != short_of[iri]}
        labels = {short_of[iri]: label_of[iri] for iri in predicates if iri in label_of}
        entries = {name: PredicateEntry(label=label) for name, label in labels.items()}
        return aliases, PredicateTable(entries, "the labels of the RDF") if entries else None

    def _label(self, iri: str) -> str:
        """Return an IRI's label. A Wikidata property has the label of its entity."""
        return self.labels.get(iri.replace(DIRECT, PREFIXES["wd"]), (0, ""))[1]


def _distinct(columns: Iterable[pa.DictionaryArray]) -> list[str]:
    texts = [column.dictionary for column in columns]
    return pc.unique(pa.concat_arrays(texts)).to_pylist() if texts else []


class Shortener:
    """Shortens and expands IRIs, such as `wd:Q42` for http://www.wikidata.org/entity/Q42."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.prefixes = {**PREFIXES, **prefixes}
        self._prefix_of = {namespace: prefix for prefix, namespace in self.prefixes.items()}

    def __call__(self, iri: str) -> str:
        """Return the short form of an IRI, or the IRI itself if no prefix fits."""
        parts = _LOCAL.fullmatch(iri)
        prefix = self._prefix_of.get(parts[1]) if parts else None
        return iri if prefix is None or parts is None else f"{prefix}:{parts[2]}"

    def expand(self, name: str) -> str:
        """Return the IRI for a short form, or the name itself if it is not one."""
        prefix, colon, local = name.partition(":")
        return self.prefixes[prefix] + local if colon and prefix in self.prefixes else name
