"""A planted world: a plausible data set whose regularities are known by construction.

Spontaneous events and noise come first, then every rule of `synthetic_rules` acts on whatever
matches its body, then ordinary events fill the world up to the wanted size.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from apptek.arrays import Bools, Ints, Longs, read_only
from apptek.data.facts import SPLITS, Dataset, Facts, Names, Split
from apptek.data.synthetic.events import Bytes, Ledger, make_events
from apptek.data.synthetic.people import ALLY_COUNT, FIRST_DAY, People, make_people
from apptek.data.synthetic.rules import (
    ALLIED,
    FORCES,
    IN_OFFICE,
    LEADER,
    LEADER_COUNT,
    LOCATED,
    ORIGIN,
    PART_OF,
    PREDICATES,
    RULES,
    SLOT_COUNT,
    Rule,
)
from apptek.data.times import UNKNOWN, TimeAxis
from apptek.errors import DataError
from apptek.files import new_folder
from apptek.seeding import generator

SMALLEST, LARGEST = 200, 100_000_000  # facts
HEADER = b"subject\tpredicate\tobject\tsince\tuntil\trule\n"
_BATCH = 1_000_000  # rows written at once
_TSV = pa.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")


@dataclass(frozen=True, slots=True)
class World:
    """A data set, the rules planted in it, and which of them made each fact.

    `origins[split][i]` is the place in `rules` of what made fact i of that split.
    """

    dataset: Dataset
    rules: tuple[Rule, ...]
    origins: dict[Split, Bytes]
    seed: int


@dataclass(frozen=True, slots=True)
class _Made:
    """Facts on their way into the world; ids are places in People.names and in PREDICATES."""

    facts: Facts
    origins: Bytes
    pinned: Bools


def make_world(facts: int = 20_000, seed: int = 0) -> World:
    """A world of exactly that many facts, the same for the same seed.

    Its entities number about 3 * facts ** 0.6. A tenth of the facts each is in valid and in test,
    terms and undated facts like the others, at random but for one thing: of the threat, the aid and
    the retaliation that form one episode of the two-hop rule at most one is held out, so that train
    always holds the other two. In each split events are in the order of time; then come the terms,
    then the undated facts. About a second per million facts.
    """
    if not SMALLEST <= facts <= LARGEST:
        raise DataError(f"a world has {SMALLEST:,} to {LARGEST:,} facts, not {facts:,}")
    if seed < 0:
        raise DataError(f"a seed is 0 or more, not {seed}")
    people = make_people(_country_count(facts), rng=generator(seed, "world.people"))
    lasting = [_terms(people, rng=generator(seed, "world.terms")), _undated(people)]
    event_count = facts - sum(len(made.facts) for made in lasting)
    events = _dated(make_events(people, event_count, seed))
    return _world(people, [events, *lasting], seed)


def _country_count(facts: int) -> int:
    return max(4, int(0.2 * float(facts) ** 0.6))


def _lasting(predicate: str, pairs: Longs, since: Ints, until: Ints, *, origin: str) -> _Made:
    """Facts of one predicate between pairs (n, 2) of entities."""
    subjects, objects = pairs.astype(np.int32).T.copy()
    predicates = np.full(len(pairs), PREDICATES.index(predicate), np.int32)
    facts = Facts(subjects, predicates, objects, since, until)
    origins = np.full(len(pairs), ORIGIN[origin], np.int8)
    return _Made(facts, origins, np.zeros(len(pairs), np.bool_))


def _terms(people: People, *, rng: np.random.Generator) -> _Made:
    """Each country's three leaders, one after the other; the last is in office with an open end.

    The first took office before the first day; for one in eight nobody knows when.
    """
    states = np.arange(people.country_count) * SLOT_COUNT
    begun = FIRST_DAY - rng.integers(1, 2000, len(states))
    begun[rng.random(len(states)) < 1 / 8] = UNKNOWN
    passed = (FIRST_DAY + people.changes).astype(np.int32)  # (C, 2)
    since = np.column_stack([begun, passed]).astype(np.int32)
    until = np.column_stack([passed, np.full(len(states), UNKNOWN)]).astype(np.int32)
    leaders = states[:, None] + LEADER + np.arange(LEADER_COUNT)
    pairs = _pairs(leaders, states)
    return _lasting(IN_OFFICE, pairs, since.ravel(), until.ravel(), origin="term-of-office")


def _pairs(subjects: Longs, objects: Longs) -> Longs:
    """(n * m, 2): the m subjects of each row (n, m) with the row's object (n,)."""
    return np.column_stack([subjects.ravel(), np.repeat(objects, subjects.shape[1])])


def _undated(people: People) -> _Made:
    """Organs are located in their states, states are part of leagues, forces have allies."""
    states = np.arange(people.country_count) * SLOT_COUNT
    organs = states[:, None] + np.arange(1, LEADER)
    leagues = np.searchsorted(people.bounds, np.arange(people.country_count), side="right") - 1
    forces = (states[:, None] + np.asarray(FORCES)).ravel()
    pledges = _pairs(people.allies.reshape(-1, ALLY_COUNT), forces)
    return _joined(
        [
            _always(LOCATED, _pairs(organs, states)),
            _always(PART_OF, _pairs(states[:, None], people.country_count * SLOT_COUNT + leagues)),
            _always(ALLIED, np.unique(pledges, axis=0)),
        ]
    )


def _always(predicate: str, pairs: Longs) -> _Made:
    unknown = np.full(len(pairs), UNKNOWN, np.int32)
    return _lasting(predicate, pairs, unknown, unknown, origin="undated")


def _dated(ledger: Ledger) -> _Made:
    """All events of the ledger, in the order of time."""
    settled = [ledger.settled(predicate) for predicate in PREDICATES]
    predicates = np.repeat(np.arange(len(settled), dtype=np.int32), [len(part) for part in settled])
    columns = [[column.astype(np.int32) for column in ledger.unpack(part)] for part in settled]
    days, subjects, objects = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    order = np.argsort(days.astype(np.int16), kind="stable")  # a radix sort
    times = days[order] + np.int32(FIRST_DAY)
    facts = Facts(subjects[order], predicates[order], objects[order], times, times)
    origins = np.concatenate([part.origins for part in settled])[order]
    return _Made(facts, origins, np.concatenate([part.pinned for part in settled])[order])


def _joined(parts: list[_Made]) -> _Made:
    columns = zip(*(part.facts.columns() for part in parts), strict=True)
    return _Made(
        Facts(*(np.concatenate(column) for column in columns)),
        np.concatenate([part.origins for part in parts]),
        np.concatenate([part.pinned for part in parts]),
    )


def _world(people: People, parts: list[_Made], seed: int) -> World:
    """Names in byte order, ids to match, and three splits."""
    made = _joined(parts)
    entities, entity_ids = _sorted_names(people.names)
    predicates, predicate_ids = _sorted_names(PREDICATES)
    facts = Facts(
        entity_ids[made.facts.subjects],
        predicate_ids[made.facts.predicates],
        entity_ids[made.facts.objects],
        made.facts.since,
        made.facts.until,
    )
    rows = _split(made.pinned, rng=generator(seed, "world.split"))
    dataset = Dataset(
        name=f"world-{len(facts)}-{seed}",
        entities=entities,
        predicates=predicates,
        axis=TimeAxis("day"),
        train=facts.take(rows["train"]),
        valid=facts.take(rows["valid"]),
        test=facts.take(rows["test"]),
    )
    origins = {split: read_only(made.origins[rows[split]]) for split in SPLITS}
    return World(dataset, RULES, origins, seed)


def _sorted_names(names: tuple[str, ...]) -> tuple[Names, Ints]:
    """The names in byte order, and for each place in `names` its id there."""
    order = sorted(range(len(names)), key=lambda place: names[place].encode())
    ids = np.empty(len(names), np.int32)
    ids[order] = np.arange(len(names), dtype=np.int32)
    return Names(pa.array([names[place] for place in order], pa.string())), ids


def _split(pinned: Bools, *, rng: np.random.Generator) -> dict[Split, Longs]:
    """Rows of each split, ascending; a tenth each of all facts in valid and test, none pinned."""
    tenth = len(pinned) // 10
    held = rng.permutation(np.flatnonzero(~pinned))[: 2 * tenth]
    train = np.ones(len(pinned), np.bool_)
    train[held] = False
    return {
        "train": np.flatnonzero(train),
        "valid": np.sort(held[:tenth]),
        "test": np.sort(held[tenth:]),
    }


def write_world(world: World, folder: Path) -> None:
    """Writes train.tsv, valid.tsv, test.tsv and rules.json, all or nothing, into a new folder."""
    with new_folder(folder) as building:
        for split in SPLITS:
            _write_facts(world, split, building / f"{split}.tsv")
        (building / "rules.json").write_text(_rules_json(world), encoding="utf-8")


def _write_facts(world: World, split: Split, path: Path) -> None:
    facts = world.dataset.split(split)
    with path.open("wb") as file:
        file.write(HEADER)
        for start in range(0, len(facts), _BATCH):
            table = _table(world, split, slice(start, start + _BATCH))
            pa.csv.write_csv(table, file, _TSV)


def _table(world: World, split: Split, rows: slice) -> pa.Table:
    """The rows as people read them: names, ISO days, the origin's name."""
    subjects, predicates, objects, since, until = (
        column[rows] for column in world.dataset.split(split).columns()
    )
    rules = pa.array([rule.name for rule in world.rules])
    return pa.table(
        {
            "subject": world.dataset.entities.array.take(pa.array(subjects)),
            "predicate": world.dataset.predicates.array.take(pa.array(predicates)),
            "object": world.dataset.entities.array.take(pa.array(objects)),
            "since": pa.array(since, mask=since == UNKNOWN).cast(pa.date32()),
            "until": pa.array(until, mask=until == UNKNOWN).cast(pa.date32()),
            "rule": rules.take(pa.array(world.origins[split][rows])),
        }
    )


def _rules_json(world: World) -> str:
    counts = {
        split: np.bincount(world.origins[split], minlength=len(world.rules)).tolist()
        for split in SPLITS
    }
    rules = [
        asdict(rule) | {"counts": {split: counts[split][place] for split in SPLITS}}
        for place, rule in enumerate(world.rules)
    ]
    facts = sum(len(world.dataset.split(split)) for split in SPLITS)
    page = {"facts": facts, "seed": world.seed, "rules": rules}
    return json.dumps(page, indent=2, sort_keys=True) + "\n"
