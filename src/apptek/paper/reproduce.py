"""The paper's tables and figures, and the runs that produce them.

The runs are a plain list of command lines. Each one writes a single result file.

A run is executed if its result file is missing. Intermediate files, such as a model, are kept in a
work folder, so the next attempt continues from there.
"""

import json
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

from apptek.errors import ApptekError, CheckpointError, StoppedError
from apptek.extras import require, require_matplotlib
from apptek.files import make_folder, writing
from apptek.paper.figures import FIGURES, drawn_topologies, write_figure
from apptek.predictor import Predictor
from apptek.research.evaluator import describe_model
from apptek.research.provenance import RunList, read_runs
from apptek.research.result import Result, read_result, read_results, write_result
from apptek.setting_rules import setting_texts
from apptek.synthetic.world import make_world, write_world

Tell = Callable[[str], None]
Execute = Callable[[list[str], list[str]], str]  # words to run, words to record; returns the output
UNRECORDED = ("first_facts", "reading", "bad_row_list")  # statistics that are not recorded
SEARCHED = re.compile(r"--set @(\S+)")  # in a run: the best settings from that search
QUICK_FACTS = 2_000


def reproduce(
    what: str,
    runs: RunList,
    folder: Path,
    tell: Tell,
    *,
    execute: Execute | None = None,
    only: str = "*",
) -> Iterator[str]:
    """Execute the missing runs for a table, a figure or everything; yield what the results produce.

    Tables are yielded as Markdown, and figures as file names.

    folder   contains the subfolders `results`, `figures`, and `work` for files of unfinished runs
    execute  executes a command; without it, only recorded results are shown
    only     a pattern for the names of runs that may be executed
    """
    shown = tuple(runs.shown) if what == "all" else (what,)
    require("tables of results need", "dev", "pandas")  # fail before hours of running, not after
    if set(shown) & set(FIGURES):
        require_matplotlib()
    results, failures = read_results(folder / "results"), list[str]()
    if execute is not None:
        needed = dict.fromkeys(name for each in shown for name in runs.shown.get(each, ()))
        matching = [name for name in needed if fnmatchcase(name, only)]
        searches = [found for name in matching for found in SEARCHED.findall(runs.commands[name])]
        chosen = {name: runs.commands[name] for name in (*searches, *matching)}
        if not chosen:
            known = ", ".join(needed) or "none"
            raise ApptekError(f"{what} has no run {only!r}; its runs: {known}")
        failures = run_missing(chosen, folder, execute, tell)
        results = read_results(folder / "results")
    from apptek.research.tables import NOTHING, all_tables

    tables = all_tables(runs)
    for name in shown:
        if name in FIGURES:
            recorded = [results[run] for run in runs.shown.get(name, ()) if run in results]
            files = ", ".join(map(str, write_figure(name, recorded, folder / "figures")))
            yield f"{name}: {files or NOTHING}"
        else:
            yield f"{name}\n\n{tables[name](results)}\n"
    if failures:
        more = f"; and {len(failures) - 1} more" if len(failures) > 1 else ""
        raise ApptekError(f"{failures[0]}{more}; finished runs are kept")


def run_missing(
    commands: Mapping[str, str], folder: Path, execute: Execute, tell: Tell
) -> list[str]:
    """Execute the runs that lack a result file. Return one line for each failed run."""
    missing = [name for name in commands if not (folder / "results" / f"{name}.json").exists()]
    failures = []
    for number, name in enumerate(missing, start=1):
        tell(f"run {number} of {len(missing)}: {name}")
        try:
            _run(name, commands[name], folder, execute)
        except StoppedError:
            raise
        except ApptekError as error:
            tell(f"{name} failed: {error}")
            failures.append(f"{name}: {error}")
    return failures


def _run(name: str, line: str, folder: Path, execute: Execute) -> None:
    """Execute one run, resuming where it stopped, and move its result to `results`."""
    work, results = folder / "work", folder / "results"
    with writing(folder):
        make_folder(work)
        make_folder(results)
    line = SEARCHED.sub(lambda search: _best_settings(results / f"{search[1]}.json"), line)
    model, result = work / name, work / f"{name}.json"
    paths = {name: str(model), result.name: str(result)}
    printed = ""
    for command in line.split(" && "):
        recorded = shlex.split(command)
        words = [paths.get(word, word) for word in recorded[1:]]
        if "--out" in words and (model / "run.json").exists():
            _check_model(model, shlex.join(recorded))
            continue
        if "--out" in words and (work / f".{name}-fit").exists():
            words.append("--resume")
        printed = execute(words, recorded)
    if (model / "result.json").exists():  # written for an agent
        shutil.copy(model / "result.json", result)
    elif name.startswith("topologies-"):
        _write_topologies(result, model, line)
    elif not result.exists():
        counts = {k: v for k, v in json.loads(printed).items() if k not in UNRECORDED}
        about = {"model": "statistics", "seed": 0, "command": line}
        write_result(result, Result.from_json(counts | about))
    for path in sorted(work.glob(f"{name}.*"), reverse=True):  # the ranks before the result
        path.replace(results / path.name)
    shutil.rmtree(model, ignore_errors=True)


def _best_settings(path: Path) -> str:
    """Return the command-line words that apply the settings chosen by a search."""
    if not path.exists():
        raise ApptekError(f"the search {path.stem} has no result")
    texts = setting_texts(read_result(path).extras["best"])
    return " ".join(f"--set {shlex.quote(text)}" for text in texts)


def _check_model(model: Path, command: str) -> None:
    """Raise CheckpointError if a finished model was fitted by a different command."""
    fitted_by = json.loads((model / "run.json").read_text(encoding="utf-8")).get("command")
    if fitted_by != command:
        raise CheckpointError(f"{model} belongs to another run ({fitted_by}): remove it")


def _write_topologies(path: Path, folder: Path, line: str) -> None:
    """Write a model's topologies for the figure."""
    fitted = Predictor.load(folder)
    about = describe_model(fitted)
    result = replace(
        about,
        model="topologies",
        preset=about.model.removeprefix("apptek_"),
        topologies=drawn_topologies(fitted.model),
        command=line,
    )
    write_result(path, result)


def quick_runs(path: Path, root: Path) -> RunList:
    """Read the runs on a small synthetic dataset, and write that dataset under `root`."""
    world = root / "world"
    if not world.exists():
        write_world(make_world(QUICK_FACTS, 0), world)
    runs = read_runs(path)
    place = shlex.quote(str(world))
    lines = {name: line.replace("WORLD", place) for name, line in runs.commands.items()}
    return RunList(lines, runs.shown)
