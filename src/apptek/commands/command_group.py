"""The groups of commands: the order of their help, and what Ctrl-C does."""

from typing import Any

from typer.core import TyperGroup

from apptek.commands.renamed import COMMANDS
from apptek.errors import ConfigError, StoppedError

PANELS = ("Start here", "Make a model", "Ask a model", "Data", "Paper and research")
REPEATABLE = ("contest", "reproduce")  # these continue where they stopped without --resume


class CommandGroup(TyperGroup):
    """A group of commands; one that the user stops ends in a StoppedError."""

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
    """All commands, listed by panel; an old name is refused with the new one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of these words; ConfigError for one that was renamed."""
        if args[0] in COMMANDS:
            raise ConfigError(f"apptek {args[0]} was removed; {COMMANDS[args[0]]}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands, in the order of PANELS (typer puts groups last)."""
        names = super().list_commands(ctx)
        panels = {name: getattr(self.commands[name], "rich_help_panel", None) for name in names}
        return sorted(names, key=lambda name: PANELS.index(panels[name]))


def _is_interrupt(error: BaseException | None) -> bool:
    """Return whether an error comes from Ctrl-C.

    Inside a compiled function, numba raises a SystemError that has the KeyboardInterrupt as its
    cause or context.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False
