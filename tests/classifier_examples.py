"""Small examples to fit a linear softmax on, in plain form and as arrays."""

import numpy as np
from ranking_oracles import PlainExample

from apptek.models.fitting.examples import Examples
from apptek.ragged import Ragged

FEATURES, CLASSES = 4, 5


def rows_of(rows: list[dict[int, float]], feature_count: int, binary: bool) -> Ragged:
    """Rows that map each active feature to its value; binary rows list only the features."""
    values = np.asarray([value for row in rows for value in row.values()], np.float32)
    return Ragged(
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.asarray([feature for row in rows for feature in row], np.int32),
        feature_count,
        None if binary else values,
    )


def examples_of(
    plain: list[PlainExample], feature_count: int = FEATURES, *, binary: bool = False
) -> Examples:
    """The same examples as arrays."""
    others = [sorted(example.others) for example in plain]
    return Examples(
        rows_of([example.features for example in plain], feature_count, binary),
        np.asarray([example.label for example in plain], np.int32),
        Ragged(
            np.cumsum([0, *map(len, others)], dtype=np.int64),
            np.asarray([r for row in others for r in row], np.int32),
        ),
    )


def random_examples(
    count: int, rng: np.random.Generator, *, binary: bool = False
) -> list[PlainExample]:
    """Labels that depend on the features, with an occasional second correct predicate."""
    truth = rng.normal(0, 2, (FEATURES, CLASSES))
    found = []
    for _ in range(count):
        active = np.flatnonzero(rng.random(FEATURES) < 0.5).tolist()
        features = {f: 1.0 if binary else float(np.float32(rng.normal())) for f in active}
        example = PlainExample(features, 0)
        chances = example.probabilities(truth, np.zeros(CLASSES))
        label = int(rng.choice(CLASSES, p=chances))
        others = set(np.flatnonzero(rng.random(CLASSES) < 0.1).tolist()) - {label}
        found.append(PlainExample(features, label, frozenset(others)))
    return found
