"""The engine: makes parts of a graph, gives tasks to workers, and joins what they leave."""

import hashlib
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np

from apptek.arrays import Floats, Longs
from apptek.config import Config, View
from apptek.engine.parted_space import bucket_order
from apptek.engine.parts import FACTS, check_part_count, save_facts
from apptek.engine.runners import EngineName, Runner, check_runner, open_runner
from apptek.engine.stored_space import save_space
from apptek.engine.tasks import (
    QUERIES,
    TOKEN,
    Kind,
    Setting,
    Task,
    is_finished,
    read_rows,
    read_scores,
    task_size,
)
from apptek.errors import ApptekError, BeingChangedError, ConfigError, DataError, ModelError
from apptek.facts.queries import Queries
from apptek.features.space import FeatureSpace
from apptek.files import make_folder, sole_writer, write_whole, writing
from apptek.graph.temporal_graph import TemporalGraph
from apptek.models.answerer import WorkingView
from apptek.models.fitting.stages import time_left
from apptek.models.linear_softmax import LinearSoftmax
from apptek.models.manifest import check_files
from apptek.models.storage import MANIFEST
from apptek.ragged import Ragged, scatter_rows

PARTS = 4  # unless the user says otherwise
TOLD = 10.0  # seconds between two reports
Piece = TypeVar("Piece")
Tell = Callable[[str], None]


def check_engine_config(config: Config) -> None:
    """ConfigError for settings that only one machine can do."""
    if "topologies" in config.features.parts or config.reranker.rounds:
        raise ConfigError(
            "the models paper and max are refused with --engine, as topologies and trees need the "
            "whole graph: leave it out"
        )


@dataclass(frozen=True, slots=True)
class Job:
    """Queries that are given to workers: where they are, their order by bucket, their tasks."""

    folder: Path
    order: Longs
    tasks: tuple[Task, ...]


class Engine:
    """Makes features and scores of many queries by the tasks of a runner.

    Whatever the runner, the number of workers and the number of parts: the results are the same.
    Parts, queries and results are kept in the storage, a folder that all workers see.

    size  queries of a task; by default as many as give all workers some
    """

    def __init__(
        self,
        runner: Runner,
        storage: Path,
        part_count: int = PARTS,
        *,
        size: int | None = None,
        tell: Tell = lambda _: None,
    ) -> None:
        self.runner, self.storage, self.tell = runner, storage, tell
        self.part_count, self.size = part_count, size
        self._jobs: dict[str, Job] = {}
        self._settings: dict[int, tuple[TemporalGraph, Setting]] = {}

    def make(self, space: FeatureSpace, batches: Mapping[str, Queries]) -> None:
        """Has the features of batches of queries made, all at once; `take` then returns them."""
        new = {name: queries for name, queries in batches.items() if name not in self._jobs}
        if not new:
            return
        setting = self.partition(space.graph)
        folder = _save_space(Path(setting.storage), space)
        jobs = {name: self._job(setting, "rows", folder, queries) for name, queries in new.items()}
        self._run([task for job in jobs.values() for task in job.tasks], "features")
        self._jobs |= jobs

    def take(self, name: str) -> tuple[Ragged, int]:
        """The features of a batch, in the order of its queries, and the cuts; only once."""
        job = self._jobs.pop(name)
        pieces, cuts = [], 0
        for task in job.tasks:
            piece, cut = self._read(task, read_rows)
            pieces.append(piece)
            cuts += cut
        rows = scatter_rows(pieces, job.order)
        shutil.rmtree(job.folder, ignore_errors=True)
        return rows, cuts

    def scores(self, view: WorkingView, queries: Queries) -> Floats:
        """The scores of all predicates in a view, (B, R)."""
        classifier = view.fitted.classifier
        if not len(queries):
            return np.empty((0, len(classifier.bias)), np.float32)
        setting = self.partition(view.space.graph)
        folder = _save_space(Path(setting.storage), view.space, classifier)
        job = self._job(setting, "scores", folder, queries)
        self._run(job.tasks, "scores")
        scores = np.empty((len(queries), len(classifier.bias)), np.float32)
        for task in job.tasks:
            scores[job.order[task.stretch]] = self._read(task, read_scores)
        shutil.rmtree(job.folder, ignore_errors=True)
        return scores

    def view(self, view: WorkingView) -> WorkingView:
        """The view, its scores made by the engine; ConfigError where only one machine can."""
        if view.space.topologies is not None or view.fitted.reranker is not None:
            raise ConfigError(
                "a model paper or max is refused with --engine, as topologies and "
                "trees need the whole graph: leave it out"
            )
        return replace(view, score_many=partial(self.scores, view))

    def _read(self, task: Task, read: Callable[[Task], Piece | None]) -> Piece:
        piece = read(task)
        if piece is None:  # damaged: it is made again, once
            task.path.unlink(missing_ok=True)
            self.runner.run([task], lambda: None)
            piece = read(task)
        if piece is None:
            raise ApptekError(f"{task.path} is damaged, also after it was made again")
        return piece

    def partition(self, graph: TemporalGraph) -> Setting:
        """The parts of a graph, made where they are not there yet."""
        known = self._settings.get(id(graph.facts))
        if known is not None and known[0].facts is graph.facts:
            return known[1]
        check_part_count(self.part_count, graph.entity_count)
        folder = self.storage.absolute() / f"graph-{_digest_of(graph)}"
        if not (folder / TOKEN).exists():
            make_folder(folder)
            write_whole(folder / TOKEN, secrets.token_hex(16).encode())
        _renew(folder / FACTS, lambda: save_facts(folder / FACTS, graph))
        token = (folder / TOKEN).read_text(encoding="utf-8")
        setting = Setting(str(folder), self.part_count, token)
        self._run([Task(setting, "part", number) for number in range(self.part_count)], "parts")
        self._settings[id(graph.facts)] = (graph, setting)
        return setting

    def _job(self, setting: Setting, kind: Kind, space: Path, queries: Queries) -> Job:
        order = bucket_order(queries, self.part_count)
        columns = np.stack(queries.take(order).columns())
        state = hashlib.blake2b(columns.tobytes(), digest_size=16)
        size = self.size or task_size(len(queries))
        state.update(f"{kind} {space.name} {self.part_count} {size}".encode())
        folder = Path(setting.storage) / f"job-{state.hexdigest()}"
        make_folder(folder)
        write_whole(folder / QUERIES, columns)
        numbers = range(-(-len(queries) // size))
        tasks = tuple(Task(setting, kind, n, space.name, folder.name, size) for n in numbers)
        return Job(folder, order, tasks)

    def _run(self, tasks: Sequence[Task], what: str) -> None:
        left = [task for task in tasks if task.kind == "part" or not is_finished(task)]
        started = told = time.monotonic()
        done = 0

        def note() -> None:
            nonlocal done, told
            done, now = done + 1, time.monotonic()
            if now - told > TOLD and done < len(left):
                told, seconds = now, (now - started) / done * (len(left) - done)
                self.tell(f"{what}: {done} of {len(left)} tasks, {time_left(seconds)}")

        self.runner.run(left, note)


def _save_space(
    storage: Path, space: FeatureSpace, classifier: LinearSoftmax | None = None
) -> Path:
    """Writes a space to a folder that is named by what it holds, unless it stands there."""
    view: View = "past_only" if space.graph.past_only else "all_facts"
    with tempfile.TemporaryDirectory(dir=storage, prefix=".space-") as beside:
        new = Path(beside) / "space"
        save_space(new, space, view, classifier)
        digest = hashlib.blake2b((new / MANIFEST).read_bytes(), digest_size=16).hexdigest()
        folder = storage / f"space-{digest}"
        _renew(folder, partial(os.rename, new, folder))
    return folder


def _renew(folder: Path, make: Callable[[], None]) -> None:
    """Makes a folder where it is not there, or damaged."""
    if folder.exists():
        try:
            check_files(folder)
        except ModelError:
            shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        with writing(folder):
            make()


def _digest_of(graph: TemporalGraph) -> str:
    about = [
        graph.facts.digest(),
        asdict(graph.axis),
        graph.open_end,
        graph.entity_count,
        graph.predicate_count,
    ]
    return hashlib.blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16).hexdigest()


def check_engine(name: EngineName, storage: Path, address: str | None = None) -> None:
    """ApptekError where an engine could not be opened: to be asked before long work."""
    check_runner(name, address)
    _check_storage(storage)
    if storage.exists():
        with _held(storage):
            pass


def _check_storage(storage: Path) -> None:
    """ApptekError where the folder is there and cannot be used, or is not there nor can be made."""
    with writing(storage):
        there = next(path for path in (storage, *storage.absolute().parents) if path.exists())
    if not there.is_dir():
        raise ApptekError(f"{there} is a file, not a folder: give another storage=FOLDER")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ApptekError(f"{storage} cannot be written: Permission denied")


@contextmanager
def _held(storage: Path) -> Iterator[None]:
    """No other command uses the storage while the block lasts; ApptekError if one does now."""
    with ExitStack() as stack:
        try:
            stack.enter_context(sole_writer(storage))
        except BeingChangedError:
            raise ApptekError(
                f"another command is using the storage {storage}: wait for it, or give another "
                "storage=FOLDER"
            ) from None
        yield


@contextmanager
def open_engine(
    name: EngineName,
    storage: Path,
    *,
    part_count: int | None = None,
    address: str | None = None,
    workers: int | None = None,
    keep: bool = False,
    tell: Tell = lambda _: None,
) -> Iterator[Engine]:
    """An engine for the length of a block, which no other command shares the storage with.

    The storage is removed when the block ends well. With `keep` it stays, and the parts serve the
    next time. After an error it always stays, and a second run goes on from there.
    """
    _check_storage(storage)
    with writing(storage):
        make_folder(storage)
    with _held(storage):
        resumable = False
        try:
            runner = open_runner(name, address, workers)
            try:
                yield Engine(runner, storage, part_count or PARTS, tell=tell)
            finally:
                runner.close()
        except (ConfigError, DataError):  # a second run would fail again
            raise
        except BaseException:
            resumable = storage.is_dir() and any(storage.iterdir())
            raise
        finally:
            if not keep and not resumable:
                shutil.rmtree(storage, ignore_errors=True)
