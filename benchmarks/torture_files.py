"""Attacks on files: mutations, bombs, kills, power cuts, full disks, two writers.

Each attack takes seeds and a work folder, and returns the outcome of each seed. A seed is
deterministic, except for the moment at which a process is killed or the power is cut.
"""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import mutations
import numpy as np
import pyarrow as pa
import reader_mutations
import work_mutations
from model_folders import files_of

from apptek.config import preset
from apptek.errors import ApptekError
from apptek.models.manifest import model_digest, verify_folder
from apptek.predictor import Predictor
from apptek.setting_rules import with_settings
from apptek.synthetic.world import make_world, write_world

QUICK = ["classifier.epochs=1", "classifier.l2=[3.0]"]
TREES = [*QUICK, "reranker.rounds=5", "reranker.least_rows=20", "reranker.candidates=4"]
BOMB_MEMORY = 1_500_000_000  # maximum memory in bytes for rejecting a bomb
FACTS_MEMORY = 500_000_000  # maximum memory in bytes for reading damaged files of a few rows
MINUTES = 600  # seconds after which a process counts as hung


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one seed; `good` is false for a crash, a hang, a traceback or a loss."""

    seed: int
    what: str
    good: bool = True


Attack = Callable[[range, Path], Iterable[Outcome]]


@contextmanager
def scratch(place: Path) -> Iterator[Path]:
    """Make an empty folder for one seed."""
    folder = place / "scratch"
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


COMMAND = "from apptek.cli import main; main()"
# The peak memory since the start of the process: `ru_maxrss` would include its parent's.
MEASURED = (
    """import atexit, sys
def report(): print(*(line for line in open("/proc/self/status") if line.startswith("VmHWM")),
                    end="", file=sys.stderr)
atexit.register(report)
"""
    + COMMAND
)


def world_of(place: Path) -> Path:
    """Return the folder of a small synthetic dataset; write it if it is missing."""
    folder = place / "world"
    if not folder.exists():
        write_world(make_world(600, 0), folder)
    return folder


def models_of(place: Path) -> dict[str, Path]:
    """Return one model of each type on a small synthetic dataset; fit it if it is missing."""
    data = make_world(600, 0).dataset
    folders = {name: place / f"model-{name}" for name in ("default", "max", "recency")}
    if not folders["recency"].exists():
        for name, settings in (("default", QUICK), ("max", TREES)):
            config = with_settings(preset(name), settings)
            Predictor.fit(data, model=name, config=config, folder=folders[name])
        Predictor.fit(data, model="recency", folder=folders["recency"])
    return folders


def known_query() -> list[str]:
    """Return a query that the models of the small dataset know."""
    data = make_world(600, 0).dataset
    facts = data.train
    ends = (data.entities[int(facts.subjects[0])], data.entities[int(facts.objects[0])])
    return [*ends, data.axis.format(int(facts.times[0]))]


def start(*words: str, code: str = COMMAND) -> "subprocess.Popen[str]":
    """Start a command in a separate process."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Return the exit code and the messages of a command; -1 if it hangs."""
    try:
        _, messages = process.communicate(timeout=MINUTES)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return -1, "it hangs"
    return process.returncode, messages


def run(*words: str) -> tuple[int, str]:
    """Run a command to completion."""
    return finish(start(*words))


def last_line(messages: str) -> str:
    """Return the last line of a command's messages; mark a traceback."""
    if "Traceback" in messages:
        return f"traceback: {messages.strip().splitlines()[-1]}"
    return (messages.strip().splitlines() or [""])[-1]


def _seed_by_seed(seeds: range, words: Callable[[int, int], list[str]]) -> Iterator[str]:
    """Yield the lines that a program prints for seeds; report and skip a seed that crashes it."""
    first = seeds.start
    while first < seeds.stop:
        done = subprocess.run(
            [sys.executable, *words(first, seeds.stop)],
            capture_output=True, text=True, check=False, timeout=MINUTES * 3,
        )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
        yield from lines
        first += len(lines)
        if done.returncode and first < seeds.stop:
            yield json.dumps([first, "?", f"exit {done.returncode}: {last_line(done.stderr)}"])
            first += 1
        elif not lines:
            raise RuntimeError(done.stderr)


def damaged_models(seeds: range, place: Path) -> Iterator[Outcome]:
    """Damage a random file in a model folder: opening it must fail with a one-line error."""
    folders, query = list(models_of(place).values()), json.dumps(known_query())
    for number, folder in enumerate(folders):
        bounds = (n * len(seeds) // len(folders) for n in (number, number + 1))
        share = seeds[slice(*bounds)]

        def words(first: int, last: int, folder: Path = folder) -> list[str]:
            return [mutations.__file__, str(folder), query, str(first), str(last)]

        for line in _seed_by_seed(share, words):
            seed, done, result = json.loads(line)
            refused = result.startswith(mutations.REFUSED)
            yield Outcome(seed, "refused" if refused else f"{done}: {result}", refused)


def damaged_work(seeds: range, place: Path) -> Iterator[Outcome]:
    """Damage a work folder at random: resuming must reject it or give the same model."""

    def words(first: int, last: int) -> list[str]:
        return [work_mutations.__file__, str(first), str(last)]

    for line in _seed_by_seed(seeds, words):
        seed, done, result = json.loads(line)
        good = result == work_mutations.SAME or result.startswith(work_mutations.REFUSED)
        yield Outcome(seed, result.partition(":")[0] if good else f"{done}: {result}", good)


def damaged_facts(seeds: range, place: Path) -> Iterator[Outcome]:
    """Damage files of all types at random, and read them as facts and as queries."""
    first = seeds.start
    while first < seeds.stop:
        last = min(first + 500, seeds.stop)
        done = subprocess.run(
            [sys.executable, reader_mutations.__file__, str(first), str(last)],
            capture_output=True, text=True, check=False, timeout=MINUTES * 3,
        )  # fmt: skip
        if done.returncode:
            numbers = [line for line in done.stderr.splitlines() if line.isdecimal()]
            seed = int(numbers[-1])
            yield Outcome(seed, last_line(done.stderr), good=False)
            yield from (Outcome(other, "read or refused") for other in range(first, seed))
            first = seed + 1
            continue
        counts = json.loads(done.stdout)
        if counts["memory"] > FACTS_MEMORY:
            yield Outcome(first, f"{counts['memory']:,} bytes of memory", good=False)
            first += 1
            counts["read"] -= 1
        kinds = ["read"] * counts["read"] + ["refused"] * counts["refused"]
        yield from map(Outcome, range(first, last), kinds)
        first = last


def bombs(seeds: range, place: Path) -> Iterator[Outcome]:
    """Read a small file that expands to gigabytes: it must be rejected using little memory."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        size = int(rng.integers(1, 4)) << 29
        row = b"a\tp\tb\t2014-05-13\n" if rng.random() < 0.5 else b"x"
        with scratch(place) as folder:
            path = folder / f"facts.tsv.{('gz', 'zst')[seed % 2]}"
            block = row * ((16 << 20) // len(row))
            opened = (
                gzip.open(path, "wb", compresslevel=9)  # noqa: SIM115 - it is one, below
                if path.suffix == ".gz"
                else pa.CompressedOutputStream(str(path), "zstd")
            )
            with opened as file:
                for _ in range(size // len(block)):
                    file.write(block)
            code, messages = finish(start("data", "stats", str(path), code=MEASURED))
            *lines, peak = messages.splitlines() or [""]
            memory = int(peak.split()[1]) << 10 if peak.startswith("VmHWM") else 0
        good = code == 1 and len(lines) == 1 and memory > 0
        if memory > BOMB_MEMORY:
            yield Outcome(seed, f"{memory:,} bytes of memory", good=False)
        yield Outcome(seed, "refused" if good else last_line(messages), good)


FITS = {
    "default": ("--set", "classifier.epochs=2"),
    "paper": ("--model", "paper", "--set", "agent.epochs=0.2", "--set", "classifier.epochs=1"),
}


def kills(seeds: range, place: Path) -> Iterator[Outcome]:
    """Kill a fit at a random moment and resume it: the resulting model must be identical."""
    world = str(world_of(place))
    whole: dict[str, tuple[dict[str, bytes], float]] = {}
    for seed in seeds:
        rng = np.random.default_rng(seed)
        name = list(FITS)[seed % len(FITS)]
        if name not in whole:
            with scratch(place) as folder:
                begun = time.monotonic()
                code, messages = run("fit", world, "--out", str(folder / "m"), *FITS[name])
                assert code == 0, messages
                whole[name] = files_of(folder / "m"), time.monotonic() - begun
        expected, seconds = whole[name]
        with scratch(place) as folder:
            words = ("fit", world, "--out", str(folder / "m"), *FITS[name])
            for _ in range(int(rng.integers(1, 3))):
                more = ("--resume",) if (folder / ".m-fit" / "fit.json").exists() else ()
                process = start(*words, *more)
                time.sleep(float(rng.uniform(0, 1.1) * seconds))
                process.kill()
                process.communicate()
                if (folder / "m").exists():
                    break
            more = ("--resume",) if (folder / ".m-fit" / "fit.json").exists() else ()
            code, messages = (0, "") if (folder / "m").exists() else run(*words, *more)
            if code:
                yield Outcome(seed, last_line(messages), good=False)
            else:
                same = files_of(folder / "m") == expected
                yield Outcome(seed, "the same model" if same else "another model", same)


def can_mount() -> bool:
    """Return whether this process may mount file systems."""
    return hasattr(os, "geteuid") and os.geteuid() == 0 and shutil.which("mkfs.ext4") is not None


@contextmanager
def mounted(source: str, target: Path, *options: str) -> Iterator[Path]:
    """Mount a file system for the duration of the block."""
    target.mkdir(exist_ok=True)
    subprocess.run(["mount", *options, source, str(target)], check=True)
    try:
        yield target
    finally:
        subprocess.run(["umount", str(target)], check=True)


def _facts(path: Path, rng: np.random.Generator) -> Path:
    """Write five new facts between entities in the small dataset."""
    data = make_world(600, 0).dataset
    lines = [
        "\t".join(
            (
                data.entities[int(rng.integers(20))],
                data.predicates[int(rng.integers(len(data.predicates)))],
                f"New {rng.integers(10**9)}",
                "2019-05-05",
            )
        )
        for _ in range(5)
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def _fit_or_update(seed: int, place: Path, disk: Path, facts: Path) -> tuple[str, ...]:
    """Return a command that writes the folder `new` on a disk, or changes its folder `model`."""
    if seed % 2:
        return ("fit", str(world_of(place)), "--out", str(disk / "new"), *FITS["default"])
    return ("update", str(disk / "model"), str(facts), "--in-place")


def _fault(disk: Path) -> str | None:
    """Return what is damaged in the models on a disk; None if everything is intact."""
    try:
        for folder in filter(Path.exists, (disk / "model", disk / "new")):
            verify_folder(folder)
    except ApptekError as error:
        return str(error)
    return None if (disk / "model").exists() else "the model is lost"


def cuts(seeds: range, place: Path) -> Iterator[Outcome]:
    """Cut the power while a command runs or soon after: finished work must survive.

    The disk image is copied at that moment; what is only in memory is lost.
    """
    models = models_of(place)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        with scratch(place) as folder:
            image, copy = folder / "disk", folder / "copy"
            facts = _facts(folder / "facts.tsv", rng)
            with image.open("wb") as file:
                file.truncate(96 << 20)
            subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
            options = ("-o", "loop,commit=300")
            with mounted(str(image), folder / "before", *options) as disk:
                old = disk / "model"
                shutil.copytree(models["default"], old)
                subprocess.run(["sync"], check=True)
                digest = model_digest(old)
                process = start(*_fit_or_update(seed, place, disk, facts))
                time.sleep(float(rng.uniform(0.5, 12)))
                process.send_signal(signal.SIGSTOP)
                ended = process.poll() == 0
                shutil.copyfile(image, copy)
                process.kill()
                process.communicate()
            with mounted(str(copy), folder / "after", "-o", "loop") as disk:
                yield _after_cut(seed, disk, ended, digest)


def _after_cut(seed: int, disk: Path, ended: bool, digest: str) -> Outcome:
    if fault := _fault(disk):
        return Outcome(seed, fault, good=False)
    changed = model_digest(disk / "model") != digest
    finished = (disk / "new").exists() if seed % 2 else changed
    if ended and not finished:
        return Outcome(seed, "what was finished is lost", good=False)
    return Outcome(seed, "whole, and new" if finished else "whole, and as before")


def full_disks(seeds: range, place: Path) -> Iterator[Outcome]:
    """Fill the disk at a random moment: one line must report it, and old files must survive."""
    models = models_of(place)
    size = sum(path.stat().st_size for path in models["default"].rglob("*"))
    for seed in seeds:
        rng = np.random.default_rng(seed)
        with scratch(place) as folder:
            facts = _facts(folder / "facts.tsv", rng)
            room = int(size * rng.uniform(1.2, 3.5)) >> 10
            with mounted("tmpfs", folder / "disk", "-t", "tmpfs", "-o", f"size={room}k") as disk:
                old = Path(shutil.copytree(models["default"], disk / "model"))
                digest = model_digest(old)
                code, messages = run(*_fit_or_update(seed, place, disk, facts))
                yield _after_full(seed, disk, digest, code, messages)


def _after_full(seed: int, disk: Path, digest: str, code: int, messages: str) -> Outcome:
    if fault := _fault(disk):
        return Outcome(seed, fault, good=False)
    if code == 0:
        return Outcome(seed, "there was room")
    told = code == 1 and ("No space left" in messages or "disk is full" in messages)
    if not told or "Traceback" in messages:
        return Outcome(seed, last_line(messages), good=False)
    kept = model_digest(disk / "model") == digest and not (disk / "new").exists()
    left = [path.name for path in disk.iterdir() if path.name not in ("model", ".new-fit")]
    good = kept and not left
    return Outcome(seed, "told, and as before" if good else f"left behind: {left}", good)


def writers(seeds: range, place: Path) -> Iterator[Outcome]:
    """Change one model from three processes while others read it: no fact may be lost or torn."""
    models = models_of(place)
    for seed in seeds:
        rng = np.random.default_rng(seed)
        with scratch(place) as folder:
            model = Path(shutil.copytree(models["default"], folder / "model"))
            before = len(Predictor.load(model).model.graph.facts)
            processes = []
            for number in range(3):
                facts = _facts(folder / f"facts-{number}.tsv", rng)
                processes.append(start("update", str(model), str(facts), "--in-place"))
                time.sleep(float(rng.uniform(0, 2)))
            readers = [start("info", str(model), "--check") for _ in range(2)]
            results = [finish(process) for process in processes]
            readings = [finish(process) for process in readers]
            done = sum(code == 0 for code, _ in results)
            others = [text for code, text in results if code and "another process" not in text]
            others += [text for code, text in readings if code]
            after = len(Predictor.load(model).model.graph.facts)
            if others:
                yield Outcome(seed, last_line(others[0]), good=False)
            elif after != before + 5 * done:
                yield Outcome(seed, f"{after} facts after {done} updates", good=False)
            else:
                yield Outcome(seed, f"{done} of 3 updates, all there")
