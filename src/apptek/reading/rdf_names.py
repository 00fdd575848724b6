"""Names of IRIs: an entity is called by its label, and by its shortened IRI where it has none.

The shortened IRI stays an alias, so that a query may use it. A predicate keeps its shortened IRI
as its name, and its label goes into the table of predicates.
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
PREFIXES = {  # those that most files use; the prefixes of a file come first
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
LANGUAGE = "en"  # of labels, unless another is given
_UNIVERSAL = ("mul", "")  # Wikidata's label for all languages, and a label without a language
_LOCAL = re.compile(r"(.*[/#:])([^/#:]+)", re.DOTALL)


def parse_prefixes(text: str) -> dict[str, str]:
    """Return prefix -> namespace of a text such as `ex=http://example.org/ foo=urn:foo:`."""
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
    """The labels and the prefixes of RDF files; complete once all of them were read.

    labels     columns iri, label and rank; the label of the lowest rank is taken
    languages  labels that are not in the wanted language, by language
    """

    language: str = LANGUAGE
    prefixes: dict[str, str] = field(default_factory=dict)
    labels: list[pa.Table] = field(default_factory=list)
    languages: Counter[str] = field(default_factory=Counter)

    def rank(self, language: str | None) -> int | None:
        """Return how well the language of a label fits, 0 best; None if it does not fit."""
        tag = (language or "").lower()
        if tag == self.language or tag.startswith(f"{self.language}-"):
            return int(tag != self.language)
        if tag in _UNIVERSAL:
            return 2 + _UNIVERSAL.index(tag)
        self.languages[tag] += 1
        return None

    def join(self, other: "Vocabulary") -> None:
        """Add what another file says; of two meanings of a prefix the first one counts."""
        self.prefixes = {**other.prefixes, **self.prefixes}
        self.labels += other.labels

    def shown_prefixes(self) -> str:
        """Return the prefixes that not every file has, as `parse_prefixes` reads them."""
        others = sorted(self.prefixes.items() - PREFIXES.items())
        return " ".join(f"{prefix}={namespace}" for prefix, namespace in others)

    def rename(
        self, columns: Mapping[str, list[pa.DictionaryArray]], known: Mapping[str, str]
    ) -> tuple[dict[str, str], PredicateTable | None]:
        """Replace IRIs in columns by names; return aliases and the labels of predicates.

        known  names of entities of a model by alias: an IRI among them keeps its name
        """
        entities = _distinct([*columns["subject"], *columns["object"]])
        predicates = _distinct(columns["predicate"])
        label_of = self._labels_of([*entities, *predicates])
        shorten = Shortener(self.prefixes)
        counts = Counter(label_of[iri] for iri in entities if iri in label_of)
        taken, names = {*known.values(), *entities}, {}
        for iri in entities:
            label, short = label_of.get(iri, ""), shorten(iri)
            is_clear = counts[label] == 1 and label not in taken
            names[iri] = known.get(short) or (label if is_clear else label and f"{label} ({short})")
        shortened = {iri: shorten(iri) for iri in (*entities, *predicates)}
        names = {iri: names[iri] or shortened[iri] for iri in entities}
        entries = {
            shortened[iri]: PredicateEntry(label=label_of[iri])
            for iri in predicates
            if iri in label_of
        }
        for role, new in (("subject", names), ("object", names), ("predicate", shortened)):
            for number, column in enumerate(columns[role]):
                texts = pa.array([new[iri] for iri in column.dictionary.to_pylist()], pa.string())
                columns[role][number] = pa.DictionaryArray.from_arrays(column.indices, texts)
        aliases = {shortened[iri]: name for iri, name in names.items() if name != shortened[iri]}
        return aliases, PredicateTable(entries, "the labels of the RDF") if entries else None

    def _labels_of(self, iris: list[str]) -> dict[str, str]:
        """Return the best label of each IRI; of a property of Wikidata, that of its entity."""
        entity_of = {iri: iri.replace(DIRECT, PREFIXES["wd"]) for iri in iris}
        found: dict[str, str] = {}
        if self.labels:
            wanted = pa.array(entity_of.values(), pa.string())
            table = pa.concat_tables(self.labels)
            table = table.filter(pc.is_in(table.column("iri"), value_set=wanted)).sort_by("rank")
            for iri, label in zip(
                *(table.column(n).to_pylist() for n in ("iri", "label")), strict=True
            ):
                found.setdefault(iri, label)
        return {iri: found[entity] for iri, entity in entity_of.items() if entity in found}


def _distinct(columns: Iterable[pa.DictionaryArray]) -> list[str]:
    texts = [column.dictionary for column in columns]
    return pc.unique(pa.concat_arrays(texts)).to_pylist() if texts else []


class Shortener:
    """Shortens IRIs by prefixes, `wd:Q42` for http://www.wikidata.org/entity/Q42, and back."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.prefixes = {**PREFIXES, **prefixes}
        self._prefix_of = {namespace: prefix for prefix, namespace in self.prefixes.items()}

    def __call__(self, iri: str) -> str:
        """Return the short form of an IRI, or what it is where no prefix fits."""
        parts = _LOCAL.fullmatch(iri)
        prefix = self._prefix_of.get(parts[1]) if parts else None
        return iri if prefix is None or parts is None else f"{prefix}:{parts[2]}"

    def expand(self, name: str) -> str:
        """Return the IRI of a short form, or what it is where it is none."""
        prefix, colon, local = name.partition(":")
        return self.prefixes[prefix] + local if colon and prefix in self.prefixes else name
