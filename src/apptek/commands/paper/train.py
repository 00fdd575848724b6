"""The command `paper train`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from apptek.commands.options import (
    DataArgument,
    JsonOption,
    OutOption,
    ResumeOption,
    SeedOption,
    SettingsOption,
    option,
    print_json,
)
from apptek.commands.reading_options import Reading, reads_data
from apptek.extras import require_torch

if TYPE_CHECKING:
    from apptek.research.result import Result


@reads_data
def train(
    data: DataArgument,
    out: OutOption,
    settings: SettingsOption = None,
    seed: SeedOption = 0,
    resume: ResumeOption = False,
    checkpoint_seconds: Annotated[
        float, option("--checkpoint-seconds", "Seconds between checkpoints.", "N", min=0)
    ] = 60.0,
    tensorboard: Annotated[
        Path | None,
        option(
            "--tensorboard",
            "Write TensorBoard scalars there (needs the extra `tensorboard`).",
            "DIR",
        ),
    ] = None,
    controls: Annotated[
        bool, option("--controls", "Only play the controls that do not learn.")
    ] = False,
    as_json: JsonOption = False,
    *,
    reading: Reading,
) -> None:
    """Train the paper's agent by deep Q-learning and compare it with controls that do not learn.

    The folder gets the network with its settings and the name of its data, every episode,
    rewards.csv (updated while it runs) and result.json.

    Example: `apptek paper train world --out agent --set agent.tknn=10`
    """
    from apptek.setting_rules import with_settings

    require_torch()
    from apptek.commands.training_progress import training_progress
    from apptek.config import preset
    from apptek.paper.agent_run import AgentRun, run_agent, run_controls
    from apptek.terminal import tell_next

    config = with_settings(preset("paper"), settings or []).agent
    dataset = reading.read(data)
    with training_progress(tensorboard) as observers:
        run = AgentRun(
            dataset=dataset,
            config=config,
            folder=out,
            source=data,
            seed=seed,
            resume=resume,
            checkpoint_seconds=checkpoint_seconds,
            observers=observers,
        )
        result = run_controls(run) if controls else run_agent(run)
    if as_json:
        print_json(result.as_json())
        return
    if controls:
        _print_controls(result)
        return
    _print_comparison(result)
    tell_next(
        ["paper", "play", str(out), "SUBJECT", "OBJECT", "TIME"],
        ["fit", data, "--model", "paper", "--out", "model", "--agent", str(out)],
    )


def _print_comparison(result: "Result") -> None:
    from apptek.terminal import output, table

    policies, controls = ("agent", "random", "commonest"), ("random", "commonest")
    rows = [
        (
            split,
            rewards["queries"],
            *(f"{rewards[policy]:.4f}" for policy in policies),
            *(_interval(rewards[f"agent_minus_{control}"]) for control in controls),
        )
        for split, rewards in result.metrics.items()
    ]
    header = ("queries of", "number", "agent", "random", "commonest", "- random", "- commonest")
    output().print(table(f"Mean reward on {result.dataset}", header, rows))
    output().print("In brackets: the 95 % interval of the difference, paired by query.")


def _print_controls(result: "Result") -> None:
    from apptek.terminal import output, table

    rows = [
        (split, rewards["queries"], f"{rewards['random']:.4f}", f"{rewards['commonest']:.4f}")
        for split, rewards in result.metrics.items()
    ]
    header = ("queries of", "number", "random", "commonest")
    output().print(table(f"Mean reward on {result.dataset}", header, rows))


def _interval(difference: dict[str, float]) -> str:
    return "{mean:+.4f} [{low:+.4f}, {high:+.4f}]".format(**difference)
