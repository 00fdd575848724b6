"""The commands under `apptek paper`: the paper's agent, its topologies, tables and figures."""

import io
import sys
from collections.abc import Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, Literal
from unittest.mock import patch

import typer

from apptek.commands import options as opt
from apptek.commands.command_group import CommandGroup
from apptek.commands.options import option
from apptek.commands.reading_options import Reading
from apptek.errors import ApptekError, StoppedError
from apptek.extras import require_torch

if TYPE_CHECKING:
    from apptek.facts.facts import Dataset
    from apptek.facts.queries import Queries
    from apptek.paper.connection import Walk
    from apptek.paper.environment import DecisionProcess
    from apptek.paper.reproduce import Execute
    from apptek.present.drawing import Asked, Drawing

What = Literal[
    "table1", "table2", "table3", "table-m", "table-agent", "table-search", "table-forecast",
    "table-entities",
    "figure-actions", "figure-rewards", "figure-success", "figure-topologies",
    "all",
]  # fmt: skip
RUNS = Path("paper") / "runs.toml"
paper_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Train and inspect the paper's agent, and rebuild the paper's tables and figures.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainOptions:
    """The options of `paper train`."""

    data: opt.DataArgument
    out: opt.OutOption
    settings: opt.SettingsOption = None
    seed: opt.SeedOption = 0
    as_json: opt.JsonOption = False


@paper_app.command()
@opt.takes_options
def train(options: TrainOptions, reading: Reading) -> None:
    """Train the paper's agent by deep Q-learning, and compare it with controls that do not learn.

    The folder contains the network with its settings, the name of its data, and result.json with
    the rewards over time.

    Example: `apptek paper train world --out agent --set agent.tknn=10`
    """
    require_torch()
    from apptek.config import preset
    from apptek.paper.trainer import run_agent
    from apptek.present.metrics_text import rewards_text
    from apptek.setting_rules import with_settings
    from apptek.terminal import step_progress, tell_next

    data, out = options.data, str(options.out)
    config = with_settings(preset("paper"), options.settings or []).agent
    dataset = reading.read_data(data)
    with step_progress("training") as progress:
        episodes = partial(progress, "episodes")
        result = run_agent(
            dataset, config, options.out, source=data, seed=options.seed, report=episodes
        )
    about = (result.dataset, result.metrics)
    opt.print_either(result.as_json(), rewards_text, *about, as_json=options.as_json)
    if not options.as_json:
        fitting = ["fit", data, "--model", "paper", "--out", "model", "--agent", out]
        tell_next(["paper", "play", out, "SUBJECT", "OBJECT", "TIME"], fitting)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayOptions:
    """The options of `paper play`."""

    agent: Annotated[
        Path, opt.typer_argument("AGENT", "The folder of an agent from `paper train`.")
    ]
    subject: opt.SubjectArgument
    object_: opt.ObjectArgument
    time: opt.TimeArgument
    html: Path | None = option("--html FILE", "Save the episode as an HTML page with a drawing.")
    data: str | None = option("--data DATA", "The agent's data, if its location has changed.")
    as_json: opt.JsonOption = False


@paper_app.command()
@opt.takes_options
def play(options: PlayOptions) -> None:
    """Play the trained agent on one query, step by step.

    Each step shows the sizes of core and periphery, the legal actions with their Q-values, the
    chosen action, and the facts added to the core. The last line shows where the sides meet.

    Example: `apptek paper play agent "Boko Haram" "Citizen (Nigeria)" 2014-05-11`
    """
    require_torch()
    import numpy as np

    from apptek.facts.name_matching import NameResolver
    from apptek.facts.queries import Queries
    from apptek.files import write_whole
    from apptek.paper.agent import Agent
    from apptek.paper.connection import walk
    from apptek.present.drawing import Asked
    from apptek.present.template import render
    from apptek.reading.reader import read_dataset
    from apptek.terminal import tell

    subject, object_, time = options.subject, options.object_, options.time
    data = None if options.data is None else read_dataset(options.data)
    trained, dataset = Agent.load(options.agent, data)
    entities = NameResolver.of_entities(dataset)
    entities.check(subject, object_)
    ids = (entities.find(subject), entities.find(object_), dataset.axis.parse(time), -1)
    query = Queries(*(np.asarray([value], np.int32) for value in ids))
    if query.subjects[0] == query.objects[0]:
        raise ApptekError("subject and object are the same: the sides meet before the first step")
    played = walk(trained.process, query, trained)
    if not played.steps:
        raise ApptekError(
            f"neither {subject} nor {object_} has training facts, so there are no steps"
        )
    about: dict[str, Any] = {"told": _told(played, dataset), "asked": (subject, object_, time)}
    if options.as_json:
        opt.print_json(about["told"])
    else:
        typer.echo(render("play.txt.j2", **about))
    if options.html is not None:
        asked = Asked(subject, object_, title=f"({subject}, ?, {object_}, {time})", when=time)
        drawing = _drawing(played, trained.process, query, dataset, asked)
        page = render("play.html.j2", layout="page.html.j2", drawing=drawing, **about)
        write_whole(options.html, page.encode())
        tell(f"the episode is drawn in {options.html}")


def _told(played: "Walk", dataset: "Dataset") -> dict[str, Any]:
    """Return the episode as JSON, with names instead of ids."""
    names, facts = dataset.predicates, dataset.train
    steps = [
        {
            "core": [core for core, _ in step.sizes],
            "periphery": [periphery for _, periphery in step.sizes],
            "actions": [
                {"predicate": names[action], "facts": count, "q": value}
                for action, count, value in sorted(
                    step.actions, key=lambda each: -(each[2] if each[2] is not None else 0.0)
                )
            ],
            "chosen": names[step.chosen],
            "subject_facts": [dataset.describe(facts, fact) for fact in step.added[0]],
            "object_facts": [dataset.describe(facts, fact) for fact in step.added[1]],
        }
        for step in played.steps
    ]
    meeting = [dataset.entities[entity] for entity in played.meeting]
    return {"met": played.met, "meeting": meeting, "steps": steps}


def _drawing(
    played: "Walk", process: "DecisionProcess", query: "Queries", dataset: "Dataset", asked: "Asked"
) -> "Drawing":
    """Return a drawing of the facts of both cores, each with its step."""
    from apptek.explain.reasons import cited_fact
    from apptek.paper.connection import core_facts, replay
    from apptek.present.drawing import draw_topology

    moment = int(process.graph.axis.positions(query.times)[0])
    _, cores, _ = replay(process, query, played.actions)
    facts = core_facts(cores, cores[0] | cores[1], set(cores[0] | cores[1]))
    cited = [cited_fact(dataset, process.graph, moment, fact) for fact in facts]
    return draw_topology(asked, cited)


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologiesOptions:
    """The options of `paper topologies`."""

    model: opt.ModelArgument
    predicate: str | None = option("--predicate NAME", "Show only this predicate's topologies.")
    top: int = option("--top N", "Number of rows to print for each predicate.", 5, min=1)
    as_json: opt.JsonOption = False


@paper_app.command()
@opt.takes_options
def topologies(options: TopologiesOptions) -> None:
    """Show the topologies mined for each predicate, with counts and weights.

    Each line shows how many of the predicate's training episodes a topology connected, their
    proportion, and what the topology adds to the predicate's score.

    Example: `apptek paper topologies model --predicate Threaten`
    """
    from apptek.explain.explainer import find_predicate
    from apptek.facts.name_matching import NameResolver
    from apptek.facts.predicate_table import PredicateTable
    from apptek.models.model_folder import load_model
    from apptek.paper.features import mined_topologies
    from apptek.present.metrics_text import topologies_text

    fitted, predicate = load_model(options.model), options.predicate
    names, resolver = fitted.dataset.predicates, NameResolver.of_predicates(fitted.dataset)
    chosen: Sequence[int] = range(len(names))
    if predicate is not None:
        chosen = [find_predicate(predicate, resolver)]
    mined = mined_topologies(fitted, chosen, options.top)
    labels = fitted.dataset.labels or PredicateTable()
    opt.print_either(mined, topologies_text, mined, labels, as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceOptions:
    """The options of `paper reproduce`."""

    what: Annotated[What, opt.typer_argument("WHAT", "A table or figure in the paper, or all.")]
    quick: bool = option(
        "--quick", "Use a small synthetic data set. Takes less than three minutes.", False
    )
    only_recorded: bool = option(
        "--only-recorded", "Run nothing, and show only recorded results.", False
    )
    only: str = option(
        "--only PATTERN",
        "Run only the entries whose names match this pattern, such as `re_gcn-*`.",
        "*",
    )
    out: Path | None = option(
        "--out DIR",
        "The folder for results and figures.  [default: paper, or a temporary folder with --quick]",
    )


@paper_app.command()
@opt.takes_options
def reproduce(context: typer.Context, options: ReproduceOptions) -> None:
    """Rebuild a table or figure in the paper: run what is missing, then read the results.

    `paper/runs.toml` lists the commands. Each run writes a result file, and is skipped if that file
    exists. A stopped fit continues where it stopped; searches and agents start again.

    Example: `apptek paper reproduce table2 --only-recorded`
    """
    from apptek.paper.reproduce import quick_runs
    from apptek.paper.reproduce import reproduce as make
    from apptek.research.provenance import read_runs
    from apptek.terminal import tell

    quick, out = options.quick, options.out
    if options.only_recorded:
        opt.refuse(options, ["only"], "cannot be combined with --only-recorded, which runs nothing")
    # The list in the current folder, or else in the checkout that contains this file.
    listed = RUNS if RUNS.is_file() else Path(__file__).parents[3] / RUNS
    runs = read_runs(listed)
    if options.only_recorded and out is not None and not out.is_dir():
        raise ApptekError(f"{out}: no such folder, so nothing is recorded in it")
    execute = None if options.only_recorded else _executor(context)
    temporary = TemporaryDirectory(prefix="apptek-quick-") if quick and out is None else None
    with temporary or nullcontext(out or listed.parent) as folder:
        root = Path(folder)
        if quick:
            runs = quick_runs(listed.with_name("quick.toml"), root)
        for text in make(options.what, runs, root, tell, execute=execute, only=options.only):
            typer.echo(text)
    if temporary is not None:
        tell("The files from this quick run were temporary; use --out DIR to keep them")


def _executor(context: typer.Context) -> "Execute":
    """Return a function that runs a command of this program and returns what it prints."""
    program = context.find_root().command

    def execute(words: list[str], recorded: list[str]) -> str:
        with redirect_stdout(io.StringIO()) as printed, patch.object(sys, "argv", recorded):
            code = program.main(words, prog_name="apptek", standalone_mode=False)
        if code:
            raise StoppedError("stopped: run the same command to continue")
        return printed.getvalue()

    return execute
