"""RDF: triples become facts, and annotations of a triple its time.

A triple between two IRIs is a fact. Its time is the first of these:

1. an annotation of RDF 1.2: `rdf:reifies` names the triple, `schema:startDate` and the like a time;
2. a statement of Wikidata: `p:` and `ps:` name the triple, `pq:P580`, `P582` and `P585` a time;
3. the time of its named graph, by the graph's metadata or by a date in the graph's IRI.

Annotations may be anywhere in a file, so they are joined at its end. Until then triples are kept
as dictionaries of texts, and the nodes of statements as hashes.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from apptek.arrays import Bools, Ints, Longs
from apptek.errors import DataError, NoFactsError
from apptek.facts.fact_keys import fact_keys
from apptek.facts.facts import Facts
from apptek.reading.columns import FindLayout, find_layout
from apptek.reading.options import ReadOptions
from apptek.reading.parts import Content, Part, unify
from apptek.reading.rdf_names import (
    DIRECT,
    LANGUAGE,
    RDF,
    RDFS,
    SCHEMA,
    SKOS,
    WIKIDATA,
    Vocabulary,
    parse_prefixes,
)
from apptek.reading.streams import TextSource, read_pieces, stem_and_suffix

# By suffix; .ntx are YAGO's N-Triples with << s p o >> as subjects, which only Turtle allows now.
RDF_FORMATS = {
    ".nt": "N_TRIPLES",
    ".nq": "N_QUADS",
    ".ttl": "TURTLE",
    ".trig": "TRIG",
    ".ntx": "TURTLE",
}
_ROWS = 1 << 17  # rows that are kept as Python objects at a time
_ROLES = ("subject", "predicate", "object", "since", "until")
_TITLES = {role: f"triple ({role})" for role in _ROLES}
_SINCE, _UNTIL, _POINT, _GRAPH_TIME, _IN_IRI = range(5)  # what a time says; the last two of graphs
_EDGE, _LABEL, _REIFIES, _CLAIM, _VALUE, _RANK, _SKIPPED = range(5, 12)
_ABOUT = "about the vocabulary or about statements"
_YAGO = ("http://yago-knowledge.org/resource/", "http://yago-knowledge.org/schema#")
_TERMS, _PROV = "http://purl.org/dc/terms/", "http://www.w3.org/ns/prov#"
_WIKIBASE, _OWL = "http://wikiba.se/ontology#", "http://www.w3.org/2002/07/owl#"
_PROPERTY = f"{WIKIDATA}prop/"
_KINDS: dict[str, int] = {  # what a predicate says
    **{f"{schema}startDate": _SINCE for schema in SCHEMA},
    **{f"{schema}endDate": _UNTIL for schema in SCHEMA},
    **{f"{yago}occursSince": _SINCE for yago in _YAGO},
    **{f"{yago}occursUntil": _UNTIL for yago in _YAGO},
    f"{_PROPERTY}qualifier/P580": _SINCE,
    f"{_PROPERTY}qualifier/P582": _UNTIL,
    f"{_PROPERTY}qualifier/P585": _POINT,
    **{f"{_TERMS}{name}": _GRAPH_TIME for name in ("date", "created", "issued", "valid")},
    **{f"{schema}datePublished": _GRAPH_TIME for schema in SCHEMA},
    f"{_PROV}generatedAtTime": _GRAPH_TIME,
    f"{RDF}reifies": _REIFIES,
    f"{RDFS}label": _LABEL,
    f"{SKOS}prefLabel": _LABEL,
    f"{_WIKIBASE}rank": _RANK,
    **{f"{schema}about": _SKIPPED for schema in SCHEMA},
}
_OF_WIKIDATA = {"": _CLAIM, "statement": _VALUE, "direct": _EDGE}
_VOCABULARIES = (RDF, RDFS, _OWL, _WIKIBASE, _PROV)
_DATE_IN_IRI = re.compile(
    r"(?<![0-9A-Za-z])((?:1\d|20)\d\d)"
    r"(?:([-/_]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])|[-/_](0[1-9]|1[0-2]))?(?!\d)"
)
_DAY = re.compile(r"\+?(-?\d{4,}(?:-\d\d){0,2})(?:-##)*(?:Z|[+-]\d\d:\d\d)?")


def open_rdf(
    file: Path,
    options: ReadOptions,
    columns: dict[str, str] | None,  # noqa: ARG001 - there are none
    find: FindLayout = find_layout,
) -> Content:
    """Open a file of N-Triples, N-Quads, Turtle or TriG."""
    if find is not find_layout:
        raise DataError(f"{file.name}: found RDF, expected rows (.csv, .parquet and the like)")
    if find_spec("pyoxigraph") is None:
        raise DataError(f"{file.name}: RDF needs pyoxigraph: pip install 'apptek[rdf]'")
    import pyoxigraph

    language = options.lang.lower() or LANGUAGE
    vocabulary = Vocabulary(language, parse_prefixes(options.prefixes))
    triples = _Triples(file, options, vocabulary, pyoxigraph)
    notes = triples.notes
    return Content(triples.parts(), {"format": "rdf"}, notes, vocabulary=triples.vocabulary)


class _Bytes:
    """The decompressed bytes of a file, as a parser reads them."""

    def __init__(self, source: TextSource) -> None:
        self._pieces, self._piece, self.position = read_pieces(source), memoryview(b""), 0

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most `size`."""
        if not self._piece:
            text, self.position = next(self._pieces, (b"", self.position))
            self._piece = memoryview(text)
        head, self._piece = self._piece[:size], self._piece[size:]
        return bytes(head)


@dataclass(slots=True)
class _Table:
    """Rows that come one by one: the last ones as tuples, the others as columns.

    text_count  the first columns are texts, kept as dictionaries; the others are integers
    """

    text_count: int
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    columns: list[list[Any]] = field(default_factory=lambda: [[] for _ in range(6)])

    def compact(self) -> None:
        """Make columns of the last rows."""
        for number, values in enumerate(zip(*self.rows, strict=True)):
            is_text = number < self.text_count
            column = pa.array(values, pa.string() if is_text else pa.int64())
            self.columns[number].append(
                column.dictionary_encode() if is_text else column.to_numpy()
            )
        self.rows.clear()

    def numbers(self, column: int) -> Longs:
        """Return a column of integers."""
        return np.concatenate([np.zeros(0, np.int64), *self.columns[column]])


@dataclass(slots=True)
class _Triples:
    """The triples of a file.

    facts   subject, predicate, object, graph; the node of the statement (0: the triple itself; a
            statement of Wikidata has no subject yet), the number of the triple in the file
    owners  subject; the node of a statement of Wikidata
    times   time; the node that it belongs to, what it says
    labels  iri, label; rank
    """

    file: Path
    options: ReadOptions
    vocabulary: Vocabulary
    ox: Any  # the module pyoxigraph
    notes: list[str] = field(default_factory=list)
    facts: _Table = field(default_factory=lambda: _Table(4))
    owners: _Table = field(default_factory=lambda: _Table(1))
    times: _Table = field(default_factory=lambda: _Table(1))
    labels: _Table = field(default_factory=lambda: _Table(2))
    deprecated: set[int] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)

    def parts(self) -> Iterator[Part]:
        """Yield an empty part while the file is read, for its progress, and then all facts."""
        source = _Bytes(TextSource(self.file, None, self.options.max_bytes))
        number, tables = 0, (self.facts, self.owners, self.times, self.labels)
        for number in self._read(source):  # noqa: B007
            for table in tables:
                table.compact()
            nothing = pa.table({role: pa.array([], pa.string()) for role in _ROLES})
            yield Part(nothing, range(0), _TITLES, position=source.position)
        self._check_languages()
        iris, labels, ranks = self.labels.columns[:3]
        if iris:
            self.vocabulary.labels = [
                pa.table(
                    {"iri": iri.cast(pa.string()), "label": label.cast(pa.string()), "rank": rank}
                )
                for iri, label, rank in zip(iris, labels, ranks, strict=True)
            ]
        part = self._joined()
        left_out = ", ".join(f"{count:,} {what}" for what, count in self.skipped.items())
        if not part.table.num_rows and not iris:
            raise NoFactsError(
                f"{self.file.name}: found no fact in {number:,} triples ({left_out}); expected a "
                "triple of three IRIs; --read literals=yes also reads literals as entities"
            )
        if left_out:
            self.notes.append(f"{self.file.name}: triples that are no facts: {left_out}")
        yield part

    def _read(self, source: _Bytes) -> Iterator[int]:
        """Read the triples into the tables; yield how many were read, every now and then."""
        suffix = f".{self.options.format}" if self.options.format else stem_and_suffix(self.file)[1]
        form = getattr(self.ox.RdfFormat, RDF_FORMATS[suffix])
        number, kinds, graphs = 0, dict[str, int](), set[str]()
        iri, add = self.ox.NamedNode, self.facts.rows.append
        try:
            parser = self.ox.parse(source, form)
            for number, (subject, predicate, value, graph) in enumerate(parser, 1):
                name = predicate.value
                kind = kinds.get(name, -1)
                if kind < 0:
                    kind = kinds[name] = _kind_of(name)
                where = ""
                if type(graph) is iri and (where := graph.value) not in graphs:
                    graphs.add(where)
                    self._add_graph(where)
                if kind == _EDGE and type(value) is iri and type(subject) is iri:
                    add((subject.value, name, value.value, where, 0, number))
                else:
                    self._add(kind, subject, name, value, where, number)
                if not number % _ROWS:
                    yield number
        except SyntaxError as error:
            reason = str(error.msg).partition(": ")[2] or error.msg
            where = f"{self.file.name}:{error.lineno}:{error.offset}"
            raise DataError(f"{where}: {reason}; expected {form.name}") from None
        self.vocabulary.prefixes = {**parser.prefixes, **self.vocabulary.prefixes}
        yield number

    def _add_graph(self, graph: str) -> None:
        """Add the date in the IRI of a graph."""
        if date := _date_in(graph):
            self.times.rows.append((date, hash(graph), _IN_IRI))

    def _add(self, kind: int, subject: Any, name: str, value: Any, graph: str, number: int) -> None:
        """Add a triple that is not simply a fact between two IRIs."""
        if kind in (_EDGE, _VALUE, _REIFIES):
            self._add_fact(kind, subject, name, value, graph, number)
        elif kind == _CLAIM:
            self.owners.rows.append((subject.value, hash(value.value)))
        elif kind == _RANK:
            if value.value == f"{_WIKIBASE}DeprecatedRank":
                self.deprecated.add(hash(subject.value))
        elif kind == _SKIPPED or type(value) is not self.ox.Literal:
            self.skipped[_ABOUT] += 1
        elif kind == _LABEL:
            rank = self.vocabulary.rank(value.language)
            if rank is not None and value.value.strip() and "\0" not in value.value:
                self.labels.rows.append((subject.value, value.value, rank))
        else:
            day = _DAY.fullmatch(value.value)
            text = day[1] if day else value.value
            self.times.rows.append((text, hash(subject.value), kind))

    def _add_fact(
        self, kind: int, subject: Any, name: str, value: Any, graph: str, number: int
    ) -> None:
        """Add a triple, one that is annotated, or one of Wikidata; count it where it is no fact."""
        iri, literal = self.ox.NamedNode, self.ox.Literal
        node = 0 if kind == _EDGE else hash(subject.value)
        if kind == _REIFIES and type(value) is self.ox.Triple:
            subject, name, value = value.subject, value.predicate.value, value.object
        owner = subject.value
        if kind == _VALUE:
            owner, name = "", DIRECT + name.rpartition("/")[2]
        if type(value) is literal:
            tag = (value.language or "").lower().partition("-")[0]
            is_wanted = tag in ("", "mul", self.vocabulary.language.partition("-")[0])
            if not (self.options.literals and is_wanted and value.value):
                self.skipped["with a literal"] += 1
                return
        elif type(value) is not iri or type(subject) is not iri:
            self.skipped["with a blank node"] += 1
            return
        self.facts.rows.append((owner, name, value.value, graph, node, number))

    def _check_languages(self) -> None:
        """Raise DataError, or note it, where there are labels and none in the wanted language."""
        found = self.vocabulary.languages
        if not found or self.labels.columns[0]:
            return
        wanted = self.vocabulary.language
        known = ", ".join(f"{tag} ({count:,})" for tag, count in found.most_common(5))
        message = f"{self.file.name}: no label is in the language {wanted!r}; found {known}"
        if self.options.lang:
            raise DataError(message)
        self.notes.append(f"{message} (--read lang={found.most_common(1)[0][0]})")

    def _joined(self) -> Part:
        """Return all facts with their times, in the order of the file.

        A triple is left out where it is about a statement, or where a statement says the same.
        """
        tables = (self.facts, self.owners, self.times)
        columns = [column for table in tables for column in table.columns[: table.text_count]]
        ends = np.cumsum([sum(map(len, column)) for column in columns])[:-1]
        texts, ids = unify([array for column in columns for array in column])
        subjects, predicates, objects, graphs, owners, times = np.split(ids, ends)
        nodes, owned = self.facts.numbers(4), self.owners.numbers(1)
        known = _Times(times, self.times.numbers(1), self.times.numbers(2))
        hashes = _hashes(texts)
        is_stated, has_owner = nodes == 0, subjects == 0
        subjects = np.where(has_owner, _first(owned, owners, nodes), subjects)
        since, until = known.ends(nodes, _POINT)
        is_kept = (subjects != 0) & ~np.isin(nodes, list(self.deprecated))
        is_kept &= is_stated | has_owner | (since != 0) | (until != 0)
        of_graph = known.ends(hashes[graphs], _POINT, _GRAPH_TIME, _IN_IRI)
        undated = (since == 0) & (until == 0)
        since, until = (
            np.where(undated, graph, own)
            for graph, own in zip(of_graph, (since, until), strict=True)
        )
        is_node = np.isin(hashes, np.concatenate([nodes, owned])) & (hashes != 0)
        is_about = is_stated & (is_node[subjects] | is_node[objects])
        self.skipped += Counter({_ABOUT: int(is_about.sum())})
        is_kept &= ~is_about
        triples = (subjects, predicates, objects)
        is_kept &= ~_repeats(triples, is_kept & ~is_stated, is_kept & is_stated)
        numbers = self.facts.numbers(5)
        rows = np.flatnonzero(is_kept)
        rows = rows[np.argsort(numbers[rows], kind="stable")]
        ids_of = dict(zip(_ROLES, (*triples, since, until), strict=True))
        table = pa.table({role: _compact(ids[rows], texts) for role, ids in ids_of.items()})
        return Part(table, numbers[rows], _TITLES)


@dataclass(frozen=True, slots=True)
class _Times:
    """Times of nodes: the id of the text, the node, and what the time says of it."""

    texts: Ints
    nodes: Longs
    kinds: Longs

    def ends(self, nodes: Longs, *points: int) -> tuple[Ints, Ints]:
        """Return since and until of some nodes; 0 is unknown.

        points  kinds of times that are both, where a node has neither; the first kind counts
        """
        since, until = self._of(nodes, _SINCE), self._of(nodes, _UNTIL)
        point = np.zeros(len(nodes), np.int32)
        for kind in points:
            point = np.where(point == 0, self._of(nodes, kind), point)
        is_point = (since == 0) & (until == 0)
        return np.where(is_point, point, since), np.where(is_point, point, until)

    def _of(self, nodes: Longs, kind: int) -> Ints:
        rows = self.kinds == kind
        return _first(self.nodes[rows], self.texts[rows], nodes)


def _first(keys: Longs, values: Ints, wanted: Longs) -> Ints:
    """Return the first value of each wanted key; 0 where there is none."""
    if not len(keys):
        return np.zeros(len(wanted), np.int32)
    distinct, rows = np.unique(keys, return_index=True)
    places = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
    found: Ints = np.where(distinct[places] == wanted, values[rows[places]], np.int32(0))
    return found


def _hashes(texts: pa.Array) -> Longs:
    """Return the hash of each text, as the nodes of statements have it."""
    pieces = (texts.slice(start, _ROWS).to_pylist() for start in range(0, len(texts), _ROWS))
    return np.fromiter((hash(text) for piece in pieces for text in piece), np.int64, len(texts))


def _repeats(triples: tuple[Ints, Ints, Ints], first: Bools, others: Bools) -> Bools:
    """Return which of the other triples are also among the first."""
    undated = np.zeros(len(first), np.int32)
    facts = Facts(*triples, undated, undated)
    keys, other_keys = fact_keys(facts.take(first), facts.take(others))
    repeated = np.zeros(len(first), np.bool_)
    repeated[others] = np.isin(other_keys, keys)
    return repeated


def _compact(ids: Ints, texts: pa.Array) -> pa.DictionaryArray:
    """Return the texts of ids as a dictionary of those that occur."""
    used, codes = np.unique(ids, return_inverse=True)
    return pa.DictionaryArray.from_arrays(codes.astype(np.int32), texts.take(pa.array(used)))


def _kind_of(predicate: str) -> int:
    """Return what a predicate says."""
    if predicate in _KINDS:
        return _KINDS[predicate]
    if predicate.startswith(_PROPERTY):  # others of them describe statements and references
        namespace = predicate.removeprefix(_PROPERTY).rpartition("/")[0]
        return _OF_WIKIDATA.get(namespace, _SKIPPED)
    return _SKIPPED if predicate.startswith(_VOCABULARIES) else _EDGE


def _date_in(iri: str) -> str:
    """Return the most exact date in an IRI, of several the last; empty where there is none."""
    dates = [
        "-".join(filter(None, (found[1], found[3] or found[5], found[4])))
        for found in _DATE_IN_IRI.finditer(iri)
    ]
    return max(reversed(dates), key=len, default="")
