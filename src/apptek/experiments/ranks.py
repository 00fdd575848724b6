"""The rank of every query, beside its result file: what a paired comparison needs."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Doubles, Floats, Ints
from apptek.data.facts import Dataset, Split
from apptek.errors import ApptekError
from apptek.files import write_whole

_KEYS = {"file", "digest", "queries", "predicates"}


@dataclass(frozen=True, slots=True)
class Ranks:
    """The rank of each query's truth, and which predicate that is."""

    ranks: Floats  # (n,)
    predicates: Ints  # (n,), places in `names`
    names: list[str]
    queries: str  # the digest of the facts that were asked about: equal for equal questions


def write_ranks(result: Path, ranks: Doubles, data: Dataset, split: Split) -> dict[str, Any]:
    """Writes NAME.ranks.npy beside NAME.json; what the result says of it.

    Two rows of float32, exact: a rank is a multiple of 1/2. The second names the predicates, as
    places in the list that the result holds.
    """
    facts = data.split(split)
    distinct, places = np.unique(facts.predicates, return_inverse=True)
    rows = np.stack([ranks, places]).astype(np.float32)
    path = result.with_name(f"{result.name.removesuffix('.json')}.ranks.npy")
    write_whole(path, rows)
    return {
        "file": path.name,
        "digest": _digest(rows),
        "queries": facts.digest(),
        "predicates": [data.predicates[int(predicate)] for predicate in distinct],
    }


def read_ranks(result: Path, about: dict[str, Any]) -> Ranks:
    """The ranks that a result names; ApptekError where they are missing or damaged."""
    named = about.get("ranks")
    if not isinstance(named, dict) or not set(named) >= _KEYS:
        raise ApptekError(f"{result} names no ranks: evaluate again with --result")
    path = result.with_name(str(named["file"]))
    try:
        with path.open("rb") as file:
            rows = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ApptekError(
            f"{path}: the ranks are missing or damaged ({why}): evaluate again with --result"
        ) from None
    if rows.dtype != np.float32 or rows.ndim != 2 or _digest(rows) != named["digest"]:
        raise ApptekError(f"{path} does not hold the ranks of {result}: evaluate again")
    return Ranks(rows[0], rows[1].astype(np.int32), named["predicates"], named["queries"])


def _digest(rows: Floats) -> str:
    return hashlib.blake2b(np.ascontiguousarray(rows).data, digest_size=16).hexdigest()
