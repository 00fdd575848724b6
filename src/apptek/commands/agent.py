"""Training the agent on its own."""

from pathlib import Path
from typing import Annotated, Any

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


@reads_data
def train_agent(
    data: DataArgument,
    out: Annotated[Path, typer.Option("--out", help="A new folder for the agent.")],
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    checkpoint_seconds: Annotated[
        float, typer.Option("--checkpoint-seconds", min=0, help="Time between checkpoints.")
    ] = 60.0,
    tensorboard: Annotated[
        Path | None,
        typer.Option("--tensorboard", help="Write scalars there (needs the extra `tensorboard`)."),
    ] = None,
    as_json: JsonOption = False,
    *,
    reading: Reading,
) -> None:
    """Train the agent by deep Q-learning and compare it with the controls that learn nothing.

    The folder gets the network, every episode, rewards.csv as it goes, and result.json.

    Example: `apptek train-agent icews14 --out agent --set agent.tknn=10`
    """
    from apptek.settings import with_settings

    require_torch()
    from apptek.commands.training_progress import training_progress
    from apptek.config import preset
    from apptek.experiments.agent import run_agent

    config = with_settings(preset("paper"), settings or []).agent
    dataset = reading.read(data)
    with training_progress(tensorboard) as observers:
        result = run_agent(
            dataset,
            config,
            out,
            seed=seed,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            observers=observers,
        )
    if as_json:
        print_json(result)
    else:
        _print_comparison(result)


def _print_comparison(result: dict[str, Any]) -> None:
    from apptek.terminal import output, table

    policies, controls = ("agent", "random", "commonest"), ("random", "commonest")
    rows = [
        (
            split,
            found["queries"],
            *(f"{found[policy]:.4f}" for policy in policies),
            *(_interval(found[f"agent_minus_{control}"]) for control in controls),
        )
        for split, found in result["metrics"].items()
    ]
    header = ("queries of", "number", "agent", "random", "commonest", "- random", "- commonest")
    output().print(table(f"Mean reward on {result['dataset']}", header, rows))
    output().print("In brackets: 95 % interval of the difference, paired over the same queries.")


def _interval(difference: dict[str, float]) -> str:
    return "{mean:+.4f} \\[{low:+.4f}, {high:+.4f}]".format(**difference)
