"""A planted world: a plausible data set whose regularities are known by construction.

Spontaneous events and noise come first. Then every rule in `rules.py` is applied to the facts that
match its body. Finally, ordinary events are added until the world has the requested size.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from apptek.arrays import Bools, Ints, Longs, read_only
from apptek.errors import DataError
from apptek.facts.facts import SPLITS, Dataset, Facts, Names, Split
from apptek.facts.times import UNKNOWN, TimeAxis
from apptek.files import new_folder
from apptek.seeding import generator
from apptek.synthetic.events import ALLY_COUNT, FIRST_DAY, Ledger, People, make_events, make_people
from apptek.synthetic.rules import (
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

SMALLEST, LARGEST = 200, 100_000_000  # facts
HEADER = b"subject\tpredicate\tobject\tsince\tuntil\trule\n"
_BATCH = 1_000_000  # rows written at a time
_TSV = pa.csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")


@dataclass(frozen=True, slots=True)
class World:
    """A data set, the rules planted in it, and the rule behind each fact.

    `origins[split][i]` is the index in `rules` of the rule that created fact i in that split.
    """

    dataset: Dataset
    rules: tuple[Rule, ...]
    origins: dict[Split, npt.NDArray[np.int8]]
    seed: int


# Ids are positions in People.names and PREDICATES; origin and pinned: see EVENT.
_COLUMNS = ("subject", "predicate", "object", "since", "until")
_Rows = npt.NDArray[Any]  # of _FACT
_FACT = np.dtype(
    [*((name, np.int32) for name in _COLUMNS), ("origin", np.int8), ("pinned", np.bool_)]
)


def make_world(facts: int = 20_000, seed: int = 0) -> World:
    """Create a world with exactly this many facts. The same seed always gives the same world.

    It has about 3 * facts ** 0.6 entities. The validation and test sets are a random tenth of the
    facts each, with one restriction: of the threat, the aid and the retaliation in an episode of
    the two-hop rule, at most one is held out, so train always contains the other two. Each split
    lists its events by time, then the terms of office, then the undated facts. This takes about a
    second per million facts.
    """
    if not SMALLEST <= facts <= LARGEST:
        raise DataError(f"expected {SMALLEST:,} to {LARGEST:,} facts, not {facts:,}")
    if seed < 0:
        raise DataError(f"a seed must be 0 or more, not {seed}")
    country_count = max(4, int(0.2 * float(facts) ** 0.6))  # with SLOT_COUNT entities each
    people = make_people(country_count, rng=generator(seed, "world.people"))
    lasting = [_terms(people, rng=generator(seed, "world.terms")), *_undated(people)]
    event_count = facts - sum(map(len, lasting))
    events = _dated(make_events(people, event_count, seed))
    return _world(people, np.concatenate([events, *lasting]), seed)


def _lasting(
    predicate: str,
    pairs: Longs,
    origin: str = "undated",
    since: Any = UNKNOWN,
    until: Any = UNKNOWN,
) -> _Rows:
    """Return facts with one predicate between pairs (n, 2) of entities."""
    rows = np.zeros(len(pairs), _FACT)
    rows["subject"], rows["object"] = pairs.T
    rows["predicate"], rows["origin"] = PREDICATES.index(predicate), ORIGIN[origin]
    rows["since"], rows["until"] = since, until
    return rows


def _terms(people: People, *, rng: np.random.Generator) -> _Rows:
    """Return the consecutive terms of each country's leaders. The last has an open end.

    The first starts before the first day. For one in eight, its start is unknown.
    """
    states = np.arange(len(people.changes)) * SLOT_COUNT
    first_days = FIRST_DAY - rng.integers(1, 2000, len(states))
    first_days[rng.random(len(states)) < 1 / 8] = UNKNOWN
    changes = FIRST_DAY + people.changes  # (C, 2)
    since = np.column_stack([first_days, changes]).ravel()
    until = np.column_stack([changes, np.full(len(states), UNKNOWN)]).ravel()
    pairs = _pairs(states[:, None] + LEADER + np.arange(LEADER_COUNT), states)
    return _lasting(IN_OFFICE, pairs, "term-of-office", since, until)


def _pairs(subjects: Longs, objects: Longs) -> Longs:
    """Return pairs (n * m, 2): the m subjects in each row (n, m) with the row's object (n,)."""
    return np.column_stack([subjects.ravel(), np.repeat(objects, subjects.shape[1])])


def _undated(people: People) -> list[_Rows]:
    """Return undated facts: organs belong to states, states to leagues, and forces have allies."""
    states = np.arange(len(people.changes)) * SLOT_COUNT
    leagues = np.searchsorted(people.bounds, np.arange(len(people.changes)), side="right") - 1
    forces = (states[:, None] + np.asarray(FORCES)).ravel()
    pledges = _pairs(people.allies.reshape(-1, ALLY_COUNT), forces)
    return [
        _lasting(LOCATED, _pairs(states[:, None] + np.arange(1, LEADER), states)),
        _lasting(PART_OF, _pairs(states[:, None], len(people.changes) * SLOT_COUNT + leagues)),
        _lasting(ALLIED, np.unique(pledges, axis=0)),  # a force may draw the same ally twice
    ]


def _dated(ledger: Ledger) -> _Rows:
    """Return all events in the ledger, by time."""
    rows, start = np.zeros(sum(map(len, ledger.events.values())), _FACT), 0
    for number, predicate in enumerate(PREDICATES):
        events = ledger.events.pop(predicate, None)
        if events is not None:
            part = rows[start : start + len(events)]
            part["since"], part["subject"], part["object"] = ledger.unpack(events)
            part["predicate"], part["origin"] = number, events["origin"]
            part["pinned"] = events["pinned"]
            start += len(events)
    rows = rows[np.argsort(rows["since"].astype(np.int16), kind="stable")]  # a radix sort
    rows["since"] += FIRST_DAY
    rows["until"] = rows["since"]
    return rows


def _world(people: People, rows: _Rows, seed: int) -> World:
    """Return the world with names in byte order, matching ids, and three splits."""
    entities, entity_order = _sorted_names(people.names)
    predicates, predicate_order = _sorted_names(PREDICATES)
    facts = Facts(
        entity_order[rows["subject"]],
        predicate_order[rows["predicate"]],
        entity_order[rows["object"]],
        *(np.ascontiguousarray(rows[end]) for end in ("since", "until")),
    )
    places = _split(rows["pinned"], rng=generator(seed, "world.split"))
    dataset = Dataset(
        name=f"world-{len(facts)}-{seed}",
        entities=entities,
        predicates=predicates,
        axis=TimeAxis("day"),
        train=facts.take(places["train"]),
        valid=facts.take(places["valid"]),
        test=facts.take(places["test"]),
    )
    by_split = {split: read_only(rows["origin"][places[split]]) for split in SPLITS}
    return World(dataset, RULES, by_split, seed)


def _sorted_names(names: tuple[str, ...]) -> tuple[Names, Ints]:
    """Return the names in byte order, and the new id for each position in `names`."""
    order = sorted(range(len(names)), key=lambda index: names[index].encode())
    ids = np.empty(len(names), np.int32)
    ids[order] = np.arange(len(names), dtype=np.int32)
    return Names(pa.array([names[index] for index in order], pa.string())), ids


def _split(pinned: Bools, *, rng: np.random.Generator) -> dict[Split, Longs]:
    """Return each split's rows in ascending order.

    Valid and test each get a tenth, without pinned rows.
    """
    tenth = len(pinned) // 10
    held_out = rng.permutation(np.flatnonzero(~pinned))[: 2 * tenth]
    in_train = np.ones(len(pinned), np.bool_)
    in_train[held_out] = False
    return {
        "train": np.flatnonzero(in_train),
        "valid": np.sort(held_out[:tenth]),
        "test": np.sort(held_out[tenth:]),
    }


def write_world(world: World, folder: Path) -> None:
    """Write train.tsv, valid.tsv, test.tsv and rules.json to a new folder, atomically."""
    with new_folder(folder) as building:
        for split in SPLITS:
            with (building / f"{split}.tsv").open("wb") as file:
                file.write(HEADER)
                for start in range(0, len(world.dataset.split(split)), _BATCH):
                    rows = slice(start, start + _BATCH)
                    pa.csv.write_csv(_table(world, split, rows), file, _TSV)
        (building / "rules.json").write_text(_rules_json(world), encoding="utf-8")


def _table(world: World, split: Split, rows: slice) -> pa.Table:
    """Return rows in readable form: names, ISO dates, and the rule's name."""
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
        asdict(rule) | {"counts": {split: counts[split][index] for split in SPLITS}}
        for index, rule in enumerate(world.rules)
    ]
    facts = sum(len(world.dataset.split(split)) for split in SPLITS)
    description = {"facts": facts, "seed": world.seed, "rules": rules}
    return json.dumps(description, indent=2, sort_keys=True) + "\n"
