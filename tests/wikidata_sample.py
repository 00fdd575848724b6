"""An invented league as a Wikidata dump: `python tests/wikidata_sample.py league.nt.gz`.

The properties are Wikidata's; the people and clubs are invented. Each person plays for a club. Some
later coach a club, usually the one they played for longest, and some of them own it after that.
"""

import gzip
import random
import sys
from collections.abc import Iterator
from pathlib import Path

WIKIDATA = "http://www.wikidata.org/"
PROPERTIES = {
    "P54": "member of sports team",
    "P6087": "coach of sports team",
    "P1830": "owner of",
    "P27": "country of citizenship",
}
FIRST = "Ada Bo Cleo Dag Eva Finn Greta Hugo Ida Jon Kaia Lars Mia Nils Ona Per Rut Sven Tyra Ulf"
LAST = "Berg Dahl Ek Falk Gran Holm Jansen Krog Lund Moe Nord Ost Quist Rask Strand Vik"
CLUBS = "Harbour Mill Forest Station Castle Bridge Valley Island Garden Market"
Fact = tuple[int, str, int, int | None, int | None]  # subject, property, object, years


def facts(seed: int = 0, people: int = 240) -> tuple[dict[int, str], list[Fact]]:
    """The labels of the entities by number, and the facts about them."""
    rng = random.Random(seed)
    clubs = {1000 + n: f"{name} FC" for n, name in enumerate(CLUBS.split())}
    countries = {2000: "Norland", 2001: "Sudland"}
    full_names = [f"{first} {last}" for first in FIRST.split() for last in LAST.split()]
    persons = dict(enumerate(rng.sample(full_names, people), 3000))
    found: list[Fact] = []
    for person in persons:
        found.append((person, "P27", rng.choice(sorted(countries)), None, None))
        year, longest = rng.randint(1970, 2010), (0, 0)
        for club in rng.sample(sorted(clubs), rng.randint(1, 4)):
            years = rng.randint(1, 7)
            until = year + years if year + years <= 2020 else None
            found.append((person, "P54", club, year, until))
            longest, year = max(longest, (years, club)), year + years + rng.randint(0, 1)
        if rng.random() < 0.6 and year < 2015:
            club = longest[1] if rng.random() < 0.8 else rng.choice(sorted(clubs))
            years = rng.randint(2, 8)
            found.append((person, "P6087", club, year + 1, year + 1 + years))
            if rng.random() < 0.4:
                found.append((person, "P1830", club, year + 2 + years, None))
    return clubs | countries | persons, found


def triples(seed: int = 0) -> Iterator[str]:
    """The lines of the dump: labels, truthy triples, statements with qualifiers and ranks."""
    labels, found = facts(seed)
    ontology, rdfs = "http://wikiba.se/ontology#", "http://www.w3.org/2000/01/rdf-schema#"
    kind = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
    date_time = "<http://www.w3.org/2001/XMLSchema#dateTime>"
    entities = {f"Q{number}": label for number, label in labels.items()}
    for entity, label in (PROPERTIES | entities).items():
        iri = f"<{WIKIDATA}entity/{entity}>"
        yield f'{iri} <{rdfs}label> "{label}"@en .'
        yield f'{iri} <http://schema.org/description> "invented"@en .'
    for number, (subject, name, object_, since, until) in enumerate(found):
        one, other = f"<{WIKIDATA}entity/Q{subject}>", f"<{WIKIDATA}entity/Q{object_}>"
        node = f"<{WIKIDATA}entity/statement/Q{subject}-{number:08x}>"
        yield f"{one} <{WIKIDATA}prop/direct/{name}> {other} ."
        yield f"{one} <{WIKIDATA}prop/{name}> {node} ."
        yield f"{node} {kind} <{ontology}Statement> ."
        yield f"{node} <{ontology}rank> <{ontology}NormalRank> ."
        yield f"{node} <{WIKIDATA}prop/statement/{name}> {other} ."
        for qualifier, year in (("P580", since), ("P582", until)):
            if year is not None:
                literal = f'"{year}-01-01T00:00:00Z"^^{date_time}'
                yield f"{node} <{WIKIDATA}prop/qualifier/{qualifier}> {literal} ."


def write_sample(path: Path) -> Path:
    """The dump as a compressed file."""
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in triples()).encode(), mtime=0))
    return path


if __name__ == "__main__":
    write_sample(Path(sys.argv[1]))
