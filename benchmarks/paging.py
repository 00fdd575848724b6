"""The benchmark of paging: a process queries a model whose graph is twice as large as its memory.

The limit is set by a control group, which also counts the pages of mapped files, so pages that do
not fit are dropped and read again. This needs root. Caches are dropped before each process.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from apptek.errors import ApptekError
from apptek.facts.queries import held_out_queries
from apptek.predictor import Predictor
from apptek.seeding import generator
from apptek.synthetic.world import make_world, write_world
from apptek.terminal import tell
from benchmarks.report import BenchReport, seconds, sizes_of

FACTS, QUICK_FACTS = 100_000_000, 1_000_000
LEARNED = 30_000  # training queries: a longer fit would not change the cost of scoring
ASKED, PASSES = 1_000, 3  # each pass asks other queries
SMALLEST = 600_000_000  # bytes that Python and its libraries need
GROUPS = Path("/sys/fs/cgroup")
ROOT = Path(__file__).parents[1]
_PROGRAM = "import sys; from benchmarks.paging import ask; ask(sys.argv[1], sys.argv[2])"


def bench_paging(
    *, quick: bool = False, facts: str | None = None, model: Path | None = None
) -> BenchReport:
    """Query a world of 100 M facts (quick: 1 M) with and without a limit on the memory.

    model  the model of such a world, instead of fitting one
    """
    if model is not None:
        return _measured(model)
    count = sizes_of(facts)[-1] if facts is not None else QUICK_FACTS if quick else FACTS
    with tempfile.TemporaryDirectory(prefix="apptek-bench-", dir=Path.cwd()) as folder:
        made = Path(folder) / "model"
        tell(f"fitting {count:,} facts")
        _fit(count, Path(folder) / "world", made)
        return _measured(made)


def _measured(model: Path) -> BenchReport:
    size = sum(path.stat().st_size for path in model.rglob("*") if path.is_file())
    free = _run(model, None)
    limited = _run(model, limit := max(size // 2, SMALLEST))
    return BenchReport(
        ratios={"limited_vs_free": free["per_second"][-1] / limited["per_second"][-1]},
        figures={
            "model_mb": size / 1e6,
            "limit_mb": limit / 1e6,
            "queries": ASKED,
            "free": free,
            "limited": limited,
        },
        targets={},
    )


def _fit(count: int, world: Path, model: Path) -> None:
    """Write a world as text and fit it in another process: one process cannot hold both."""
    write_world(make_world(count, 0), world)
    words = ["fit", str(world), "--out", str(model), "--set", f"fit.queries={LEARNED}"]
    command = [sys.executable, "-c", "from apptek.cli import main; main()", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ApptekError(f"the fit ended with code {done.returncode}: {done.stderr[-300:]}")


def _run(model: Path, limit: int | None) -> dict[str, Any]:
    """Query the model in its own process, in a group with this limit in bytes."""
    tell("asking" if limit is None else f"asking with {limit / 1e6:,.0f} MB")
    try:
        Path("/proc/sys/vm/drop_caches").write_text("3", "ascii")
        group = _make_group(limit) if limit is not None else None
    except OSError as error:
        raise ApptekError(f"control groups cannot be used here: {error}") from None
    try:
        command = [sys.executable, "-c", _PROGRAM, str(model), str(group or "")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    finally:
        if group is not None:
            group.rmdir()
    if done.returncode:
        raise ApptekError(f"a process ended with code {done.returncode}: {done.stderr[-300:]}")
    return dict(json.loads(done.stdout))


def _make_group(limit: int) -> Path:
    """Make a control group with a limit, of version 1 or 2."""
    first = (GROUPS / "memory").is_dir()
    group = (GROUPS / "memory" if first else GROUPS) / f"apptek-bench-{os.getpid()}"
    group.mkdir()
    name = "memory.limit_in_bytes" if first else "memory.max"
    (group / name).write_text(str(limit), "ascii")
    return group


def ask(folder: str, group: str) -> None:
    """Join the group, open the model, ask, and print the figures as JSON."""
    if group:
        (Path(group) / "cgroup.procs").write_text(str(os.getpid()), "ascii")
    opened: list[Predictor] = []
    figures: dict[str, Any] = {
        "open_seconds": seconds(lambda: opened.append(Predictor.load(folder)))
    }
    data, scorer = opened[0].model.dataset, opened[0].scorer("test")
    rows = generator(0, "bench").permutation(len(data.test))
    scorer.scores(held_out_queries(data.test.take(rows[:100])))  # compiles
    facts = sum(map(len, (data.train, data.valid, data.test)))
    figures |= {"facts": facts, "per_second": []}
    for turn in range(PASSES):
        part = rows[100 + turn * ASKED :][:ASKED]
        queries = held_out_queries(data.test.take(np.sort(part)))
        spent = seconds(partial(scorer.scores, queries))
        figures["per_second"].append(len(part) / spent)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    figures |= {"pages_read": usage.ru_majflt, "peak_mb": usage.ru_maxrss / 1e3}
    sys.stdout.write(json.dumps(figures))
