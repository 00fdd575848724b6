"""A result: what was run, on which data, with which settings, and the outcome.

Only `read_result` and `write_result` read and write result files.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from apptek.arrays import Doubles, Floats
from apptek.errors import ApptekError
from apptek.facts.facts import SPLITS, Dataset, Split
from apptek.files import new_file, write_whole, writing
from apptek.research import provenance

FORMAT = 1
Settings = Mapping[str, Mapping[str, Any]]  # values by section and key
Entries = Mapping[str, Any]
_KEYS = {"file", "digest", "queries"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one run, or of a comparison of models.

    Attributes with default values are omitted from the file. `extras` holds all other entries in a
    file: entries for one type of run, such as a search's trials, and entries that are null or
    empty.
    """

    model: str  # such as apptek_default; for runs without a model the type, such as statistics
    dataset: str = ""
    protocol: str | None = None
    split: Split | None = None  # the split that was evaluated
    preset: str | None = None  # of a baseline; our presets are part of the model's name
    seed: int | None = None
    view: str | None = None  # the view of the metrics: all_facts or past_only
    rolling: bool = False  # whether each query saw every fact before its time
    filtering: str = "time-aware"  # the known predicates that rankings exclude
    candidates: str = "R"  # 2R: predicates in both directions were ranked
    settings: Settings = field(default_factory=dict)
    changed: Entries | None = None  # settings that differ from the preset, by section.key
    metrics: Entries = field(default_factory=dict)
    groups: Entries = field(default_factory=dict)  # the metrics by type of query
    forecast: Entries = field(default_factory=dict)  # raw and filtered, R and 2R
    tuning: Entries = field(default_factory=dict)  # choices made on the tuning split
    topologies: Entries = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)  # a digest for each split
    ranks: Entries = field(default_factory=dict)  # the file with the rank of every query
    seconds: Mapping[str, float | None] = field(default_factory=dict)  # by stage
    command: str | None = None
    commit: str | None = None
    machine: Entries = field(default_factory=dict)
    extras: Entries = field(default_factory=dict)

    @classmethod
    def from_json(cls, entries: Entries) -> "Result":
        """Return the result described by a file's entries; ValidationError for a wrong type."""
        # Keep null or empty entries in `extras`: as attributes, they would not be written again.
        known = {
            name: entries[name]
            for name, default in _DEFAULTS.items()
            if entries.get(name) not in (None, default)
        }
        others = {name: entry for name, entry in entries.items() if name not in known}
        return _CHECKED.validate_python(known | {"extras": others})

    def as_json(self) -> dict[str, Any]:
        """Return the entries for a file, without the file's format."""
        values = {name: getattr(self, name) for name in _DEFAULTS}
        known = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
        return known | dict(self.extras)

    @property
    def fitted_on_the_past(self) -> bool:
        """Whether the model was fitted with only the facts before each query's time."""
        return bool(self.settings.get("features", {}).get("past_only", False))


_CHECKED = TypeAdapter(Result)
_DEFAULTS: dict[str, Any] = {
    known.name: known.default if known.default_factory is MISSING else known.default_factory()
    for known in fields(Result)
    if known.name != "extras"
}


def mean_seconds(results: Sequence[Result]) -> float | None:
    """Return the mean total time of the given runs; None if any was interrupted."""
    total = 0.0
    for seconds in (stage for result in results for stage in result.seconds.values()):
        if seconds is None:
            return None
        total += seconds
    return total / len(results)


def plain_settings(config: Any) -> dict[str, Any]:
    """Return a config's settings for JSON, with lists instead of tuples."""
    settings: dict[str, Any] = json.loads(json.dumps(asdict(config)))
    return settings


def split_digests(data: Dataset) -> dict[str, str]:
    """Return a digest of each split's facts: equal for equal data."""
    return {split: data.split(split).digest() for split in SPLITS}


def write_result(path: Path, result: Result) -> None:
    """Write a result; fill in the command, commit, machine and date if they are missing."""
    entries = result.as_json()
    for name in ("command", "commit", "machine", "date"):
        if name not in entries:
            entries[name] = getattr(provenance, name)()
    text = json.dumps({"format": FORMAT} | entries, indent=1, sort_keys=True) + "\n"
    write_whole(path, text.encode())


def read_results(folder: Path) -> dict[str, Result]:
    """Return every result file in a folder, by its name without .json."""
    return {path.stem: read_result(path) for path in sorted(folder.glob("*.json"))}


def read_result(path: Path) -> Result:
    """Read a result file; ApptekError if it is damaged or has a different format."""
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ApptekError(f"{path} is not a result file: {error.strerror}") from None
    except ValueError as error:
        raise ApptekError(f"{path} is not a result file: it is not JSON ({error})") from None
    if not isinstance(entries, dict) or entries.get("format") != FORMAT:
        raise ApptekError(f"{path}: the result has a different format; expected format {FORMAT}")
    del entries["format"]
    try:
        return Result.from_json(entries)
    except ValidationError as error:
        first = error.errors()[0]
        raise ApptekError(f"{path} is damaged: {first['loc'][0]}: {first['msg']}") from None


def write_ranks(path: Path, ranks: Doubles, data: Dataset, split: Split) -> dict[str, Any]:
    """Write NAME.ranks.npy next to the result NAME.json; return the entry for the result.

    The file has one row of float32, which is exact, because ranks are multiples of 1/2.
    """
    rows = ranks[None].astype(np.float32)
    ranks_path = path.with_name(f"{path.name.removesuffix('.json')}.ranks.npy")
    with new_file(ranks_path) as temporary, writing(ranks_path), temporary.open("wb") as file:
        np.save(file, rows, allow_pickle=False)
    return {
        "file": ranks_path.name,
        "digest": _digest(rows),
        "queries": data.split(split).digest(),
    }


def read_ranks(path: Path, result: Result) -> Floats:
    """Return a result's ranks from `path`; ApptekError if they are missing or damaged."""
    about = result.ranks
    if not set(about) >= _KEYS:
        raise ApptekError(f"{path} contains no ranks: evaluate again with --result")
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
        raise ApptekError(f"{ranks_path} does not contain the ranks of {path}: evaluate again")
    return np.asarray(rows[0])


def _digest(rows: Floats) -> str:
    return hashlib.blake2b(np.ascontiguousarray(rows).data, digest_size=16).hexdigest()
