"""The commands under `apptek research`: comparisons, searches, measurements."""

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from apptek.commands import options as opt
from apptek.commands.command_group import CommandGroup
from apptek.commands.reading_options import Reading, reads_data

if TYPE_CHECKING:
    from apptek.research.search import Search, Trial

research_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Compare models, search settings, and measure whether explanations are faithful.",
)
MinutesOption = Annotated[
    float,
    opt.option(
        "--minutes", "The time for all trials, on one core; the last trial may take longer.", "N"
    ),
]
SampleOption = Annotated[
    float,
    opt.option("--sample", "The share of training facts to search with.", "S", min=0.01, max=1),
]
_NAMES = (
    "tnt_complex, de_transe, de_distmult, de_simple, re_gcn, default, max or paper, as for "
    "`fit --model`."
)


@research_app.command()
def compare(
    results: Annotated[
        list[Path],
        opt.argument("RESULT", "Result files that `evaluate --result` wrote."),
    ],
    top: Annotated[
        int, opt.option("--top", "Number of gains, and of losses, to print.", "N", min=1)
    ] = 5,
    result: opt.ResultOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Compare models with the first one, query by query.

    The table shows differences in MRR with 95 % intervals. Results that differ only in the seed
    count as one model.

    Example: `apptek research compare recency.json model.json`
    """
    from apptek.present.metrics_text import comparison_text
    from apptek.research.compare import compare_results
    from apptek.research.result import write_result

    if len(results) < 2:
        raise typer.BadParameter("give at least two result files")
    comparison = compare_results(results)
    if result is not None:
        write_result(result, comparison.as_result())
    if as_json:
        opt.print_json(asdict(comparison))
    else:
        opt.print_text(comparison_text, comparison, top)


@research_app.command()
@reads_data
def contest(
    data: opt.DataArgument,
    out: Annotated[
        Path,
        opt.option("--out", "The folder for the models and their results.", "DIR"),
    ],
    models: Annotated[
        str | None,
        opt.option(
            "--models",
            "Models, as for `fit --model`: `pair,max`.  "
            "[default: recency,tnt_complex,paper,default]",
            "LIST",
        ),
    ] = None,
    protocol: opt.ProtocolOption = "official",
    seeds: Annotated[int, opt.option("--seeds", "Number of runs of each model.", "N", min=1)] = 1,
    as_json: opt.JsonOption = False,
    *,
    reading: Reading,
) -> None:
    """Find the best model for your data: fit several and compare them.

    Each model is fitted on train, chooses its settings on valid and is evaluated on test. Finished
    runs are kept: run the same command to continue after a stop, or with more models to add them.

    Example: `apptek research contest world --out contest --models recency,default`
    """
    from apptek.present.metrics_text import contest_text
    from apptek.research.contest import clear_best, run_contest, usual_models
    from apptek.terminal import tell, tell_next

    names = [name.strip() for name in models.split(",")] if models else usual_models()
    if len(set(names)) < len(names):
        raise typer.BadParameter(f"{models!r} names a model twice")
    command = [data, *reading.words()]
    contestants = run_contest(
        reading.read(data), names, out, tell, seeds=seeds, protocol=protocol, command=command
    )
    best = clear_best(contestants)
    if as_json:
        entries = [asdict(contestant) for contestant in contestants]
        opt.print_json({"models": entries, "best": None if best is None else best.name})
        return
    opt.print_text(contest_text, data, contestants)
    if best is None:
        behind = ((each.name, each.against_best) for each in contestants)
        equal = ", ".join(name for name, gap in behind if gap is None or gap.high >= 0)
        tell(f"no model is clearly the best: {equal} do not differ clearly on this data")
    else:
        tell(f"the best model, {best.name}, is in {best.folder}")
    folder = "MODEL" if best is None else str(best.folder)
    tell_next(["predict", folder, "SUBJECT", "OBJECT", "TIME"])


@research_app.command()
@reads_data
def search(
    name: Annotated[str, opt.argument("NAME", _NAMES)],
    data: opt.DataArgument,
    minutes: MinutesOption = 15.0,
    protocol: opt.ProtocolOption = "official",
    sample: SampleOption = 1.0,
    settings: opt.SettingsOption = None,
    seed: opt.SeedOption = 0,
    result: opt.ResultOption = None,
    resume: opt.ResumeOption = False,
    *,
    reading: Reading,
) -> None:
    """Search for the settings with the best MRR on the valid split.

    The first trial has the model's own settings; every other one draws each setting at random.
    The test split is not used. Ctrl-C ends the search with the best trial so far;
    --resume continues it.

    Example: `apptek research search de_simple world --minutes 1`
    """
    from apptek.models.registry import model_settings, name_and_preset
    from apptek.research.search import Search, finished_trials, search_result, search_space
    from apptek.setting_rules import setting_texts, with_settings
    from apptek.terminal import tell

    config = with_settings(model_settings(name), settings or [])
    baseline, preset = name_and_preset(name)
    search_space(baseline)  # refuses a baseline without one before the data is read
    dataset = reading.read(data)
    task = Search(
        baseline=baseline, config=config, minutes=minutes, protocol=protocol, seed=seed,
        sample=sample,
    )  # fmt: skip
    trials: list[Trial] = finished_trials(result, task) if resume and result else []
    stopped = _run(task, dataset, result, preset, trials)
    summary = search_result(task, trials)
    changes = [*(settings or []), *setting_texts(summary.extras["best"])]
    words = ["apptek", "fit", data, "--model", name, "--protocol", protocol, "--seed", str(seed)]
    words += [word for text in changes for word in ("--set", text)]
    tell(f"best: MRR {summary.metrics['mrr']:.4f} on valid; fit it with")
    typer.echo(shlex.join([*words, *reading.words(), "--out", "model"]))
    if stopped:
        raise typer.Exit(130)


def _run(
    task: "Search", dataset: Any, result: Path | None, preset: str, trials: "list[Trial]"
) -> bool:
    """Run the trials that are missing, and write the result after each; whether Ctrl-C ended it."""
    from apptek.research.result import write_result
    from apptek.research.search import best_trial, describe, search_result, search_settings
    from apptek.terminal import step_progress, tell

    def on_trial(done: "list[Trial]") -> None:
        trials[:] = done
        if result is not None and best_trial(trials):
            summary = search_result(task, trials)
            write_result(result, replace(summary, dataset=dataset.name, preset=preset))
        tell(f"trial {len(trials)}: {describe(trials[-1])}")

    try:
        with step_progress(f"searching {task.baseline}") as progress:
            search_settings(task, dataset, done=trials, on_trial=on_trial, progress=progress)
    except KeyboardInterrupt:
        if best_trial(trials) is None:
            raise
        tell("stopped; this is the best so far")
        return True
    return False


@research_app.command()
def faithfulness(
    model: opt.ModelArgument,
    count: Annotated[
        int, opt.option("-n", "Number of queries from the test split.", "N", min=1)
    ] = 500,
    world: Annotated[
        int,
        opt.option(
            "--world",
            "The number of facts of the synthetic world with planted rules; 0: none.",
            "FACTS",
            min=0,
        ),
    ] = 20_000,
    seed: opt.SeedOption = 0,
    result: opt.ResultOption = None,
    as_json: opt.JsonOption = False,
) -> None:
    """Measure whether reasons are faithful to the model.

    Deletion: removing the cited facts hurts the answer more than removing as many random ones.
    Sufficiency: the facts of five reasons alone keep the answer. Stability: answer and reasons
    stay the same one step earlier or later. Planted rules: the model is fitted with the same
    settings on a synthetic world, and its first reason is the rule that made the fact.

    Example: `apptek research faithfulness model -n 20 --world 0`
    """
    from apptek.models.model_folder import load_model
    from apptek.present.metrics_text import values_text
    from apptek.research.faithfulness import fit_and_recover, measure_faithfulness
    from apptek.research.result import Result, write_result
    from apptek.seeding import generator
    from apptek.terminal import working

    fitted = load_model(model)
    with working("removing facts and predicting again"):
        figures = asdict(measure_faithfulness(fitted, count, rng=generator(seed, "faithfulness")))
    recovery = None
    if world:
        with working("fitting a synthetic world"):
            recovery = asdict(fit_and_recover(fitted, world, seed=seed))
    if result is not None:
        extras = {"of": f"apptek_{fitted.preset}", "world": recovery}
        about = Result(model="faithfulness", dataset=fitted.dataset.name, seed=seed)
        write_result(result, replace(about, metrics=figures, extras=extras))
    if as_json:
        opt.print_json(figures | {"world": recovery})
        return
    named = {} if recovery is None else {"planted rules named first": recovery["named"]}
    opt.print_text(values_text, "Faithfulness", figures | named)
