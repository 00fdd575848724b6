"""RDF: triples become facts, and a triple's annotations become its time.

A triple between two IRIs is a fact. Its time is the first of these:

1. an RDF 1.2 annotation: `rdf:reifies` refers to the triple, `schema:startDate` etc. give a time;
2. a Wikidata statement: `p:` and `ps:` refer to the triple, `pq:P580`, `P582`, `P585` give a time;
3. the time of its named graph, from the graph's metadata or from a date in the graph's IRI.

Annotations may be anywhere in a file, so they are joined at the end. Until then, triples are stored
as the ids of their texts.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from apptek.arrays import Bools, Longs, find_sorted
from apptek.errors import DataError, NoFactsError
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Facts
from apptek.reading.columns import Roles
from apptek.reading.options import ReadOptions
from apptek.reading.parts import Content, Part
from apptek.reading.rdf_names import DIRECT, RDF, RDFS, SCHEMA, SKOS, WIKIDATA, Vocabulary
from apptek.reading.streams import read_pieces, stem_and_suffix
from apptek.safe_text import counted

# By suffix. .ntx files are YAGO's N-Triples with << s p o >> as subjects, now valid only in Turtle.
RDF_FORMATS = {
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".ttl": "TURTLE",
    ".trig": "TRIG",
    ".ntx": "TURTLE",
}
_TOLD = 1 << 17  # triples after which progress is reported
_ROLES = ("subject", "predicate", "object", "since", "until")
_TITLES = {role: f"triple ({role})" for role in _ROLES}
_SINCE, _UNTIL, _POINT, _GRAPH_TIME, _IN_IRI = range(5)  # meanings; the last two are for graphs
_EDGE, _LABEL, _REIFIES, _CLAIM, _VALUE, _RANK, _SKIPPED = range(5, 12)
_LITERAL = "with a literal"
_ABOUT = "about the vocabulary or about statements"
_YAGO = ("http://yago-knowledge.org/resource/", "http://yago-knowledge.org/schema#")
_TERMS, _PROV = "http://purl.org/dc/terms/", "http://www.w3.org/ns/prov#"
_WIKIBASE, _OWL = "http://wikiba.se/ontology#", "http://www.w3.org/2002/07/owl#"
_PROPERTY = f"{WIKIDATA}prop/"
_QUALIFIER = f"{_PROPERTY}qualifier/"
_SAID: dict[
    int, list[tuple[Sequence[str], str]]
] = {  # by meaning, the names of predicates in some namespaces
    _SINCE: [(SCHEMA, "startDate"), (_YAGO, "occursSince"), ([_QUALIFIER], "P580")],
    _UNTIL: [(SCHEMA, "endDate"), (_YAGO, "occursUntil"), ([_QUALIFIER], "P582")],
    _POINT: [([_QUALIFIER], "P585")],
    _GRAPH_TIME: [
        ([_TERMS], "date created issued valid"),
        (SCHEMA, "datePublished"),
        ([_PROV], "generatedAtTime"),
    ],
    _LABEL: [([RDFS], "label"), ([SKOS], "prefLabel")],
    _REIFIES: [([RDF], "reifies")],
    _RANK: [([_WIKIBASE], "rank")],
    _SKIPPED: [(SCHEMA, "about")],
}
_KINDS = {
    namespace + name: kind
    for kind, pairs in _SAID.items()
    for namespaces, names in pairs
    for namespace in namespaces
    for name in names.split()
}
_OF_WIKIDATA = {"": _CLAIM, "statement": _VALUE, "direct": _EDGE}
_VOCABULARIES = (RDF, RDFS, _OWL, _WIKIBASE, _PROV)
_DATE_IN_IRI = re.compile(
    r"(?<![0-9A-Za-z])((?:1\d|20)\d\d)"
    r"(?:([-/_]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])|[-/_](0[1-9]|1[0-2]))?(?!\d)"
)
_DAY = re.compile(r"\+?(-?\d{4,}(?:-\d\d){0,2})(?:-##)*(?:Z|[+-]\d\d:\d\d)?")


def open_rdf(file: Path, options: ReadOptions, name: str, roles: Roles = None) -> Content:
    """Open an N-Triples, N-Quads, Turtle or TriG file."""
    if roles is not None:
        raise DataError(f"{name}: found RDF, expected rows (.csv, .parquet or similar)")
    if find_spec("pyoxigraph") is None:
        raise DataError(f"{name}: RDF needs pyoxigraph: pip install 'apptek[rdf]'")
    triples = _Triples(file, options, Vocabulary.of(options.lang, options.prefixes))
    vocabulary = triples.vocabulary
    return Content(triples.parts(), {"format": "rdf"}, triples.notes, vocabulary=vocabulary)


class _Bytes:
    """The decompressed bytes of a file, in the form that a parser reads."""

    def __init__(self, pieces: Iterator[tuple[bytes, int]]) -> None:
        self._pieces, self._piece, self.position = pieces, memoryview(b""), 0

    def read(self, size: int) -> bytes:
        """Return at most `size` of the next bytes."""
        if not self._piece:
            text, self.position = next(self._pieces, (b"", self.position))
            self._piece = memoryview(text)
        head, self._piece = self._piece[:size], self._piece[size:]
        return bytes(head)


def _longs() -> "array[int]":
    return array("q")


@dataclass(slots=True)
class _Triples:
    """The triples of a file, stored as consecutive rows of text ids.

    ids     text -> its id; 0 means no text
    facts   subject, predicate, object, graph, the statement's node (0: the triple itself; the
            subject of a Wikidata statement is 0 until the end), the triple's number
    owners  the node of a Wikidata statement, and its subject
    times   the node, the meaning of the time, the time; _RANK: the statement is deprecated
    """

    file: Path
    options: ReadOptions
    vocabulary: Vocabulary
    notes: list[str] = field(default_factory=list)
    ids: dict[str, int] = field(default_factory=lambda: {"": 0})
    facts: "array[int]" = field(default_factory=_longs)
    owners: "array[int]" = field(default_factory=_longs)
    times: "array[int]" = field(default_factory=_longs)
    skipped: Counter[str] = field(default_factory=Counter)

    def parts(self) -> Iterator[Part]:
        """Yield empty parts to report progress while reading, and then all facts."""
        source, number = _Bytes(read_pieces(self.file, self.options.max_bytes)), 0
        for number in self._read(source):  # noqa: B007
            nothing = pa.table({role: pa.array([], pa.string()) for role in _ROLES})
            yield Part(nothing, range(0), _TITLES, position=source.position)
        part = self._joined()
        left_out = ", ".join(f"{count:,} {what}" for what, count in self.skipped.items())
        if not part.table.num_rows and not self.vocabulary.labels:
            found = f"{counted(number, 'triple')}{f' ({left_out})' * bool(left_out)}"
            advice = "; --read literals=yes also reads literals as entities"
            raise NoFactsError(
                f"{self.file.name}: found no fact in {found}; expected a triple of three IRIs"
                f"{advice * (_LITERAL in self.skipped)}"
            )
        if left_out:
            self.notes.append(f"{self.file.name}: triples that are not facts: {left_out}")
        yield part

    def _read(self, source: _Bytes) -> Iterator[int]:
        """Read the triples, and yield the number read from time to time."""
        import pyoxigraph as ox

        suffix = f".{self.options.format}" if self.options.format else stem_and_suffix(self.file)[1]
        form = getattr(ox.RdfFormat, RDF_FORMATS[suffix])
        number, kinds = 0, dict[str, int]()
        try:
            parser = ox.parse(source, form)  # type: ignore[arg-type]  # all it needs is `read`
            for number, (subject, predicate, value, graph) in enumerate(parser, 1):
                name = predicate.value
                kind = kinds.get(name, -1)
                if kind < 0:
                    kind = kinds[name] = _kind_of(name)
                where = self._graph(graph.value) if type(graph) is ox.NamedNode else 0
                if kind in (_EDGE, _VALUE, _REIFIES):
                    self._add_fact(kind, subject, name, value, (where, number), ox)
                else:
                    self._add(kind, subject.value, value, is_text=type(value) is ox.Literal)
                if not number % _TOLD:
                    yield number
        except SyntaxError as error:
            reason = str(error.msg).partition(": ")[2] or error.msg
            place = f"{self.file.name}:{error.lineno}:{error.offset}"
            raise DataError(f"{place}: {reason}; expected {form.name}") from None
        self.vocabulary.prefixes = {**parser.prefixes, **self.vocabulary.prefixes}
        yield number

    def _id(self, text: str) -> int:
        return self.ids.setdefault(text, len(self.ids))

    def _graph(self, graph: str) -> int:
        """Return a graph's id. A new graph may have a date in its IRI."""
        is_new, found = graph not in self.ids, self._id(graph)
        if is_new and (date := _date_in(graph)):
            self.times.extend((found, _IN_IRI, self._id(date)))
        return found

    def _add(self, kind: int, subject: str, value: Any, *, is_text: bool) -> None:
        """Add a triple that is not a fact but describes one."""
        if kind == _CLAIM:
            self.owners.extend((self._id(value.value), self._id(subject)))
        elif kind == _RANK:
            if value.value == f"{_WIKIBASE}DeprecatedRank":
                self.times.extend((self._id(subject), _RANK, 0))
        elif kind == _SKIPPED or not is_text:
            self.skipped[_ABOUT] += 1
        elif kind == _LABEL:
            self.vocabulary.add(subject, value.value, value.language)
        else:
            day = _DAY.fullmatch(value.value)
            text = day[1] if day else value.value
            self.times.extend((self._id(subject), kind, self._id(text)))

    def _add_fact(
        self, kind: int, subject: Any, name: str, value: Any, place: tuple[int, int], ox: Any
    ) -> None:
        """Add a plain, annotated or Wikidata triple. Count it if it is not a fact.

        place  the triple's graph and number
        """
        node = 0 if kind == _EDGE else self._id(subject.value)
        if kind == _REIFIES and type(value) is ox.Triple:
            subject, name, value = value.subject, value.predicate.value, value.object
        if type(value) is ox.Literal:
            if not (self.options.literals and value.value):
                self.skipped[_LITERAL] += 1
                return
        elif type(value) is not ox.NamedNode or type(subject) is not ox.NamedNode:
            self.skipped["with a blank node"] += 1
            return
        owner = subject.value
        if kind == _VALUE:
            owner, name = "", DIRECT + name.rpartition("/")[2]
        triple = (self._id(owner), self._id(name), self._id(value.value))
        self.facts.extend((*triple, place[0], node, place[1]))

    def _joined(self) -> Part:
        """Return all facts with their times, in file order.

        A triple is left out if it describes a statement, or if a statement repeats it.
        """
        subjects, predicates, objects, graphs, nodes, numbers = _columns(self.facts, 6)
        owned, owners = _columns(self.owners, 2)
        times = _columns(self.times, 3)
        is_stated, has_owner = nodes == 0, subjects == 0
        subjects = np.where(has_owner, _first(owned, owners, nodes), subjects)
        own = _ends(times, nodes, _POINT)
        of_graph = _ends(times, graphs, _POINT, _GRAPH_TIME, _IN_IRI)
        is_dated = (own[0] != 0) | (own[1] != 0)
        since, until = np.where(is_dated, own, of_graph)
        is_kept = (subjects != 0) & ~np.isin(nodes, times[0][times[1] == _RANK])
        is_kept &= is_stated | has_owner | is_dated
        is_node = np.zeros(len(self.ids), np.bool_)
        is_node[nodes] = is_node[owned] = True
        is_node[0] = False
        is_about = is_stated & (is_node[subjects] | is_node[objects])
        self.skipped += Counter({_ABOUT: int(is_about.sum())})
        is_kept &= ~is_about
        is_kept &= ~_repeats(
            (subjects, predicates, objects), is_kept & ~is_stated, is_kept & is_stated
        )
        rows, texts = np.flatnonzero(is_kept), pa.array(self.ids, pa.string())
        columns = (subjects, predicates, objects, since, until)
        ids_of = dict(zip(_ROLES, columns, strict=True))
        table = pa.table({role: _compact(ids[rows], texts) for role, ids in ids_of.items()})
        return Part(table, numbers[rows], _TITLES)


def _columns(rows: "array[int]", count: int) -> Longs:
    """Return the columns of rows of ids: (count, n)."""
    return np.frombuffer(rows, np.int64).reshape(-1, count).T


def _ends(times: Longs, nodes: Longs, *points: int) -> Longs:
    """Return since and until of some nodes, (2, n), with 0 for unknown.

    points  kinds of times used for both ends of nodes with neither; earlier kinds take precedence
    """
    ends = np.zeros((2, len(nodes)), np.int64)
    for kind, rows in ((_SINCE, [0]), (_UNTIL, [1]), *((point, [0, 1]) for point in points)):
        is_kind = times[1] == kind
        found = _first(times[0][is_kind], times[2][is_kind], nodes)
        is_open = (ends == 0).all(axis=0) | (len(rows) == 1)
        ends[rows] = np.where(is_open, found, ends[rows])
    return ends


def _first(keys: Longs, values: Longs, wanted: Longs) -> Longs:
    """Return the first value of each wanted key, or 0 if it has none."""
    distinct, rows = np.unique(keys, return_index=True)
    places = find_sorted(distinct, wanted)
    return np.where(places >= 0, np.append(values[rows], 0)[places], 0)


def _repeats(triples: tuple[Longs, Longs, Longs], first: Bools, others: Bools) -> Bools:
    """Return which of the other triples are also among the first."""
    undated = np.zeros(len(first), np.int32)
    subjects, predicates, objects = (column.astype(np.int32) for column in triples)
    facts = Facts(subjects, predicates, objects, undated, undated)
    keys, other_keys = fact_keys(facts.take(first), facts.take(others))
    repeated = np.zeros(len(first), np.bool_)
    repeated[others] = np.isin(other_keys, keys)
    return repeated


def _compact(ids: Longs, texts: pa.Array) -> pa.DictionaryArray:
    """Return the texts of ids as a dictionary of the texts that occur."""
    used, codes = np.unique(ids, return_inverse=True)
    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), texts.take(pa.array(used)))


def _kind_of(predicate: str) -> int:
    """Return the meaning of a predicate."""
    if predicate in _KINDS:
        return _KINDS[predicate]
    if predicate.startswith(_PROPERTY):  # other predicates here describe statements and references
        namespace = predicate.removeprefix(_PROPERTY).rpartition("/")[0]
        return _OF_WIKIDATA.get(namespace, _SKIPPED)
    return _SKIPPED if predicate.startswith(_VOCABULARIES) else _EDGE


def _date_in(iri: str) -> str:
    """Return the most precise date in an IRI (on ties the last), or an empty text."""
    dates = [
        "-".join(filter(None, (found[1], found[3] or found[5], found[4])))
        for found in _DATE_IN_IRI.finditer(iri)
    ]
    return max(reversed(dates), key=len, default="")
