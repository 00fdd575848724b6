"""RDF for tests: the usual prefixes, and files that begin with them."""

from pathlib import Path
from typing import Any

from fact_files import ALL_IN_TRAIN, write

from apptek.facts.facts import Dataset
from apptek.reading.reader import read_dataset

HEAD = """@prefix ex: <http://example.org/> .
@prefix schema: <https://schema.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wds: <http://www.wikidata.org/entity/statement/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> .
@prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
"""


def read_rdf(folder: Path, text: str, file: str = "facts.ttl", **options: Any) -> Dataset:
    """Read a file of RDF; Turtle and TriG get the prefixes."""
    head = HEAD if ".ttl" in file or ".trig" in file else ""
    return read_dataset(write(folder / file, head + text), splitting=ALL_IN_TRAIN, **options)
