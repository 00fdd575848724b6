"""The rank of every query, in a file beside the result: what a paired comparison needs."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apptek.arrays import Doubles, Floats, Ints
from apptek.errors import ApptekError
from apptek.facts.facts import Dataset, Split
from apptek.files import write_whole
from apptek.research.result import Result

_KEYS = {"file", "digest", "queries", "predicates"}


@dataclass(frozen=True, slots=True)
class Ranks:
    """The rank of each query's true predicate, and which predicate that is."""

    ranks: Floats  # (n,)
    predicates: Ints  # (n,), indices into `names`
    names: list[str]
    queries: str  # a digest of the facts behind the queries: equal for equal queries


def write_ranks(path: Path, ranks: Doubles, data: Dataset, split: Split) -> dict[str, Any]:
    """Writes NAME.ranks.npy beside the result NAME.json; returns what the result says of it.

    The file has two rows of float32: the ranks, and the predicates as indices into the list of
    names in the result. Both are exact, because a rank is a multiple of 1/2.
    """
    facts = data.split(split)
    distinct, indices = np.unique(facts.predicates, return_inverse=True)
    rows = np.stack([ranks, indices]).astype(np.float32)
    ranks_path = path.with_name(f"{path.name.removesuffix('.json')}.ranks.npy")
    write_whole(ranks_path, rows)
    return {
        "file": ranks_path.name,
        "digest": _digest(rows),
        "queries": facts.digest(),
        "predicates": [data.predicates[int(predicate)] for predicate in distinct],
    }


def read_ranks(path: Path, result: Result) -> Ranks:
    """The ranks of a result from `path`; ApptekError where they are missing or damaged."""
    about = result.ranks
    if not set(about) >= _KEYS:
        raise ApptekError(f"{path} names no ranks: evaluate again with --result")
    ranks_path = path.with_name(str(about["file"]))
    try:
        with ranks_path.open("rb") as file:
            rows = np.lib.format.read_array(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ApptekError(
            f"{ranks_path}: the ranks are missing or damaged ({why}): evaluate again with --result"
        ) from None
    if rows.dtype != np.float32 or rows.ndim != 2 or _digest(rows) != about["digest"]:
        raise ApptekError(f"{ranks_path} does not hold the ranks of {path}: evaluate again")
    return Ranks(rows[0], rows[1].astype(np.int32), about["predicates"], about["queries"])


def _digest(rows: Floats) -> str:
    return hashlib.blake2b(np.ascontiguousarray(rows).data, digest_size=16).hexdigest()
