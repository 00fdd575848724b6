"""Groups of commands: the order in their help, and the handling of Ctrl-C."""

from typing import Any

from typer.core import TyperGroup

from apptek.errors import ConfigError, StoppedError

PANELS = ("Start here", "Make a model", "Ask a model", "Data", "Paper and research")
REPEATABLE = ("contest", "reproduce")  # commands that resume without --resume
COMMANDS = {
    "baseline": "use apptek fit --model NAME",
    "counterfactual": "use apptek explain --counterfactual",
    "verify": "use apptek info --check",
    "rules": "use apptek info --rules FILE; edited rules cannot be imported",
    "backtest": "use apptek evaluate --forecasts",
    "topologies": "use apptek paper topologies",
    "train-agent": "use apptek paper train",
    "reproduce": "use apptek paper reproduce",
    "compare": "use apptek research compare",
    "contest": "use apptek research contest",
    "search": "use apptek research search",
    "faithfulness": "use apptek research faithfulness",
    "bench": "use python -m benchmarks, in a checkout",
}
OPTIONS = {
    "--preset": "use --model NAME (or --model NAME:paper to train a baseline as its authors did)",
    "--as-of": "use --past-only, or --from TIME with forecast and watch",
    "--view": "use --past-only",
    "--strict-names": "unknown names are rejected without --allow-unknown",
    "--most": "use --top N",
    "--reload": "restart the service to serve a new model",
    "--checkpoint-seconds": "the training of an agent cannot be resumed",
    "--resume": "run the same command again",
    "--tensorboard": "result.json in the agent's folder contains the rewards over time",
    "--least": "filter the rules by their column weight",
    "--min-weight": "filter the rules by their column weight",
    "--hide-known": "use Predictor.predict(..., hide_known=True) in Python",
    "--cells": "paper/runs.toml lists the runs",
    "--experiments": "paper/runs.toml lists the runs",
    "--header": "use --read header=yes",
    "--no-header": "use --read header=no",
    "--merge-intervals": "write both ends of an interval in one row",
    "--granularity": "use --read granularity=UNIT",
    "--undirected": "write each fact in both directions",
    "--delimiter": "use --read delimiter=CHARACTER",
    "--encoding": "use --read encoding=NAME",
    "--sheet": "use --read sheet=NAME",
    "--max-bytes": "use --read max_bytes=N",
    "--open-end": "use --read open_end=ongoing or point",
    "--split": "use --read split=SHARES",
    "--address": "set RAY_ADDRESS=HOST:PORT and use --engine ray",
    "--http": "start apptek mcp by ssh, or use the HTTP interface of apptek serve",
    "--world": "the other measures remain",
    "--parts": "facts are no longer divided into parts",
    "--storage": "the shared folder is created next to the output",
}


class CommandGroup(TyperGroup):
    """A group of commands that raises StoppedError if the user stops a command."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, SystemError) as error:
            if not _is_interrupt(error):
                raise
            raise StoppedError(self._advice(ctx)) from None

    def _advice(self, ctx: Any) -> str:
        name = ctx.invoked_subcommand or ""
        command = self.commands.get(name)
        if command is not None and any(option.name == "resume" for option in command.params):
            return "stopped; run the same command with --resume to continue"
        if name in REPEATABLE:
            return "stopped; run the same command to continue"
        return "stopped"


class MainGroup(CommandGroup):
    """The group of all commands, by panel. A former command's error names its replacement."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; raise ConfigError if it has been replaced."""
        if args[0] in COMMANDS:
            raise ConfigError(f"apptek {args[0]} was removed; {COMMANDS[args[0]]}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of PANELS (typer puts groups last)."""
        names = super().list_commands(ctx)
        panels = {name: getattr(self.commands[name], "rich_help_panel", None) for name in names}
        return sorted(names, key=lambda name: PANELS.index(panels[name]))


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error was caused by Ctrl-C.

    Inside a compiled function, numba raises a SystemError with the KeyboardInterrupt as its cause
    or context.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
