"""The commands under `apptek research`: comparisons, searches, measurements."""

import shlex
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from apptek.commands import options as opt
from apptek.commands.command_group import CommandGroup
from apptek.commands.options import option
from apptek.commands.reading_options import Reading

research_app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    help="Compare models, tune a baseline's settings, and measure how faithful explanations are.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareOptions:
    """The options of `research compare`."""

    results: Annotated[
        list[Path], opt.typer_argument("RESULT", "Result files from `evaluate --result`.")
    ]
    result: opt.ResultOption = None
    as_json: opt.JsonOption = False


@research_app.command()
@opt.takes_options
def compare(options: CompareOptions) -> None:
    """Compare each model with the first one, query by query.

    The table shows differences in MRR with 95 % intervals. Results that differ only in the seed
    count as one model.

    Example: `apptek research compare recency.json model.json`
    """
    from apptek.present.metrics_text import comparison_text
    from apptek.research.compare import compare_results
    from apptek.research.result import write_result

    if len(options.results) < 2:
        raise typer.BadParameter("give at least two result files")
    comparison = compare_results(options.results)
    if options.result is not None:
        write_result(options.result, comparison.as_result())
    opt.print_either(asdict(comparison), comparison_text, comparison, as_json=options.as_json)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContestOptions:
    """The options of `research contest`."""

    data: opt.DataArgument
    out: Annotated[
        Path, opt.typer_option("--out DIR", "The folder for the models and their results.")
    ]
    models: str | None = option(
        "--models LIST",
        "Model names, as for `fit --model`, such as `pair,max`.  "
        "[default: recency,tnt_complex,paper,default]",
    )
    protocol: opt.ProtocolOption = "official"
    seeds: int = option("--seeds N", "Number of runs of each model.", 1, min=1)
    as_json: opt.JsonOption = False


@research_app.command()
@opt.takes_options
def contest(options: ContestOptions, reading: Reading) -> None:
    """Find the best model for your data: fit several and compare them.

    Each model is fitted on the training set, tuned on the validation set and evaluated on the test
    set. Finished runs are kept. Run the same command again to continue after a stop, or to add
    models.

    Example: `apptek research contest world --out contest --models recency,default`
    """
    from apptek.present.metrics_text import contest_text
    from apptek.research.contest import clear_best, run_contest, usual_models
    from apptek.terminal import tell, tell_next

    data, models = options.data, options.models
    names = [name.strip() for name in models.split(",")] if models else usual_models()
    if len(set(names)) < len(names):
        raise typer.BadParameter(f"{models!r} names a model twice")
    contestants = run_contest(
        reading.read_data(data),
        names,
        options.out,
        tell,
        seeds=options.seeds,
        protocol=options.protocol,
        command=[data, *reading.words()],
    )
    best = clear_best(contestants)
    entries = [asdict(contestant) for contestant in contestants]
    content = {"models": entries, "best": None if best is None else best.name}
    opt.print_either(content, contest_text, data, contestants, as_json=options.as_json)
    if options.as_json:
        return
    if best is None:
        behind = ((each.name, each.against_best) for each in contestants)
        equal = ", ".join(name for name, gap in behind if gap is None or gap.high >= 0)
        tell(f"no model is clearly the best: {equal} do not differ clearly on this data")
    else:
        tell(f"the best model, {best.name}, is in {best.folder}")
    folder = "MODEL" if best is None else str(best.folder)
    tell_next(["predict", folder, "SUBJECT", "OBJECT", "TIME"])


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """The options of `research search`."""

    name: Annotated[
        str,
        opt.typer_argument(
            "NAME",
            "tnt_complex, de_transe, de_distmult, de_simple, re_gcn, or a baseline from another "
            "package.",
        ),
    ]
    data: opt.DataArgument
    minutes: float = option(
        "--minutes N", "The time for all trials on one core. The last trial may exceed it.", 15.0
    )
    protocol: opt.ProtocolOption = "official"
    sample: float = option(
        "--sample S", "The proportion of the training facts to use.", 1.0, min=0.01, max=1
    )
    settings: opt.SettingsOption = None
    seed: opt.SeedOption = 0
    result: opt.ResultOption = None


@research_app.command()
@opt.takes_options
def search(options: SearchOptions, reading: Reading) -> None:
    """Find the baseline settings that give the best MRR on the validation set.

    The first trial uses the baseline's default settings. Every other trial draws each setting at
    random. The test set is not used. The --result file always contains the best trial so far, even
    if you stop with Ctrl-C.

    Example: `apptek research search de_simple world --minutes 1`
    """
    from apptek.models.registry import model_settings, name_and_preset
    from apptek.research.result import write_result
    from apptek.research.search import Search, Trial, run_trials, search_result, search_space
    from apptek.setting_rules import setting_texts, with_settings
    from apptek.terminal import step_progress, tell

    baseline, preset = name_and_preset(options.name)
    task = Search(
        baseline=baseline,
        config=with_settings(model_settings(options.name), options.settings or []),
        minutes=options.minutes,
        protocol=options.protocol,
        seed=options.seed,
        sample=options.sample,
    )
    search_space(baseline)  # refuses a baseline without one before the data is read
    dataset, trials = reading.read_data(options.data), list[Trial]()
    with step_progress(f"searching {baseline}") as progress:
        for trial in run_trials(task, dataset, progress):
            trials.append(trial)
            if options.result is not None and any(each.valid_mrr for each in trials):
                summary = search_result(task, trials)
                about = replace(summary, dataset=dataset.name, preset=preset)
                write_result(options.result, about)
            tell(f"trial {len(trials)}: {trial}")
    summary = search_result(task, trials)
    changes = [*(options.settings or []), *setting_texts(summary.extras["best"])]
    words = ["apptek", "fit", options.data, "--model", options.name]
    words += ["--protocol", options.protocol, "--seed", str(options.seed)]
    words += [word for text in changes for word in ("--set", text)]
    tell(f"best: MRR {summary.metrics['mrr']:.4f} on the validation set; to fit this model, run")
    typer.echo(shlex.join([*words, *reading.words(), "--out", "model"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class FaithfulnessOptions:
    """The options of `research faithfulness`."""

    model: opt.ModelArgument
    count: int = option("-n N", "Number of queries from the test set.", 500, min=1)
    seed: opt.SeedOption = 0
    result: opt.ResultOption = None
    as_json: opt.JsonOption = False


@research_app.command()
@opt.takes_options
def faithfulness(options: FaithfulnessOptions) -> None:
    """Measure whether reasons are faithful to the model.

    Deletion compares removing the cited facts with removing the same number of random facts.
    Sufficiency measures how often the facts of five reasons are enough to keep the answer.

    Example: `apptek research faithfulness model -n 20`
    """
    from apptek.models.model_folder import load_model
    from apptek.present.metrics_text import values_text
    from apptek.research.faithfulness import measure_faithfulness
    from apptek.research.result import Result, write_result
    from apptek.seeding import generator
    from apptek.terminal import working

    fitted, seed = load_model(options.model), options.seed
    rng = generator(seed, "faithfulness")
    with working("removing facts and predicting again"):
        figures = asdict(measure_faithfulness(fitted, options.count, rng=rng))
    if options.result is not None:
        about = Result(model="faithfulness", dataset=fitted.dataset.name, seed=seed)
        extras = {"of": f"apptek_{fitted.preset}"}
        write_result(options.result, replace(about, metrics=figures, extras=extras))
    opt.print_either(figures, values_text, "Faithfulness", figures, as_json=options.as_json)
