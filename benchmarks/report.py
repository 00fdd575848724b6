"""The report of a benchmark, and code that all benchmarks share."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apptek.errors import ApptekError
from apptek.facts.benchmarks import find_benchmark
from apptek.facts.facts import Dataset
from apptek.reading.reader import read_dataset
from apptek.synthetic.world import make_world

ICEWS14_SIZE = (
    90_730  # all facts: synthetic data of this size has ICEWS14's number of training facts
)
SAMPLED = 0.2  # seconds between two samples


@dataclass(frozen=True, slots=True)
class BenchReport:
    """Ratios within one run, plain figures, and targets for some of them, as text."""

    ratios: dict[str, float]
    figures: dict[str, Any]
    targets: dict[str, str]


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds that some work takes, by wall-clock time or another clock."""
    start = clock()
    work()
    return clock() - start


def bench_dataset(quick: bool) -> Dataset:
    """Return ICEWS14, or synthetic data of its size if it is missing; quick: 20,000 facts."""
    if not quick and find_benchmark("icews14") is not None:
        return read_dataset("icews14")
    return make_world(20_000 if quick else ICEWS14_SIZE, 0).dataset


def sizes_of(text: str) -> list[int]:
    """Parse texts such as 1e6,1e7 into ascending numbers of facts."""
    try:
        return sorted({int(float(part)) for part in text.split(",")})
    except (ValueError, OverflowError):
        raise ApptekError(f"found {text!r}, expected numbers of facts, as 1e6,1e7") from None


class MemorySampler:
    """The peak of a memory metric, sampled in a thread until `stop`."""

    def __init__(self, memory_mb: Callable[[], float]) -> None:
        self._memory_mb, self._peak, self._stopped = memory_mb, 0.0, threading.Event()
        self._lock, self._thread = threading.Lock(), threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stopped.wait(SAMPLED):
            memory = self._memory_mb()
            with self._lock:
                self._peak = max(self._peak, memory)

    def peak(self) -> tuple[float, float]:
        """Return the peak since the last call, and the current memory."""
        now = self._memory_mb()
        with self._lock:
            peak, self._peak = max(self._peak, now), now
        return peak, now

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()
        self._thread.join()


def own_memory_mb(pid: int) -> float:
    """Return a process's proportional set size in MB; 0 if the process has ended."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in text.splitlines() if line[:4] == "Pss:") / 1024


def process_tree(pid: int) -> Iterator[int]:
    """Yield a process and its descendants, whichever thread started them."""
    yield pid
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [(each / "children").read_text(encoding="ascii") for each in threads]
    except OSError:
        return
    for child in " ".join(children).split():
        yield from process_tree(int(child))
