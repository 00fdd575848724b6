"""All facts of a synthetic world in one table, for tests that count in it."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from apptek.arrays import Bools
from apptek.facts.facts import SPLITS
from apptek.synthetic.rules import ORIGIN, PREDICATES
from apptek.synthetic.world import World

Array = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Table:
    """All facts of a synthetic world in one table, with their origins and splits."""

    world: World
    subjects: Array
    predicates: Array
    objects: Array
    since: Array
    until: Array
    origins: Array
    splits: npt.NDArray[np.str_]

    def of(self, predicate: str) -> Bools:
        return np.asarray(self.predicates == self.world.dataset.predicates.find(predicate))

    def made_by(self, name: str) -> Bools:
        return np.asarray(self.origins == ORIGIN[name])

    def keys(self, subjects: Array, predicate: str, objects: Array, days: Array) -> Array:
        """One number for each dated event."""
        count = len(self.world.dataset.entities)
        number = PREDICATES.index(predicate)
        return ((days * count + subjects) * count + objects) * len(PREDICATES) + number

    def holds(self, subjects: Array, predicate: str, objects: Array, days: Array) -> Bools:
        """Which of these events are in the synthetic dataset."""
        rows = self.of(predicate)
        known = self.keys(self.subjects[rows], predicate, self.objects[rows], self.since[rows])
        return np.isin(self.keys(subjects, predicate, objects, days), known)


def table_of(world: World) -> Table:
    parts = [world.dataset.split(split) for split in SPLITS]
    subjects, predicates, objects, since, until = (
        np.concatenate([part.columns()[number] for part in parts]).astype(np.int64)
        for number in range(5)
    )
    origins = np.concatenate([world.origins[split] for split in SPLITS]).astype(np.int64)
    splits = np.repeat(SPLITS, [len(part) for part in parts])
    return Table(world, subjects, predicates, objects, since, until, origins, splits)
