"""Tasks: a part of the facts, or a stretch of the queries, that leaves a folder or a file.

What a task leaves appears whole or not at all, and is the same whoever makes it: a task that stands
there is finished, and one whose worker died is given to another.
"""

import os
import platform
import zipfile
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from apptek.engine.parts import make_part
from apptek.engine.stored_space import open_space
from apptek.errors import ApptekError
from apptek.facts.queries import Queries
from apptek.files import DAMAGED, writing
from apptek.ragged import Ragged

SIZE = 16_384  # queries of a task, at most
LEAST_SIZE = 1024  # and at least, unless there are fewer
TASKS = 16  # tasks into which fewer queries are divided, so that several workers have some
QUERIES = "queries.npy"  # of a job, in the order of their buckets: four columns
TOKEN = "token"  # noqa: S105  a file that shows whether a worker sees the storage
VERSION: str = import_module("apptek").__version__  # an import would be one of all rooms
PYTHON = ".".join(platform.python_version_tuple()[:2])
Kind = Literal["part", "rows", "scores"]
Arrays = dict[str, npt.NDArray[Any]]


def task_size(query_count: int) -> int:
    """How many queries a task has."""
    return min(max(-(-query_count // TASKS), LEAST_SIZE), SIZE)


@dataclass(frozen=True, slots=True)
class Setting:
    """What all tasks of a run share; a worker compares it with what it is and sees."""

    storage: str
    part_count: int
    token: str
    version: str = VERSION
    python: str = PYTHON


@dataclass(frozen=True, slots=True)
class Task:
    """One unit of work.

    kind    part: a part of the facts; rows: the features of queries; scores: of all predicates
    number  of the part, or of the stretch of queries
    space   the folder of the features, below the storage; "" for a part
    job     the folder of the queries and of what is made of them
    size    queries of a stretch
    """

    setting: Setting
    kind: Kind
    number: int
    space: str = ""
    job: str = ""
    size: int = SIZE

    @property
    def stretch(self) -> slice:
        """The rows of the job's queries that the task is about."""
        return slice(self.number * self.size, (self.number + 1) * self.size)

    @property
    def path(self) -> Path:
        """The file that a task of queries leaves."""
        return Path(self.setting.storage) / self.job / f"{self.number}.npz"


def run_task(task: Task) -> str:
    """Does a task, in whatever process; returns the name of the machine."""
    _check_worker(task.setting)
    storage, part_count = Path(task.setting.storage), task.setting.part_count
    if task.kind == "part":
        make_part(storage, part_count, task.number)
        return platform.node()
    if is_finished(task):
        return platform.node()
    space = open_space(storage / task.space, storage, part_count)
    queries = _read_queries(task)
    if task.kind == "scores":
        _write(task.path, {"scores": space.scores(queries)})
    else:
        rows, cuts = space.counted_rows(queries)
        _write(
            task.path,
            {
                "offsets": rows.offsets - rows.offsets[0],
                "columns": rows.columns,
                "values": rows.flat_values,
                "feature_count": np.asarray(rows.width),
                "cuts": np.asarray(cuts),
            },
        )
    return platform.node()


def _check_worker(setting: Setting) -> None:
    """ApptekError where a worker runs other software, or does not see the storage."""
    host = platform.node()
    ours = {"apptek": VERSION, "Python": PYTHON}
    theirs = {"apptek": setting.version, "Python": setting.python}
    for name, version in ours.items():
        if version != theirs[name]:
            raise ApptekError(
                f"the worker on {host} has {name} {version}, this machine {theirs[name]}: install "
                "the same on all"
            )
    try:
        token = (Path(setting.storage) / TOKEN).read_text(encoding="utf-8")
    except OSError:
        token = ""
    if token != setting.token:
        raise ApptekError(
            f"the worker on {host} does not see {setting.storage}: give storage= a folder that "
            "all workers see"
        )


def _read_queries(task: Task) -> Queries:
    path = Path(task.setting.storage) / task.job / QUERIES
    columns = np.load(path, mmap_mode="r", allow_pickle=False)
    return Queries(*(np.ascontiguousarray(column[task.stretch]) for column in columns))


def is_finished(task: Task) -> bool:
    """Whether the file of a task stands there; it may still be damaged."""
    return zipfile.is_zipfile(task.path)


def read_rows(task: Task) -> tuple[Ragged, int] | None:
    """The features that a task has left, and the cuts; None where they are damaged."""
    piece = _read(task.path)
    if piece is None:
        return None
    rows = Ragged(piece["offsets"], piece["columns"], int(piece["feature_count"]), piece["values"])
    return rows.checked(), int(piece["cuts"])


def read_scores(task: Task) -> npt.NDArray[np.float32] | None:
    """The scores that a task has left; None where they are damaged."""
    piece = _read(task.path)
    return None if piece is None else piece["scores"]


def _read(path: Path) -> Arrays | None:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except DAMAGED:
        return None


def _write(path: Path, arrays: Arrays) -> None:
    """Not synced to the disk: what a power cut damages is made again."""
    temporary = path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}")
    try:
        with writing(path):
            with temporary.open("wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
