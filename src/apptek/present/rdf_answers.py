"""Answers as RDF 1.2: one triple per predicate and query, annotated with its probability.

The triple is reified but not asserted, so a store that loads the file does not treat a prediction
as a fact. Neither does `apptek fit`, because it finds no time in the annotation.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa

from apptek.facts.facts import Dataset
from apptek.reading.rdf_names import RDF, RDFS, Shortener, parse_prefixes

RDF_SUFFIXES = {".ttl": "TURTLE", ".nt": "N_TRIPLES", ".trig": "TRIG"}
APPTEK, NAME = "urn:apptek:", "urn:apptek:name:"
_DATE = "http://www.w3.org/2001/XMLSchema#date"
_IRI = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|urn:)[^\x00-\x20<>\"{}|\\^`]+")


@contextmanager
def stream_rdf(path: Path, suffix: str, data: Dataset) -> Iterator[Callable[[pa.Table], None]]:
    """Yield a function that appends answers to a file, with the IRIs of the names in `data`."""
    import pyoxigraph as ox

    form = getattr(ox.RdfFormat, RDF_SUFFIXES[suffix])
    iris = IriNames(data)
    with path.open("wb") as file:

        def append(rows: pa.Table) -> None:
            triples = [triple for row in rows.to_pylist() for triple in _triples(row, iris, ox)]
            label = ox.NamedNode(f"{RDFS}label")
            for iri, text in iris.new_labels():
                triples.append(ox.Triple(ox.NamedNode(iri), label, ox.Literal(text)))
            ox.serialize(triples, file, form, prefixes=iris.prefixes)

        yield append


class IriNames:
    """The IRIs of names: the original IRIs, or `urn:apptek:name:NAME` for other names.

    prefixes  the prefixes that have been used so far
    """

    def __init__(self, data: Dataset) -> None:
        self._shorten = Shortener(parse_prefixes(data.read_with.get("prefixes", "")))
        self._expand = self._shorten.expand
        self._iri_of = {
            name: iri
            for alias, name in data.aliases.items()
            if _IRI.fullmatch(iri := self._expand(alias))
        }
        self.prefixes = {"rdf": RDF, "rdfs": RDFS, "apptek": APPTEK}
        self._labels: dict[str, str] = {}
        self._labelled: set[str] = set()

    def find(self, name: str, label: str = "") -> str:
        """Return the IRI of a name; store its label for `new_labels`."""
        iri = self._iri_of.get(name) or self._expand(name)
        if not _IRI.fullmatch(iri):
            iri = NAME + quote(name, safe="")
        prefix = self._shorten(iri).partition(":")[0]
        if prefix in self._shorten.prefixes:
            self.prefixes[prefix] = self._shorten.prefixes[prefix]
        if label not in ("", name) or self._expand(name) != iri:
            self._labels[iri] = label or name
        return iri

    def new_labels(self) -> list[tuple[str, str]]:
        """Return the labels added since the last call, without duplicates."""
        new = [pair for pair in self._labels.items() if pair[0] not in self._labelled]
        self._labelled.update(iri for iri, _ in new)
        self._labels.clear()
        return new


def _triples(row: dict[str, Any], iris: IriNames, ox: Any) -> Iterator[Any]:
    """Yield the triples for one predicate and query; known names keep the data's IRIs."""
    node = ox.BlankNode(f"q{row['query']}r{row['rank']}")
    predicate = iris.find(row["predicate"], row["label"])
    ends = (iris.find(row[f"meant_{role}"] or row[role]) for role in ("subject", "object"))
    names = (next(ends), predicate, next(ends))
    yield ox.Triple(node, ox.NamedNode(f"{RDF}reifies"), ox.Triple(*map(ox.NamedNode, names)))
    time = row["time"] or ""
    date = ox.NamedNode(_DATE) if re.fullmatch(r"\d{4}-\d\d-\d\d", time) else None
    values = {name: ox.Literal(row[name]) for name in ("query", "rank", "probability")}
    for name, value in (values | {"time": ox.Literal(time, datatype=date)}).items():
        yield ox.Triple(node, ox.NamedNode(APPTEK + name), value)
