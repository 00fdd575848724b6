"""Commands about models: fit, evaluate, topologies."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from apptek.commands.options import (
    DataArgument,
    JsonOption,
    ResumeOption,
    SeedOption,
    SettingsOption,
    print_json,
)
from apptek.commands.reading_options import Reading, reads_data
from apptek.extras import require_torch

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")]
AsOfOption = Annotated[
    bool,
    typer.Option(
        "--as-of", help="Answer only from facts that ended before; fit --past-only does it better."
    ),
]
TopOption = Annotated[int, typer.Option("--top", min=1, help="How many to show.")]


@reads_data
def fit(
    data: DataArgument,
    out: Annotated[Path, typer.Option("--out", help="A new folder for the model.")],
    preset_name: Annotated[
        Literal["default", "max", "paper"],
        typer.Option(
            "--preset",
            help="default: topologies with a clock; max: the same re-ranked by boosted trees; "
            "paper: the paper's method.",
        ),
    ] = "default",
    protocol: Annotated[
        Literal["official", "paper"],
        typer.Option(
            "--protocol", help="official: the files as they are; paper: as it split them."
        ),
    ] = "official",
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    types: Annotated[
        Path | None,
        typer.Option(
            "--types", help="A table of entity types: entity, then a column for each kind."
        ),
    ] = None,
    past_only: Annotated[
        bool,
        typer.Option(
            "--past-only", help="Forecast: only from facts that ended before the question's time."
        ),
    ] = False,
    *,
    reading: Reading,
) -> None:
    """Fit a model: what features speak for which predicates.

    Example: `apptek fit icews14 --out model`
    """
    from apptek.config import preset
    from apptek.data.entity_types import read_types
    from apptek.experiments.result_file import about_run
    from apptek.predictor import Predictor
    from apptek.settings import with_settings
    from apptek.terminal import tell

    given = [*(settings or []), *(["features.past_only=true"] if past_only else [])]
    config = with_settings(preset(preset_name), given)
    with_agent = "topologies" in config.features.parts
    if with_agent:
        require_torch()
    table = None if types is None else read_types(types)
    dataset = reading.read(data)
    with _watched(with_agent) as observers:
        predictor = Predictor.fit(
            dataset,
            folder=out,
            preset=preset_name,
            config=config,
            protocol=protocol,
            seed=seed,
            types=table,
            resume=resume,
            on_stage=lambda name: tell(f"stage: {name}"),
            observers=observers,
            about_run=about_run(),
        )
    found = predictor.model.report
    if found["profiles_cut_short"]:
        cut = f"{found['profiles_cut_short']:,} profiles were cut short by a dominant partner"
        tell(cut)
    features = ", ".join(f"{count:,} of {part}" for part, count in found["features"].items())
    tell(
        f"features: {features}; MRR {found['valid_mrr']:.4f} on the tuning split; "
        f"the model is in {out}"
    )


def _watched(with_agent: bool) -> AbstractContextManager[Any]:
    """What watches the agent's training, where there is one: nothing else needs torch."""
    if not with_agent:
        return nullcontext(())
    from apptek.commands.training_progress import training_progress

    return training_progress()


def evaluate(
    model: ModelArgument,
    split: Annotated[
        Literal["test", "valid"], typer.Option("--split", help="Which questions to ask.")
    ] = "test",
    result: Annotated[
        Path | None, typer.Option("--result", help="Also write a result file, for the tables.")
    ] = None,
    as_of: AsOfOption = False,
    as_json: JsonOption = False,
) -> None:
    """Rank the predicates of held-out facts, under the model's own protocol.

    Example: `apptek evaluate model --json`
    """
    from apptek.baselines.open_model import open_model
    from apptek.experiments.model_result import write_evaluation
    from apptek.files import check_target
    from apptek.terminal import output, table, working

    if result is not None:
        check_target(result)
    predictor = open_model(model, as_of=as_of)
    with working(f"answering the {split} split"):
        evaluation = predictor.evaluate(split)
    found = evaluation.as_json()
    if result is not None:
        write_evaluation(result, predictor, model, split, evaluation)
    fitted = predictor.model
    about = {"dataset": fitted.dataset.name, "split": split, "protocol": fitted.protocol}
    if as_json:
        print_json(about | {"preset": fitted.preset, "seed": fitted.seed} | found)
        return
    keys = {"mrr": "MRR", "hits_at_1": "Hits@1", "hits_at_3": "Hits@3", "hits_at_10": "Hits@10"}
    keys |= {"ece": "ECE"}
    parts = {"all": found} | {name: part for name, part in found.items() if isinstance(part, dict)}
    rows = [
        (name.replace("_", " "), part["queries"], *(f"{part[key]:.4f}" for key in keys))
        for name, part in parts.items()
    ]
    title = "{dataset}, {split} split, protocol {protocol}".format(**about)
    output().print(table(title, ("", "queries", *keys.values()), rows))


def topologies(
    model: ModelArgument,
    predicate: Annotated[
        str | None, typer.Option("--predicate", help="Only those of this predicate.")
    ] = None,
    top: TopOption = 5,
    as_json: JsonOption = False,
) -> None:
    """The topologies of each predicate: those with the largest weights, and those mined for it.

    A mined one with how many episodes of the predicate's training queries it connected, and their
    share.

    Example: `apptek topologies model --predicate "Make a visit" --top 3`
    """
    from apptek.errors import ApptekError
    from apptek.explain.strongest_weights import strongest
    from apptek.features.topologies.topology import describe, to_names
    from apptek.models.model import load_model
    from apptek.terminal import output, table

    fitted = load_model(model)
    names = fitted.dataset.predicates
    wanted = None if predicate is None else names.find(predicate)
    if predicate is not None and wanted is None:
        raise ApptekError(f"the model knows no predicate {predicate!r}")
    asked = range(len(names)) if wanted is None else [wanted]
    space = fitted.features()
    weighed = {row: strongest(fitted, space, row, top) for row in asked}
    mined: dict[int, list[Any]] = {row: [] for row in asked}
    for one in fitted.mined.topologies:
        if one.predicate in mined and len(mined[one.predicate]) < top:
            mined[one.predicate].append(one)
    if as_json:
        print_json(
            {
                names[row]: {
                    "strongest": [asdict(one) for one in weighed[row]],
                    "mined": [
                        {
                            "topology": to_names(m.sequence, names),
                            "connected": m.queries,
                            "share": m.queries / fitted.mined.tried[row],
                            "examples": [
                                fitted.dataset.describe(fitted.dataset.train, e) for e in m.examples
                            ],
                        }
                        for m in mined[row]
                    ],
                }
                for row in asked
            }
        )
        return
    rows = [(names[row], f"{w.weight:+.2f}", w.words) for row in asked for w in weighed[row]]
    title = "The largest weights: what speaks most for a predicate"
    output().print(table(title, ("predicate", "weight", "topology"), rows))
    found = [
        (
            names[row],
            m.queries,
            f"{m.queries / fitted.mined.tried[row]:.1%}",
            describe(m.sequence, names),
        )
        for row in asked
        for m in mined[row]
    ]
    if found:
        header = ("predicate", "connected", "of its episodes", "topology")
        output().print(table("Mined topologies", header, found))
